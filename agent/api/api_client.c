/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections of clients. A connection carries up to API_REQUESTS_MAX requests, one after the
 * other. A client can send several requests at once. This file reads a request from the socket only
 * when the client has received the answer to the request before, so the answers arrive in order.
 * The monitor has the time limits, and closes the connection that was idle longest if another
 * client needs its place.
 */
#include "agent/api/api_head.h"
#include "agent/api/api_internal.h"
#include "agent/api/api_stream.h"
#include "agent/api/tls/tls_server.h"
#include <string.h>
#include <sys/socket.h>

#define DISCARD_BYTES_MAX (4U << 20)
#define STEPS_MAX 64 /* maximum number of steps of a connection before other connections run */

/*
 * Tells the monitor that a connection was closed. If the monitor has already reused its table
 * entry, the message does no harm, because the number of a connection is never used again. With
 * TLS, api_tls.c sends the message later, when the client has received the rest of its answer and
 * the TLS connection ends.
 */
static void tell_closed(struct api *a, uint64_t connection)
{
	struct privsep_msg m = {.type = PRIVSEP_CLOSED, .connection = connection};

	if (!tls_server_has(a->tls, connection))
		api_tell(&m, -1);
}

static struct api_client *find(const struct api *a, uint64_t connection)
{
	struct api_client *cl = a->clients;

	while (cl && cl->id != connection)
		cl = cl->next;
	return cl;
}

bool api_client_has(const struct api *a, uint64_t connection)
{
	return find(a, connection);
}

/* Closes and frees a connection that is not in the list of ready ones. */
static void end(struct api_client *cl)
{
	struct api *a = cl->api;
	const uint64_t id = cl->id;

	for (struct api_client **at = &a->clients; *at; at = &(*at)->next)
		if (*at == cl) {
			*at = cl->next;
			break;
		}
	api_request_done(cl->call);
	api_send_done(cl);
	loop_source_free(cl->source);
	cleanup_close(&cl->fd);
	free(cl->in);
	free(cl);
	tell_closed(a, id);
}

/* ---- events ---- */

static int on_event(void *user, int fd, uint32_t revents)
{
	struct api_client *cl = user;

	if (revents & (EPOLLHUP | EPOLLERR))
		cl->gone = true;
	if (revents & (EPOLLRDHUP | EPOLLHUP))
		cl->half_closed = true;
	if (revents & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))
		cl->readable = true;
	api_ready(cl);
	cl->api->run(cl->api);
	return 0;
}

/* Edge-triggered, so that bytes that are not wanted yet can stay in the socket. Room in the socket
 * is only of interest after it was full: otherwise each read by the client would be an event. */
static int watch(struct api_client *cl, bool wants_room)
{
	const uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLET | (wants_room ? EPOLLOUT : 0);

	if (cl->source && wants_room == cl->wants_room)
		return 0;
	cl->wants_room = wants_room;
	cl->source = loop_source_free(cl->source);
	return loop_add_fd(cl->api->loop, cl->fd, events, false, on_event, cl, &cl->source);
}

/* ---- receiving ---- */

/* Returns the number of bytes received, 0 if no bytes are waiting, or negative errno. */
static ssize_t receive(struct api_client *cl, char *buf, size_t size)
{
	ssize_t n;

	if (!cl->readable || cl->ended)
		return 0;
	do {
		n = recv(cl->fd, buf, size, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	cl->ended = n == 0;
	/* The end of the stream may follow these bytes without a further event. */
	if (n < (ssize_t)size && !cl->half_closed)
		cl->readable = false;
	if (n < 0)
		cl->readable = false;
	/* The monitor's message about a change may not have been read yet although this client
	 * already knows of the change. */
	if (n > 0)
		cl->api->catch_up(cl->api);
	return MAX_OF(n, 0);
}

static void consume(struct api_client *cl, size_t n)
{
	cl->in_len -= n;
	if (cl->in_len > 0) {
		memmove(cl->in, cl->in + n, cl->in_len);
		return;
	}
	free(cl->in);
	cl->in = NULL;
}

/* Reads further bytes of a head. Returns their number, 0 if no bytes are waiting, or negative
 * errno. */
static ssize_t receive_head(struct api_client *cl)
{
	char bytes[API_HEAD_BYTES_MAX], *all;
	const ssize_t n = receive(cl, bytes, sizeof(bytes) - cl->in_len);

	if (n <= 0)
		return n;
	if (cl->in_len == 0)
		api_tell_next(cl);
	all = realloc(cl->in, cl->in_len + (size_t)n);
	if (!all)
		return -ENOMEM;
	memcpy(all + cl->in_len, bytes, (size_t)n);
	cl->in = all;
	cl->in_len += (size_t)n;
	return n;
}

/* ---- steps: each returns 1 if another step may follow, 0 to wait for an event or a message, or
 * negative errno to close the connection ---- */

static int read_head(struct api_client *cl)
{
	struct api_error error;
	ssize_t good = cl->in_len > 0 ? api_head_check(cl->in, cl->in_len, &error) : 0, n;
	int r;

	if (good < 0) {
		r = api_request_refuse(cl, &error);
		return r < 0 ? r : 1;
	}
	if (good == 0) {
		n = receive_head(cl);
		if (n != 0)
			return n > 0 ? 1 : (int)n;
		return cl->ended ? -ECONNRESET : 0;
	}
	r = api_request_begin(cl, cl->in, (size_t)good);
	consume(cl, (size_t)good);
	return r < 0 ? r : 1;
}

/* A client that expects an answer 100 sends no body before it. */
static int send_continue(struct api_client *cl)
{
	char *text = strdup("HTTP/1.1 100 Continue\r\n\r\n");

	cl->call->head.expects_continue = false;
	if (!text)
		return -ENOMEM;
	api_send_begin(cl, text, NULL, "", 0);
	return 1;
}

static int read_body(struct api_client *cl)
{
	struct api_call *c = cl->call;
	const size_t left = c->head.body_len - c->body_len, here = MIN_OF(left, cl->in_len);
	ssize_t n;

	if (here > 0) {
		memcpy(c->body + c->body_len, cl->in, here);
		c->body_len += here;
		consume(cl, here);
		return 1;
	}
	if (left == 0) {
		int r = api_request_step(c);

		return r < 0 ? r : 1;
	}
	if (c->head.expects_continue)
		return send_continue(cl);
	n = receive(cl, c->body + c->body_len, left);
	if (n > 0)
		c->body_len += (size_t)n;
	if (n != 0)
		return n > 0 ? 1 : (int)n;
	return cl->ended ? -ECONNRESET : 0;
}

/* If the socket were closed while the client is still sending, the connection would be reset, and
 * the client could lose the answer. So the process first reads and discards the bytes that the
 * client still sends. */
static int discard(struct api_client *cl)
{
	char junk[16384];
	ssize_t n;

	while ((n = receive(cl, junk, sizeof(junk))) > 0) {
		cl->n_discarded += (size_t)n;
		if (cl->n_discarded > DISCARD_BYTES_MAX)
			return -EFBIG;
	}
	if (n < 0 || cl->ended)
		return -ECONNRESET;
	return 0;
}

/* Ends a request. Call it when the client has received the answer. */
static int finish(struct api_client *cl)
{
	const struct api_call *c = cl->call;
	const bool is_whole = c->head.method && c->body_len == c->head.body_len;

	api_request_done(cl->call);
	if (!cl->closing) {
		api_tell_next(cl);
		return 1;
	}
	/* The client has sent its whole request and nothing else, so nothing can be lost. */
	if (is_whole && cl->in_len == 0 && !cl->readable)
		return -ECONNRESET;
	if (shutdown(cl->fd, SHUT_WR) < 0)
		return -errno;
	cl->discarding = true;
	return 1;
}

static int step(struct api_client *cl)
{
	struct api_call *c = cl->call;
	int r;

	if (cl->dropped || cl->gone)
		return -ECONNRESET;
	if (cl->discarding)
		return discard(cl);
	if (api_send_is_pending(cl)) {
		r = api_send_flush(cl);
		if (r == 0)
			r = watch(cl, true);
		return r;
	}
	if (!c)
		return read_head(cl);
	switch (c->stage) {
	case API_READING:
		return read_body(cl);
	case API_LOGGED_IN:
	case API_REPLIED:
		r = api_request_step(c);
		return r < 0 ? r : 1;
	case API_ANSWERED:
		return c->stream ? api_stream_step(c->stream) : finish(cl);
	default:
		return 0;
	}
}

void api_client_run(struct api_client *cl)
{
	int r = 1;

	for (unsigned i = 0; r > 0 && i < STEPS_MAX; i++)
		r = step(cl);
	/* A message that has just arrived may have put the connection in the list. */
	if (r > 0 || (r < 0 && cl->is_ready)) {
		cl->dropped = cl->dropped || r < 0;
		api_ready(cl);
	} else if (r < 0) {
		end(cl);
	}
}

/* ---- functions for the other files ---- */

void api_client_accept(struct api *a, uint64_t connection, bool barred, int fd)
{
	struct api_client *cl = calloc(1, sizeof(*cl));

	if (!cl) {
		close(fd);
		tell_closed(a, connection);
		return;
	}
	*cl = (struct api_client){.api = a,
				  .id = connection,
				  .barred = barred,
				  .fd = fd,
				  .told_ns = clock_now_ns(),
				  .next = a->clients};
	a->clients = cl;
	if (watch(cl, false) < 0)
		end(cl);
}

void api_client_drop(struct api *a, uint64_t connection)
{
	struct api_client *cl = find(a, connection);

	if (!cl)
		return;
	cl->dropped = true;
	api_ready(cl);
}
