/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Request handlers of the REST API. agent/clients/clients.c manages the connections and rights. The
 * table `handlers` at the end of this file lists all requests.
 */
#include "agent/control.h"
#include "agent/api/rest/resource.h"
#include "agent/clients/clients.h"
#include "agent/control/control_internal.h"
#include "agent/control/operations.h"
#include "agent/monitor/membership.h"
#include "agent/status.h"
#include "netcfg/base/file.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- GET ---- */

/* Reports edits of the files that have not been applied, because the next start would apply them.
 * Reports nothing during an apply, while one is pending, or if the files are reported as a problem
 * already. */
static void note_files(struct agent *a, json_t *notes)
{
	const char *error = NULL, *disk;
	autofree char *runs = NULL;

	if (!a->running.spec || reconcile_is_active(a) || a->reconcile.pending.applier ||
	    problems_count(&a->problems, PROBLEMS_FILES) > 0)
		return;
	disk = store_look(&a->store, &error);
	runs = spec_to_yaml(a->running.spec);
	if (error)
		json_array_append_new(notes,
				      json_sprintf("the configuration files are now invalid; the "
						   "running configuration stays in force: %s",
						   error));
	else if (disk && runs && strcmp(disk, runs) != 0)
		json_array_append_new(
			notes,
			json_string(
				"the configuration files have changed and are not applied: 'plenum "
				"diff' shows the changes, 'plenum apply' applies them"));
}

static void control_status(struct agent *a, const struct status *st, struct control_reply *r)
{
	json_t *o = status_to_json(st);

	note_files(a, json_object_get(o, "notes"));
	if (sup_program_is_replaced(a->sup))
		json_array_append_new(
			json_object_get(o, "notes"),
			json_string("the installed plenum-worker differs from the running agent's; "
				    "restart plenumd to use the installed one (workers and mounts "
				    "keep running)"));
	control_note_outdated(a, json_object_get(o, "notes"));
	membership_note_peers(a, json_object_get(o, "notes"));
	json_object_set_new(o, "staged", json_boolean(store_has_staged(&a->store)));
	json_object_set_new(o, "staged_by", store_authors_to_json(&a->store));
	control_json(r, 200, o);
}

static bool is_of_hosts(enum privsep_what what)
{
	return what == PRIVSEP_MOUNTS || what == PRIVSEP_EXPORTS || what == PRIVSEP_CLIENTS ||
	       what == PRIVSEP_PEERS || what == PRIVSEP_PATHS || what == PRIVSEP_SESSIONS;
}

static void get_hosts(struct agent *a, enum privsep_what what, struct status *st,
		      struct control_reply *r)
{
	if (what == PRIVSEP_SESSIONS)
		control_json(r, 200, status_sessions_to_json(a, st));
	else if (status_collect_hosts(a, st) < 0)
		control_json(r, 200, NULL);
	else if (what == PRIVSEP_MOUNTS)
		control_json(r, 200, status_mounts_to_json(st));
	else if (what == PRIVSEP_EXPORTS)
		control_json(r, 200, status_exports_to_json(st));
	else if (what == PRIVSEP_CLIENTS)
		control_json(r, 200, status_clients_to_json(st));
	else if (what == PRIVSEP_PEERS)
		control_json(r, 200, status_peers_to_json(a, st));
	else
		control_json(r, 200, status_paths_to_json(st));
}

static void get_snapshot(struct agent *a, enum privsep_what what, struct control_reply *r)
{
	struct status st;

	agent_check_health(a);
	if (status_collect(a, &st) < 0)
		return;
	if (is_of_hosts(what))
		get_hosts(a, what, &st, r);
	else if (what == PRIVSEP_STATUS)
		control_status(a, &st, r);
	else if (what == PRIVSEP_PROCESSES)
		control_json(r, 200, status_processes_to_json(&st));
	else if (what == PRIVSEP_NET)
		control_net(a, &st, r);
	else
		*r = (struct control_reply){.http_status = 200,
					    .content = PRIVSEP_PLAIN,
					    .text = status_to_metrics(&st)};
	status_done(&st);
}

/* Answers with a list that the agent keeps by itself, without a snapshot. */
static void get_list(const struct agent *a, enum privsep_what what, struct control_reply *r)
{
	control_json(r, 200,
		     what == PRIVSEP_HISTORY   ? history_to_json(&a->reconcile.records.history)
		     : what == PRIVSEP_SAMPLES ? samples_to_json(&a->samples, clock_now_ns())
					       : capture_list(a->capture));
}

static void on_get(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		   struct control_reply *r)
{
	switch ((enum privsep_what)m->get.what) {
	case PRIVSEP_STATUS:
	case PRIVSEP_PROCESSES:
	case PRIVSEP_NET:
	case PRIVSEP_METRICS:
	case PRIVSEP_MOUNTS:
	case PRIVSEP_EXPORTS:
	case PRIVSEP_CLIENTS:
	case PRIVSEP_PEERS:
	case PRIVSEP_PATHS:
	case PRIVSEP_SESSIONS:
		get_snapshot(a, (enum privsep_what)m->get.what, r);
		break;
	case PRIVSEP_INVENTORY:
	case PRIVSEP_LOCKS:
	case PRIVSEP_PLAN:
	case PRIVSEP_PLAN_RUNNING:
		control_query_host(a, &(struct reconcile_client){.id = cl->id},
				   (enum privsep_what)m->get.what, r);
		break;
	case PRIVSEP_CONFIG_RUNNING:
	case PRIVSEP_CONFIG_STAGED:
	case PRIVSEP_HISTORY_CONFIG:
		control_get_config(a, m, r);
		break;
	case PRIVSEP_HISTORY:
	case PRIVSEP_SAMPLES:
	case PRIVSEP_CAPTURES:
		get_list(a, (enum privsep_what)m->get.what, r);
		break;
	case PRIVSEP_FAULTS:
		control_get_faults(a, r);
		break;
	case PRIVSEP_FAULT:
		control_get_fault(a, m->get.number, r);
		break;
	case PRIVSEP_OPERATIONS:
	case PRIVSEP_OPERATION:
		control_get_operations(a, m, r);
		break;
	case PRIVSEP_CLUSTER_STATUS:
	case PRIVSEP_CLUSTER_HOSTS:
	case PRIVSEP_CLUSTER_PROCESSES:
	case PRIVSEP_CLUSTER_NET:
	case PRIVSEP_CLUSTER_EXPORTS:
	case PRIVSEP_CLUSTER_POOLS:
	case PRIVSEP_CLUSTER_ADDRESSES:
	case PRIVSEP_CLUSTER_LINKS:
	case PRIVSEP_CLUSTER_DOCUMENT:
	case PRIVSEP_ROLLOUT_STATUS:
		control_get_cluster(a, cl, (enum privsep_what)m->get.what, r);
		break;
	case PRIVSEP_LOGS:	/* only for PRIVSEP_GET_LOGS */
	case PRIVSEP_EVENTS:	/* only for PRIVSEP_SHARED_READ */
	case PRIVSEP_PLAN_BACK: /* only for the dry run of a rollback */
	case PRIVSEP_WHAT_MAX:
		control_error(r, 404, "not-found", "no such object", NULL);
		break;
	}
}

/* ---- changes; each adds an event with its client ---- */

/* Clears the problem of an earlier failed apply, and replies whether staged changes exist. */
static void staged_is(struct agent *a, struct control_reply *r, bool staged)
{
	reconcile_forget_staged(a);
	control_json(r, 200, json_pack("{s:b}", "staged", staged));
}

static void on_put_staged(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  int fd, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *text = NULL;
	int k = control_begin_stage(a, cl, m);

	if (k >= 0)
		k = privsep_read_memfd(fd, m->put_staged.len, &text);
	if (k >= 0)
		k = store_put_staged(&a->store, text, m->put_staged.len, &d);
	if (k < 0)
		control_failure(a, r, k, &d);
	if (k >= 0) {
		control_note(a, cl, "configuration staged; 'plenum apply' applies it");
		staged_is(a, r, true);
	}
}

static void on_drop_staged(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			   int fd, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	int k = control_may_stage(a, m);

	if (k >= 0)
		k = store_drop_staged(&a->store, &d);
	if (k < 0)
		control_failure(a, r, k, &d);
	if (k > 0)
		control_note(a, cl, "staged configuration discarded");
	if (k >= 0)
		staged_is(a, r, false);
}

/* Copies the options of an apply from the client's message. */
static void take_apply(const struct client *cl, const struct privsep_apply *m,
		       struct reconcile_client *ret)
{
	*ret = (struct reconcile_client){.id = cl->id, .confirm_s = m->confirm_s};
	memcpy(ret->forced, m->forces, sizeof(ret->forced));
	while (ret->n_forced < ARRAY_SIZE(ret->forced) && ret->forced[ret->n_forced][0])
		ret->n_forced++;
	clients_describe(cl, ret->by, sizeof(ret->by));
}

/* Removes a name from the list of --force. Returns whether it was in the list. */
static bool take_forced(struct reconcile_client *c, const char *name)
{
	for (size_t i = 0; i < c->n_forced; i++) {
		if (strcmp(c->forced[i], name) != 0)
			continue;
		c->n_forced--;
		memmove(c->forced[i], c->forced[i + 1], (c->n_forced - i) * sizeof(c->forced[0]));
		return true;
	}
	return false;
}

/* Lists the authors in lines such as "uid 1000: 2 changes, the last one at 2026-11-27T22:00:05.000Z
 * (uid 1000, pid 42)". */
static json_t *authors_to_lines(const struct store *st)
{
	json_t *authors = store_authors_to_json(st), *lines = json_array(), *e;
	size_t i;

	json_array_foreach (authors, i, e) {
		const json_int_t n = json_integer_value(json_object_get(e, "changes"));
		const char *by = json_string_value(json_object_get(e, "by"));
		const char *when = json_string_value(json_object_get(e, "time"));

		json_array_append_new(lines, json_sprintf("%s staged %" JSON_INTEGER_FORMAT
							  " change%s, the last one at %s",
							  by ? by : "?", n, n == 1 ? "" : "s",
							  when ? when : "?"));
	}
	json_decref(authors);
	return lines;
}

/* Returns whether the client may apply the staged changes. If other users staged some of them, the
 * client must say explicitly that it wants that. */
static bool may_apply_staged(struct agent *a, const struct client *cl, bool dry_run,
			     struct reconcile_client *c, struct control_reply *r)
{
	if (!store_is_staged_by_others(&a->store, clients_user(cl)))
		return true;
	if (take_forced(c, "others") || dry_run)
		return true;
	control_error(r, 409, "staged-by-others",
		      "other users have staged changes, which this apply would include; 'plenum "
		      "diff' shows them, 'plenum apply --force others' applies them",
		      authors_to_lines(&a->store));
	return false;
}

/* Requests an apply; control_on_applied answers the client when the reconcile ends. */
static void on_apply(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct reconcile_client client;
	int k = m->if_match ? control_may_stage(a, m) : 0;

	if (k < 0) {
		control_failure(a, r, k, &d);
		return;
	}
	take_apply(cl, &m->apply, &client);
	if (!may_apply_staged(a, cl, m->apply.dry_run, &client, r))
		return;
	if (m->apply.dry_run) {
		control_query_host(a, &client, PRIVSEP_PLAN, r);
		return;
	}
	control_note(a, cl, "apply requested");
	r->later = true;
	reconcile_ask_client(a, &client);
}

/* Confirms the pending apply or rolls it back. control_on_decided() sends the answer when the
 * applier has carried out the decision. */
static void decide(struct agent *a, const struct client *cl, bool keep, struct control_reply *r)
{
	char by[REQUESTER_MAX];
	int k = reconcile_pending_decide(a, keep, cl->id, clients_describe(cl, by, sizeof(by)));

	if (k == -ENOENT)
		control_error(r, 404, "nothing-waits", "no apply waits for a confirmation", NULL);
	else if (k == -EALREADY)
		control_error(r, 409, "busy",
			      "another client has already confirmed or rolled back the apply",
			      NULL);
	else if (k == -EHOSTUNREACH)
		control_error(r, 409, "not-yet", a->reconcile.reachability.lost, NULL);
	else if (k < 0)
		control_failure(a, r, k, &(struct diag)DIAG_INIT);
	else
		r->later = true;
}

/* Returns whether the client refers to the pending apply. Without this check, a client could
 * confirm or roll back the apply of another operator by mistake. */
static bool is_meant(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		     bool keep, struct control_reply *r)
{
	struct reason why;
	int k = reconcile_pending_match(a, m->apply.back_to, clients_user(cl), keep, &why);

	if (k < 0)
		control_error(r, k == -ENOENT ? 404 : 409,
			      k == -ENOENT ? "nothing-waits" : "another", why.text, NULL);
	return k >= 0;
}

static bool is_forced(const struct privsep_apply *m, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->forces); i++)
		if (strcmp(m->forces[i], name) == 0)
			return true;
	return false;
}

/* Returns whether a confirmation may replace the configuration files. If an operator edited them
 * while the apply was pending, the confirmation needs --force files. If it may not, r has the
 * error. */
static bool may_replace_files(struct agent *a, const struct privsep_msg *m, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	char message[256];
	int k;

	if (is_forced(&m->apply, "files")) {
		store_forget_base(&a->store);
		return true;
	}
	k = reconcile_pending_check_files(a, &d);
	if (k >= 0)
		return true;
	if (k != -ESTALE) {
		control_failure(a, r, k, &d);
		return false;
	}
	snprintf(message, sizeof(message),
		 "apply %" PRIu64 " is still pending: keeping it would overwrite files that were "
		 "edited meanwhile; 'plenum confirm %" PRIu64
		 " --force files' overwrites these files and keeps copies with a ~",
		 a->reconcile.pending.entry, a->reconcile.pending.entry);
	control_error(r, 409, "files-changed", message, store_diag_to_json(&a->store, &d));
	return false;
}

static void on_confirm(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r)
{
	if (!is_meant(a, cl, m, true, r) || !may_replace_files(a, m, r))
		return;
	control_note(a, cl, "confirmation of apply %" PRIu64, a->reconcile.pending.entry);
	decide(a, cl, true, r);
}

/* Returns whether an apply is running or queued. A rollback without a number is then refused,
 * because the operator could mean that apply or the one before it. */
static bool is_under_way(const struct agent *a, struct reason *why)
{
	const struct reconcile *rec = &a->reconcile;
	const struct history_entry *e =
		rec->run.entry ? history_find(&rec->records.history, rec->run.entry) : NULL;

	if (rec->queue.n_clients == 0 && !(reconcile_is_active(a) && rec->run.entry))
		return false;
	if (e)
		reason_set_text(why,
				"apply %" PRIu64
				" (%s, by %s) is running; try again when it has ended, "
				"or give a number from 'plenum history'",
				e->number, e->what, e->by);
	else
		reason_set_text(
			why,
			"an apply is running; try again when it has ended, or give a number from "
			"'plenum history'");
	return true;
}

/* Returns whether the last apply has already failed or been rolled back, for example after a crash
 * of the agent. A rollback without a number is then refused, because it would undo the apply before
 * that one. */
static bool is_undone(const struct history *h, const char *now, struct reason *why)
{
	const struct history_entry *e = h->n ? &h->entries[h->n - 1] : NULL;
	const uint64_t earlier = history_kept_other(h, now);

	if (!e || (e->outcome != HISTORY_ROLLED_BACK && e->outcome != HISTORY_FAILED))
		return false;
	reason_set_text(why, "apply %" PRIu64 " already %s (%.120s), and no apply is pending",
			e->number, e->outcome == HISTORY_FAILED ? "failed" : "rolled back",
			e->text);
	if (earlier)
		reason_append(why,
			      "'plenum rollback %" PRIu64
			      "' returns to the configuration before the running one",
			      earlier);
	return true;
}

/* Returns the number of the apply before the running one. If this is the first apply, returns 0
 * with the error in r. */
static uint64_t one_before(struct agent *a, struct control_reply *r)
{
	const struct history *h = &a->reconcile.records.history;
	autofree char *now = a->running.spec ? spec_to_yaml(a->running.spec) : NULL;
	uint64_t number = 0;
	struct reason why;

	if (is_under_way(a, &why))
		control_error(r, 409, "busy", why.text, NULL);
	else if (is_undone(h, now, &why))
		control_error(r, 404, "nothing-waits", why.text, NULL);
	else if ((number = history_kept_other(h, now)) == 0)
		control_error(r, 404, "not-found", "no earlier apply was kept", NULL);
	return number;
}

/* Rolls back the pending apply. If none is pending, returns to the configuration that was kept
 * before the running one, or to the one with the given number. The number is checked first, so that
 * a wrong number changes nothing, not even the history. */
static void on_rollback(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			int fd, struct control_reply *r)
{
	struct reconcile_client client;
	bool undo;

	take_apply(cl, &m->apply, &client);
	client.back_to = m->apply.back_to;
	/* A number that is the pending apply's is a request to undo this apply. It cannot mean a
	 * return to this apply, because the apply is not kept yet. */
	undo = a->reconcile.pending.applier &&
	       (!client.back_to || client.back_to == a->reconcile.pending.entry);
	if (undo) {
		if (!is_meant(a, cl, m, false, r))
			return;
		client.back_to = 0;
	} else {
		if (!client.back_to)
			client.back_to = one_before(a, r);
		else if (!control_kept_entry(a, client.back_to, r))
			client.back_to = 0;
		if (!client.back_to)
			return;
	}
	if (m->apply.dry_run) {
		control_query_host(a, &client, PRIVSEP_PLAN_BACK, r);
		return;
	}
	control_note(a, cl, "rollback requested");
	if (undo) {
		decide(a, cl, false, r);
		return;
	}
	r->later = true;
	reconcile_ask_client(a, &client);
}

/* ---- dispatch ---- */

typedef void (*control_handler)(struct agent *a, const struct client *cl,
				const struct privsep_msg *m, int fd, struct control_reply *r);

static const control_handler handlers[PRIVSEP_TYPE_MAX] = {
	[PRIVSEP_GET] = on_get,
	[PRIVSEP_GET_EVENTS] = control_get_events,
	[PRIVSEP_STREAM] = control_stream,
	[PRIVSEP_PUT_STAGED] = on_put_staged,
	[PRIVSEP_DROP_STAGED] = on_drop_staged,
	[PRIVSEP_GET_NET] = control_get_net,
	[PRIVSEP_NET_ADD] = control_net_add,
	[PRIVSEP_NET_SET] = control_net_set,
	[PRIVSEP_NET_DEL] = control_net_del,
	[PRIVSEP_APPLY] = on_apply,
	[PRIVSEP_CONFIRM] = on_confirm,
	[PRIVSEP_ROLLBACK] = on_rollback,
	[PRIVSEP_RESTART] = control_restart,
	[PRIVSEP_WORKER_STOP] = control_worker_stop,
	[PRIVSEP_WORKER_START] = control_worker_start,
	[PRIVSEP_GET_WORKER] = control_get_worker,
	[PRIVSEP_WORKER_MOVE] = control_worker_move,
	[PRIVSEP_GET_LOGS] = control_get_logs,
	[PRIVSEP_LOG_LEVEL] = control_log_level,
	[PRIVSEP_STOP] = control_stop,
	[PRIVSEP_FAULT_ADD] = control_fault_add,
	[PRIVSEP_FAULT_DEL] = control_fault_del,
	[PRIVSEP_CAPTURE] = control_capture,
	[PRIVSEP_RDMA_PING] = control_rdma_ping,
	[PRIVSEP_LOCK_BREAK] = control_lock_break,
	[PRIVSEP_DOCTOR] = control_doctor,
	[PRIVSEP_MOUNT] = control_mount,
	[PRIVSEP_UNMOUNT] = control_unmount,
	[PRIVSEP_POOL_ADD] = control_edit_cluster,
	[PRIVSEP_POOL_SET] = control_edit_cluster,
	[PRIVSEP_POOL_REMOVE] = control_edit_cluster,
	[PRIVSEP_CLUSTER_FORGET] = control_edit_cluster,
	[PRIVSEP_CLUSTER_LEAVE] = control_edit_cluster,
	[PRIVSEP_DOCUMENT_SET] = control_edit_rollout,
	[PRIVSEP_ROLLOUT_START] = control_edit_rollout,
	[PRIVSEP_ROLLOUT_PAUSE] = control_edit_rollout,
	[PRIVSEP_ROLLOUT_RESUME] = control_edit_rollout,
	[PRIVSEP_ROLLOUT_ABORT] = control_edit_rollout,
};

/* Returns the name of an operation for which the client does not wait; NULL: it waits. */
static const char *operation_of(const struct privsep_msg *m)
{
	static const char *const names[PRIVSEP_TYPE_MAX] = {[PRIVSEP_APPLY] = "apply",
							    [PRIVSEP_ROLLBACK] = "rollback",
							    [PRIVSEP_DOCTOR] = "doctor"};

	return names[m->type] && m->apply.async && !m->apply.dry_run ? names[m->type] : NULL;
}

/* Begins an operation for a client that does not wait: the operation will store the result. An
 * error that is found at once is sent to the client as the answer. */
static void begin_operation(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			    int fd, struct control_reply *r)
{
	char by[REQUESTER_MAX];
	uint32_t number = 0;

	if (!a->operations)
		a->operations = calloc(1, sizeof(*a->operations));
	if (a->operations)
		number = operations_begin(a->operations, operation_of(m), cl->id, clients_user(cl),
					  clients_describe(cl, by, sizeof(by)));
	if (!number) {
		control_error(r, 429, "too-many",
			      "too many operations of this user run; wait until one of them ends",
			      NULL);
		return;
	}
	handlers[m->type](a, cl, m, fd, r);
	if (!r->later) {
		operations_forget(a->operations, number);
		return;
	}
	*r = (struct control_reply){.http_status = 0};
	control_created(r, operation_to_json(a->operations, number), "/v1/operations/%u", number);
	r->http_status = 202;
}

/* A list of captures shows the number of each, with which a client can also fetch packets. So the
 * keys of a capture need the same role as its start. */
static enum access_role role_needed(const struct agent *a, const struct privsep_msg *m)
{
	if (m->type == PRIVSEP_CAPTURE && m->capture.act != PRIVSEP_CAPTURE_BEGIN &&
	    capture_has_keys(a->capture, m->capture.id))
		return ACCESS_ADMIN;
	return resource_role_of(m);
}

/* Returns whether the role of a network client allows the request. Clients of this host have no
 * role. */
static bool role_covers(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			struct control_reply *r)
{
	const enum access_role needed = role_needed(a, m);
	char message[160];

	if (cl->role != PRIVSEP_API_TLS || cl->access >= needed)
		return true;
	snprintf(message, sizeof(message),
		 "the token '%s' has the role %s; this request needs the role %s", cl->name,
		 access_role_to_string(cl->access), access_role_to_string(needed));
	clients_note_refusal(a->clients, cl, "the role does not cover the request");
	control_error(r, 403, "forbidden", message, NULL);
	return false;
}

/* The API process checked the client's credentials when the client connected. This function checks
 * them again, because the configuration may have changed and the client may have exited since. */
void control_on_request(void *user, struct client *cl, const struct privsep_msg *m, int fd)
{
	struct agent *a = user;
	struct control_reply r = {.http_status = 0};

	if (cl->barred)
		control_error(&r, 403, "forbidden",
			      "only root and the users and groups under 'admin' in the "
			      "configuration may do this",
			      NULL);
	else if (!role_covers(a, cl, m, &r))
		; /* the function has set the error in r */
	else if (privsep_is_change((enum privsep_type)m->type) &&
		 !clients_may_change(a->clients, cl))
		control_error(&r, 403, "forbidden",
			      "this client may not make changes; use the admin socket as root or "
			      "as a user under 'admin'",
			      NULL);
	else if (operation_of(m))
		begin_operation(a, cl, m, fd, &r);
	else
		handlers[m->type](a, cl, m, fd, &r);
	if (!r.later)
		control_answer_now(a, cl->id, &r);
}

void control_on_shared_read(void *user, enum privsep_role role, const struct privsep_shared_read *q)
{
	struct agent *a = user;
	const struct events_filter f = {.since = q->since, .instance = q->instance};
	const struct client cl = {.id = clients_shared_read_id(role, q->what), .role = role};
	const struct privsep_msg m = {.type = PRIVSEP_GET, .get = {.what = q->what}};
	struct control_reply r = {.http_status = 0};

	if (q->what == PRIVSEP_EVENTS)
		control_json(&r, 200, events_to_json(&a->events, &f));
	else
		on_get(a, &cl, &m, -1, &r);
	if (!r.later)
		control_answer(a, cl.id, &r);
}

static json_t *actions(const struct plan *p)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < p->n_actions; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "action", p->actions[i].text,
						      "reason", p->actions[i].reason));
	return list;
}

/* Makes the error for an apply that would end mounts which programs use. The first entry of the
 * diag is the message. */
static void refuse_used(struct control_reply *r, const struct reconcile_answer *w)
{
	json_t *details = json_array();
	const struct diag_entry *first = diag_first_error(w->diag);

	for (size_t i = 1; i < w->diag->n; i++)
		json_array_append_new(details, json_string(w->diag->entries[i].text));
	control_error(r, 409, "in-use", first ? first->text : "programs use the mounts", details);
	if (r->json)
		json_object_set(r->json, "users", (json_t *)w->users);
}

void control_on_applied(struct agent *a, const struct reconcile_client *c,
			const struct reconcile_answer *w)
{
	struct control_reply r = {.http_status = 0};
	json_t *warnings, *legs;

	if (w->error < 0) {
		if (w->error == -ENOENT)
			control_error(&r, 404, "not-found", "nothing to apply",
				      store_diag_to_json(&a->store, w->diag));
		else if (w->users)
			refuse_used(&r, w);
		else if (w->unserved)
			control_error(
				&r, 409, "not-served",
				"the apply was rolled back, because a mount that replaces a served "
				"mount did not come up; the former mount was not interrupted",
				store_diag_to_json(&a->store, w->diag));
		else
			control_failure(a, &r, w->error, w->diag);
		control_answer(a, c->id, &r);
		return;
	}
	warnings = store_diag_to_json(&a->store, w->diag);
	legs = problems_to_json(&a->problems, PROBLEMS_LEGS);
	json_array_extend(warnings, legs);
	json_decref(legs);
	control_json(&r, 200,
		     json_pack("{s:{s:I, s:I, s:I}, s:o, s:o, s:I, s:I, s:O?}", "applied", "number",
			       (json_int_t)w->number, "steps", (json_int_t)w->steps,
			       "kernel_writes", (json_int_t)w->kernel_writes, "actions",
			       actions(w->plan), "warnings", warnings, "history",
			       (json_int_t)w->entry, "confirm_s", (json_int_t)w->confirm_s,
			       "mounts", a->reconcile.reachability.served));
	control_answer(a, c->id, &r);
}

void control_on_decided(struct agent *a, const struct reconcile_decision *d)
{
	struct control_reply r = {.http_status = 0};

	if (d->keep && d->error == 0 && !d->written)
		control_error(&r, 500, "not-written",
			      "the configuration is kept and runs, but could not be written to the "
			      "files; a restart would read the previous configuration",
			      store_diag_to_json(&a->store, d->diag));
	else if (d->keep == (d->error == 0))
		control_json(&r, 200,
			     json_pack("{s:I, s:o}", d->keep ? "confirmed" : "rolled_back",
				       (json_int_t)d->entry, "notes",
				       store_diag_to_json(&a->store, d->diag)));
	else if (d->keep && d->error == -EHOSTUNREACH)
		control_error(&r, 409, "not-yet",
			      "not confirmed: a peer that answered before the change no longer "
			      "answers; the apply still waits",
			      store_diag_to_json(&a->store, d->diag));
	else if (d->keep)
		control_error(&r, 409, "rolled-back", "too late: the apply is already rolled back",
			      store_diag_to_json(&a->store, d->diag));
	else
		control_error(&r, 409, "confirmed",
			      "too late: the apply is already confirmed and kept", NULL);
	control_answer(a, d->client, &r);
}
