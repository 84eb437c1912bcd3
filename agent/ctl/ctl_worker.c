/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that stop, start and restart workers, and set the log level of a worker or of the
 * agent. They wait until the worker has the new state, at most a minute for each worker. */
#include "agent/ctl/ctl.h"

#include <string.h>

/* How long to wait until one worker has the new state. */
#define BACK_LIMIT_NS (60 * NSEC_PER_SEC)
#define LOOK_NS (300 * (long)NSEC_PER_MSEC)

/* Returns the worker's entry in the list of processes, or NULL if there is none. */
static const json_t *find(const json_t *processes, json_int_t id)
{
	const json_t *p;
	size_t i;

	json_array_foreach (json_object_get(processes, "processes"), i, p) {
		const char *dash = strrchr(ctl_text(p, "id"), '/');

		if (dash && strtoll(dash + 1, NULL, 10) == id)
			return p;
	}
	return NULL;
}

static bool is_up(const json_t *now)
{
	const char *status = ctl_text(now, "status");

	return strcmp(status, "UP") == 0 || strcmp(status, "DEGRADED") == 0;
}

static bool is_back(const json_t *was, const json_t *now)
{
	return now && ctl_int(now, "pid") != ctl_int(was, "pid") && is_up(now);
}

static bool is_down(const json_t *was, const json_t *now)
{
	return !now || strcmp(ctl_text(now, "status"), "STOPPED") == 0;
}

static bool has_level(const json_t *now, const char *level)
{
	return strcmp(ctl_text(now, "log_level"), level) == 0;
}

/* The state that a command waits for. done, late: words for messages that the worker has reached
 * the state, or has not reached it in time. */
struct wanted {
	bool (*is)(const json_t *was, const json_t *now);
	const char *done, *late;
	const char *level; /* the log level to wait for; NULL: none, `is` decides */
};
static const struct wanted restarted = {is_back, "restarted", "up again", NULL};
static const struct wanted stopped = {is_down, "stopped", "stopped", NULL};
static const struct wanted started = {is_back, "started", "up", NULL};

/* Waits for one worker. Returns CTL_OK, or CTL_DEGRADED if the worker did not reach the state in
 * time. */
static int await(const struct ctl_args *a, const struct wanted *want, const json_t *before,
		 json_int_t id)
{
	const struct ctl_request rq = {.resource = RESOURCE_PROCESSES, .list = "processes"};
	const json_t *was = find(before, id);
	const uint64_t until = clock_now_ns() + BACK_LIMIT_NS;
	bool back = false;

	while (!back && clock_now_ns() < until) {
		json_t *now;
		int r;

		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		r = ctl_ask_json(a, &rq, &now);
		if (r != CTL_OK)
			return r;
		back = want->level ? has_level(find(now, id), want->level)
				   : want->is(was, find(now, id));
		json_decref(now);
	}
	if (back && !a->json)
		printf("Worker %" JSON_INTEGER_FORMAT " is %s.\n", id, want->done);
	else if (!back)
		ctl_complain("worker %" JSON_INTEGER_FORMAT
			     " is not %s after a minute; see 'plenum processes' and 'plenum "
			     "events'",
			     id, want->late);
	return back ? CTL_OK : CTL_DEGRADED;
}

static int await_all(const struct ctl_args *a, const json_t *before, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "restarts"), *id;
	int r = CTL_OK;
	size_t i;

	if (json_array_size(list) > json_array_size(json_object_get(before, "processes"))) {
		ctl_complain("the agent's answer names more workers than there are; see 'plenum "
			     "processes'");
		return CTL_SOFTWARE;
	}
	if (json_array_size(list) == 0 && !a->json)
		puts("Nothing to do: no worker is outdated.");
	json_array_foreach (list, i, id)
		if (r == CTL_OK)
			r = await(a, &restarted, before, json_integer_value(id));
	return r == CTL_OK && a->json ? ctl_put_json(answer) : r;
}

int ctl_cmd_worker_restart(const struct ctl_args *a)
{
	const struct ctl_request look = {.resource = RESOURCE_PROCESSES, .list = "processes"};
	struct ctl_request rq = {.resource = RESOURCE_WORKERS_RESTART, .list = "restarts"};
	unsigned long id = 0;
	json_t *before, *answer;
	char body[48];
	int r = CTL_OK;

	if ((a->n_operands > 0) == a->outdated) {
		ctl_complain("worker restart takes the ID of a worker, or --outdated");
		return CTL_USAGE;
	}
	if (a->n_operands > 0)
		r = ctl_take_number("ID", a->operands[0], 1, UINT32_MAX, &id);
	if (r == CTL_OK)
		r = ctl_ask_json(a, &look, &before);
	if (r != CTL_OK)
		return r;
	if (a->outdated)
		snprintf(body, sizeof(body), "{\"outdated\":true}");
	else
		snprintf(body, sizeof(body), "{\"worker\":%lu}", id);
	rq.body = body;
	r = ctl_ask_json(a, &rq, &answer);
	if (r == CTL_OK) {
		r = await_all(a, before, answer);
		json_decref(answer);
	}
	json_decref(before);
	return r;
}

/* Sends the request for one worker, and waits for its state. */
static int change_one(const struct ctl_args *a, enum resource_id resource,
		      const struct wanted *want)
{
	const struct ctl_request look = {.resource = RESOURCE_PROCESSES, .list = "processes"};
	struct ctl_request rq = {.resource = resource};
	json_t *before = NULL, *answer = NULL;
	unsigned long id = 0;
	char body[48];
	int r = ctl_take_number("ID", a->operands[0], 1, UINT32_MAX, &id);

	snprintf(body, sizeof(body), "{\"worker\":%lu}", id);
	rq.body = body;
	if (r == CTL_OK)
		r = ctl_ask_json(a, &look, &before);
	if (r == CTL_OK)
		r = ctl_ask_json(a, &rq, &answer);
	if (r == CTL_OK)
		r = await(a, want, before, (json_int_t)id);
	if (r == CTL_OK && a->json)
		r = ctl_put_json(answer);
	json_decref(before);
	json_decref(answer);
	return r;
}

int ctl_cmd_worker_stop(const struct ctl_args *a)
{
	return change_one(a, RESOURCE_WORKER_STOP, &stopped);
}

int ctl_cmd_worker_start(const struct ctl_args *a)
{
	return change_one(a, RESOURCE_WORKER_START, &started);
}

/* ---- log level ---- */

/* Returns the level in its normal form, or NULL after printing the error. */
static const char *take_level(const char *text)
{
	static const char *const levels[] = {"error", "warning", "notice", "info", "debug"};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (strcmp(text, levels[i]) == 0)
			return levels[i];
	ctl_complain("'%.40s' is not a log level; write error, warning, notice, info or debug",
		     text);
	return NULL;
}

int ctl_cmd_worker_log_level(const struct ctl_args *a)
{
	const char *level = take_level(a->operands[1]);
	struct wanted set = {.done = "set", .late = "at its new log level", .level = level};
	struct ctl_request rq = {.resource = RESOURCE_LOG_LEVEL};
	json_t *before = json_object(), *answer = NULL;
	char body[64], done[48];
	unsigned long id = 0;
	int r = level ? ctl_take_process(a->operands[0], &id) : CTL_USAGE;
	const bool agent = id == 0;

	if (agent)
		snprintf(body, sizeof(body), "{\"agent\":true,\"level\":\"%s\"}",
			 level ? level : "");
	else
		snprintf(body, sizeof(body), "{\"worker\":%lu,\"level\":\"%s\"}", id,
			 level ? level : "");
	rq.body = body;
	if (r == CTL_OK)
		r = ctl_ask_json(a, &rq, &answer);
	snprintf(done, sizeof(done), "at log level %s until it restarts", level ? level : "");
	set.done = done;
	if (r == CTL_OK && !agent)
		r = await(a, &set, before, (json_int_t)id);
	else if (r == CTL_OK && !a->json)
		printf("The agent is %s.\n", done);
	if (r == CTL_OK && a->json)
		r = ctl_put_json(answer);
	json_decref(before);
	json_decref(answer);
	return r;
}
