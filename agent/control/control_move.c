/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that move a worker to another core: show the running and the staged core of a worker,
 * with a version (ETag), and stage another core. An apply restarts the worker there.
 */
#include "agent/control/control_internal.h"
#include "netcfg/spec/spec_schema.h"
#include <stdio.h>
#include <string.h>

static json_t *core_to_json(bool is, unsigned core)
{
	return is ? json_pack("{s:I}", "core", (json_int_t)core) : json_null();
}

static json_t *place_to_json(const struct agent *a, uint32_t id, const struct spec *next,
			     const struct control_place *p)
{
	json_t *running = core_to_json(p->runs, p->running);
	json_t *staged = core_to_json(p->is_staged, p->staged);

	return json_pack(
		"{s:I, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "worker", (json_int_t)id, "role",
		spec_role_to_string(p->role), "file",
		control_file_to_json(a, p->entry ? &p->entry->pos : NULL), "pending",
		control_pending_word(running, staged), "changes",
		control_changes_to_json(running, staged), "running", running, "staged", staged,
		"overridden",
		control_overridden_to_json(a, next, "workers", p->entry ? &p->entry->pos : NULL));
}

static void fail_move(struct agent *a, uint32_t id, int error, const struct diag *d,
		      struct control_reply *r)
{
	if (error == -ENOENT)
		control_unknown_worker(a, id, "exists", r);
	else
		control_failure(a, r, error, d);
}

/* Replies with the running and the staged core of the worker. */
static void answer_worker(struct agent *a, uint32_t id, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *next = NULL;
	struct control_place p = {0};
	int k = store_load_next(&a->store, &d, &next);

	if (k >= 0)
		k = control_find_place(a, id, next, &p);
	if (k < 0) {
		fail_move(a, id, k, &d, r);
	} else {
		control_json(r, 200, place_to_json(a, id, next, &p));
		r->etag = control_tag_of_worker(a, id, next);
	}
	spec_free(next);
}

void control_get_worker(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			int fd, struct control_reply *r)
{
	answer_worker(a, m->move.worker, r);
}

/* ---- the move ---- */

static bool has_core(const struct spec *next, unsigned core)
{
	for (size_t i = 0; i < next->n_workers; i++)
		for (size_t j = 0; j < next->workers[i].n_cores; j++)
			if (next->workers[i].cores[j] == core)
				return true;
	return false;
}

/* Returns whether another worker uses the core, or will use it after an apply; if so, makes the
 * error. A core that a staged move frees counts as used until that move is applied, because it
 * still has its worker's id and addresses. */
static bool core_is_used(struct agent *a, const struct privsep_msg *m, const struct spec *next,
			 struct control_reply *r)
{
	const struct plan *plan = a->running.plan;
	const bool is_staged = has_core(next, m->move.core);
	char message[160];
	uint32_t user = 0;

	for (size_t i = 0; plan && i < plan->n_workers; i++)
		if (plan->workers[i].core == m->move.core && plan->workers[i].id != m->move.worker)
			user = plan->workers[i].id;
	if (user && is_staged)
		snprintf(message, sizeof(message),
			 "core %u is used by worker %u; choose a core that no worker uses",
			 m->move.core, user);
	else if (user)
		snprintf(message, sizeof(message),
			 "worker %u leaves core %u only with the next apply; apply that change "
			 "first",
			 user, m->move.core);
	else if (is_staged)
		snprintf(message, sizeof(message),
			 "core %u is used by another worker in the staged configuration; choose a "
			 "core that no worker uses",
			 m->move.core);
	else
		return false;
	control_error(r, 409, "core-used", message, NULL);
	return true;
}

/* Returns whether the host does not have the core, or the core is offline; if so, makes the error.
 * Without an inventory, returns false, and the plan of the apply reports the core. */
static bool core_is_absent(struct agent *a, unsigned core, struct control_reply *r)
{
	const struct inventory *inv = a->running.inv;
	const struct inv_core *found = NULL;
	char online[128], message[240];

	for (size_t i = 0; inv && i < inv->n_cores; i++)
		if (inv->cores[i].id == core)
			found = &inv->cores[i];
	if (!inv || (found && found->online))
		return false;
	inv_format_online(inv, online, sizeof(online));
	snprintf(message, sizeof(message), "core %u is %s; choose one of the online cores: %s",
		 core, found ? "offline" : "not on this host", online);
	control_error(r, 422, "no-core", message, NULL);
	return true;
}

/* Makes the error that the staged configuration removes the running worker. */
static void fail_removed(uint32_t id, struct control_reply *r)
{
	char message[160];

	snprintf(message, sizeof(message),
		 "the staged configuration removes worker %u, so it cannot be moved; 'plenum plan' "
		 "shows the removal",
		 id);
	control_error(r, 409, "removed", message, NULL);
}

struct wanted {
	struct agent *a;
	uint32_t id;
	unsigned core;
};

/* Refuses a change after which another core would get the worker's ID and addresses. */
static int check_result(const struct spec *next, void *user, struct diag *d)
{
	const struct wanted *w = user;
	struct control_place p = {0};
	int r = control_find_place(w->a, w->id, next, &p);

	if (r < 0 && r != -ENOENT)
		return r;
	if (p.is_staged && p.staged == w->core)
		return 0;
	diag_add(d, DIAG_ERROR, NULL, NULL,
		 "core %u would not get the ID of worker %u, because the configuration has other "
		 "changes of cores; apply these first",
		 w->core, w->id);
	return -EINVAL;
}

/* Checks the move, and stages it. Returns whether it is staged; if not, r has the error. */
static bool stage_move(struct agent *a, const struct privsep_msg *m, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *next = NULL;
	struct control_place p = {0};
	struct wanted wanted = {a, m->move.worker, m->move.core};
	int k = store_load_next(&a->store, &d, &next);
	bool ok = false;

	if (k >= 0)
		k = control_find_place(a, m->move.worker, next, &p);
	if (k >= 0 && !p.is_staged)
		fail_removed(m->move.worker, r);
	else if (k >= 0)
		ok = p.staged == m->move.core ||
		     (!core_is_absent(a, m->move.core, r) && !core_is_used(a, m, next, r));
	if (ok && p.staged != m->move.core)
		k = store_worker_move(&a->store, p.staged, m->move.core, check_result, &wanted, &d);
	if (k < 0)
		fail_move(a, m->move.worker, k, &d, r);
	spec_free(next);
	return ok && k >= 0;
}

void control_worker_move(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			 int fd, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	int k;

	_Static_assert(PRIVSEP_CORES_MAX == SPEC_CORES_MAX, "the message holds every core");
	k = control_begin_stage(a, cl, m);

	if (k < 0) {
		fail_move(a, m->move.worker, k, &d, r);
		return;
	}
	if (!stage_move(a, m, r))
		return;
	reconcile_forget_staged(a);
	control_note(a, cl, "move of worker %u to core %u staged; 'plenum apply' applies it",
		     m->move.worker, m->move.core);
	answer_worker(a, m->move.worker, r);
}
