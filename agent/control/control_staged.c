/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The running and the staged configuration of legs and workers, for control_net.c and
 * control_move.c. Makes versions (ETags), checks the version before a change, and makes members of
 * the JSON. If two clients change the same version, the second change is refused.
 */
#include "agent/control/control_internal.h"
#include "netcfg/base/hash.h"
#include "netcfg/plan/worker/plan_worker_ids.h"
#include <stdio.h>
#include <string.h>

/* ---- versions ---- */

/* A keyed hash is strong enough: forging a version gains nothing, because a client that may change
 * the leg may also send "If-Match: *". */
static uint64_t tag_of_text(const char *text)
{
	static const uint64_t key[2] = {0x706c656e756d2d65, 0x746167732d763100};
	uint64_t tag = hash_keyed(key, text, strlen(text));

	return tag && tag != PRIVSEP_ETAG_ANY ? tag : 1;
}

uint64_t control_tag_of_tree(const struct spec *next)
{
	autofree char *yaml = spec_to_yaml(next);

	return yaml ? tag_of_text(yaml) : 0;
}

const struct spec_net *control_find_net(const struct spec *spec, const char *name)
{
	for (size_t i = 0; spec && i < spec->n_nets; i++)
		if (strcmp(spec->nets[i].name, name) == 0)
			return &spec->nets[i];
	return NULL;
}

uint64_t control_tag_of_net(const struct spec *running, const struct spec *next, const char *name)
{
	const struct spec_net *now = control_find_net(running, name),
			      *then = control_find_net(next, name);
	autofree char *a = now ? spec_net_to_json(now) : strdup("");
	autofree char *b = then ? spec_net_to_json(then) : strdup("");
	autofree char *both = NULL;

	if ((!now && !then) || !a || !b || asprintf(&both, "%s\n%s", a, b) < 0) {
		both = NULL;
		return 0;
	}
	return tag_of_text(both);
}

/* ---- workers ---- */

/* Finds the core that has the worker id `id` in a plan of the staged configuration. */
static int find_staged(struct agent *a, uint32_t id, const struct spec *next,
		       struct control_place *p)
{
	PLENUM_CLEANUP(plan_worker_ids_done) struct plan_worker_ids record = {0};
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree uint32_t *ids = NULL;
	size_t at = 0;
	int r = plan_worker_ids_load(&record, a->reconcile.records.worker_ids_path, &d);

	if (r == 0)
		r = plan_worker_numbers(next, &record, &ids);
	for (size_t i = 0; i < next->n_workers && r == 0; i++)
		for (size_t j = 0; j < next->workers[i].n_cores; j++, at++)
			if (ids[at] == id && !p->is_staged) {
				p->is_staged = true;
				p->staged = next->workers[i].cores[j];
				p->entry = &next->workers[i];
			}
	return r;
}

static const struct plan_worker *find_running(const struct agent *a, uint32_t id)
{
	const struct plan *plan = a->running.plan;

	for (size_t i = 0; plan && i < plan->n_workers; i++)
		if (plan->workers[i].id == id)
			return &plan->workers[i];
	return NULL;
}

int control_find_place(struct agent *a, uint32_t id, const struct spec *next,
		       struct control_place *p)
{
	const struct plan_worker *w = find_running(a, id);
	int r = find_staged(a, id, next, p);

	if (r < 0)
		return r;
	if (w) {
		p->runs = true;
		p->running = w->core;
		p->role = w->role;
	} else if (p->entry) {
		p->role = p->entry->role;
	}
	return p->runs || p->is_staged ? 0 : -ENOENT;
}

uint64_t control_tag_of_worker(struct agent *a, uint32_t id, const struct spec *next)
{
	struct control_place p = {0};
	char text[80];

	if (control_find_place(a, id, next, &p) < 0)
		return 0;
	snprintf(text, sizeof(text), "worker %u core %d, staged %d", id,
		 p.runs ? (int)p.running : -1, p.is_staged ? (int)p.staged : -1);
	return tag_of_text(text);
}

/* ---- before a change ---- */

int control_tag(struct agent *a, const struct privsep_msg *m, uint64_t *ret)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	bool one = m->type == PRIVSEP_NET_SET || m->type == PRIVSEP_NET_DEL;
	struct spec *next = NULL;
	int r = store_load_next(&a->store, &d, &next);

	if (r < 0)
		return r;
	if (m->type == PRIVSEP_WORKER_MOVE)
		*ret = control_tag_of_worker(a, m->move.worker, next);
	else
		*ret = one ? control_tag_of_net(a->running.spec, next, m->net.name)
			   : control_tag_of_tree(next);
	spec_free(next);
	return 0;
}

int control_may_stage(struct agent *a, const struct privsep_msg *m)
{
	uint64_t tag = 0;
	int k;

	if (reconcile_holds_staged(a))
		return -EINPROGRESS;
	if (!m->if_match)
		return 0;
	k = control_tag(a, m, &tag);
	if (k < 0)
		return k;
	if (!tag)
		return -ENOENT;
	return m->if_match == PRIVSEP_ETAG_ANY || m->if_match == tag ? 0 : -ESTALE;
}

int control_begin_stage(struct agent *a, const struct client *cl, const struct privsep_msg *m)
{
	char by[REQUESTER_MAX];

	store_set_author(&a->store, clients_user(cl), clients_describe(cl, by, sizeof(by)));
	return control_may_stage(a, m);
}

/* ---- members of the JSON of a leg or a worker ---- */

const char *control_pending_word(const json_t *running, const json_t *staged)
{
	if (!json_is_object(running))
		return json_is_object(staged) ? "add" : "";
	if (!json_is_object(staged))
		return "remove";
	return json_equal(running, staged) ? "" : "change";
}

json_t *control_changes_to_json(const json_t *running, const json_t *staged)
{
	json_t *changes = json_object(), *value;
	const char *key;

	if (!json_is_object(running) || !json_is_object(staged))
		return changes;
	json_object_foreach ((json_t *)staged, key, value) {
		json_t *was = json_object_get(running, key);

		if (!json_equal(was, value))
			json_object_set_new(
				changes, key,
				json_pack("{s:O, s:O}", "running", was, "staged", value));
	}
	return changes;
}

json_t *control_file_to_json(const struct agent *a, const struct diag_pos *pos)
{
	autofree char *file = pos && pos->file ? store_shown_file(&a->store, pos->file) : NULL;

	return json_string(file ? file : "");
}

/* Returns a position in a file, such as "/etc/plenum/plenum.yaml:7:38". */
static json_t *place_to_json(const struct agent *a, const struct diag_pos *pos)
{
	autofree char *file = pos->file ? store_shown_file(&a->store, pos->file) : NULL;

	return json_sprintf("%s:%u:%u", file ? file : "?", pos->line, pos->column);
}

json_t *control_overridden_to_json(const struct agent *a, const struct spec *next, const char *of,
				   const struct diag_pos *entry)
{
	json_t *list = json_array();

	for (size_t i = 0; next && entry && i < next->n_overrides; i++) {
		const struct spec_override *o = &next->overrides[i];
		PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
		json_t *text;

		if (strcmp(o->list, of) != 0 || o->entry_pos.file != entry->file ||
		    o->entry_pos.line != entry->line || o->entry_pos.column != entry->column)
			continue;
		spec_override_note(o, a->running.spec, &d);
		text = store_diag_to_json(&a->store, &d);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:o, s:s, s:o, s:b, s:O?}", "key", o->key,
					"value", o->value, "at", place_to_json(a, &o->pos),
					"overridden", o->overridden, "overridden_at",
					place_to_json(a, &o->overridden_pos), "edited",
					spec_override_is_edited(o, a->running.spec), "text",
					json_array_get(text, 0)));
		json_decref(text);
	}
	return list;
}
