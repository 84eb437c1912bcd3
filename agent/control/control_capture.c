/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to begin, fetch and end packet captures. */
#include "agent/control/control_internal.h"
#include <inttypes.h>
#include <stdio.h>

static void begin_capture(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  struct control_reply *r)
{
	char by[REQUESTER_MAX], id_text[17];
	struct reason why;
	uint64_t id;
	int k = capture_begin(a->capture, &m->capture, clients_describe(cl, by, sizeof(by)), &id,
			      &why);

	if (k == -EBUSY || k == -ENOENT) {
		control_error(r, k == -EBUSY ? 409 : 404, k == -EBUSY ? "busy" : "not-found",
			      why.text, NULL);
	} else if (k < 0) {
		control_failure(a, r, k, &(struct diag)DIAG_INIT);
	} else {
		control_note(a, cl,
			     m->capture.keys
				     ? "packet capture started, with the keys of encrypted sessions"
				     : "packet capture started");
		snprintf(id_text, sizeof(id_text), "%016" PRIx64, id);
		control_created(r, json_pack("{s:s}", "capture", id_text), "/v1/captures/%s",
				id_text);
	}
}

static void note_end_by_other(struct agent *a, const struct client *cl, uint64_t id)
{
	char by[REQUESTER_MAX];
	const char *other = capture_of_other(a->capture, id, clients_describe(cl, by, sizeof(by)));

	if (other)
		control_note(a, cl, "ended the packet capture of %s", other);
}

/* Replies with status 202 if the capture is ending and has more packets. */
void control_capture(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r)
{
	struct pcapng out;
	bool more;
	int k;

	if (m->capture.act == PRIVSEP_CAPTURE_BEGIN) {
		begin_capture(a, cl, m, r);
		return;
	}
	if (m->capture.act == PRIVSEP_CAPTURE_END)
		note_end_by_other(a, cl, m->capture.id);
	k = capture_take(a->capture, m->capture.id, m->capture.act == PRIVSEP_CAPTURE_END, &out,
			 &more);
	if (k == -ENOENT) {
		control_error(r, 404, "not-found",
			      "no such capture: another client ended it, its packets were not "
			      "fetched for five seconds, or the agent restarted",
			      NULL);
		return;
	}
	if (k < 0) {
		control_failure(a, r, k, &(struct diag)DIAG_INIT);
		return;
	}
	*r = (struct control_reply){.http_status = more ? 202 : 200,
				    .content = PRIVSEP_PCAPNG,
				    .text = (char *)out.bytes,
				    .len = out.len};
}
