/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests about legs: shows the running and the staged configuration of each leg, with a version
 * (ETag). If two clients change the same version, the second change is refused.
 */
#include "agent/control/control_internal.h"
#include "netcfg/base/hash.h"
#include <string.h>

/* ---- versions ---- */

/* Makes the version from a text. A keyed hash is strong enough: forging a version gains nothing,
 * because a client that may change the leg may also send "If-Match: *". */
static uint64_t tag_of(const char *text)
{
	static const uint64_t key[2] = {0x706c656e756d2d65, 0x746167732d763100};
	uint64_t tag = hash_keyed(key, text, strlen(text));

	return tag && tag != PRIVSEP_ETAG_ANY ? tag : 1;
}

uint64_t control_tag_of_tree(const struct spec *next)
{
	autofree char *yaml = spec_to_yaml(next);

	return yaml ? tag_of(yaml) : 0;
}

static const struct spec_net *find_net(const struct spec *spec, const char *name)
{
	for (size_t i = 0; spec && i < spec->n_nets; i++)
		if (strcmp(spec->nets[i].name, name) == 0)
			return &spec->nets[i];
	return NULL;
}

/* Returns the version of the running and staged configuration of a leg, or 0 if it has neither. */
static uint64_t tag_of_net(const struct spec *running, const struct spec *next, const char *name)
{
	const struct spec_net *now = find_net(running, name), *then = find_net(next, name);
	autofree char *a = now ? spec_net_to_json(now) : strdup("");
	autofree char *b = then ? spec_net_to_json(then) : strdup("");
	autofree char *both = NULL;

	if ((!now && !then) || !a || !b || asprintf(&both, "%s\n%s", a, b) < 0) {
		both = NULL;
		return 0;
	}
	return tag_of(both);
}

int control_tag(struct agent *a, const struct privsep_msg *m, uint64_t *ret)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	bool one = m->type == PRIVSEP_NET_SET || m->type == PRIVSEP_NET_DEL;
	struct spec *next = NULL;
	int r = store_load_next(&a->store, &d, &next);

	if (r < 0)
		return r;
	*ret = one ? tag_of_net(a->running.spec, next, m->net.name) : control_tag_of_tree(next);
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

/* ---- the configuration of legs as JSON ---- */

/* Returns the configuration of a leg as JSON; n NULL: JSON null. */
static json_t *net_to_json(const struct spec_net *n)
{
	autofree char *text = n ? spec_net_to_json(n) : NULL;

	return n ? json_loads(text ? text : "", 0, NULL) : json_null();
}

/* Returns what an apply would do with the leg: "add", "remove", "change", or "" for nothing. */
static const char *pending_word(const json_t *running, const json_t *staged)
{
	if (!json_is_object(running))
		return json_is_object(staged) ? "add" : "";
	if (!json_is_object(staged))
		return "remove";
	return json_equal(running, staged) ? "" : "change";
}

/* Lists the changed configuration keys, such as {"label": {"running": "a", "staged": "b"}}. */
static json_t *changes_to_json(const json_t *running, const json_t *staged)
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

/* Returns the file that configures the leg, among the files that an apply would read. The running
 * configuration does not show it, because after a rollback it comes from the history. */
static json_t *file_to_json(const struct agent *a, const struct spec_net *n)
{
	autofree char *file = n->pos.file ? store_shown_file(&a->store, n->pos.file) : NULL;

	return json_string(file ? file : "");
}

/* Returns a position in a file, such as "/etc/plenum/plenum.yaml:7:38". */
static json_t *place_to_json(const struct agent *a, const struct diag_pos *pos)
{
	autofree char *file = pos->file ? store_shown_file(&a->store, pos->file) : NULL;

	return json_sprintf("%s:%u:%u", file ? file : "?", pos->line, pos->column);
}

/* Lists the values that a file sets for the leg but that another file overrides. */
static json_t *overridden_to_json(const struct agent *a, const struct spec *next, const char *name)
{
	json_t *list = json_array();

	for (size_t i = 0; next && i < next->n_overrides; i++) {
		const struct spec_override *o = &next->overrides[i];
		PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
		json_t *text;

		if (strcmp(o->name, name) != 0)
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

/* Adds to the JSON of a leg the members that follow from its running and its staged configuration:
 * its file, some settings, and the pending change. */
static void add_pending(const struct agent *a, json_t *leg, const struct spec_net *now,
			const struct spec_net *then)
{
	json_t *running = net_to_json(now), *staged = net_to_json(then);
	const json_t *shown = now ? running : staged;

	json_object_set_new(leg, "file", file_to_json(a, then ? then : now));

	json_object_set(leg, "enabled", json_object_get(shown, "enabled"));
	json_object_set(leg, "vfs", json_object_get(shown, "vfs"));
	json_object_set(leg, "rdma", json_object_get(shown, "rdma"));
	json_object_set_new(leg, "pending", json_string(pending_word(running, staged)));
	json_object_set_new(leg, "changes", changes_to_json(running, staged));
	json_decref(running);
	json_decref(staged);
}

/* Makes the JSON of a leg that is staged but not running yet. */
static json_t *coming_to_json(const struct spec_net *n)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:i, s:[]}", "name",
			 n->name, "device", n->device, "ifname", "", "label",
			 n->label[0] ? n->label : n->name, "network", n->network, "state", "",
			 "reason", "", "carrier", 0, "up", 0, "mtu", 0, "ips");
}

void control_net(struct agent *a, const struct status *st, struct control_reply *r)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	json_t *o = status_net_to_json(st), *list = json_object_get(o, "net"), *leg;
	struct spec *next = NULL;
	size_t i;

	/* If the staged configuration is invalid, the legs have no pending changes. */
	if (store_load_next(&a->store, &d, &next) >= 0)
		r->etag = control_tag_of_tree(next);
	json_array_foreach (list, i, leg) {
		const char *name = json_string_value(json_object_get(leg, "name"));
		const struct spec_net *now = find_net(a->running.spec, name ? name : "");

		if (now)
			add_pending(a, leg, now, next ? find_net(next, name) : now);
		json_object_set_new(leg, "overridden",
				    overridden_to_json(a, next, name ? name : ""));
	}
	for (i = 0; next && i < next->n_nets; i++) {
		const struct spec_net *then = &next->nets[i];

		if (find_net(a->running.spec, then->name))
			continue;
		leg = coming_to_json(then);
		add_pending(a, leg, NULL, then);
		json_object_set_new(leg, "overridden", overridden_to_json(a, next, then->name));
		json_array_append_new(list, leg);
	}
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
	const struct spec_net *now = find_net(a->running.spec, name), *then = find_net(next, name);
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
			       file_to_json(a, then ? then : now), "pending",
			       pending_word(running, staged), "changes",
			       changes_to_json(running, staged), "running", running, "staged",
			       staged, "overridden", overridden_to_json(a, next, name)));
	r->etag = tag_of_net(a->running.spec, next, name);
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
		there = find_net(next, name);
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
