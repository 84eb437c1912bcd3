/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers requests about the cluster's document and its rollout: the process of the role `cluster`
 * carries them out. */
#include "agent/cluster/rollout/rollout_edit.h"
#include "agent/control/control_internal.h"
#include <string.h>

_Static_assert(PRIVSEP_ROLLOUT_OPS == (int)ROLLOUT_EDIT_OP_MAX &&
		       PRIVSEP_ROLLOUT_HOSTS_MAX == ROLLOUT_SLOTS_MAX &&
		       PRIVSEP_ROLLOUT_S_MIN == ROLLOUT_TIMEOUT_MIN_S &&
		       PRIVSEP_VIEWS == (int)ROLLOUT_VIEW_MAX &&
		       PRIVSEP_ROLLOUT_S_MAX == ROLLOUT_TIMEOUT_MAX_S &&
		       PRIVSEP_DOCUMENT_MAX == ROLLOUT_DOCUMENT_BYTES_MAX &&
		       SPEC_DOCUMENT_BYTES_MAX == ROLLOUT_DOCUMENT_BYTES_MAX &&
		       PRIVSEP_HASH_MAX == ROLLOUT_HASH_MAX && REQUESTER_MAX == ROLLOUT_BY_MAX,
	       "both sides of the privilege boundary have the same limits");

bool control_is_in_cluster(const struct agent *a, struct control_reply *r)
{
	if (cluster_is_used(a->cluster) && a->running.spec)
		return true;
	control_error(r, 404, "not-in-cluster", "the running configuration has no cluster.etcd",
		      NULL);
	return false;
}

void control_cluster_requested(int k, struct control_reply *r)
{
	if (k >= 0)
		r->later = true;
	else
		control_error(r, 503, "busy",
			      k == -EBUSY ? "too many requests about the cluster at once; try again"
			      : k == -EALREADY ? "'plenum cluster leave' is already running; wait "
						 "until it has ended"
			      : k == -EIO      ? "cannot write the record of the addresses in the "
						 "state directory; see the agent's log"
					  : "the agent's process for the cluster does not run; "
					    "try again",
			      NULL);
}

void control_get_rollout(struct agent *a, const struct client *cl, enum privsep_what what,
			 struct control_reply *r)
{
	const struct privsep_cluster_rollout rq = {
		.id = cl->id,
		.op = what == PRIVSEP_CLUSTER_DOCUMENT ? ROLLOUT_SHOW : ROLLOUT_STATUS};

	control_cluster_requested(cluster_rollout(a->cluster, &rq, ""), r);
}

/* Reads and checks the document of a request. Returns NULL if it is refused; r has the error. */
static char *take_document(struct agent *a, const struct privsep_msg *m, int fd,
			   struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *text = NULL;
	int k = privsep_read_memfd(fd, m->put_staged.len, &text);

	if (k >= 0)
		k = spec_document_check("document", text, m->put_staged.len, &d);
	if (k >= 0)
		return ptr_take(text);
	control_failure(a, r, k, &d);
	return NULL;
}

static enum rollout_edit_op op_of(enum privsep_type t)
{
	return t == PRIVSEP_DOCUMENT_SET     ? ROLLOUT_SET
	       : t == PRIVSEP_ROLLOUT_START  ? ROLLOUT_START
	       : t == PRIVSEP_ROLLOUT_PAUSE  ? ROLLOUT_PAUSE
	       : t == PRIVSEP_ROLLOUT_RESUME ? ROLLOUT_RESUME
					     : ROLLOUT_ABORT;
}

void control_edit_rollout(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  int fd, struct control_reply *r)
{
	static const char *const what[ROLLOUT_EDIT_OP_MAX] = {
		[ROLLOUT_SET] = "change of the cluster's document",
		[ROLLOUT_START] = "start of a rollout",
		[ROLLOUT_PAUSE] = "pause of the rollout",
		[ROLLOUT_RESUME] = "resumption of the rollout",
		[ROLLOUT_ABORT] = "end of the rollout"};
	struct privsep_cluster_rollout rq = {.id = cl->id, .op = op_of((enum privsep_type)m->type)};
	autofree char *text = NULL;

	if (!control_is_in_cluster(a, r))
		return;
	if (rq.op == ROLLOUT_SET) {
		text = take_document(a, m, fd, r);
		if (!text)
			return;
	}
	if (rq.op == ROLLOUT_START)
		rq.how = m->rollout;
	clients_describe(cl, rq.by, sizeof(rq.by));
	control_cluster_requested(cluster_rollout(a->cluster, &rq, text ? text : ""), r);
	if (r->later)
		control_note(a, cl, "%s requested", what[rq.op]);
}
