/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers inventory and plan requests by a child process. Reading the kernel may block while
 * another process holds its network lock, for example during a long step of the applier. The child
 * also lists file locks, because their table is large, and reads the journal. The monitor only
 * forwards the reply.
 */
#include "agent/base/child/child_task.h"
#include "agent/control.h"
#include "agent/control/control_internal.h"
#include "agent/control/operations.h"
#include "netcfg/base/os/memfd.h"
#include <inttypes.h>
#include <string.h>

struct control_query {
	struct agent *agent;
	struct child_task *child;
	struct reconcile_client client;
	enum privsep_what what;
	uint32_t worker;   /* for PRIVSEP_LOGS: id of the worker; 0: the agent */
	struct spec *spec; /* for a plan: its configuration; else NULL */
	/* Version of the configuration that the next apply would read; 0: the plan is made for
	 * another configuration. */
	uint64_t tag;
	struct diag diag; /* errors and warnings from loading the spec */
	bool answered;
};

/* ---- in the child ---- */

/* Returns the plan with the warnings about the files. The plan already has the warnings about the
 * host. */
static json_t *plan_with_warnings(struct control_query *q, const struct plan *p)
{
	json_t *o = plan_to_object(p);

	if (q->tag)
		json_object_set_new(o, "version", json_sprintf("%016" PRIx64, q->tag));
	json_object_set_new(o, "warnings", store_diag_to_json(&q->agent->store, &q->diag));
	return o;
}

static void answer_plan(struct control_query *q, struct kernel *k, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	PLENUM_CLEANUP(generation_done) struct generation next = {.spec = ptr_take(q->spec)};
	int e = reconcile_preview(q->agent, k, &q->client, q->what == PRIVSEP_PLAN, &d, &next);

	if (e < 0)
		control_failure(q->agent, r, e, &d);
	else
		control_json(r, 200, plan_with_warnings(q, next.plan));
}

static void answer_inventory(struct control_query *q, struct kernel *k, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	int e = inv_collect(k, &d, &inv);

	if (e < 0) {
		control_failure(q->agent, r, e, &d);
		return;
	}
	*r = (struct control_reply){
		.http_status = 200, .content = PRIVSEP_JSON, .text = inv_to_json(inv)};
	inv_free(inv);
}

static void answer_locks(struct control_query *q, struct control_reply *r)
{
	const int fd = sup_locks_fd(q->agent->sup) < 0 ? -1 : CHILD_TASK_KEPT_FD;
	json_t *json = NULL;
	int e = status_locks_to_json(q->agent, fd, &json);

	if (e < 0)
		control_failure(q->agent, r, e, &(struct diag)DIAG_INIT);
	else
		control_json(r, 200, json);
}

static void answer_host(struct control_query *q, struct control_reply *r)
{
	struct kernel *k = NULL;
	int e = applier_open_kernel(&q->agent->applier_host, &k);

	if (e < 0)
		control_failure(q->agent, r, e, &(struct diag)DIAG_INIT);
	else if (q->spec)
		answer_plan(q, k, r);
	else
		answer_inventory(q, k, r);
}

static int work(void *user, int channel)
{
	struct control_query *q = user;
	struct control_reply r = {.http_status = 0};
	struct privsep_reply head;
	const char *text;
	autoclose int fd = -1;

	if (q->what == PRIVSEP_LOCKS)
		answer_locks(q, &r);
	else if (q->what == PRIVSEP_LOGS)
		control_answer_logs(q->agent, q->worker, &r);
	else
		answer_host(q, &r);
	text = control_text(&r);
	fd = memfd_new_sealed("plenum-reply", text, strlen(text));
	if (fd < 0)
		return 1;
	head = (struct privsep_reply){
		.http_status = r.http_status, .content = r.content, .len = strlen(text)};
	child_task_send(channel, &head, sizeof(head), fd);
	return 0;
}

/* ---- in the monitor ---- */

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct control_query *q = user;
	struct privsep_reply reply;
	int e;

	if (len != sizeof(reply) || fd < 0)
		return;
	q->answered = true;
	memcpy(&reply, msg, sizeof(reply));
	e = clients_answer(q->agent->clients, q->client.id, &reply, fd);
	if (e < 0) /* the client or its API process has exited */
		log_debug("cannot answer a client: %s", strerror(-e));
}

static void forget(struct control_query *q)
{
	for (size_t i = 0; i < CONTROL_QUERIES_MAX; i++)
		if (q->agent->queries[i] == q)
			q->agent->queries[i] = NULL;
	child_task_forget(q->child);
	spec_free(q->spec);
	diag_done(&q->diag);
	free(q);
}

static void on_end(void *user, int status, const char *how)
{
	struct control_query *q = user;
	struct control_reply r = {.http_status = 0};

	q->child = NULL; /* the child task has freed itself */
	if (!q->answered) {
		control_error(&r, 500, "failed",
			      "the helper that reads the host exited without a result",
			      json_pack("[s]", how));
		control_answer(q->agent, q->client.id, &r);
	}
	forget(q);
}

void control_queries_done(struct agent *a)
{
	for (size_t i = 0; i < CONTROL_QUERIES_MAX; i++)
		if (a->queries[i])
			forget(a->queries[i]);
	control_doctor_done(a);
	if (a->operations)
		operations_done(a->operations);
	free(a->operations);
	a->operations = NULL;
}

static struct control_query **free_place(struct agent *a)
{
	for (size_t i = 0; i < CONTROL_QUERIES_MAX; i++)
		if (!a->queries[i])
			return &a->queries[i];
	return NULL;
}

/* Loads the configuration of a rollback: the configuration of the given apply, or the one that ran
 * before the pending apply. */
static int load_back(struct agent *a, struct control_query *q)
{
	const struct reconcile *rec = &a->reconcile;
	autofree char *path =
		q->client.back_to ? history_config(&rec->records.history, q->client.back_to) : NULL;

	if (!q->client.back_to)
		return reconcile_last_good_load(a, &q->diag, &q->spec);
	return path ? spec_load(path, NULL, &q->diag, &q->spec) : -ENOENT;
}

/* Loads the configuration for which the plan is made: the one that the next apply would read, an
 * earlier configuration, or a copy of the running one. */
static int load_spec(struct agent *a, struct control_query *q)
{
	autofree char *yaml = NULL;
	int r;

	if (q->what == PRIVSEP_PLAN) {
		r = store_load_next(&a->store, &q->diag, &q->spec);
		if (r < 0)
			return r;
		q->tag = control_tag_of_tree(q->spec);
		spec_note_overrides(q->spec, a->running.spec, &q->diag);
		return 0;
	}
	if (q->what == PRIVSEP_PLAN_BACK)
		return load_back(a, q);
	if (q->what != PRIVSEP_PLAN_RUNNING)
		return 0;
	if (!a->running.spec)
		return -ENOENT;
	yaml = spec_to_yaml(a->running.spec);
	return yaml ? spec_parse("running", yaml, strlen(yaml), &q->diag, &q->spec) : -ENOMEM;
}

static void begin(struct agent *a, const struct reconcile_client *client, enum privsep_what what,
		  uint32_t worker, struct control_reply *r)
{
	struct control_query **place = free_place(a);
	struct control_query *q = place ? calloc(1, sizeof(*q)) : NULL;
	struct child_task_setup setup = {.loop = a->loop,
					 .name = "plenumd-look",
					 .work = work,
					 .on_message = on_message,
					 .on_end = on_end,
					 .user = q};
	int e;

	if (!q) {
		control_error(
			r, 503, "busy",
			"too many requests for the inventory, plans or locks at once; try again",
			NULL);
		return;
	}
	*q = (struct control_query){.agent = a, .client = *client, .what = what, .worker = worker};
	if (what == PRIVSEP_LOCKS)
		setup.kept = MAX_OF(sup_locks_fd(a->sup), 0);
	e = load_spec(a, q);
	if (e >= 0)
		e = child_task_start(&setup, &q->child);
	if (e < 0) {
		control_failure(a, r, e, &q->diag);
		forget(q);
		return;
	}
	*place = q;
	r->later = true;
}

void control_query_host(struct agent *a, const struct reconcile_client *client,
			enum privsep_what what, struct control_reply *r)
{
	begin(a, client, what, 0, r);
}

/* Maximum number of searches in the journal at a time, because each search may take seconds. */
#define LOG_QUERIES_MAX 2

void control_get_logs(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		      struct control_reply *r)
{
	const struct reconcile_client client = {.id = cl->id};
	size_t n = 0;

	for (size_t i = 0; i < CONTROL_QUERIES_MAX; i++)
		n += a->queries[i] && a->queries[i]->what == PRIVSEP_LOGS;
	if (n >= LOG_QUERIES_MAX)
		control_error(r, 503, "busy", "too many requests for logs at once; try again",
			      NULL);
	else
		begin(a, &client, PRIVSEP_LOGS, m->logs.worker, r);
}

void control_get_events(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			int fd, struct control_reply *r)
{
	const struct privsep_get_events *g = &m->get_events;
	const struct events_filter f = {.since = g->since,
					.instance = g->instance,
					.from_ms = g->from_ms,
					.until_ms = g->until_ms,
					.severity = (enum log_level)g->severity,
					.source = g->source,
					.limit = g->limit};

	control_json(r, 200, events_to_json(&a->events, &f));
}

void control_stream(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		    struct control_reply *r)
{
	if (clients_stream(a->clients, cl->id) < 0)
		control_error(r, 429, "too-many",
			      "too many streams of this user are open; close one, or read "
			      "/v1/events with the parameter wait",
			      NULL);
	else
		control_json(r, 200, json_object());
}

/* ---- operations, which need no child process ---- */

void control_get_operations(struct agent *a, const struct privsep_msg *m, struct control_reply *r)
{
	static const struct operations none;
	const struct operations *ops = a->operations ? a->operations : &none;
	json_t *o = m->get.what == PRIVSEP_OPERATIONS ? operations_to_json(ops)
						      : operation_to_json(ops, m->get.number);
	struct reason why;

	reason_set_text(&why,
			"operation %u is unknown: it is older than the last %d operations, or the "
			"agent has restarted; see /v1/history",
			m->get.number, OPERATIONS_MAX);
	/* If o is NULL for the whole list, control_json makes the error "out of memory". */
	if (o || m->get.what == PRIVSEP_OPERATIONS)
		control_json(r, 200, o);
	else
		control_error(r, 404, "not-found", why.text, NULL);
}

/* ---- events ---- */

void control_on_event(void *user, uint64_t next)
{
	struct agent *a = user;

	clients_note_event(a->clients, next, a->events.instance);
}
