/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes replies to REST clients and sends them. */
#include "agent/api/rest/problem.h"
#include "agent/control/control_internal.h"
#include "agent/control/operations.h"
#include "netcfg/base/os/memfd.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- making replies ---- */

void control_json(struct control_reply *r, unsigned status, json_t *json)
{
	r->http_status = status;
	r->content = PRIVSEP_JSON;
	r->json = json;
}

void control_created(struct control_reply *r, json_t *json, const char *fmt, ...)
{
	va_list ap;

	control_json(r, 201, json);
	va_start(ap, fmt);
	vsnprintf(r->location, sizeof(r->location), fmt, ap);
	va_end(ap);
}

void control_error(struct control_reply *r, unsigned status, const char *code, const char *message,
		   json_t *details)
{
	control_json(r, status, problem_to_json(status, code, message, details));
}

/* Makes the error for a request that is refused while an apply is pending. The text names that
 * apply and its operator. */
static void refuse_waiting(struct agent *a, struct control_reply *r, json_t *details)
{
	char text[EVENTS_TEXT_MAX], message[EVENTS_TEXT_MAX + 80];

	reconcile_pending_describe(a, text, sizeof(text));
	snprintf(message, sizeof(message), "%s; " RECONCILE_PENDING_WORDS, text,
		 a->reconcile.pending.entry, a->reconcile.pending.entry);
	control_error(r, 409, "waiting", message, details);
}

void control_failure(struct agent *a, struct control_reply *r, int error, const struct diag *d)
{
	json_t *details = store_diag_to_json(&a->store, d);

	switch (error) {
	case -EINVAL:
		control_error(r, 422, "invalid", "the configuration is invalid", details);
		break;
	case -ENOENT:
		control_error(r, 404, "not-found", "no such object", details);
		break;
	case -EPERM:
		control_error(r, 409, "not-yours",
			      "a configuration file defines this leg, so the command cannot change "
			      "the leg; edit the file",
			      details);
		break;
	case -ESTALE:
		control_error(r, 412, "changed",
			      "the version has changed and is not the one that If-Match (--expect) "
			      "names; read the object again, then repeat the change",
			      details);
		break;
	case -ESHUTDOWN:
		control_error(r, 503, "stopping", "the agent is stopping", details);
		break;
	case -EINPROGRESS:
		control_error(r, 409, "busy",
			      "the staged configuration is being applied; try again when the apply "
			      "has ended",
			      details);
		break;
	case -EALREADY:
		refuse_waiting(a, r, details);
		break;
	case -ECANCELED:
		control_error(
			r, 409, "rolled-back",
			"the change was applied and rolled back: the host is as it was before",
			details);
		break;
	case -EINTR:
		control_error(r, 500, "interrupted", "the apply was interrupted", details);
		break;
	case -ETIMEDOUT:
		control_error(r, 500, "unverified",
			      "the host did not reach the desired state in time", details);
		break;
	default:
		control_error(r, 500, "failed", strerror(-error), details);
	}
}

/* ---- sending replies ---- */

/* The precision avoids that 254.985 is printed as 254.98500000000001. */
#define JSON_FLAGS (JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15))

static void send_text(struct agent *a, uint64_t client, const struct control_reply *r,
		      const char *text)
{
	size_t len = r->content == PRIVSEP_PCAPNG ? r->len : strlen(text);
	struct privsep_reply reply = {r->http_status, r->content, len, r->etag, ""};
	autoclose int fd = memfd_new_sealed("plenum-reply", text, len);
	int k;

	memcpy(reply.location, r->location, sizeof(reply.location));
	k = fd < 0 ? fd : clients_answer(a->clients, client, &reply, fd);

	if (k < 0) /* the client or its API process has exited */
		log_debug("cannot answer a client: %s", strerror(-k));
}

const char *control_text(struct control_reply *r)
{
	static const char out_of_memory[] =
		"{\"title\":\"Internal Server Error\",\"status\":500,\"detail\":\"out of memory\","
		"\"code\":\"failed\",\"details\":[]}";

	if (r->json)
		r->text = json_dumps(r->json, JSON_FLAGS);
	json_decref(r->json);
	r->json = NULL;
	if (!r->text && r->content == PRIVSEP_PCAPNG)
		return ""; /* no packets have arrived yet */
	if (!r->text)
		r->http_status = 500;
	return r->text ? r->text : out_of_memory;
}

void control_answer_now(struct agent *a, uint64_t client, struct control_reply *r)
{
	const char *text = control_text(r);

	send_text(a, client, r, text);
	free(r->text);
}

void control_answer(struct agent *a, uint64_t client, struct control_reply *r)
{
	const char *text = control_text(r);

	if (a->operations && operations_end(a->operations, client, r->http_status, text))
		clients_note_event(a->clients, a->events.next, a->events.instance);
	else
		send_text(a, client, r, text);
	free(r->text);
}

void control_note(struct agent *a, const struct client *cl, const char *fmt, ...)
{
	char text[EVENTS_TEXT_MAX], by[REQUESTER_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	events_add(&a->events, LOG_LEVEL_INFO, "api", "%.140s, by %s", text,
		   clients_describe(cl, by, sizeof(by)));
}
