/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps a connection from its arrival until the HTTP library gets it. Checks the request head, and
 * sends an error itself if the library would send one as HTML.
 */
#include "agent/api/api_head.h"
#include "agent/api/api_internal.h"
#include "agent/api/rest/problem.h"
#include "agent/api/tls/tls_server.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define DISCARD_BYTES_MAX (4U << 20)

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

bool api_client_has(const struct api *a, uint64_t connection)
{
	const struct api_client *cl = a->clients;

	while (cl && cl->id != connection)
		cl = cl->next;
	return cl;
}

void api_client_gone(struct api_client *cl)
{
	struct api *a = cl->api;
	const uint64_t id = cl->id;

	for (struct api_client **at = &cl->api->clients; *at; at = &(*at)->next)
		if (*at == cl) {
			*at = cl->next;
			break;
		}
	loop_source_free(cl->source);
	cleanup_close(&cl->fd);
	free(cl);
	tell_closed(a, id);
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
	api_client_gone(cl);
}

/*
 * Sends an answer without the library. If the socket were closed at once while the client is still
 * sending, the connection would be reset, and the client would lose the answer. So this process
 * first reads and discards what the client sends.
 */
static void refuse_head(struct api_client *cl, const struct api_error *e)
{
	autofree char *body = api_error_to_json(e);
	char all[1024];
	int len;

	if (!body) {
		api_client_gone(cl);
		return;
	}
	len = snprintf(all, sizeof(all),
		       "HTTP/1.1 %u %s\r\nContent-Type: " PROBLEM_TYPE "\r\nContent-Length: %zu\r\n"
		       "Connection: close\r\n\r\n%s",
		       e->http_status, problem_title(e->http_status), strlen(body), body);
	if (len >= (int)sizeof(all) || send(cl->fd, all, (size_t)len, MSG_NOSIGNAL) < 0 ||
	    shutdown(cl->fd, SHUT_WR) < 0) {
		api_client_gone(cl);
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
	/* The library has closed the descriptor, even if it has not called api_request_done(). */
	a->arriving = NULL;
	for (struct api_client *c = a->clients; c; c = c->next)
		if (c->id == id) {
			api_client_gone(c);
			return;
		}
}

/* Reads with MSG_PEEK, so that the library can read the same bytes. */
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
		return a->run(a);
	}
	if (n <= 0 || (revents & (EPOLLRDHUP | EPOLLHUP))) /* the client sends no more bytes */
		api_client_gone(cl);
	return 0;
}

void api_client_accept(struct api *a, uint64_t connection, bool barred, int fd)
{
	struct api_client *cl = calloc(1, sizeof(*cl));
	int r;

	if (!cl) {
		close(fd);
		tell_closed(a, connection);
		return;
	}
	*cl = (struct api_client){
		.api = a, .id = connection, .barred = barred, .fd = fd, .next = a->clients};
	a->clients = cl;
	/* Edge-triggered: an incomplete head stays in the socket and is examined again when more
	 * bytes arrive. */
	r = loop_add_fd(a->loop, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, false, on_client, cl,
			&cl->source);
	if (r < 0)
		api_client_gone(cl);
}

void api_client_drop(struct api *a, uint64_t connection)
{
	for (struct api_client *cl = a->clients; cl; cl = cl->next)
		if (cl->id == connection && cl->fd >= 0) {
			api_client_gone(cl);
			return;
		}
}
