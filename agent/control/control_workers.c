/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to stop, start and restart workers, and to set what they log. The supervisor restarts
 * workers one at a time. The reply lists all workers to restart and does not wait for them. */
#include "agent/control/control_internal.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>

static bool is_meant(const struct sup_worker *w, const struct privsep_restart *m)
{
	return w->wanted && w->pid > 0 &&
	       (m->worker == w->id || (m->outdated && sup_is_outdated(w)));
}

void control_unknown_worker(struct agent *a, uint32_t id, const char *what, struct control_reply *r)
{
	char ids[128] = "", message[256];
	size_t len = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w && len < sizeof(ids) - 24;
	     w = w->next)
		if (w->wanted)
			len += (size_t)snprintf(ids + len, sizeof(ids) - len, "%s%u%s",
						len ? ", " : "", w->id,
						w->pid > 0 ? "" : " (does not run)");
	snprintf(message, sizeof(message), "no worker with the ID %u %s; workers: %s", id, what,
		 len ? ids : "none");
	control_error(r, 404, "not-found", message, NULL);
}

void control_worker_stop(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			 int fd, struct control_reply *r)
{
	char by[REQUESTER_MAX];

	clients_describe(cl, by, sizeof(by));
	if (!sup_hold(a->sup, m->restart.worker, by)) {
		control_unknown_worker(a, m->restart.worker, "exists", r);
		return;
	}
	control_note(a, cl, "stop of worker %u requested", m->restart.worker);
	control_json(r, 200, json_pack("{s:I}", "worker", (json_int_t)m->restart.worker));
}

void control_worker_start(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  int fd, struct control_reply *r)
{
	char message[96];
	int k = sup_release(a->sup, m->restart.worker);

	if (k == -ENOENT) {
		control_unknown_worker(a, m->restart.worker, "exists", r);
		return;
	}
	if (k < 0) {
		snprintf(message, sizeof(message), "worker %u was not stopped by an operator",
			 m->restart.worker);
		control_error(r, 409, "not-stopped", message, NULL);
		return;
	}
	control_note(a, cl, "start of worker %u requested", m->restart.worker);
	control_json(r, 200, json_pack("{s:I}", "worker", (json_int_t)m->restart.worker));
}

static void set_log_level(struct agent *a, uint32_t id, enum log_level level,
			  struct control_reply *r)
{
	char message[160];
	int k = 0;

	if (id == 0)
		log_set_level(level);
	else
		k = sup_set_log_level(a->sup, id, level);
	if (k == 0)
		return;
	if (k == -ENOTCONN) {
		control_unknown_worker(a, id, "is up", r);
		return;
	}
	if (k == -EPROTONOSUPPORT)
		snprintf(message, sizeof(message),
			 "worker %u runs an earlier program, which cannot change its log level; "
			 "'plenum worker restart %u' renews it",
			 id, id);
	else
		snprintf(message, sizeof(message), "worker %u does not read messages: %s", id,
			 strerror(-k));
	control_error(r, k == -EPROTONOSUPPORT ? 409 : 503,
		      k == -EPROTONOSUPPORT ? "outdated" : "busy", message, NULL);
}

void control_log_level(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r)
{
	const uint32_t id = m->log_level.worker;
	const enum log_level level = (enum log_level)(m->log_level.level - 1 + LOG_LEVEL_ERR);
	const char *name = log_level_to_string(level);

	_Static_assert(LOG_LEVEL_DEBUG - LOG_LEVEL_ERR + 1 == PRIVSEP_LOG_LEVELS, "all levels");
	if (id != 0 && m->log_level.agent)
		control_error(r, 400, "bad-body", "worker and agent exclude each other", NULL);
	else
		set_log_level(a, id, level, r);
	if (r->http_status)
		return;
	if (id)
		control_note(a, cl, "log level of worker %u set to %s", id, name);
	else
		control_note(a, cl, "log level of the agent set to %s", name);
	control_json(r, 200,
		     json_pack("{s:o, s:s}", "worker", id ? json_integer(id) : json_null(), "level",
			       name));
}

void control_restart(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r)
{
	json_t *list = json_array();

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (is_meant(w, &m->restart) && sup_renew(a->sup, w->id))
			json_array_append_new(list, json_integer(w->id));
	if (m->restart.worker && json_array_size(list) == 0) {
		json_decref(list);
		control_unknown_worker(a, m->restart.worker, "runs", r);
		return;
	}
	control_note(a, cl, "restart of %zu workers requested", json_array_size(list));
	control_json(r, 200, json_pack("{s:o}", "restarts", list));
}

void control_note_outdated(const struct agent *a, json_t *notes)
{
	unsigned n = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		n += sup_is_outdated(w);
	if (n > 0)
		json_array_append_new(
			notes, json_sprintf("%u workers still run an earlier plenum-worker; "
					    "'plenum worker restart --outdated' renews these "
					    "workers one at a time, under their mounts",
					    n));
}
