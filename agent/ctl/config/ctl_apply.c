/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that apply, confirm and roll back changes, and list past applies. */
#include "agent/ctl/config/ctl_config.h"

#include <string.h>

/* Prints the actions for workers, mounts and exports. */
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
	const json_int_t confirm_s = ctl_int(o, "confirm_s"), number = ctl_int(o, "history");
	const json_int_t steps = ctl_int(applied, "steps");
	char left[32];

	if (steps == 0 && json_array_size(actions) == 0 && confirm_s == 0) {
		puts("Nothing to do: the host matches the configuration.");
		return;
	}
	printf("Applied: %" JSON_INTEGER_FORMAT " step%s.\n", steps, steps == 1 ? "" : "s");
	print_actions(actions);
	if (confirm_s > 0)
		printf("Apply %" JSON_INTEGER_FORMAT
		       " is rolled back in %s unless 'plenum confirm %" JSON_INTEGER_FORMAT
		       "' keeps it; 'plenum rollback %" JSON_INTEGER_FORMAT
		       "' rolls it back at once.\n",
		       number, ctl_format_seconds(confirm_s, left, sizeof(left)), number, number);
}

/* Parses "120s", "5m" or "1h". Returns the seconds, or 0 if the text is invalid. */
static json_int_t parse_time(const char *text)
{
	static const struct {
		char unit;
		json_int_t s;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
	char *end = NULL;
	long n = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : 0;

	if (n < 1 || n > CTL_CONFIRM_S_MAX || end[0] == '\0' || end[1] != '\0')
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].unit == *end && n * units[i].s <= CTL_CONFIRM_S_MAX)
			return n * units[i].s;
	return 0;
}

/* Makes the body of a request to apply, confirm or roll back; *ret is NULL if the body has no
 * members. key: name of the member that gets `number`; the member is left out if `number` is 0.
 * Returns an exit status. */
static int make_body(const struct ctl_args *a, const char *key, json_int_t number, char **ret)
{
	const json_int_t confirm_s = a->confirm ? parse_time(a->confirm) : 0;
	json_t *o, *list;
	int r;

	*ret = NULL;
	if (a->confirm && !confirm_s) {
		ctl_complain("'%.40s' is not a time from 1s to 24h; write 120s or 5m", a->confirm);
		return CTL_USAGE;
	}
	if (!confirm_s && !number && a->forces.n == 0 && !a->dry_run)
		return CTL_OK;
	o = json_object();
	list = json_array();
	r = o && list ? 0 : -1;
	for (int i = 0; i < a->forces.n; i++)
		r |= json_array_append_new(list, json_string(a->forces.items[i]));
	if (number)
		r |= json_object_set_new(o, key, json_integer(number));
	if (confirm_s)
		r |= json_object_set_new(o, "confirm", json_integer(confirm_s));
	if (a->dry_run)
		r |= json_object_set_new(o, "dry-run", json_true());
	if (a->forces.n > 0)
		r |= json_object_set(o, "force", list);
	*ret = r == 0 ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(list);
	json_decref(o);
	if (*ret)
		return CTL_OK;
	ctl_complain("argument is not valid UTF-8");
	return CTL_USAGE;
}

/* ---- the mounts after an apply ---- */

/* Time within which restarted workers must serve the mounts again. A worker that moves to VFs waits
 * for their drivers and for its peers. */
#define SERVED_LIMIT_NS (20 * NSEC_PER_SEC)
#define SERVED_LOOK_NS (200 * (long)NSEC_PER_MSEC)

static bool is_served(const json_t *status, const char *path)
{
	const json_t *m;
	size_t i;

	json_array_foreach (json_object_get(status, "mounts"), i, m)
		if (strcmp(ctl_text(m, "path"), path) == 0 &&
		    json_is_true(json_object_get(m, "served")))
			return true;
	return false;
}

/* Returns the first path that is not served, or NULL if all are served. */
static const char *find_unserved(const json_t *status, const json_t *paths)
{
	const json_t *path;
	size_t i;

	json_array_foreach (paths, i, path)
		if (json_is_string(path) && !is_served(status, json_string_value(path)))
			return json_string_value(path);
	return NULL;
}

static void complain_unserved(const json_t *status, const char *path)
{
	const json_t *reason;
	size_t i;

	ctl_complain("%s was served before the apply and is not served now", path);
	json_array_foreach (json_object_get(status, "reasons"), i, reason)
		if (json_is_string(reason) && strstr(json_string_value(reason), path))
			ctl_complain("%s", json_string_value(reason));
}

/* Waits until the mounts that were served before the apply are served again. Returns CTL_OK, or
 * CTL_UNSERVED if a mount is not served in time. */
static int await_mounts(const struct ctl_args *a, const json_t *paths)
{
	const struct ctl_request rq = {.resource = RESOURCE_STATUS};
	const uint64_t until = clock_now_ns() + SERVED_LIMIT_NS;
	bool late = false, unserved = json_array_size(paths) > 0;

	while (unserved && !late) {
		const char *path;
		json_t *status;
		int r = ctl_ask_json(a, &rq, &status);

		if (r != CTL_OK)
			return r;
		path = find_unserved(status, paths);
		late = clock_now_ns() > until;
		unserved = path;
		if (unserved && late)
			complain_unserved(status, path);
		json_decref(status);
		if (unserved && !late)
			nanosleep(&(struct timespec){.tv_nsec = SERVED_LOOK_NS}, NULL);
	}
	return unserved ? CTL_UNSERVED : CTL_OK;
}

static int not_applied(void)
{
	ctl_complain("the agent's answer does not say what was applied; see 'plenum status' and "
		     "'plenum history'");
	return CTL_SOFTWARE;
}

static bool says_yes(void)
{
	char line[16] = "";

	fputs("Apply these changes too? [y/N] ", stderr);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* If the agent has refused to apply changes that other users staged, asks the operator on a
 * terminal. Returns whether the operator wants to apply these changes. */
static bool wants_others(const struct ctl_args *a, const struct ctl_reply *r)
{
	const char *code, *line;
	json_t *o;
	size_t i;
	bool yes;

	if (r->status != 409 || a->json || a->forces.n == CTL_LIST_MAX || !isatty(STDIN_FILENO) ||
	    !isatty(STDERR_FILENO))
		return false;
	o = ctl_parse_if_any(r);
	code = ctl_text(o, "code");
	yes = strcmp(code, "staged-by-others") == 0;
	if (yes)
		fputs("Other users have staged changes, which this apply includes:\n", stderr);
	for (i = 0; yes && i < json_array_size(json_object_get(o, "details")); i++) {
		line = json_string_value(json_array_get(json_object_get(o, "details"), i));
		fputs("  ", stderr);
		ctl_put(line ? line : "?", stderr);
		fputc('\n', stderr);
	}
	json_decref(o);
	return yes && says_yes();
}

/* Sends the request. If the operator agrees to apply changes of other users, sends it again with
 * that permission. */
static int ask_change(const struct ctl_args *a, struct ctl_request *rq, json_t **ret)
{
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	autofree char *body = NULL;
	struct ctl_args again = *a;
	int r = ctl_http(a, rq, &reply);

	if (r < 0)
		return ctl_failed(a, rq, r);
	if (wants_others(a, &reply)) {
		again.forces.items[again.forces.n++] = "others";
		r = make_body(&again, NULL, 0, &body);
		if (r != CTL_OK)
			return r;
		rq->body = body;
		return ctl_ask_json(&again, rq, ret);
	}
	r = ctl_judge(a, &reply);
	if (r != CTL_OK)
		return r;
	*ret = ctl_parse(rq, &reply);
	return *ret ? CTL_OK : CTL_SOFTWARE;
}

/* Requests an apply, a confirmation or a rollback, and prints the result. */
static int change(const struct ctl_args *a, enum resource_id resource, const char *body)
{
	char tag[CTL_TAG_SIZE];
	struct ctl_request rq = {.resource = resource,
				 .body = body,
				 .if_match = tag,
				 .timeout_s = CTL_APPLY_TIMEOUT_S};
	json_t *o;
	int r = ctl_take_expect(a, tag);

	if (r == CTL_OK)
		r = ask_change(a, &rq, &o);
	if (r != CTL_OK)
		return r;
	if (a->json)
		r = ctl_put_json(o);
	else if (a->dry_run)
		r = ctl_put_plan(o);
	else if (json_object_get(o, "confirmed"))
		printf("Apply %" JSON_INTEGER_FORMAT " is kept.\n", ctl_int(o, "confirmed"));
	else if (json_object_get(o, "rolled_back"))
		printf("Apply %" JSON_INTEGER_FORMAT " is rolled back.\n",
		       ctl_int(o, "rolled_back"));
	else if (json_is_object(json_object_get(o, "applied")))
		print_applied(o);
	else
		r = not_applied();
	if (!a->json && !a->dry_run)
		ctl_put_warnings(o);
	if (r == CTL_OK && !a->dry_run)
		r = await_mounts(a, json_object_get(o, "mounts"));
	json_decref(o);
	return r;
}

static int parse_number(const char *text, long *ret)
{
	char *end = NULL;

	errno = 0;
	*ret = strtol(text, &end, 10);
	if (!errno && *ret >= 1 && !*end)
		return CTL_OK;
	ctl_complain("'%.40s' is not a number of 'plenum history'", text);
	return CTL_USAGE;
}

/* Makes the request. The optional operand, the number of an apply, becomes the member `key`. */
static int change_number(const struct ctl_args *a, enum resource_id resource, const char *key)
{
	autofree char *body = NULL;
	long number = 0;
	int r;

	if (a->n_operands > 0) {
		r = parse_number(a->operands[0], &number);
		if (r != CTL_OK)
			return r;
	}
	r = make_body(a, key, number, &body);
	return r == CTL_OK ? change(a, resource, body) : r;
}

int ctl_cmd_apply(const struct ctl_args *a)
{
	return change_number(a, RESOURCE_APPLY, NULL);
}

int ctl_cmd_confirm(const struct ctl_args *a)
{
	return change_number(a, RESOURCE_CONFIRM, "number");
}

int ctl_cmd_rollback(const struct ctl_args *a)
{
	return change_number(a, RESOURCE_ROLLBACK, "to");
}

static int print_history(const struct ctl_args *a, const json_t *o)
{
	static const char *const headings[] = {"NUMBER", "TIME",    "BY",    "WHAT",
					       "STEPS",	 "OUTCOME", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *e;
	char user[160];
	size_t i;

	json_array_foreach (json_object_get(o, "history"), i, e) {
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "number"));
		ctl_table_add(&t, "%s", ctl_text(e, "time"));
		ctl_table_add(&t, "%s", ctl_format_user(ctl_text(e, "by"), user, sizeof(user)));
		ctl_table_add(&t, "%s", ctl_text(e, "what"));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(e, "steps"));
		if (ctl_int(e, "times") > 1)
			ctl_table_add(&t, "%s (%" JSON_INTEGER_FORMAT " times)",
				      ctl_text(e, "outcome"), ctl_int(e, "times"));
		else
			ctl_table_add(&t, "%s", ctl_text(e, "outcome"));
		ctl_table_add(&t, "%s", ctl_text(e, "text"));
	}
	return ctl_view_print(a, &t, resources[RESOURCE_HISTORY].columns);
}

int ctl_cmd_history(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_HISTORY, .list = "history"};

	return ctl_show(a, &rq, NULL, print_history);
}

/* Gets the configuration of an earlier apply. */
static int ask_past(const struct ctl_args *a, const char *operand, struct ctl_reply *ret)
{
	struct ctl_request rq = {.resource = RESOURCE_HISTORY_CONFIG};
	char name[24];
	long number;
	int r = parse_number(operand, &number);

	if (r != CTL_OK)
		return r;
	snprintf(name, sizeof(name), "%ld", number);
	rq.name = name;
	return ctl_ask(a, &rq, ret);
}

/* Gets the plan that an earlier apply carried out or attempted, a new reference; NULL: it is not
 * kept. */
static json_t *ask_past_plan(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_HISTORY_CONFIG,
				       .name = a->operands[0],
				       .accept = "application/json"};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	json_t *o = NULL, *plan;

	if (ctl_http(a, &rq, &reply) >= 0 && reply.status == 200)
		o = json_loads(reply.body, 0, NULL);
	plan = json_incref(json_object_get(o, "plan"));
	json_decref(o);
	return plan;
}

#define RESULT_WIDTH (sizeof("rolled back") - 1) /* width of the longest result */

/* Prints the steps or actions as comments of YAML, so that the whole output remains a valid
 * configuration. */
static void put_past(const json_t *list, const char *key)
{
	const json_t *o;
	size_t i;

	json_array_foreach (list, i, o) {
		const char *result = ctl_text(o, "result");

		fputs("#   ", stdout);
		ctl_put(result, stdout);
		printf("%*s  ", (int)(RESULT_WIDTH - MIN_OF(strlen(result), RESULT_WIDTH)), "");
		ctl_put(ctl_text(o, key), stdout);
		fputs(*ctl_text(o, "reason") ? " (" : "", stdout);
		ctl_put(ctl_text(o, "reason"), stdout);
		puts(*ctl_text(o, "reason") ? ")" : "");
	}
}

static void put_past_plan(const struct ctl_args *a, const json_t *plan)
{
	const json_t *steps = json_object_get(plan, "steps");
	const json_t *actions = json_object_get(plan, "actions");
	const json_int_t left_out = ctl_int(plan, "left_out");

	if (!json_is_object(plan))
		return;
	printf("# The plan of apply %s:%s\n", a->operands[0],
	       json_array_size(steps) + json_array_size(actions) ? "" : " nothing to do");
	put_past(steps, "step");
	put_past(actions, "action");
	if (left_out > 0)
		printf("#   %" JSON_INTEGER_FORMAT " further steps and actions are not kept\n",
		       left_out);
}

int ctl_cmd_history_show(const struct ctl_args *a)
{
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply past = {0};
	int r = ask_past(a, a->operands[0], &past);
	json_t *plan, *o;

	if (r != CTL_OK && r != CTL_NO_INPUT)
		return r;
	/* The plan of an apply that failed is kept without its configuration. */
	plan = ask_past_plan(a);
	if (a->json && r == CTL_OK) {
		o = json_pack("{s:s, s:O?}", "yaml", past.body, "plan", plan);
		r = o ? ctl_put_json(o) : CTL_DATA;
		json_decref(o);
	} else if (!a->json) {
		if (r == CTL_OK)
			r = ctl_put_config(a, past.body);
		put_past_plan(a, plan);
	}
	json_decref(plan);
	return r;
}

/* Compares the configuration of the apply with the first number to the configuration of the apply
 * with the second number or, without a second number, to the running configuration. */
int ctl_cmd_history_diff(const struct ctl_args *a)
{
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply from = {0};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply to = {0};
	autofree char *text = NULL;
	int r = ask_past(a, a->operands[0], &to), differ;
	json_t *o;

	if (r == CTL_OK && a->n_operands > 1)
		r = ask_past(a, a->operands[1], &from);
	else if (r == CTL_OK)
		r = ctl_ask_config(a, RESOURCE_CONFIG_RUNNING, &from);
	if (r != CTL_OK)
		return r;
	differ = ctl_diff_text(from.body, to.body, &text);
	if (differ < 0)
		return ctl_put_text(NULL);
	if (a->json) {
		o = json_pack("{s:b, s:s}", "differs", differ, "diff", text);
		r = ctl_put_json(o);
		json_decref(o);
	} else {
		fputs(text, stdout);
	}
	return r != CTL_OK ? r : differ ? CTL_DIFFERS : CTL_OK;
}
