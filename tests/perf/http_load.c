/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients of an HTTP server at a Unix socket: each sends a GET, or a POST if BODY is given, on its
 * connection, reads the answer and sends the next request, for a time.
 *
 *   http_load SOCKET PATH CONNECTIONS SECONDS [BODY]
 *
 * Prints the number of answers per second. All answers must have the status 200, and either a
 * Content-Length or chunks. If the server closes a connection after an answer, a new one is opened.
 */
#include "netcfg/base/base.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CONNECTIONS_MAX 1024
#define ANSWER_BYTES_MAX (1U << 20)

struct load_client {
	char *buf;
	size_t len;
};

static struct sockaddr_un server = {.sun_family = AF_UNIX};
static char request[512];
static struct pollfd sockets[CONNECTIONS_MAX];
static struct load_client clients[CONNECTIONS_MAX];

static void fail(const char *what)
{
	fprintf(stderr, "http_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void ask(unsigned i)
{
	clients[i].len = 0;
	if (send(sockets[i].fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		fail("send");
}

static void open_client(unsigned i)
{
	sockets[i].fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sockets[i].events = POLLIN;
	if (sockets[i].fd < 0 ||
	    connect(sockets[i].fd, (struct sockaddr *)&server, sizeof(server)) < 0)
		fail(server.sun_path);
}

/* Returns the value of a header field, or NULL if the head of the answer does not have the field.
 * `field` begins with the end of the line before it, and ends with ": ". */
static const char *value_of(const struct load_client *c, const char *end, const char *field)
{
	const char *found = strcasestr(c->buf, field);

	return found && found < end ? found + strlen(field) : NULL;
}

/* Returns whether the answer is complete. *ret_last: the server closes the connection. */
static bool is_whole(const struct load_client *c, bool *ret_last)
{
	static const char last_chunk[] = "\r\n0\r\n\r\n";
	const size_t last_len = sizeof(last_chunk) - 1;
	const char *end = memmem(c->buf, c->len, "\r\n\r\n", 4), *length;

	if (!end)
		return false;
	length = value_of(c, end, "\r\nContent-Length: ");
	if (strncmp(c->buf, "HTTP/1.1 200 ", 13) != 0 ||
	    (!length && !value_of(c, end, "\r\nTransfer-Encoding: chunked"))) {
		fprintf(stderr, "http_load: unexpected answer: %.*s\n", (int)(end - c->buf),
			c->buf);
		exit(1);
	}
	*ret_last = value_of(c, end, "\r\nConnection: close") != NULL;
	/* A client has one request at a time, so nothing follows the last chunk. */
	if (!length)
		return memcmp(c->buf + c->len - last_len, last_chunk, last_len) == 0;
	return c->len >= (size_t)(end + 4 - c->buf) + strtoul(length, NULL, 10);
}

/* Returns 1 if an answer is complete. */
static unsigned take(unsigned i)
{
	struct load_client *c = &clients[i];
	ssize_t n = recv(sockets[i].fd, c->buf + c->len, ANSWER_BYTES_MAX - c->len, 0);
	bool is_last = false;

	if (n < 0)
		fail("recv");
	c->len += (size_t)n;
	c->buf[c->len] = '\0';
	if (n == 0 && c->len > 0) {
		errno = ECONNRESET;
		fail("an answer ended early");
	}
	if (n > 0 && !is_whole(c, &is_last))
		return 0;
	if (n == 0 || is_last) {
		close(sockets[i].fd);
		open_client(i);
	}
	ask(i);
	return n > 0;
}

int main(int argc, char **argv)
{
	unsigned n, answers = 0;
	uint64_t begin, end;

	if (argc < 5 || argc > 6 || strlen(argv[1]) >= sizeof(server.sun_path)) {
		fprintf(stderr, "http_load SOCKET PATH CONNECTIONS SECONDS [BODY]\n");
		return 2;
	}
	strcpy(server.sun_path, argv[1]);
	if (argc == 6)
		snprintf(request, sizeof(request),
			 "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 argv[2], strlen(argv[5]), argv[5]);
	else
		snprintf(request, sizeof(request),
			 "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n", argv[2]);
	n = (unsigned)atoi(argv[3]);
	for (unsigned i = 0; i < n && i < CONNECTIONS_MAX; i++) {
		clients[i].buf = malloc(ANSWER_BYTES_MAX + 1);
		if (!clients[i].buf)
			fail("memory");
		open_client(i);
		ask(i);
	}
	begin = clock_now_ns();
	end = begin + (uint64_t)(atof(argv[4]) * (double)NSEC_PER_SEC);
	while (clock_now_ns() < end) {
		if (poll(sockets, n, 1000) < 0 && errno != EINTR)
			fail("poll");
		for (unsigned i = 0; i < n; i++)
			if (sockets[i].revents)
				answers += take(i);
	}
	printf("%.0f\n", answers / ((double)(clock_now_ns() - begin) / (double)NSEC_PER_SEC));
	return 0;
}
