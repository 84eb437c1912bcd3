/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to break a file lock. A compute worker breaks it, because the agent never writes to the
 * table that workers share. */
#include "agent/control/control_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void control_lock_break(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			int fd, struct control_reply *r)
{
	const uint64_t id = m->lock.id;
	char text[256], why[320], id_text[17];
	bool held = false;
	int k = status_lock_describe(a, id, text, sizeof(text), &held);

	snprintf(id_text, sizeof(id_text), "%" PRIx64, id);
	if (k == -ENOENT) {
		snprintf(why, sizeof(why), "no lock %s; see 'plenum locks'", id_text);
		control_error(r, 404, "not-found", why, NULL);
		return;
	}
	if (k < 0) {
		control_failure(a, r, k, &(struct diag)DIAG_INIT);
		return;
	}
	if (!held) {
		snprintf(why, sizeof(why), "lock %s cannot be broken: no client holds it: %s",
			 id_text, text);
		control_error(r, 409, "not-held", why, NULL);
		return;
	}
	if (sup_lock_break(a->sup, id) < 0) {
		control_error(r, 409, "no-worker",
			      "no compute worker is running, and only a compute worker can break a "
			      "lock; see 'plenum processes'",
			      NULL);
		return;
	}
	control_note(a, cl, "break of lock %s requested: %s", id_text, text);
	control_json(r, 200, json_pack("{s:s}", "breaks", id_text));
}
