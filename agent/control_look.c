/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The questions that need a look at the host: what is there, and what an apply would do. A child
 * looks and makes the whole answer, because the kernel lets a look wait while somebody holds its
 * network lock, an applier's long step for one; the monitor only passes the answer on.
 */
#include "agent/actions.h"
#include "agent/base/child_task.h"
#include "agent/control.h"
#include "agent/control_internal.h"
#include "agent/leg_policy.h"
#include "agent/reconcile_internal.h"
#include "netcfg/apply/route_check.h"
#include "netcfg/base/memfd.h"
#include <string.h>

struct control_looking {
	struct agent *agent;
	struct child_task *job;
	struct reconcile_client client;
	enum privsep_what what;
	struct spec *spec; /* of a plan */
	struct diag diag;  /* what loading that said */
	bool answered;
};

/* ---- in the child ---- */

/* With what the files themselves warn of; what the host makes of them, the plan shows. */
static json_t *plan_with_warnings(struct control_looking *l, const struct plan *p)
{
	json_t *o = plan_to_object(p);

	json_object_set_new(o, "warnings", store_diag_to_json(&l->agent->store, &l->diag));
	return o;
}

static void answer_plan(struct control_looking *l, struct kernel *k, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	PLENUM_CLEANUP(generation_done) struct generation round = {.spec = ptr_take(l->spec)};
	struct agent *a = l->agent;
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	PLENUM_CLEANUP(plan_worker_ids_done) struct plan_worker_ids places = {0};
	const struct reconcile *w = &a->reconcile;
	autofree unsigned *witnessed = NULL;
	struct plan_context ctx = {.running = a->now.plan,
				   .held_hugepages = legs_held_hugepages(a->sup),
				   .owned = &owned,
				   .places = &places,
				   .agreed = reconcile_choice_now(w),
				   .may_move = l->what == PRIVSEP_PLAN,
				   .by_witness =
					   reconcile_by_verified_peer(a, &l->client, round.spec),
				   .made = (const char(*)[16])w->made,
				   .n_made = w->pending.applier ? w->n_made : 0,
				   .forced = (const char(*)[PLENUM_NAME_MAX])l->client.forced,
				   .n_forced = l->client.n_forced};
	int e = reachability_witnesses(a, round.spec, &witnessed, &ctx.n_witnessed);

	ctx.witnessed = witnessed;
	if (e >= 0)
		e = inv_collect(k, &d, &round.inv);
	if (e >= 0)
		e = plan_owned_load(&owned, a->reconcile.owned_path, &d);
	if (e >= 0)
		e = plan_worker_ids_load(&places, a->reconcile.places_path, &d);
	/* Who applies wants what failed to be tried again. */
	if (e >= 0)
		e = plan_build(round.spec, round.inv, &ctx, &d, &round.plan);
	if (e >= 0)
		e = worker_config_build(round.spec, round.plan, a->opt.log_level, &d, &round.wants,
					&round.n_wants);
	if (e >= 0)
		e = secrets_fill(round.spec, &d, round.wants, round.n_wants);
	if (e >= 0) {
		plan_check_routes(k, round.inv, round.plan);
		legs_keep_ports(a->sup, round.plan, true, round.wants, round.n_wants);
		e = actions_add(a->sup,
				&(struct actions_task){a->now.spec, round.spec, round.wants,
						       round.n_wants, true},
				round.plan);
	}
	if (e < 0)
		control_failure(a, r, e, &d);
	else
		control_json(r, 200, plan_with_warnings(l, round.plan));
}

static void answer_inventory(struct control_looking *l, struct kernel *k, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	int e = inv_collect(k, &d, &inv);

	if (e < 0) {
		control_failure(l->agent, r, e, &d);
		return;
	}
	*r = (struct control_reply){
		.http_status = 200, .content = PRIVSEP_JSON, .text = inv_to_json(inv)};
	inv_free(inv);
}

static int work(void *user, int channel)
{
	struct control_looking *l = user;
	struct control_reply r = {.http_status = 0};
	struct privsep_reply head;
	struct kernel *k = NULL;
	const char *text;
	autoclose int fd = -1;
	int e = applier_open_kernel(&l->agent->applier_host, &k);

	if (e < 0)
		control_failure(l->agent, &r, e, &(struct diag)DIAG_INIT);
	else if (l->spec)
		answer_plan(l, k, &r);
	else
		answer_inventory(l, k, &r);
	text = control_text(&r);
	fd = memfd_new_sealed("plenum-reply", text, strlen(text));
	if (fd < 0)
		return 1;
	head = (struct privsep_reply){r.http_status, r.content, strlen(text), 0};
	child_task_send(channel, &head, sizeof(head), fd);
	return 0;
}

/* ---- in the monitor ---- */

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct control_looking *l = user;
	struct privsep_reply reply;
	int e;

	if (len != sizeof(reply) || fd < 0)
		return;
	l->answered = true;
	memcpy(&reply, msg, sizeof(reply));
	e = clients_answer(l->agent->clients, l->client.id, &reply, fd);
	if (e < 0) /* it went away meanwhile, or its child did */
		log_debug("answer to a client: %s", strerror(-e));
}

static void forget(struct control_looking *l)
{
	for (size_t i = 0; i < CONTROL_LOOKS_MAX; i++)
		if (l->agent->looks[i] == l)
			l->agent->looks[i] = NULL;
	child_task_forget(l->job);
	spec_free(l->spec);
	diag_done(&l->diag);
	free(l);
}

static void on_end(void *user, int status, const char *how)
{
	struct control_looking *l = user;
	struct control_reply r = {.http_status = 0};

	l->job = NULL; /* it has freed itself */
	if (!l->answered) {
		control_error(&r, 500, "failed", "the look at the host ended without an answer",
			      json_pack("[s]", how));
		control_answer(l->agent, l->client.id, &r);
	}
	forget(l);
}

void control_looks_done(struct agent *a)
{
	for (size_t i = 0; i < CONTROL_LOOKS_MAX; i++)
		if (a->looks[i])
			forget(a->looks[i]);
}

static struct control_looking **free_place(struct agent *a)
{
	for (size_t i = 0; i < CONTROL_LOOKS_MAX; i++)
		if (!a->looks[i])
			return &a->looks[i];
	return NULL;
}

/* Of a plan: what an apply would read, now; or a copy of what runs. */
static int load_spec(struct agent *a, struct control_looking *l)
{
	autofree char *yaml = NULL;

	if (l->what == PRIVSEP_PLAN)
		return store_load_next(&a->store, &l->diag, &l->spec);
	if (l->what != PRIVSEP_PLAN_RUNNING)
		return 0;
	if (!a->now.spec)
		return -ENOENT;
	yaml = spec_to_yaml(a->now.spec);
	return yaml ? spec_parse("running", yaml, strlen(yaml), &l->diag, &l->spec) : -ENOMEM;
}

void control_look(struct agent *a, const struct reconcile_client *client, enum privsep_what what,
		  struct control_reply *r)
{
	struct control_looking **place = free_place(a);
	struct control_looking *l = place ? calloc(1, sizeof(*l)) : NULL;
	struct child_task_setup setup = {.loop = a->loop,
					 .name = "plenumd-look",
					 .work = work,
					 .on_message = on_message,
					 .on_end = on_end,
					 .user = l};
	int e;

	if (!l) {
		control_error(r, 503, "busy", "too many look at the host at once; try again", NULL);
		return;
	}
	*l = (struct control_looking){.agent = a, .client = *client, .what = what};
	e = load_spec(a, l);
	if (e >= 0)
		e = child_task_start(&setup, &l->job);
	if (e < 0) {
		control_failure(a, r, e, &l->diag);
		forget(l);
		return;
	}
	*place = l;
	r->later = true;
}
