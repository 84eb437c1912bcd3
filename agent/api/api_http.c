/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients of an unprivileged child: checks the head of a request, lets libmicrohttpd read it, asks
 * the monitor and sends its answer. One request a connection. The only file that uses the
 * library's types.
 */
#include "agent/api/api_head.h"
#include "agent/api/api_internal.h"
#include "agent/api/openapi.h"
#include "agent/api/problem.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/os/memfd.h"
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The monitor limits the number of clients; the library's limit must only not be lower. */
#define CONNECTIONS_MAX 256
#define MEMORY_BYTES 65536 /* memory of a connection; more than any accepted head needs */
#define IDLE_S 30
#define DISCARD_BYTES_MAX (4U << 20)
#define ANSWER_LIMIT_NS (90 * NSEC_PER_SEC)  /* for an answer of the monitor */
#define CHANGE_LIMIT_NS (600 * NSEC_PER_SEC) /* an apply waits for links, and for its policy */

enum api_stage {
	API_READING, /* the body arrives */
	API_WAITING, /* suspended, waiting for the monitor or for events */
	API_ANSWERED,
	API_DROPPED /* connection number, assigned by the monitor */
};

struct api_call { /* the request of a client */
	enum api_stage stage;
	struct MHD_Connection *connection;
	struct api_client *client;
	char *body;
	size_t body_len;
	bool no_memory;
	bool asked;	      /* false: held back until there are events */
	uint64_t deadline_ns; /* while waiting */
	struct privsep_msg question;
	struct privsep_reply reply;
	int reply_fd;
	struct api_error error; /* http_status 0: no answer yet */
	struct api_call *next;
};

/* ---- clients ---- */

/* The number is not used again; the monitor may give its slot to another client. */
static void client_gone(struct api_client *cl)
{
	struct privsep_msg m = {.type = PRIVSEP_CLOSED, .connection = cl->id};

	for (struct api_client **at = &cl->api->clients; *at; at = &(*at)->next)
		if (*at == cl) {
			*at = cl->next;
			break;
		}
	loop_source_free(cl->source);
	cleanup_close(&cl->fd);
	api_tell(&m, -1);
	free(cl);
}

static void discard(struct api_client *cl)
{
	char junk[16384];
	ssize_t n;

	while ((n = recv(cl->fd, junk, sizeof(junk), 0)) > 0) {
		cl->n_discarded += (size_t)n;
		if (cl->n_discarded > DISCARD_BYTES_MAX)
			break;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	client_gone(cl);
}

/*
 * Sends an answer without the library. If it closed at once, the connection would be reset while
 * the client still sends, and the client would not see the answer. So it first reads and discards
 * what the client sends.
 */
static void refuse_head(struct api_client *cl, const struct api_error *e)
{
	autofree char *body = api_error_to_json(e);
	char all[1024];
	int len;

	if (!body) {
		client_gone(cl);
		return;
	}
	len = snprintf(all, sizeof(all),
		       "HTTP/1.1 %u %s\r\nContent-Type: " PROBLEM_TYPE "\r\nContent-Length: %zu\r\n"
		       "Connection: close\r\n\r\n%s",
		       e->http_status, problem_title(e->http_status), strlen(body), body);
	if (len >= (int)sizeof(all) || send(cl->fd, all, (size_t)len, MSG_NOSIGNAL) < 0 ||
	    shutdown(cl->fd, SHUT_WR) < 0) {
		client_gone(cl);
		return;
	}
	cl->refused = true;
	discard(cl);
}

static void give_to_library(struct api_client *cl)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct api *a = cl->api;
	uint64_t id = cl->id;
	int fd = fd_take(cl->fd);

	a->arriving = cl;
	cl->source = loop_source_free(cl->source);
	if (MHD_add_connection(a->daemon, fd, (struct sockaddr *)&sun, sizeof(sun)) == MHD_YES)
		return;
	/* The library has closed the descriptor, whether or not it has notified us. */
	a->arriving = NULL;
	for (struct api_client *c = a->clients; c; c = c->next)
		if (c->id == id) {
			client_gone(c);
			return;
		}
}

/* Peeks, so that the library can read the same bytes. */
static int on_client(void *user, int fd, uint32_t revents)
{
	struct api_client *cl = user;
	struct api *a = cl->api;
	char head[API_HEAD_BYTES_MAX];
	struct api_error error;
	ssize_t n, good;

	if (cl->refused) {
		discard(cl);
		return 0;
	}
	n = recv(fd, head, sizeof(head), MSG_PEEK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	good = n > 0 ? api_head_check(head, (size_t)n, &error) : 0;
	if (good < 0) {
		refuse_head(cl, &error);
		return 0;
	}
	if (good > 0) {
		give_to_library(cl);
		return api_http_run(a);
	}
	if (n <= 0 || (revents & (EPOLLRDHUP | EPOLLHUP))) /* the client sends no more */
		client_gone(cl);
	return 0;
}

void api_http_accept(struct api *a, uint64_t connection, int fd)
{
	struct privsep_msg closed = {.type = PRIVSEP_CLOSED, .connection = connection};
	struct api_client *cl = calloc(1, sizeof(*cl));
	int r;

	if (!cl) {
		close(fd);
		api_tell(&closed, -1);
		return;
	}
	*cl = (struct api_client){.api = a, .id = connection, .fd = fd, .next = a->clients};
	a->clients = cl;
	/* Edge-triggered: an incomplete head stays in the socket and is read again when there is
	 * more. */
	r = loop_add_fd(a->loop, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, false, on_client, cl,
			&cl->source);
	if (r < 0)
		client_gone(cl);
}

/* ---- answers ---- */

static bool is_change(const struct privsep_msg *m)
{
	return privsep_is_change((enum privsep_type)m->type);
}

/* type, allow NULL: the answer has none. */
static enum MHD_Result queue_response(struct api_call *c, unsigned status, struct MHD_Response *rsp,
				      const char *type, const char *allow)
{
	char etag[24];
	enum MHD_Result r;

	if (!rsp)
		return MHD_NO;
	c->stage = API_ANSWERED;
	if (type)
		MHD_add_response_header(rsp, "Content-Type", type);
	/* A cache must ask again: with the ETag it then gets 304 if nothing has changed. */
	MHD_add_response_header(rsp, "Cache-Control", "no-cache");
	MHD_add_response_header(rsp, "Connection", "close");
	if (allow)
		MHD_add_response_header(rsp, "Allow", allow);
	snprintf(etag, sizeof(etag), "\"%016llx\"", (unsigned long long)c->reply.etag);
	if (c->reply.etag)
		MHD_add_response_header(rsp, "ETag", etag);
	r = MHD_queue_response(c->connection, status, rsp);
	MHD_destroy_response(rsp);
	return r;
}

/* An answer without a body. */
static enum MHD_Result answer_empty(struct api_call *c, unsigned status, const char *allow)
{
	return queue_response(c, status,
			      MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT), NULL,
			      allow);
}

static enum MHD_Result answer_error(struct api_call *c)
{
	char *text = api_error_to_json(&c->error);

	c->stage = API_ANSWERED;
	if (!text)
		return MHD_NO;
	return queue_response(
		c, c->error.http_status,
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE),
		PROBLEM_TYPE, *c->error.allow ? c->error.allow : NULL);
}

/* A hash of the content, not 0; 0: it cannot be read. */
static uint64_t content_hash(int fd, size_t len)
{
	uint64_t key[2] = {0};
	char part[16384];

	while (key[1] < len) {
		ssize_t n = pread(fd, part, sizeof(part), (off_t)key[1]);

		if (n <= 0)
			return 0;
		key[0] = hash_keyed(key, part, (size_t)n);
		key[1] += (uint64_t)n;
	}
	return MAX_OF(key[0], 1);
}

/* Whether the client has this content already. If-None-Match is a list of ETags, or *. */
static bool is_known(const struct api_call *c, uint64_t etag)
{
	const char *known =
		MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "If-None-Match");
	char text[24];

	snprintf(text, sizeof(text), "\"%016llx\"", (unsigned long long)etag);
	return known && etag && (strcmp(known, "*") == 0 || strstr(known, text));
}

/*
 * An answer to GET without a version has the hash of its content as ETag. The version of a leg or
 * of the staged configuration does not cover the state in the same answer, so 304 is not possible
 * there.
 */
static enum MHD_Result answer_reply(struct api_call *c)
{
	const bool is_error = c->reply.http_status >= 400;
	const char *type = is_error && c->reply.content == PRIVSEP_JSON
				   ? PROBLEM_TYPE
				   : resource_media_type(c->reply.content);

	if (c->reply.http_status == 200 && !is_change(&c->question) && !c->reply.etag) {
		c->reply.etag = content_hash(c->reply_fd, c->reply.len);
		if (is_known(c, c->reply.etag))
			return answer_empty(c, 304, NULL);
	}
	return queue_response(c, c->reply.http_status,
			      MHD_create_response_from_fd(c->reply.len, fd_take(c->reply_fd)), type,
			      NULL);
}

static enum MHD_Result answer(struct api_call *c)
{
	if (c->stage == API_DROPPED)
		return MHD_NO;
	return c->error.http_status ? answer_error(c) : answer_reply(c);
}

static enum MHD_Result refuse(struct api_call *c, unsigned status, const char *code,
			      const char *text)
{
	c->error = (struct api_error){.http_status = status, .code = code};
	snprintf(c->error.message, sizeof(c->error.message), "%s", text);
	return answer_error(c);
}

/* A document that this process makes, without the monitor. */
static enum MHD_Result answer_local(struct api_call *c, enum resource_local local)
{
	autofree char *text = openapi_document(local);
	int fd = text ? memfd_new_sealed("plenum-document", text, strlen(text)) : -ENOMEM;

	if (fd < 0)
		return refuse(c, 503, "busy", "out of memory for the answer");
	c->reply_fd = fd;
	c->reply = (struct privsep_reply){
		.http_status = 200, .content = PRIVSEP_JSON, .len = strlen(text)};
	return answer_reply(c);
}

/* ---- waiting ---- */

static void arm_timer(struct api *a)
{
	MHD_UNSIGNED_LONG_LONG http_ms = 0;
	uint64_t now = clock_now_ns(), at = UINT64_MAX;

	if (MHD_get_timeout(a->daemon, &http_ms) == MHD_YES)
		at = now + http_ms * NSEC_PER_MSEC;
	for (const struct api_call *c = a->waiting; c; c = c->next)
		at = MIN_OF(at, c->deadline_ns);
	if (at == UINT64_MAX)
		loop_timer_disarm(a->timer);
	else
		loop_timer_arm(a->timer, at > now ? at - now : 0);
}

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

/* The descriptor sent with the request; *ret_fd -1: none. */
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

/* Sends the request to the monitor; its answer comes as a message. */
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
		clock_now_ns() + (is_change(&c->question) ? CHANGE_LIMIT_NS : ANSWER_LIMIT_NS);
	return 0;
}

/* Holds back a wait for events while there are none; a note of the monitor ends it. Not if the
 * client's numbers are those of another agent instance, which it does not know yet. */
static bool holds_back(const struct api *a, const struct api_call *c, unsigned wait_s)
{
	const struct privsep_get_events *g = &c->question.get_events;

	return wait_s > 0 && c->question.type == PRIVSEP_GET_EVENTS && g->since == a->next_event &&
	       (g->instance == 0 || g->instance == a->instance);
}

static enum MHD_Result begin_wait(struct api *a, struct api_call *c, unsigned wait_s)
{
	struct privsep_msg held = {.type = PRIVSEP_HELD, .connection = c->client->id};
	int r;

	if (holds_back(a, c, wait_s)) {
		r = api_tell(&held, -1);
		c->deadline_ns = clock_now_ns() + wait_s * NSEC_PER_SEC;
	} else {
		r = ask(c);
	}
	if (r == -EBADMSG)
		return refuse(c, 400, "bad-body",
			      "a text contains characters that are not allowed");
	if (r < 0)
		return refuse(c, 503, "busy", "the agent is busy; try again");
	c->stage = API_WAITING;
	c->next = a->waiting;
	a->waiting = c;
	MHD_suspend_connection(c->connection);
	return MHD_YES;
}

/* ---- requests ---- */

/* The parameters of /v1/events, and where api_route() looks for them. */
static const struct {
	const char *name;
	size_t offset;
} parameters[] = {
	{"since", offsetof(struct api_request, since)},
	{"wait", offsetof(struct api_request, wait)},
	{"instance", offsetof(struct api_request, instance)},
	{"severity", offsetof(struct api_request, severity)},
	{"from", offsetof(struct api_request, from)},
	{"until", offsetof(struct api_request, until)},
	{"source", offsetof(struct api_request, source)},
	{"limit", offsetof(struct api_request, limit)},
};

/* Refuses unknown parameters: an ignored one would be taken as accepted. */
static enum MHD_Result take_parameter(void *user, enum MHD_ValueKind kind, const char *key,
				      const char *value)
{
	struct api_request *rq = user;

	for (size_t i = 0; i < ARRAY_SIZE(parameters) && strcmp(rq->path, "/v1/events") == 0; i++)
		if (strcmp(key, parameters[i].name) == 0) {
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

/* For HEAD the library leaves out the body of the answer to GET. */
static enum MHD_Result complete(struct api *a, struct api_call *c, const char *method,
				const char *url)
{
	struct api_request rq = {.method = strcmp(method, "HEAD") == 0 ? "GET" : method,
				 .path = url,
				 .accept = header(c, "Accept"),
				 .content_type = header(c, "Content-Type"),
				 .if_match = header(c, "If-Match"),
				 .body = c->body,
				 .body_len = c->body_len,
				 .read_only = a->role != PRIVSEP_ADMIN};
	char allow[API_ALLOW_MAX];
	unsigned wait_s;
	int r;

	if (c->no_memory)
		return refuse(c, 503, "busy", "out of memory for the body");
	api_route_methods(url, allow);
	if (strcmp(method, "OPTIONS") == 0 && allow[0])
		return answer_empty(c, 204, allow);
	MHD_get_connection_values(c->connection, MHD_GET_ARGUMENT_KIND, take_parameter, &rq);
	r = api_route(&rq, &c->question, &wait_s, &c->error);
	if (r < 0)
		return answer_error(c);
	return r > 0 ? answer_local(c, (enum resource_local)r) : begin_wait(a, c, wait_s);
}

/* Cannot exceed the Content-Length, which has been checked. */
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
	}
	return c;
}

/* Called after the headers, for each piece of the body, at its end, and after a resume. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **call)
{
	struct api_call *c = *call;

	if (!c) {
		c = *call = call_new(connection);
		return c ? MHD_YES : MHD_NO;
	}
	if (*size > 0) {
		take_body(c, data, *size);
		*size = 0;
		return MHD_YES;
	}
	if (c->stage == API_READING)
		return complete(user, c, method, url);
	return answer(c);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **call,
			 enum MHD_RequestTerminationCode toe)
{
	struct api_call *c = *call;

	if (!c)
		return;
	unlink_call(user, c);
	cleanup_close(&c->reply_fd);
	free(c->body);
	free(c);
	*call = NULL;
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode toe)
{
	struct api *a = user;

	if (toe == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			client_gone(*context);
		*context = NULL;
		return;
	}
	*context = a->arriving;
	a->arriving = NULL;
}

/* ---- the loop ---- */

int api_http_run(struct api *a)
{
	if (MHD_run(a->daemon) != MHD_YES)
		return -EIO;
	arm_timer(a);
	return 0;
}

static int on_http(void *user, int fd, uint32_t revents)
{
	return api_http_run(user);
}

static int on_timer(void *user)
{
	struct api *a = user;
	uint64_t now = clock_now_ns();

	for (struct api_call *c = a->waiting, *next; c; c = next) {
		next = c->next;
		if (c->deadline_ns > now)
			continue;
		/* Held back until now: ask, and the answer is the empty list. */
		if (!c->asked && ask(c) >= 0)
			continue;
		c->error = (struct api_error){.http_status = 504, .code = "timeout"};
		snprintf(c->error.message, sizeof(c->error.message), "the agent did not answer");
		resume(a, c, API_ANSWERED);
	}
	return api_http_run(a);
}

static struct api_call *waiting_of(struct api *a, uint64_t connection)
{
	struct api_call *c = a->waiting;

	while (c && c->client->id != connection)
		c = c->next;
	return c;
}

void api_http_reply(struct api *a, const struct privsep_msg *m, int *fd)
{
	struct api_call *c = waiting_of(a, m->connection);

	if (!c)
		return;
	c->reply = m->reply;
	c->reply_fd = fd_take(*fd);
	resume(a, c, API_ANSWERED);
}

void api_http_note(struct api *a, const struct privsep_event_note *n)
{
	a->next_event = n->next;
	a->instance = n->instance;
	for (struct api_call *c = a->waiting, *next; c; c = next) {
		next = c->next;
		if (c->asked || c->question.get_events.since == n->next)
			continue;
		if (ask(c) < 0)
			c->deadline_ns = 0; /* the timer tries again */
	}
}

/* The monitor has shut down the socket. The library closes a client that it reads, but does not
 * notice a suspended one until it is resumed. */
void api_http_drop(struct api *a, uint64_t connection)
{
	struct api_call *c = waiting_of(a, connection);

	if (c) {
		resume(a, c, API_DROPPED);
		return;
	}
	for (struct api_client *cl = a->clients; cl; cl = cl->next)
		if (cl->id == connection && cl->fd >= 0) {
			client_gone(cl);
			return;
		}
}

int api_http_open(struct api *a)
{
	const union MHD_DaemonInfo *info;
	struct loop_source *http;
	int r;

	a->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		on_request, a, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MEMORY_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_completed, a,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, a, MHD_OPTION_END);
	if (!a->daemon)
		return -EIO;
	info = MHD_get_daemon_info(a->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EIO;
	r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_timer, a, &a->timer);
	if (r >= 0)
		r = loop_add_fd(a->loop, info->epoll_fd, EPOLLIN, false, on_http, a, &http);
	return r;
}
