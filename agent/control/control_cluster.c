/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers requests about the cluster: the state of this host's membership at once, the lists of all
 * hosts when the process of the role `cluster` has read them. */
#include "agent/cluster/pools/pool.h"
#include "agent/cluster/view/rows.h"
#include "agent/control.h"
#include "agent/control/control_internal.h"
#include <stdio.h>
#include <string.h>

void control_get_cluster(struct agent *a, const struct client *cl, enum privsep_what what,
			 struct control_reply *r)
{
	_Static_assert(PRIVSEP_CLUSTER_LISTS == (int)ROWS_KIND_MAX &&
			       PRIVSEP_CLUSTER_LINKS - PRIVSEP_CLUSTER_HOSTS == ROWS_LINKS,
		       "the lists have one order");

	if (!control_is_in_cluster(a, r))
		return;
	if (what == PRIVSEP_CLUSTER_DOCUMENT || what == PRIVSEP_ROLLOUT_STATUS) {
		control_get_rollout(a, cl, what, r);
		return;
	}
	if (what == PRIVSEP_CLUSTER_STATUS) {
		control_json(r, 200, cluster_to_json(a->cluster, a->running.spec));
		return;
	}
	control_cluster_requested(cluster_read(a->cluster, what - PRIVSEP_CLUSTER_HOSTS, cl->id),
				  r);
}

/* Makes the edit that the client requests. Returns false if it is refused; r has the error. */
static bool make_edit(const struct agent *a, const struct privsep_msg *m,
		      struct privsep_cluster_edit *e, struct control_reply *r)
{
	const struct privsep_pool *p = &m->pool;
	struct reason why;

	switch ((enum privsep_type)m->type) {
	case PRIVSEP_POOL_ADD:
		e->op = POOL_ADD;
		if (pool_make(p->name, p->range, p->gateway, p->mtu, p->vlan, &e->pool, &why) == 0)
			return true;
		control_error(r, 422, "invalid", why.text, NULL);
		return false;
	case PRIVSEP_POOL_SET:
		e->op = POOL_SET;
		if (pool_change_make(p->name, p->range, p->gateway, p->mtu, p->vlan, &e->pool,
				     &why) < 0) {
			control_error(r, 422, "invalid", why.text, NULL);
			return false;
		}
		e->force = strcmp(p->gateway, POOL_NO_GATEWAY) == 0;
		return true;
	case PRIVSEP_POOL_REMOVE:
		e->op = POOL_REMOVE;
		memcpy(e->pool.name, p->name, sizeof(e->pool.name));
		return true;
	case PRIVSEP_CLUSTER_FORGET:
		e->op = POOL_FORGET;
		e->force = p->force;
		memcpy(e->host, p->name, sizeof(e->host));
		/* pool.c uses "?" as the owner of addresses whose keys have invalid values. */
		if (strcmp(p->name, "?") == 0 ||
		    (record_name_is_valid(p->name) && strcmp(p->name, a->running.spec->host) != 0))
			return true;
		control_error(r, 409, "conflict",
			      "this is not the name of another host; for this host, see 'plenum "
			      "cluster leave'",
			      NULL);
		return false;
	default:
		e->op = POOL_LEAVE;
		if (!cluster_pools_use(a->running.spec) && !a->reconcile.pending.applier &&
		    (!reconcile_is_active(a) || a->reconcile.run.source == RECONCILE_FROM_RUNNING))
			return true;
		control_error(r, 409, "in-use",
			      "a network of the running configuration has a pool, or an apply "
			      "runs or waits for its confirmation; apply a configuration without "
			      "'pool' first",
			      NULL);
		return false;
	}
}

void control_edit_cluster(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  int fd, struct control_reply *r)
{
	static const char *const what[] = {[POOL_ADD] = "addition of the pool",
					   [POOL_SET] = "change of the pool",
					   [POOL_REMOVE] = "removal of the pool",
					   [POOL_FORGET] = "removal of the host",
					   [POOL_LEAVE] = "release of the addresses of"};
	struct privsep_cluster_edit e = {.id = cl->id};

	_Static_assert(PRIVSEP_CLUSTER_EDITS == (int)POOL_EDIT_OP_MAX, "the changes have numbers");
	if (!control_is_in_cluster(a, r))
		return;
	if (!make_edit(a, m, &e, r))
		return;
	control_cluster_requested(cluster_edit(a->cluster, &e), r);
	if (r->later)
		control_note(a, cl, "%s %.63s requested", what[e.op],
			     m->pool.name[0] ? m->pool.name : a->running.spec->host);
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
		control_error(&r,
			      strcmp(why->code, CLUSTER_CODE_CONFLICT) == 0 ? 409
			      : strcmp(why->code, "not-found") == 0	    ? 404
									    : 503,
			      why->code, why->text, NULL);
		control_answer(a, id, &r);
		return;
	}
	k = clients_answer(a->clients, id, &head, fd);
	if (k < 0) /* the client or its API process has exited */
		log_debug("cannot answer a client: %s", strerror(-k));
}
