/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds requests whose system call does not return. */
#include "dataplane/fuse/server/request/server_hung.h"

#define HUNG_S 6U
/* Limit, in seconds, for calls whose length cannot be estimated. */
#define HUNG_LONG_S 60U
/* Bytes that even a slow file system frees, allocates or copies in a second. */
#define WORK_BYTES_PER_S (64ULL << 20)

/* Returns for how long I/O helpers or io_uring have been executing the request; 0 if they are not
 * executing it. */
static uint64_t waits_ns(const struct server_req *q, uint64_t now_ns)
{
	uint64_t since_ns = q->ring_since_ns;

	if (q->helper_call && !q->helper_waits)
		since_ns = q->helper_since_ns;
	return since_ns && since_ns < now_ns ? now_ns - since_ns : 0;
}

/* Returns whether the length of the call cannot be estimated: it writes an unknown amount of data,
 * or searches a file or a directory. */
static bool is_of_unknown_length(const struct server_req *q)
{
	switch (q->helper_call->op) {
	case HELPER_FSYNC:
	case HELPER_LSEEK:
		return true;
	case HELPER_READDIR:
	case HELPER_READDIRPLUS:
		return q->helper_queue == HELPERS_SLOW;
	default:
		return false;
	}
}

/* Returns the seconds after which the request's system call counts as hung. */
static unsigned limit_s(const struct server_req *q)
{
	uint64_t work;

	if (!q->helper_call)
		return HUNG_S;
	if (is_of_unknown_length(q))
		return HUNG_LONG_S;
	work = __atomic_load_n(&q->helper_call->work_bytes, __ATOMIC_RELAXED);
	return (unsigned)MIN_OF(HUNG_S + work / WORK_BYTES_PER_S, HUNG_LONG_S);
}

static bool is_late(const struct server_req *q, uint64_t now_ns)
{
	return waits_ns(q, now_ns) > limit_s(q) * NSEC_PER_SEC;
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
			   "export %.60s: a request has waited over %u s for the file system; "
			   "check its disk or its server (dmesg, iostat)",
			   late->mount->export->cfg->name, limit_s(late));
}
