/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that put a change into force, and that look back at those that were: apart from the
 * others because their answers speak of what was done, not of what is there. */
#include "agent/ctl/ctl.h"

#include <string.h>

/* What became of workers, mounts and exports. */
static void print_actions(const json_t *actions)
{
	const json_t *action;
	size_t i;

	json_array_foreach (actions, i, action) {
		fputs("  ", stdout);
		ctl_put(ctl_text(action, "action"), stdout);
		fputs(" (", stdout);
		ctl_put(ctl_text(action, "reason"), stdout);
		puts(")");
	}
}

static void print_applied(const json_t *o)
{
	const json_t *applied = json_object_get(o, "applied");
	const json_t *actions = json_object_get(o, "actions");

	if (ctl_int(applied, "steps") == 0 && json_array_size(actions) == 0) {
		puts("Nothing to do: the host is as wanted.");
		return;
	}
	printf("Applied: %" JSON_INTEGER_FORMAT " steps.\n", ctl_int(applied, "steps"));
	print_actions(actions);
}

/* {"dry-run": true, "force": ["eth0"]}; NULL where nothing is to be said, and *ret_ok false where
 * that is for want of memory or of UTF-8. */
static json_t *apply_body(const struct ctl_args *a, bool *ret_ok)
{
	json_t *o = json_object(), *list = json_array();
	int r = o && list ? 0 : -1;

	for (int i = 0; i < a->n_forces; i++)
		r |= json_array_append_new(list, json_string(a->forces[i]));
	if (a->n_forces > 0)
		r |= json_object_set(o, "force", list);
	if (a->dry_run)
		r |= json_object_set_new(o, "dry-run", json_true());
	json_decref(list);
	*ret_ok = r == 0;
	if (r == 0 && json_object_size(o) > 0)
		return o;
	json_decref(o);
	return NULL;
}

int ctl_cmd_apply(const struct ctl_args *a)
{
	struct ctl_request rq = {
		.method = "POST", .path = "/v1/apply", .timeout_s = CTL_APPLY_TIMEOUT_S};
	autofree char *text = NULL;
	bool ok;
	json_t *body = apply_body(a, &ok), *o;
	int r;

	text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	if (!ok || (body && !text)) {
		ctl_complain("what was written is not UTF-8 text");
		return CTL_USAGE;
	}
	rq.body = text;
	r = ctl_ask_json(a, &rq, &o);
	if (r != CTL_OK)
		return r;
	if (a->json)
		r = ctl_put_json(o);
	else if (a->dry_run)
		r = ctl_put_plan(o);
	else
		print_applied(o);
	if (!a->json && !a->dry_run)
		ctl_put_warnings(o);
	json_decref(o);
	return r;
}

static int print_history(const json_t *o)
{
	static const char *const headings[] = {"NUMBER", "TIME",    "BY",    "WHAT",
					       "STEPS",	 "OUTCOME", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *e;
	size_t i;

	json_array_foreach (json_object_get(o, "history"), i, e) {
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "number"));
		ctl_table_add(&t, "%s", ctl_text(e, "time"));
		ctl_table_add(&t, "%s", ctl_text(e, "by"));
		ctl_table_add(&t, "%s", ctl_text(e, "what"));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "steps"));
		ctl_table_add(&t, "%s", ctl_text(e, "outcome"));
		ctl_table_add(&t, "%s", ctl_text(e, "text"));
	}
	return ctl_table_print(&t);
}

int ctl_cmd_history(const struct ctl_args *a)
{
	const struct ctl_request rq = {.method = "GET", .path = "/v1/history"};
	json_t *o;
	int r = ctl_ask_json(a, &rq, &o);

	if (r != CTL_OK)
		return r;
	r = a->json ? ctl_put_json(o) : print_history(o);
	json_decref(o);
	return r;
}
