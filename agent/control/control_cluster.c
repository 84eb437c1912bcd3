/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers requests about the cluster: the state of this host's membership at once, the lists of all
 * hosts when the process of the role `cluster` has read them. */
#include "agent/cluster/rows.h"
#include "agent/control.h"
#include "agent/control/control_internal.h"
#include <stdio.h>
#include <string.h>

void control_get_cluster(struct agent *a, const struct client *cl, enum privsep_what what,
			 struct control_reply *r)
{
	_Static_assert(PRIVSEP_CLUSTER_LISTS == (int)ROWS_KIND_MAX &&
			       PRIVSEP_CLUSTER_EXPORTS - PRIVSEP_CLUSTER_HOSTS == ROWS_EXPORTS,
		       "the lists have one order");
	int k;

	if (!cluster_is_used(a->cluster)) {
		control_error(r, 404, "not-in-cluster",
			      "the running configuration has no cluster.etcd", NULL);
		return;
	}
	if (what == PRIVSEP_CLUSTER_STATUS) {
		control_json(r, 200, cluster_to_json(a->cluster, a->running.spec));
		return;
	}
	k = cluster_read(a->cluster, what - PRIVSEP_CLUSTER_HOSTS, cl->id);
	if (k >= 0)
		r->later = true;
	else
		control_error(r, 503, "busy",
			      k == -EBUSY
				      ? "too many lists of the cluster are read at once; try again"
				      : "the agent's process for the cluster does not run; try "
					"again",
			      NULL);
}

void control_on_list(void *user, uint64_t id, int fd, uint64_t len, const struct reason *why)
{
	const struct privsep_reply head = {.http_status = 200, .content = PRIVSEP_JSON, .len = len};
	struct control_reply r = {.http_status = 0};
	struct agent *a = user;
	int k;

	if (!a->clients) /* the agent is exiting */
		return;
	if (fd < 0) {
		control_error(&r, 503, why->code, why->text, NULL);
		control_answer(a, id, &r);
		return;
	}
	k = clients_answer(a->clients, id, &head, fd);
	if (k < 0) /* the client or its API process has exited */
		log_debug("cannot answer a client: %s", strerror(-k));
}
