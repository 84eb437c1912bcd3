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

/* Copies entries of the list while *room bytes suffice, and counts the others. */
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

void history_plan_keep(const struct history *h, uint64_t number, const json_t *plan)
{
	size_t room = HISTORY_PLAN_BYTES_MAX;
	json_int_t n_left_out = 0;
	json_t *steps = copy_list(json_object_get(plan, "steps"), &room, &n_left_out);
	json_t *actions = copy_list(json_object_get(plan, "actions"), &room, &n_left_out);
	json_t *o = json_pack("{s:o, s:o, s:I}", "steps", steps, "actions", actions, "left_out",
			      n_left_out);
	autofree char *text = o ? json_dumps(o, JSON_FLAGS) : NULL;
	int r = save(h, number, text);

	json_decref(o);
	if (r < 0)
		log_warning("cannot save the plan of apply %" PRIu64 ": %s", number, strerror(-r));
}

json_t *history_plan_load(const struct history *h, uint64_t number)
{
	autofree char *path = plan_path(h, number), *text = NULL;
	size_t len;

	if (!path || file_read(path, 2 * HISTORY_PLAN_BYTES_MAX, &text, &len) < 0)
		return NULL;
	return json_loadb(text, len, 0, NULL);
}

void history_plan_forget(const struct history *h, uint64_t number)
{
	autofree char *path = plan_path(h, number);

	if (path)
		unlink(path);
}
