/* SPDX-License-Identifier: BSD-3-Clause */
/* 'plenum net show NAME' and 'plenum worker show ID': prints the configuration keys of a leg or a
 * worker, with staged values and values that are not in force. For other commands, prints versions
 * and authors of staged changes. */
#include "agent/ctl/ctl.h"

#include <string.h>

/* Adds a value such as "10.0.0.1, 10.0.0.2", "auto" or "{"pfc": [3]}". v NULL: adds an empty
 * cell. */
static void add_value(struct ctl_table *t, const json_t *v)
{
	autofree char *text = NULL;

	if (json_is_string(v)) {
		ctl_table_add(t, "%s", json_string_value(v));
	} else if (json_is_array(v) && json_is_string(json_array_get(v, 0))) {
		ctl_table_add_list(t, v);
	} else {
		text = v && !json_is_null(v) ? json_dumps(v, JSON_ENCODE_ANY) : NULL;
		ctl_table_add(t, "%s", text ? text : "");
	}
}

static void add_row(struct ctl_table *t, const char *key, const char *value)
{
	ctl_table_add(t, "%s", key);
	ctl_table_add(t, "%s", value);
	ctl_table_add(t, "%s", "");
	ctl_table_add(t, "%s", "");
}

static const json_t *find_override(const json_t *leg, const char *key)
{
	const json_t *o;
	size_t i;

	json_array_foreach (json_object_get(leg, "overridden"), i, o)
		if (strcmp(ctl_text(o, "key"), key) == 0)
			return o;
	return NULL;
}

/* Adds a row for a configuration key with a value or a staged value. */
static void add_key(struct ctl_table *t, const json_t *leg, const char *key)
{
	const json_t *running = json_object_get(json_object_get(leg, "running"), key);
	const json_t *staged = json_object_get(json_object_get(leg, "staged"), key);
	const json_t *override = find_override(leg, key);
	const bool changes = running && staged && !json_equal(running, staged);

	if ((!running || json_is_null(running)) && (!staged || json_is_null(staged)) && !override)
		return;
	ctl_table_add(t, "%s", key);
	add_value(t, running ? running : staged);
	add_value(t, changes ? staged : NULL);
	if (override)
		ctl_table_add(t, "%s (%s)", ctl_text(override, "overridden"),
			      ctl_text(override, "overridden_at"));
	else
		ctl_table_add(t, "%s", "");
}

static bool any_changes(const json_t *leg)
{
	return json_object_size(json_object_get(leg, "changes")) > 0;
}

/* Returns whether a key of the table has a value that is not in force. */
static bool any_overridden(const json_t *leg, json_t *keys)
{
	const json_t *o;
	size_t i;

	json_array_foreach (json_object_get(leg, "overridden"), i, o)
		if (json_object_get(keys, ctl_text(o, "key")))
			return true;
	return false;
}

static int print_leg(const struct ctl_args *a, const json_t *leg)
{
	static const char *const headings[] = {"KEY", "VALUE", "STAGED", "OVERRIDDEN"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	json_t *keys = json_object_get(leg, "running"), *value;
	const char *key, *pending = ctl_text(leg, "pending");
	char columns[64];

	if (!json_is_object(keys))
		keys = json_object_get(leg, "staged");
	json_object_foreach (keys, key, value)
		add_key(&t, leg, key);
	if (json_object_get(leg, "role"))
		add_row(&t, "role", ctl_text(leg, "role"));
	add_row(&t, "file", ctl_text(leg, "file"));
	add_row(&t, "pending", *pending ? pending : "nothing");
	add_row(&t, "version", ctl_text(leg, "version"));
	snprintf(columns, sizeof(columns), "KEY,VALUE%s%s", any_changes(leg) ? ",STAGED" : "",
		 any_overridden(leg, keys) ? ",OVERRIDDEN" : "");
	return ctl_view_print(a, &t, columns);
}

void ctl_put_overridden(const json_t *leg)
{
	const json_t *o;
	size_t i;

	json_array_foreach (json_object_get(leg, "overridden"), i, o)
		ctl_complain("%s", ctl_text(o, "text"));
}

char *ctl_version_of(const struct ctl_reply *reply)
{
	const size_t len = strlen(reply->etag);
	const bool quoted = len >= 2 && reply->etag[0] == '"' && reply->etag[len - 1] == '"';

	return strndup(reply->etag + quoted, len - (quoted ? 2 : 0));
}

void ctl_put_version(const char *version)
{
	fputs("Version ", stdout);
	ctl_put(version, stdout);
	fputs("; 'plenum apply --expect ", stdout);
	ctl_put(version, stdout);
	puts("' applies only this version.");
}

static void put_author(const json_t *author)
{
	const json_int_t n = ctl_int(author, "changes");
	char user[160];

	fputs("Staged by ", stdout);
	ctl_put(ctl_format_user(ctl_text(author, "by"), user, sizeof(user)), stdout);
	printf(": %" JSON_INTEGER_FORMAT " change%s, the last one at ", n, n == 1 ? "" : "s");
	ctl_put(ctl_text(author, "time"), stdout);
	puts(".");
}

void ctl_put_authors(const json_t *answer)
{
	const json_t *author;
	size_t i;

	json_array_foreach (json_object_get(answer, "staged_by"), i, author)
		put_author(author);
}

static int show(const struct ctl_args *a, enum resource_id resource, const char *name)
{
	const struct ctl_request rq = {.resource = resource, .name = name};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	autofree char *version = NULL;
	json_t *o;
	int r = ctl_ask(a, &rq, &reply);

	if (r != CTL_OK)
		return r;
	o = ctl_parse(&rq, &reply);
	if (!o)
		return CTL_SOFTWARE;
	version = ctl_version_of(&reply);
	json_object_set_new(o, "version", json_string(version ? version : ""));
	r = a->json ? ctl_put_json(o) : print_leg(a, o);
	if (r == CTL_OK && !a->json)
		ctl_put_overridden(o);
	json_decref(o);
	return r;
}

int ctl_show_leg(const struct ctl_args *a, const char *name)
{
	int r = ctl_check_leg_name(name);

	return r == CTL_OK ? show(a, RESOURCE_NET_GET, name) : r;
}

int ctl_cmd_worker_show(const struct ctl_args *a)
{
	unsigned long id = 0;
	char name[24];
	int r = ctl_take_number("ID", a->operands[0], 1, UINT32_MAX, &id);

	snprintf(name, sizeof(name), "%lu", id);
	return r == CTL_OK ? show(a, RESOURCE_WORKER, name) : r;
}

int ctl_cmd_worker_move(const struct ctl_args *a)
{
	char name[24];
	const struct ctl_patch p = {RESOURCE_WORKER, RESOURCE_WORKER_MOVE, name,
				    "Nothing to stage: the worker uses this core already."};
	unsigned long id = 0, core = 0;
	json_t *body;
	int r = ctl_take_number("ID", a->operands[0], 1, UINT32_MAX, &id);

	if (r == CTL_OK && !a->core) {
		ctl_complain("worker move needs --core N, the core to use; see 'plenum worker move "
			     "--help'");
		r = CTL_USAGE;
	}
	if (r == CTL_OK)
		r = ctl_take_number("--core", a->core, 0, PRIVSEP_CORES_MAX - 1, &core);
	if (r != CTL_OK)
		return r;
	snprintf(name, sizeof(name), "%lu", id);
	body = json_pack("{s:I}", "core", (json_int_t)core);
	r = body ? ctl_patch(a, &p, body) : CTL_OS;
	json_decref(body);
	return r;
}
