/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds requests whose system call does not return. */
#include "dataplane/fuse/server/request/server_hung.h"

#define HUNG_S 6U
/* Limit, in seconds, for calls that take longer the more data must be written or freed. */
#define HUNG_LONG_S 60U

/* Returns for how long I/O helpers or io_uring have been executing the request; 0 if they are not
 * executing it. */
static uint64_t waits_ns(const struct server_req *q, uint64_t now_ns)
{
	uint64_t since_ns = q->ring_since_ns;

	if (q->helper_call && !q->helper_waits)
		since_ns = q->helper_since_ns;
	return since_ns && since_ns < now_ns ? now_ns - since_ns : 0;
}

static bool may_be_long(const struct server_req *q)
{
	return q->helper_call &&
	       (q->helper_queue == HELPERS_SLOW || q->helper_call->op == HELPER_FSYNC);
}

static bool is_late(const struct server_req *q, uint64_t now_ns)
{
	return waits_ns(q, now_ns) > (may_be_long(q) ? HUNG_LONG_S : HUNG_S) * NSEC_PER_SEC;
}

void server_hung_look(struct fuse_server *srv, uint64_t now_ns)
{
	const struct server_req *late = NULL;

	for (const struct server_req *q = srv->active; q && !late; q = q->next)
		late = is_late(q, now_ns) ? q : NULL;
	if (!late)
		reason_clear(&srv->hung);
	else
		reason_set(&srv->hung, "export-hung",
			   "export %.60s: a request has waited for its file system for more than "
			   "%u s; check its disk or its server (dmesg, iostat)",
			   late->mount->export->cfg->name,
			   may_be_long(late) ? HUNG_LONG_S : HUNG_S);
}
