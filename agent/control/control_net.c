/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests about legs: shows the running and the staged configuration of each leg, with a version
 * (ETag), and stages changes.
 */
#include "agent/control/control_internal.h"
#include <string.h>

/* ---- the configuration of legs as JSON ---- */

/* Returns the configuration of a leg as JSON; n NULL: JSON null. */
static json_t *net_to_json(const struct spec_net *n)
{
	autofree char *text = n ? spec_net_to_json(n) : NULL;

	return n ? json_loads(text ? text : "", 0, NULL) : json_null();
}

static json_t *overridden_of(const struct agent *a, const struct spec *next, const char *name)
{
	const struct spec_net *n = control_find_net(next, name);

	return control_overridden_to_json(a, next, "net", n ? &n->pos : NULL);
}

/* Adds members to the JSON of a leg: the file of the leg, some settings, and the pending change.
 * They follow from the running and the staged configuration of the leg. */
static void add_pending(const struct agent *a, json_t *leg, const struct spec_net *now,
			const struct spec_net *then)
{
	json_t *running = net_to_json(now), *staged = net_to_json(then);
	const json_t *shown = now ? running : staged;

	json_object_set_new(leg, "file", control_file_to_json(a, then ? &then->pos : &now->pos));

	json_object_set(leg, "enabled", json_object_get(shown, "enabled"));
	json_object_set(leg, "vfs", json_object_get(shown, "vfs"));
	json_object_set(leg, "rdma", json_object_get(shown, "rdma"));
	json_object_set_new(leg, "pending", json_string(control_pending_word(running, staged)));
	json_object_set_new(leg, "changes", control_changes_to_json(running, staged));
	json_decref(running);
	json_decref(staged);
}

/* Makes the JSON of a leg that is staged but not running yet. */
static json_t *coming_to_json(const struct spec_net *n)
{
	char match[SPEC_MATCH_TEXT_MAX];

	spec_match_format(&n->match, match);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:i, s:[]}", "name",
			 n->name, "device", n->device, "match", match, "ifname", "", "label",
			 n->label[0] ? n->label : n->name, "network", n->network, "state", "",
			 "reason", "", "carrier", 0, "up", 0, "mtu", 0, "ips");
}

void control_net(struct agent *a, const struct status *st, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	json_t *o = status_net_to_json(st), *list = json_object_get(o, "net"), *leg;
	json_t *of_workers = json_array(), *of_one;
	struct spec *next = NULL;
	size_t i;

	/* If the staged configuration is invalid, the legs have no pending changes. */
	if (store_load_next(&a->store, &d, &next) >= 0)
		r->etag = control_tag_of_tree(next);
	json_array_foreach (list, i, leg) {
		const char *name = json_string_value(json_object_get(leg, "name"));
		const struct spec_net *now = control_find_net(a->running.spec, name ? name : "");

		if (now)
			add_pending(a, leg, now, next ? control_find_net(next, name) : now);
		json_object_set_new(leg, "overridden", overridden_of(a, next, name ? name : ""));
	}
	for (i = 0; next && i < next->n_nets; i++) {
		const struct spec_net *then = &next->nets[i];

		if (control_find_net(a->running.spec, then->name))
			continue;
		leg = coming_to_json(then);
		add_pending(a, leg, NULL, then);
		json_object_set_new(leg, "overridden", overridden_of(a, next, then->name));
		json_array_append_new(list, leg);
	}
	for (i = 0; next && i < next->n_workers; i++) {
		of_one = control_overridden_to_json(a, next, "workers", &next->workers[i].pos);
		json_array_extend(of_workers, of_one);
		json_decref(of_one);
	}
	json_object_set_new(o, "workers_overridden", of_workers);
	spec_free(next);
	json_object_set_new(o, "staged_by", store_authors_to_json(&a->store));
	control_json(r, 200, o);
}

/* Makes the error that the leg does not exist, with its name if the name is valid. */
static void fail_net(struct agent *a, const char *name, int error, const struct diag *d,
		     struct control_reply *r)
{
	char text[PLENUM_NAME_MAX + 64];

	if (error != -ENOENT || diag_has_errors(d) || !spec_name_is_valid(name)) {
		control_failure(a, r, error, d);
		return;
	}
	snprintf(text, sizeof(text), "no leg '%s'; see 'plenum net show'", name);
	control_error(r, 404, "not-found", text, NULL);
}

/* Replies with the running and the staged configuration of one leg. */
static void answer_net(struct agent *a, const char *name, unsigned status, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *next = NULL;
	int k = store_load_next(&a->store, &d, &next);
	const struct spec_net *now = control_find_net(a->running.spec, name),
			      *then = control_find_net(next, name);
	json_t *running, *staged;

	if (k >= 0 && !now && !then)
		k = -ENOENT;
	if (k < 0) {
		fail_net(a, name, k, &d, r);
		spec_free(next);
		return;
	}
	running = net_to_json(now);
	staged = net_to_json(then);
	control_json(r, status,
		     json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "name", name, "file",
			       control_file_to_json(a, then ? &then->pos : &now->pos), "pending",
			       control_pending_word(running, staged), "changes",
			       control_changes_to_json(running, staged), "running", running,
			       "staged", staged, "overridden", overridden_of(a, next, name)));
	r->etag = control_tag_of_net(a->running.spec, next, name);
	spec_free(next);
}

void control_get_net(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r)
{
	answer_net(a, m->net.name, 200, r);
}

/* ---- changes ---- */

/* Gets the "name" from the JSON of a request. */
static void name_of(const char *json, char *buf, size_t size)
{
	json_t *o = json_loads(json, 0, NULL);
	const char *name = json_string_value(json_object_get(o, "name"));

	snprintf(buf, size, "%s", name ? name : "");
	json_decref(o);
}

/* Returns whether the leg of a request, or the network that the request defines, is configured or
 * staged. */
static bool is_there(struct agent *a, const char *json, const char *name)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	json_t *o = json_loads(json, 0, NULL);
	const char *network =
		json_string_value(json_object_get(json_object_get(o, "network"), "name"));
	struct spec *next = NULL;
	bool there = false;

	if (store_load_next(&a->store, &d, &next) >= 0)
		there = control_find_net(next, name);
	for (size_t i = 0; next && network && i < next->n_networks; i++)
		there = there || strcmp(next->networks[i].name, network) == 0;
	spec_free(next);
	json_decref(o);
	return there;
}

void control_net_add(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *json = NULL;
	char name[PLENUM_NAME_MAX] = "";
	bool exists = false;
	int k = control_begin_stage(a, cl, m);

	if (k >= 0)
		k = privsep_read_memfd(fd, m->net.len, &json);
	if (k >= 0) {
		name_of(json, name, sizeof(name));
		exists = is_there(a, json, name);
		k = store_net_add(&a->store, json, m->net.len, &d);
	}
	if (k == -EINVAL && exists) {
		control_error(r, 409, "exists", "there is a leg or a network of that name already",
			      store_diag_to_json(&a->store, &d));
		return;
	}
	if (k < 0) {
		control_failure(a, r, k, &d);
		return;
	}
	reconcile_forget_staged(a);
	control_note(a, cl, "new leg %s staged; 'plenum apply' applies it", name);
	answer_net(a, name, 201, r);
	if (r->http_status == 201)
		snprintf(r->location, sizeof(r->location), "/v1/net/%s", name);
}

void control_net_set(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *json = NULL;
	int k = control_begin_stage(a, cl, m);

	if (k >= 0)
		k = privsep_read_memfd(fd, m->net.len, &json);
	if (k >= 0)
		k = store_net_set(&a->store, m->net.name, json, m->net.len, &d);
	if (k < 0) {
		fail_net(a, m->net.name, k, &d, r);
		return;
	}
	reconcile_forget_staged(a);
	control_note(a, cl, "change to leg %s staged; 'plenum apply' applies it", m->net.name);
	answer_net(a, m->net.name, 200, r);
}

void control_net_del(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	int k = control_begin_stage(a, cl, m);

	if (k >= 0)
		k = store_net_del(&a->store, m->net.name, &d);
	if (k < 0) {
		fail_net(a, m->net.name, k, &d, r);
		return;
	}
	reconcile_forget_staged(a);
	control_note(a, cl, "removal of leg %s staged; 'plenum apply' applies it", m->net.name);
	control_json(r, 200,
		     json_pack("{s:s, s:s}", "name", m->net.name, "file", a->store.cli_file));
}
