/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to restart workers. The supervisor restarts them one at a time; the answer names them at
 * once. */
#include "agent/control/control_internal.h"

static bool is_meant(const struct sup_worker *w, const struct privsep_restart *m)
{
	return w->wanted && w->pid > 0 &&
	       (m->worker == w->id || (m->outdated && sup_is_outdated(w)));
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
		control_error(r, 404, "not-found",
			      "no worker with this ID runs; see 'plenum processes'", NULL);
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
			notes,
			json_sprintf(
				"%u workers still run an earlier plenum-worker; 'plenum worker "
				"restart --outdated' renews them one at a time, under their "
				"mounts",
				n));
}
