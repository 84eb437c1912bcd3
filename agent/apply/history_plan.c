/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the plans of applies beside the history, so that an operator can see later what each apply
 * did. `history.d/N.plan` is a JSON object that exists as long as entry N. */
#include "agent/apply/history.h"
#include "netcfg/base/file.h"
#include "netcfg/base/log.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Flags for writing plans: the same as for the agent's REST answers. */
#define JSON_FLAGS (JSON_COMPACT | JSON_PRESERVE_ORDER)

static char *plan_path(const struct history *h, uint64_t number)
{
	char *path;

	return asprintf(&path, "%s/%" PRIu64 ".plan", h->folder, number) < 0 ? NULL : path;
}

/* Copies the first entries of the list, as many as fit into *room bytes, and counts the others. */
static json_t *copy_list(const json_t *list, size_t *room, json_int_t *n_left_out)
{
	json_t *copy = json_array(), *o;
	size_t i;

	json_array_foreach (list, i, o) {
		const size_t bytes = json_dumpb(o, NULL, 0, JSON_FLAGS) + 1;

		if (*n_left_out > 0 || bytes > *room || json_array_append(copy, o) < 0) {
			(*n_left_out)++;
			continue;
		}
		*room -= bytes;
	}
	return copy;
}

static int save(const struct history *h, uint64_t number, const char *text)
{
	autofree char *path = plan_path(h, number);

	if (!path || !text)
		return -ENOMEM;
	if (mkdir(h->folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	return file_write(path, text, strlen(text), 0600);
}

void history_plan_keep(const struct history *h, uint64_t number, const json_t *plan,
		       const struct history_extent *extent)
{
	size_t room = HISTORY_PLAN_BYTES_MAX;
	json_int_t n_left_out = 0;
	json_t *steps = copy_list(json_object_get(plan, "steps"), &room, &n_left_out);
	json_t *actions = copy_list(json_object_get(plan, "actions"), &room, &n_left_out);
	json_t *o =
		json_pack("{s:o, s:o, s:I, s:I, s:b, s:b}", "steps", steps, "actions", actions,
			  "left_out", n_left_out, "failed_step", (json_int_t)extent->failed_step,
			  "changed", extent->changed, "unclear", extent->unclear);
	autofree char *text = o ? json_dumps(o, JSON_FLAGS) : NULL;
	int r = save(h, number, text);

	json_decref(o);
	if (r < 0)
		log_warning("cannot save the plan of apply %" PRIu64 ": %s", number, strerror(-r));
}

/* Returns the result of step number `n` of the plan, from 1. */
static const char *step_result(enum history_outcome outcome, const struct history_extent *e,
			       size_t n)
{
	if (outcome == HISTORY_APPLIED || outcome == HISTORY_WAITING)
		return "done";
	if (e->unclear || (outcome != HISTORY_ROLLED_BACK && outcome != HISTORY_FAILED))
		return "unknown";
	if (outcome == HISTORY_ROLLED_BACK)
		return "rolled back";
	if (e->failed_step == 0)
		return e->changed ? "rolled back" : "not done";
	return n < e->failed_step ? "rolled back" : n == e->failed_step ? "failed" : "not done";
}

static void add_results(json_t *plan, enum history_outcome outcome)
{
	const struct history_extent e = {
		.failed_step = (size_t)json_integer_value(json_object_get(plan, "failed_step")),
		.changed = json_is_true(json_object_get(plan, "changed")),
		.unclear = json_is_true(json_object_get(plan, "unclear"))};
	/* The actions follow the last step, and none of them begins if a step has failed. */
	const struct history_extent of_actions = {.changed = false};
	/* Plans that an earlier version saved lack the step at which a failed apply stopped. */
	const bool known = json_object_get(plan, "changed") || outcome != HISTORY_FAILED;
	json_t *o;
	size_t i;

	json_array_foreach (json_object_get(plan, "steps"), i, o)
		json_object_set_new(
			o, "result",
			json_string(known ? step_result(outcome, &e, i + 1) : "unknown"));
	json_array_foreach (json_object_get(plan, "actions"), i, o)
		json_object_set_new(o, "result",
				    json_string(step_result(outcome, &of_actions, i + 1)));
	json_object_del(plan, "failed_step");
	json_object_del(plan, "changed");
	json_object_del(plan, "unclear");
}

static json_t *load(const struct history *h, uint64_t number)
{
	autofree char *path = plan_path(h, number), *text = NULL;
	size_t len;

	if (!path || file_read(path, 2 * HISTORY_PLAN_BYTES_MAX, &text, &len) < 0)
		return NULL;
	return json_loadb(text, len, 0, NULL);
}

json_t *history_plan_load(const struct history *h, uint64_t number, enum history_outcome outcome)
{
	json_t *plan = load(h, number);

	if (plan)
		add_results(plan, outcome);
	return plan;
}

void history_plan_unclear(const struct history *h, uint64_t number)
{
	json_t *plan = load(h, number);
	autofree char *text = NULL;
	int r;

	if (!plan)
		return;
	json_object_set_new(plan, "unclear", json_true());
	text = json_dumps(plan, JSON_FLAGS);
	json_decref(plan);
	r = save(h, number, text);
	if (r < 0)
		log_warning("cannot save the plan of apply %" PRIu64 ": %s", number, strerror(-r));
}

void history_plan_forget(const struct history *h, uint64_t number)
{
	autofree char *path = plan_path(h, number);

	if (path)
		unlink(path);
}
