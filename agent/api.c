/* SPDX-License-Identifier: BSD-3-Clause */
/* The api role: HTTP on the socket that the monitor made, and the questions to the monitor. */
#include "agent/api_route.h"
#include "agent/loop.h"
#include "agent/role.h"
#include "agent/spawn.h"
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define API_CONNECTIONS_MAX 64
#define API_HEADER_BYTES_MAX 32768
#define API_IDLE_S 30
#define API_ANSWER_LIMIT_NS (90 * NSEC_PER_SEC) /* for the monitor; an apply takes its time */

enum api_stage {
	API_READING, /* headers and body arrive */
	API_WAITING, /* suspended, for the monitor or for events */
	API_ANSWERED
};

struct api_call { /* one request of a client */
	enum api_stage stage;
	struct MHD_Connection *connection;
	char *body;
	size_t body_len;
	bool too_large;
	uint64_t number;      /* of the question asked; 0: held back for want of events */
	uint64_t deadline_ns; /* while waiting */
	struct privsep_msg question;
	struct privsep_reply reply;
	int reply_fd;
	struct api_error error; /* http_status 0: none */
	struct api_call *next;
};

struct api {
	struct loop *loop;
	struct MHD_Daemon *daemon;
	struct api_call *waiting;
	struct loop_source *timer;
	uint64_t last_number, next_event;
};

/* ---- answers ---- */

static enum MHD_Result api_queue(struct api_call *c, unsigned status, struct MHD_Response *rsp,
				 const char *type, const char *allow)
{
	enum MHD_Result r;

	if (!rsp)
		return MHD_NO;
	MHD_add_response_header(rsp, "Content-Type", type);
	MHD_add_response_header(rsp, "Cache-Control", "no-store");
	if (allow)
		MHD_add_response_header(rsp, "Allow", allow);
	r = MHD_queue_response(c->connection, status, rsp);
	MHD_destroy_response(rsp);
	return r;
}

static enum MHD_Result api_answer_error(struct api_call *c)
{
	char *text = api_error_to_json(&c->error);

	c->stage = API_ANSWERED;
	if (!text)
		return MHD_NO;
	return api_queue(c, c->error.http_status,
			 MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE),
			 "application/json", c->error.allow);
}

static enum MHD_Result api_answer(struct api_call *c)
{
	static const char *const types[PRIVSEP_CONTENT_MAX] = {
		"application/json", "application/yaml", "text/plain; version=0.0.4"};

	if (c->error.http_status)
		return api_answer_error(c);
	c->stage = API_ANSWERED;
	return api_queue(c, c->reply.http_status,
			 MHD_create_response_from_fd(c->reply.len, fd_take(c->reply_fd)),
			 types[c->reply.content], NULL);
}

static enum MHD_Result api_refuse(struct api_call *c, unsigned status, const char *code,
				  const char *text)
{
	c->error = (struct api_error){.http_status = status, .code = code};
	snprintf(c->error.message, sizeof(c->error.message), "%s", text);
	return api_answer_error(c);
}

/* ---- waiting ---- */

static void api_arm_timer(struct api *a)
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

static void api_unlink(struct api *a, struct api_call *c)
{
	for (struct api_call **at = &a->waiting; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			return;
		}
}

static void api_resume(struct api *a, struct api_call *c)
{
	api_unlink(a, c);
	c->stage = API_ANSWERED;
	MHD_resume_connection(c->connection);
}

/* Sends the question; its answer comes as a message. */
static int api_ask(struct api *a, struct api_call *c)
{
	autoclose int fd = -1;
	int r;

	if (c->question.type == PRIVSEP_PUT_STAGED) {
		fd = spawn_memfd_sealed("plenum-body", c->body, c->body_len);
		if (fd < 0)
			return fd;
	}
	c->question.request = ++a->last_number;
	r = privsep_send(PRIVSEP_FD_CONTROL, PRIVSEP_API, &c->question, fd);
	if (r < 0)
		return r;
	c->number = c->question.request;
	c->deadline_ns = clock_now_ns() + API_ANSWER_LIMIT_NS;
	return 0;
}

/* A client that waits for events with none there is not asked for: a note will wake it. */
static bool api_holds_back(const struct api *a, const struct api_call *c, unsigned wait_s)
{
	return wait_s > 0 && c->question.type == PRIVSEP_GET_EVENTS &&
	       c->question.get_events.since >= a->next_event;
}

static enum MHD_Result api_begin_wait(struct api *a, struct api_call *c, unsigned wait_s)
{
	if (api_holds_back(a, c, wait_s)) {
		c->deadline_ns = clock_now_ns() + wait_s * NSEC_PER_SEC;
	} else {
		int r = api_ask(a, c);

		if (r == -EBADMSG)
			return api_refuse(c, 400, "bad-body",
					  "a text has characters that are not allowed");
		if (r < 0)
			return api_refuse(c, 503, "busy", "the agent is busy; try again");
	}
	c->stage = API_WAITING;
	c->next = a->waiting;
	a->waiting = c;
	MHD_suspend_connection(c->connection);
	return MHD_YES;
}

/* ---- requests ---- */

static enum MHD_Result api_complete(struct api *a, struct api_call *c, const char *method,
				    const char *url)
{
	struct api_request rq = {
		.method = method, .path = url, .body = c->body, .body_len = c->body_len};
	unsigned wait_s;

	if (c->too_large)
		return api_refuse(c, 413, "too-large", "the body is larger than 1 MiB");
	rq.since = MHD_lookup_connection_value(c->connection, MHD_GET_ARGUMENT_KIND, "since");
	rq.wait = MHD_lookup_connection_value(c->connection, MHD_GET_ARGUMENT_KIND, "wait");
	if (api_route(&rq, &c->question, &wait_s, &c->error) < 0)
		return api_answer_error(c);
	return api_begin_wait(a, c, wait_s);
}

static void api_take_body(struct api_call *c, const char *data, size_t len)
{
	char *body;

	if (c->too_large || len > PRIVSEP_TEXT_MAX - c->body_len) {
		c->too_large = true;
		return;
	}
	body = realloc(c->body, c->body_len + len);
	if (!body) {
		c->too_large = true;
		return;
	}
	memcpy(body + c->body_len, data, len);
	c->body = body;
	c->body_len += len;
}

static struct api_call *api_call_new(struct MHD_Connection *connection)
{
	struct api_call *c = calloc(1, sizeof(*c));

	if (c) {
		c->connection = connection;
		c->reply_fd = -1;
	}
	return c;
}

/* Called when the headers are there, for each piece of the body, at its end, and after a resume. */
static enum MHD_Result api_on_request(void *user, struct MHD_Connection *connection,
				      const char *url, const char *method, const char *version,
				      const char *data, size_t *size, void **call)
{
	struct api *a = user;
	struct api_call *c = *call;

	if (!c) {
		const char *length =
			MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

		c = *call = api_call_new(connection);
		if (!c)
			return MHD_NO;
		/* Refused before it is sent. */
		if (length && strtoull(length, NULL, 10) > PRIVSEP_TEXT_MAX)
			return api_refuse(c, 413, "too-large", "the body is larger than 1 MiB");
		return MHD_YES;
	}
	if (*size > 0) {
		api_take_body(c, data, *size);
		*size = 0;
		return MHD_YES;
	}
	if (c->stage == API_READING)
		return api_complete(a, c, method, url);
	return api_answer(c);
}

static void api_on_completed(void *user, struct MHD_Connection *connection, void **call,
			     enum MHD_RequestTerminationCode toe)
{
	struct api_call *c = *call;

	if (!c)
		return;
	api_unlink(user, c);
	cleanup_close(&c->reply_fd);
	free(c->body);
	free(c);
	*call = NULL;
}

/* ---- the loop ---- */

static int api_run_http(struct api *a)
{
	if (MHD_run(a->daemon) != MHD_YES)
		return -EIO;
	api_arm_timer(a);
	return 0;
}

static int api_on_http(void *user, int fd, uint32_t revents)
{
	return api_run_http(user);
}

static int api_on_timer(void *user)
{
	struct api *a = user;
	uint64_t now = clock_now_ns();

	for (struct api_call *c = a->waiting, *next; c; c = next) {
		next = c->next;
		if (c->deadline_ns > now)
			continue;
		/* Held back: ask now, the answer is the empty list. */
		if (c->number == 0 && api_ask(a, c) >= 0)
			continue;
		c->error = (struct api_error){.http_status = 504, .code = "timeout"};
		snprintf(c->error.message, sizeof(c->error.message), "the agent did not answer");
		api_resume(a, c);
	}
	return api_run_http(a);
}

static void api_on_reply(struct api *a, const struct privsep_msg *m, int *fd)
{
	for (struct api_call *c = a->waiting; c; c = c->next) {
		if (c->number != m->request)
			continue;
		c->reply = m->reply;
		c->reply_fd = fd_take(*fd);
		api_resume(a, c);
		return;
	}
}

static void api_on_note(struct api *a, uint64_t next)
{
	a->next_event = next;
	for (struct api_call *c = a->waiting, *after; c; c = after) {
		after = c->next;
		if (c->number != 0 || c->question.get_events.since >= next)
			continue;
		if (api_ask(a, c) < 0)
			c->deadline_ns = 0; /* the timer tries again */
	}
}

static int api_on_monitor(void *user, int fd, uint32_t revents)
{
	struct api *a = user;
	struct privsep_msg m;
	const char *why = "";
	int passed = -1, r;

	r = privsep_recv(fd, PRIVSEP_MONITOR, &m, &passed, &why);
	if (r == -EAGAIN)
		return 0;
	if (r == 0) { /* the monitor is gone, and so are we */
		loop_exit(a->loop, 0);
		return 0;
	}
	if (r < 0) {
		log_err("message of the monitor: %s", r == -EBADMSG ? why : strerror(-r));
		return r;
	}
	if (m.type == PRIVSEP_REPLY)
		api_on_reply(a, &m, &passed);
	else if (m.type == PRIVSEP_EVENT_NOTE)
		api_on_note(a, m.event_note.next);
	cleanup_close(&passed);
	return api_run_http(a);
}

static void api_log_http(void *user, const char *fmt, va_list ap) PLENUM_PRINTF(2, 0);
static void api_log_http(void *user, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("http: %s", text);
}

static int api_open(struct api *a)
{
	const union MHD_DaemonInfo *info;
	struct loop_source *http, *monitor;
	int r;

	a->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		api_on_request, a, MHD_OPTION_EXTERNAL_LOGGER, api_log_http, NULL,
		MHD_OPTION_LISTEN_SOCKET, PRIVSEP_FD_LISTEN, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)API_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)API_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)API_HEADER_BYTES_MAX,
		MHD_OPTION_NOTIFY_COMPLETED, api_on_completed, a, MHD_OPTION_END);
	if (!a->daemon)
		return -EIO;
	info = MHD_get_daemon_info(a->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EIO;
	r = loop_add_timer(a->loop, NSEC_PER_MSEC, api_on_timer, a, &a->timer);
	if (r >= 0)
		r = loop_add_fd(a->loop, info->epoll_fd, EPOLLIN, false, api_on_http, a, &http);
	if (r >= 0)
		r = loop_add_fd(a->loop, PRIVSEP_FD_CONTROL, EPOLLIN, false, api_on_monitor, a,
				&monitor);
	return r;
}

int api_main(enum log_level level)
{
	struct rlimit no_files = {256, 256}, no_core = {0, 0};
	static struct api a; /* not of the stack: what it holds is within reach to the end */
	int r = privsep_drop_privileges();

	prctl(PR_SET_NAME, "plenumd-api"); /* else what /proc/self/exe is called */
	if (r < 0) {
		log_err("api: privileges cannot be given up: %s", strerror(-r));
		return 1;
	}
	setrlimit(RLIMIT_NOFILE, &no_files);
	setrlimit(RLIMIT_CORE, &no_core);
	r = loop_new(&a.loop);
	if (r >= 0)
		r = api_open(&a);
	if (r >= 0)
		r = loop_run(a.loop);
	if (r < 0)
		log_err("api: %s", strerror(-r));
	/* The process ends here; what the sources and the daemon hold goes with it. */
	return r < 0 ? 1 : 0;
}
