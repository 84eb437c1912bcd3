/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that a connection has read. Answers some of them in this process, passes the other
 * requests to the monitor, and makes an answer from the monitor's reply. A connection has one
 * request at a time.
 */
#include "agent/api/api_internal.h"
#include "agent/api/api_snapshot.h"
#include "agent/api/api_stream.h"
#include "netcfg/base/os/memfd.h"
#include <stdio.h>
#include <string.h>

/* An apply takes longer, because it waits for links and for its policy. */
#define CHANGE_LIMIT_NS (600 * NSEC_PER_SEC)

/* ---- waiting ---- */

static void unlink_call(struct api *a, struct api_call *c)
{
	for (struct api_call **at = &a->waiting; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			return;
		}
}

static void resume(struct api *a, struct api_call *c, enum api_stage stage)
{
	unlink_call(a, c);
	c->stage = stage;
	api_ready(c->client);
}

static void wait(struct api_call *c, enum api_stage stage)
{
	struct api *a = c->client->api;

	c->stage = stage;
	c->next = a->waiting;
	a->waiting = c;
}

/* Puts the body that the monitor needs into a sealed memfd, which is sent with the request. *ret_fd
 * is -1 if the request has no body. */
static int make_body(struct api_call *c, int *ret_fd)
{
	struct privsep_msg *m = &c->question;
	autofree char *text = NULL;
	int fd;

	*ret_fd = -1;
	if (m->type == PRIVSEP_PUT_STAGED || m->type == PRIVSEP_DOCUMENT_SET) {
		fd = memfd_new_sealed("plenum-body", c->body, c->body_len);
	} else if (m->type == PRIVSEP_NET_ADD || m->type == PRIVSEP_NET_SET) {
		text = api_body_normalise(c->body, c->body_len);
		if (!text)
			return -ENOMEM;
		m->net.len = strlen(text);
		fd = memfd_new_sealed("plenum-body", text, m->net.len);
	} else {
		return 0;
	}
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* Sends the request to the monitor. The answer arrives as a message. */
static int ask(struct api_call *c)
{
	autoclose int fd = -1;
	int r;

	r = make_body(c, &fd);
	if (r < 0)
		return r;
	c->question.connection = c->client->id;
	r = api_tell(&c->question, fd);
	if (r < 0)
		return r;
	c->asked = true;
	c->client->monitor_waits = true;
	c->deadline_ns =
		clock_now_ns() + (api_call_is_change(c) ? CHANGE_LIMIT_NS : API_ANSWER_LIMIT_NS);
	return 0;
}

/* Returns whether the request is held back while there are no events; a message from the monitor
 * ends that. It is not held back if the client's event number is from another agent instance: the
 * answer tells the client so. */
static bool must_wait_for_events(const struct api *a, const struct api_call *c, unsigned wait_s)
{
	const struct privsep_get_events *g = &c->question.get_events;

	return wait_s > 0 && c->question.type == PRIVSEP_GET_EVENTS && g->since == a->next_event &&
	       (g->instance == 0 || g->instance == a->instance);
}

static int begin_wait(struct api_call *c, unsigned wait_s)
{
	struct api *a = c->client->api;
	int r = 0;

	if (api_snapshot_covers(c)) {
		if (api_snapshot_is_ready(a, c))
			return api_snapshot_answer(a, c);
		/* The monitor has to know first, so that it does not give the connection's place to
		 * another client. */
		r = api_tell_wait(c, PRIVSEP_WAITS);
		if (r >= 0)
			api_snapshot_ask(a, c);
		c->shared = true;
		c->deadline_ns = clock_now_ns() + API_ANSWER_LIMIT_NS;
	} else if (must_wait_for_events(a, c, wait_s)) {
		r = api_tell_wait(c, PRIVSEP_HELD);
		c->deadline_ns = clock_now_ns() + wait_s * NSEC_PER_SEC;
	} else {
		r = ask(c);
	}
	if (r == -EBADMSG)
		return api_answer_refuse(c, 400, "bad-body",
					 "a text contains characters that are not allowed");
	if (r < 0)
		return api_answer_refuse(c, 503, "busy", "the agent is busy; try again");
	wait(c, API_WAITING);
	return 0;
}

/* Before the body is read, a network client waits until its token has been checked. */
static int begin_login(struct api_call *c)
{
	int r = api_login_ask(c);

	if (r < 0)
		return api_answer_refuse(c, 503, "busy", "the agent is busy; try again");
	c->deadline_ns = clock_now_ns() + API_ANSWER_LIMIT_NS;
	if (r > 0)
		c->stage = API_READING;
	else
		wait(c, API_LOGIN);
	return 0;
}

/* ---- requests ---- */

/* The parameters of /v1/events, with their place in struct api_request, and whether lists take them
 * too. */
static const struct {
	const char *name;
	size_t offset;
	bool of_events, of_lists;
} parameters[] = {
	{"since", offsetof(struct api_request, since), true, false},
	{"wait", offsetof(struct api_request, wait), true, false},
	{"instance", offsetof(struct api_request, instance), true, false},
	{"severity", offsetof(struct api_request, severity), true, false},
	{"from", offsetof(struct api_request, from), true, false},
	{"until", offsetof(struct api_request, until), true, false},
	{"source", offsetof(struct api_request, source), true, false},
	{"limit", offsetof(struct api_request, limit), true, true},
	{"after", offsetof(struct api_request, after), false, true},
};

/* Stores a query parameter. Refuses an unknown parameter, because a client would assume that it has
 * an effect. */
static bool take_parameter(struct api_request *rq, const char *key, const char *value)
{
	const bool events = strcmp(rq->path, "/v1/events") == 0, list = api_list_has_path(rq->path);

	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
		if (((events && parameters[i].of_events) || (list && parameters[i].of_lists)) &&
		    strcmp(key, parameters[i].name) == 0) {
			*(const char **)((char *)rq + parameters[i].offset) = value;
			return true;
		}
	rq->unknown = key;
	return false;
}

static void take_parameters(struct api_call *c, struct api_request *rq)
{
	const char *key, *value;

	while ((key = api_head_next_argument(&c->head.query, &value)))
		if (!take_parameter(rq, key, value))
			return;
}

static int answer(struct api_call *c)
{
	struct api *a = c->client->api;

	/* From now on the connection waits for its client, which may never read the answer. */
	if (c->shared)
		api_tell_next(c->client);
	if (c->error.http_status)
		return api_answer_error(c);
	if (c->shared)
		return api_snapshot_answer(a, c);
	if (c->question.type == PRIVSEP_STREAM && c->reply.http_status == 200)
		return api_stream_begin(a, c);
	return api_answer_reply(c);
}

/* Completes a request. For HEAD, the body of the answer to GET is omitted. */
static int complete(struct api_call *c)
{
	const struct api *a = c->client->api;
	const char *const *fields = c->head.fields;
	struct api_request rq = {.method = c->head_only ? "GET" : c->head.method,
				 .path = c->head.path,
				 .accept = fields[API_FIELD_ACCEPT],
				 .content_type = fields[API_FIELD_CONTENT_TYPE],
				 .if_match = fields[API_FIELD_IF_MATCH],
				 .last_event_id = fields[API_FIELD_LAST_EVENT_ID],
				 .prefer = fields[API_FIELD_PREFER],
				 .host = fields[API_FIELD_HOST],
				 .origin = fields[API_FIELD_ORIGIN],
				 .fetch_site = fields[API_FIELD_SEC_FETCH_SITE],
				 .body = c->body,
				 .body_len = c->body_len,
				 .read_only = a->role == PRIVSEP_API};
	char allow[API_ALLOW_MAX];
	unsigned wait_s;
	int r;

	if (api_page_take(c, &rq, rq.host, &r))
		return r;
	api_route_methods(rq.path, allow);
	if (strcmp(rq.method, "OPTIONS") == 0 && allow[0])
		return api_answer_empty(c, 204, NULL, allow);
	take_parameters(c, &rq);
	r = api_route(&rq, &c->question, &wait_s, &c->error);
	if (r >= 0 && api_list_take(&rq, &c->list, &c->error) < 0)
		r = -EINVAL;
	if (r < 0)
		return api_answer_error(c);
	return r > 0 ? api_answer_local(c, (enum resource_local)r) : begin_wait(c, wait_s);
}

static struct api_call *call_new(struct api_client *cl, size_t head_len)
{
	struct api_call *c = calloc(1, sizeof(*c) + head_len + 1);

	if (c) {
		c->client = cl;
		c->reply_fd = -1;
		c->stage = API_READING;
		cl->call = c;
		cl->n_requests++;
	}
	return c;
}

int api_request_begin(struct api_client *cl, const char *head, size_t len)
{
	struct api_call *c = call_new(cl, len);

	if (!c)
		return -ENOMEM;
	memcpy(c->head_text, head, len);
	api_head_split(c->head_text, len, &c->head);
	c->head_only = strcmp(c->head.method, "HEAD") == 0;
	if (api_login_is_needed(cl->api, c)) {
		int r = begin_login(c);

		if (r < 0 || c->stage != API_READING)
			return r;
	}
	if (c->head.body_len > 0 && !(c->body = malloc(c->head.body_len)))
		return api_answer_refuse(c, 503, "busy", "out of memory for the body");
	return 0;
}

int api_request_refuse(struct api_client *cl, const struct api_error *error)
{
	struct api_call *c = call_new(cl, 0);

	if (!c)
		return -ENOMEM;
	c->error = *error;
	cl->closing = true;
	return api_answer_error(c);
}

static int go_on_after_login(struct api_call *c)
{
	if (c->role == ACCESS_NONE)
		return api_login_refuse(c);
	c->stage = API_READING;
	if (c->head.body_len > 0 && !(c->body = malloc(c->head.body_len)))
		return api_answer_refuse(c, 503, "busy", "out of memory for the body");
	return 0;
}

int api_request_step(struct api_call *c)
{
	if (c->stage == API_LOGGED_IN)
		return go_on_after_login(c);
	return c->stage == API_READING ? complete(c) : answer(c);
}

void api_request_done(struct api_call *c)
{
	struct api *a;

	if (!c)
		return;
	a = c->client->api;
	c->client->call = NULL;
	unlink_call(a, c);
	api_stream_end(a, c->stream);
	cleanup_close(&c->reply_fd);
	free(c->body);
	free(c);
}

/* ---- messages from the monitor, and time limits ---- */

static struct api_call *waiting_of(struct api *a, uint64_t connection)
{
	struct api_call *c = a->waiting;

	while (c && c->client->id != connection)
		c = c->next;
	return c;
}

void api_request_role(struct api *a, const struct privsep_msg *m)
{
	struct api_call *c = waiting_of(a, m->connection);

	if (!c || c->stage != API_LOGIN)
		return;
	c->role = c->client->login_role = (enum access_role)m->role_of.role;
	c->client->login_generation = a->generation;
	if (c->role == ACCESS_NONE && m->role_of.delay_ms > 0)
		c->deadline_ns = clock_now_ns() + m->role_of.delay_ms * NSEC_PER_MSEC;
	else
		resume(a, c, API_LOGGED_IN);
}

void api_request_reply(struct api *a, const struct privsep_msg *m, int *fd)
{
	struct api_call *c = waiting_of(a, m->connection);

	if (!c || c->stage == API_LOGIN)
		return;
	c->reply = m->reply;
	c->reply_fd = fd_take(*fd);
	resume(a, c, API_REPLIED);
}

void api_request_note(struct api *a, uint64_t next_event)
{
	for (struct api_call *c = a->waiting, *next; c; c = next) {
		next = c->next;
		if (c->stage == API_LOGIN || c->asked || c->shared ||
		    c->question.get_events.since == next_event)
			continue;
		if (ask(c) < 0)
			c->deadline_ns = 0; /* api_request_tick() then asks again at once */
	}
}

void api_request_seen(struct api *a, const struct privsep_msg *m, int fd)
{
	if (m->shared_answer.what == PRIVSEP_EVENTS) {
		api_stream_take(a, m, fd);
		return;
	}
	api_snapshot_take(a, m, fd);
	for (struct api_call *c = a->waiting, *next; c; c = next) {
		next = c->next;
		if (c->shared && c->question.get.what == m->shared_answer.what &&
		    api_snapshot_is_for(a, c))
			resume(a, c, API_REPLIED);
	}
}

uint64_t api_request_deadline(const struct api *a)
{
	uint64_t at = UINT64_MAX;

	for (const struct api_call *c = a->waiting; c; c = c->next)
		at = MIN_OF(at, c->deadline_ns);
	return at;
}

void api_request_tick(struct api *a, uint64_t now_ns)
{
	for (struct api_call *c = a->waiting, *next; c; c = next) {
		next = c->next;
		if (c->deadline_ns > now_ns)
			continue;
		/* The delay of a refusal is over, or the monitor did not answer. In both cases the
		 * client has no role. */
		if (c->stage == API_LOGIN) {
			resume(a, c, API_LOGGED_IN);
			continue;
		}
		/* The request was held back until its wait time ended without events. The monitor
		 * is asked now, and answers with an empty list. */
		if (!c->asked && !c->shared && ask(c) >= 0)
			continue;
		/* The monitor still has the request: its late answer must not be taken for the
		 * answer to a further request. */
		if (c->asked)
			c->client->closing = true;
		c->error = (struct api_error){.http_status = 504, .code = "timeout"};
		snprintf(c->error.message, sizeof(c->error.message), "the agent did not answer");
		resume(a, c, API_REPLIED);
	}
}
