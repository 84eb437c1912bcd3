/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that the HTTP library has read. Answers some requests in this process, and passes the
 * others to the monitor and the monitor's answers to the clients. A connection carries one request.
 */
#include "agent/api/api_internal.h"
#include "agent/api/api_snapshot.h"
#include "agent/api/api_stream.h"
#include "netcfg/base/os/memfd.h"
#include <stdio.h>
#include <string.h>

#define ANSWER_LIMIT_NS (90 * NSEC_PER_SEC) /* time limit for an answer of the monitor */
/* longer, because an apply waits for links, for as long as the configured policy allows */
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
	MHD_resume_connection(c->connection);
}

/* Puts the body that the monitor needs into a sealed memfd, which is sent with the request. *ret_fd
 * is -1 if the request has no body. */
static int make_body(struct api_call *c, int *ret_fd)
{
	struct privsep_msg *m = &c->question;
	autofree char *text = NULL;
	int fd;

	*ret_fd = -1;
	if (m->type == PRIVSEP_PUT_STAGED) {
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
	c->deadline_ns =
		clock_now_ns() + (api_call_is_change(c) ? CHANGE_LIMIT_NS : ANSWER_LIMIT_NS);
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

static enum MHD_Result begin_wait(struct api *a, struct api_call *c, unsigned wait_s)
{
	struct privsep_msg held = {.type = PRIVSEP_HELD, .connection = c->client->id};
	int r;

	if (api_snapshot_covers(c)) {
		if (api_snapshot_is_ready(a, c))
			return api_snapshot_answer(a, c);
		c->shared = true;
		r = api_tell(&held, -1);
		c->deadline_ns = clock_now_ns() + ANSWER_LIMIT_NS;
	} else if (must_wait_for_events(a, c, wait_s)) {
		r = api_tell(&held, -1);
		c->deadline_ns = clock_now_ns() + wait_s * NSEC_PER_SEC;
	} else {
		r = ask(c);
	}
	if (r == -EBADMSG)
		return api_answer_refuse(c, 400, "bad-body",
					 "a text contains characters that are not allowed");
	if (r < 0)
		return api_answer_refuse(c, 503, "busy", "the agent is busy; try again");
	c->stage = API_WAITING;
	c->next = a->waiting;
	a->waiting = c;
	MHD_suspend_connection(c->connection);
	return MHD_YES;
}

/* Before the body is read, a network client waits until its token has been checked. */
static enum MHD_Result begin_login(struct api *a, struct api_call *c)
{
	if (api_login_ask(c) < 0)
		return api_answer_refuse(c, 503, "busy", "the agent is busy; try again");
	c->stage = API_LOGIN;
	c->deadline_ns = clock_now_ns() + ANSWER_LIMIT_NS;
	c->next = a->waiting;
	a->waiting = c;
	MHD_suspend_connection(c->connection);
	return MHD_YES;
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

/* Stores a query parameter. An unknown one is an error, because a client would assume that it has
 * an effect. */
static enum MHD_Result take_parameter(void *user, enum MHD_ValueKind kind, const char *key,
				      const char *value)
{
	struct api_request *rq = user;
	const bool events = strcmp(rq->path, "/v1/events") == 0, list = api_list_has_path(rq->path);

	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
		if (((events && parameters[i].of_events) || (list && parameters[i].of_lists)) &&
		    strcmp(key, parameters[i].name) == 0) {
			*(const char **)((char *)rq + parameters[i].offset) = value ? value : "";
			return MHD_YES;
		}
	rq->unknown = key;
	return MHD_NO;
}

static const char *header(const struct api_call *c, const char *name)
{
	return MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result answer(struct api *a, struct api_call *c)
{
	if (c->stage == API_DROPPED)
		return MHD_NO;
	if (c->error.http_status)
		return api_answer_error(c);
	if (c->shared)
		return api_snapshot_answer(a, c);
	if (c->question.type == PRIVSEP_STREAM && c->reply.http_status == 200)
		return api_stream_begin(a, c);
	return api_answer_reply(c);
}

/* Completes a request. For HEAD, the library omits the body of the answer to GET. */
static enum MHD_Result complete(struct api *a, struct api_call *c, const char *method,
				const char *url)
{
	struct api_request rq = {.method = strcmp(method, "HEAD") == 0 ? "GET" : method,
				 .path = url,
				 .accept = header(c, "Accept"),
				 .content_type = header(c, "Content-Type"),
				 .if_match = header(c, "If-Match"),
				 .last_event_id = header(c, "Last-Event-ID"),
				 .prefer = header(c, "Prefer"),
				 .host = header(c, "Host"),
				 .origin = header(c, "Origin"),
				 .fetch_site = header(c, "Sec-Fetch-Site"),
				 .body = c->body,
				 .body_len = c->body_len,
				 .read_only = a->role == PRIVSEP_API};
	char allow[API_ALLOW_MAX];
	enum MHD_Result answered;
	unsigned wait_s;
	int r;

	c->head_only = strcmp(method, "HEAD") == 0;
	if (c->no_memory)
		return api_answer_refuse(c, 503, "busy", "out of memory for the body");
	if (api_page_take(c, &rq, header(c, "Host"), &answered))
		return answered;
	api_route_methods(url, allow);
	if (strcmp(method, "OPTIONS") == 0 && allow[0])
		return api_answer_empty(c, 204, NULL, allow);
	MHD_get_connection_values(c->connection, MHD_GET_ARGUMENT_KIND, take_parameter, &rq);
	r = api_route(&rq, &c->question, &wait_s, &c->error);
	if (r >= 0 && api_list_take(&rq, &c->list, &c->error) < 0)
		r = -EINVAL;
	if (r < 0)
		return api_answer_error(c);
	return r > 0 ? api_answer_local(c, (enum resource_local)r) : begin_wait(a, c, wait_s);
}

/* Copies a piece of the body. The size cannot exceed Content-Length, which was checked before. */
static void take_body(struct api_call *c, const char *data, size_t len)
{
	char *body = c->no_memory || len > PRIVSEP_TEXT_MAX - c->body_len
			     ? NULL
			     : realloc(c->body, c->body_len + len);

	if (!body) {
		c->no_memory = true;
		return;
	}
	memcpy(body + c->body_len, data, len);
	c->body = body;
	c->body_len += len;
}

static struct api_call *call_new(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct api_call *c = info && info->socket_context ? calloc(1, sizeof(*c)) : NULL;

	if (c) {
		c->connection = connection;
		c->client = info->socket_context;
		c->reply_fd = -1;
		c->stage = API_READING;
	}
	return c;
}

enum MHD_Result api_request_take(void *user, struct MHD_Connection *connection, const char *url,
				 const char *method, const char *version, const char *data,
				 size_t *size, void **call)
{
	struct api_call *c = *call;

	if (!c) {
		c = *call = call_new(connection);
		if (!c)
			return MHD_NO;
		return api_login_is_needed(user, c, url) ? begin_login(user, c) : MHD_YES;
	}
	if (c->stage == API_LOGGED_IN) {
		c->stage = API_READING;
		return c->role == ACCESS_NONE ? api_login_refuse(c) : MHD_YES;
	}
	if (*size > 0) {
		take_body(c, data, *size);
		*size = 0;
		return MHD_YES;
	}
	if (c->stage == API_READING)
		return complete(user, c, method, url);
	return answer(user, c);
}

void api_request_done(void *user, struct MHD_Connection *connection, void **call,
		      enum MHD_RequestTerminationCode toe)
{
	struct api_call *c = *call;

	if (!c)
		return;
	unlink_call(user, c);
	api_stream_end(user, c->stream);
	cleanup_close(&c->reply_fd);
	free(c->body);
	free(c);
	*call = NULL;
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
	c->role = (enum access_role)m->role_of.role;
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
	resume(a, c, API_ANSWERED);
}

void api_request_note(struct api *a, uint64_t next_event)
{
	for (struct api_call *c = a->waiting, *next; c; c = next) {
		next = c->next;
		if (c->stage == API_LOGIN || c->asked || c->shared ||
		    c->question.get_events.since == next_event)
			continue;
		if (ask(c) < 0)
			c->deadline_ns = 0; /* so that api_request_tick() asks again */
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
			resume(a, c, API_ANSWERED);
	}
}

/* The library reads from most connections and notices when they end. It does not read from a
 * suspended one, so the connection is resumed here. */
void api_request_drop(struct api *a, uint64_t connection)
{
	struct api_call *c = waiting_of(a, connection);

	if (c)
		resume(a, c, API_DROPPED);
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
		c->error = (struct api_error){.http_status = 504, .code = "timeout"};
		snprintf(c->error.message, sizeof(c->error.message), "the agent did not answer");
		resume(a, c, API_ANSWERED);
	}
}
