/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stops the agent with its workers and mounts for a client (`plenum stop`). If programs use the
 * mounts, the client gets their names instead, unless it uses force.
 */
#include "agent/control.h"
#include "agent/control/control_internal.h"
#include <string.h>

struct control_stop { /* a stop that waits for the search for processes that use mounts */
	struct agent *agent;
	struct mount_search *search;
	uint64_t client;
};

void control_in_use(struct control_reply *r, const char *message, const struct mount_users *found,
		    const char *const *paths)
{
	json_t *lines = json_array();
	char line[64 + PRIVSEP_PATH_MAX + MOUNT_USER_FILES * MOUNT_USER_FILE_MAX];

	for (uint32_t i = 0; found && mount_users_line(found, paths, i, line, sizeof(line)); i++)
		json_array_append_new(lines, json_string(line));
	control_error(r, 409, "in-use", message, lines);
	if (r->json)
		json_object_set_new(r->json, "users",
				    found ? mount_users_to_json(found, paths) : json_array());
}

/* Stops the agent in the next turn of the event loop. The agent exits only after the client has
 * received the answer. */
static void stop(struct agent *a, struct control_reply *r)
{
	/* If the agent is stopping already, stop_timer is in use: it limits the time of that
	 * stop. */
	if (a->state != AGENT_STOPPING)
		loop_timer_arm(a->stop_timer, 0);
	control_json(r, 202, json_pack("{s:b}", "stopping", 1));
}

static void refuse_leaving(struct control_reply *r)
{
	control_error(r, 503, "stopping",
		      "the agent is exiting and leaves workers and mounts to the next agent", NULL);
}

static void on_found(void *user, int error, const struct mount_users *found,
		     const char *const *paths)
{
	struct control_stop *s = user;
	struct control_reply r = {.http_status = 0};
	struct agent *a = s->agent;

	s->search = NULL;
	if (!clients_waits(a->clients, s->client)) {
		control_stop_done(a); /* the client has gone, so it would not learn of the stop */
		return;
	}
	if (a->state == AGENT_STOPPING && a->keeps_workers)
		refuse_leaving(&r);
	else if (error < 0)
		control_error(&r, 500, "failed",
			      "the search for programs that use the mounts failed; 'plenum stop "
			      "--force' stops without it",
			      NULL);
	else if (a->state != AGENT_STOPPING && mount_users_any(found))
		control_in_use(&r,
			       "programs use the mounts, so nothing was stopped; end them, or use "
			       "--force, with which they get errors",
			       found, paths);
	else
		stop(a, &r);
	control_answer(a, s->client, &r);
	control_stop_done(a);
}

/* Begins the search for processes that use mounts. Returns 1 if it has begun, 0 if there are no
 * mounts, or negative errno. */
static int search(struct agent *a, const struct client *cl)
{
	autofree const char **paths = calloc(MOUNT_USERS_MOUNTS, sizeof(*paths));
	size_t n;
	int r;

	if (!paths)
		return -ENOMEM;
	n = mounts_real_paths(a->mounts, paths, MOUNT_USERS_MOUNTS);
	if (n == 0)
		return 0;
	a->stop = calloc(1, sizeof(*a->stop));
	if (!a->stop)
		return -ENOMEM;
	*a->stop = (struct control_stop){.agent = a, .client = cl->id};
	r = mount_search_start(a->loop, paths, n, on_found, a->stop, &a->stop->search);
	if (r < 0)
		control_stop_done(a);
	return r < 0 ? r : 1;
}

void control_stop(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		  struct control_reply *r)
{
	int k = 0;

	if (a->state == AGENT_STOPPING && a->keeps_workers) {
		refuse_leaving(r);
		return;
	}
	if (a->stop && !m->stop.force) {
		control_error(r, 409, "busy", "the agent examines the mounts for another stop",
			      NULL);
		return;
	}
	control_note(a, cl, "stop of workers, mounts and agent requested%s",
		     m->stop.force ? ", also if mounts are in use" : "");
	if (!m->stop.force && a->state != AGENT_STOPPING)
		k = search(a, cl);
	if (k < 0)
		control_failure(a, r, k, &(struct diag)DIAG_INIT);
	else if (k > 0)
		r->later = true;
	else
		stop(a, r);
}

void control_stop_done(struct agent *a)
{
	if (!a->stop)
		return;
	mount_search_cancel(a->stop->search);
	free(a->stop);
	a->stop = NULL;
}
