/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request to the agent and its reply, HTTP/1.1 over a unix socket. Apart from ctl_http.c, which
 * knows which socket is for what. A library for all of HTTP brings thirty others with it, and to
 * load them takes most of the time of a command.
 */
#include "agent/ctl/ctl.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define REPLY_BYTES_MAX (64U << 20)
#define HEAD_BYTES_MAX 16384
#define CONNECT_TIMEOUT_S 5

struct exchange {
	int fd;
	uint64_t deadline_ns;
	char *data; /* all that came, with a NUL behind it */
	size_t len, cap;
};

void ctl_reply_done(struct ctl_reply *r)
{
	free(r->body);
	*r = (struct ctl_reply){0};
}

static int exchange_connect(const char *socket_path)
{
	const struct timeval limit = {.tv_sec = CONNECT_TIMEOUT_S};
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	autoclose int fd = -1;

	if (strlen(socket_path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, socket_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Where too many others wait for the agent already, this waits for them. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)))
		return -errno;
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return fd_take(fd);
}

/* Waits until the socket is good for `events`. */
static int exchange_wait(const struct exchange *x, short events)
{
	struct pollfd p = {.fd = x->fd, .events = events};

	for (;;) {
		uint64_t now = clock_now_ns();
		int n;

		if (now >= x->deadline_ns)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)MIN_OF((x->deadline_ns - now) / NSEC_PER_MSEC + 1, 60000ULL));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* Sends all of it. An agent that refuses the request may not want the rest, and says why. */
static int exchange_send(const struct exchange *x, const char *data, size_t len)
{
	size_t sent = 0;

	while (sent < len) {
		ssize_t n = send(x->fd, data + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = n < 0 ? -errno : 0;

		if (n >= 0)
			sent += (size_t)n;
		if (r == -EPIPE || r == -ECONNRESET)
			return 0;
		if (r == -EAGAIN)
			r = exchange_wait(x, POLLOUT);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return 0;
}

/* Reads on. The number of bytes, 0 at the end. */
static ssize_t exchange_read(struct exchange *x)
{
	ssize_t n;
	int r;

	if (x->len + 1 >= x->cap) {
		size_t cap = x->cap ? 2 * x->cap : 16384;
		char *data = realloc(x->data, cap);

		if (!data)
			return -ENOMEM;
		x->data = data;
		x->cap = cap;
	}
	do {
		r = exchange_wait(x, POLLIN);
		if (r < 0)
			return r;
		n = recv(x->fd, x->data + x->len, x->cap - x->len - 1, MSG_DONTWAIT);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	if (n < 0)
		return -errno;
	x->len += (size_t)n;
	x->data[x->len] = '\0';
	return n;
}

/* The value of a field of the head, which ends in an empty line; NULL: it has none. */
static const char *field_of(const char *head, const char *name)
{
	size_t len = strlen(name);
	const char *line = head;

	while ((line = strstr(line, "\r\n")) && strncmp(line + 2, "\r\n", 2) != 0) {
		line += 2;
		if (strncasecmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, " \t");
	}
	return NULL;
}

/* The head of the reply, as far as it is of use. The number of bytes that the body has. */
static int64_t head_read(const char *head, struct ctl_reply *ret)
{
	const char *etag = field_of(head, "ETag"), *length = field_of(head, "Content-Length");
	unsigned long long n;
	char *end;

	/* What has no length ends with the connection, as what was broken off does. */
	if (sscanf(head, "HTTP/1.%*1[01] %3ld", &ret->status) != 1 || ret->status < 200 ||
	    !length || *length < '0' || *length > '9' || field_of(head, "Transfer-Encoding"))
		return -EPROTO;
	errno = 0;
	n = strtoull(length, &end, 10);
	if (errno || *end != '\r')
		return -EPROTO;
	if (n > REPLY_BYTES_MAX)
		return -EFBIG;
	if (etag)
		snprintf(ret->etag, sizeof(ret->etag), "%.*s", (int)strcspn(etag, "\r\n"), etag);
	return (int64_t)n;
}

static int exchange_receive(struct exchange *x, struct ctl_reply *ret)
{
	const char *head_end = NULL;
	size_t skip;
	int64_t n;
	ssize_t r;

	while (!head_end) {
		if (x->len >= HEAD_BYTES_MAX)
			return -EPROTO;
		r = exchange_read(x);
		if (r <= 0)
			return r < 0 ? (int)r : -ECONNRESET;
		head_end = strstr(x->data, "\r\n\r\n");
	}
	skip = (size_t)(head_end - x->data) + 4;
	n = head_read(x->data, ret);
	if (n < 0)
		return (int)n;
	while (x->len - skip < (size_t)n) {
		r = exchange_read(x);
		if (r <= 0)
			return r < 0 ? (int)r : -ECONNRESET;
	}
	ret->body = malloc((size_t)n + 1);
	if (!ret->body)
		return -ENOMEM;
	memcpy(ret->body, x->data + skip, (size_t)n);
	ret->body[n] = '\0';
	ret->len = (size_t)n;
	return 0;
}

/* Whether it can stand in a head as it is. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

/* The number of bytes of the request's head. */
static int head_build(const struct ctl_request *rq, size_t body_len, char *buf, size_t size)
{
	bool versioned = rq->if_match && *rq->if_match;
	size_t len;

	if (!is_plain(rq->path) || (versioned && !is_plain(rq->if_match)))
		return -EPROTO;
	len = (size_t)snprintf(buf, size,
			       "%s %s HTTP/1.1\r\nHost: plenum\r\nConnection: close\r\n"
			       "Content-Type: %s\r\n%s%s%s",
			       rq->method, rq->path,
			       rq->content_type ? rq->content_type : "application/json",
			       versioned ? "If-Match: " : "", versioned ? rq->if_match : "",
			       versioned ? "\r\n" : "");
	if (len < size && rq->body)
		len += (size_t)snprintf(buf + len, size - len, "Content-Length: %zu\r\n", body_len);
	if (len < size)
		len += (size_t)snprintf(buf + len, size - len, "\r\n");
	return len < size ? (int)len : -ENAMETOOLONG;
}

int ctl_exchange(const char *socket_path, const struct ctl_request *rq, struct ctl_reply *ret)
{
	size_t body_len = !rq->body ? 0 : rq->body_len ? rq->body_len : strlen(rq->body);
	autoclose int fd = -1;
	struct exchange x = {.fd = -1};
	struct ctl_reply reply = {0};
	char head[1024];
	int n = head_build(rq, body_len, head, sizeof(head)), r;

	if (n < 0)
		return n;
	fd = exchange_connect(socket_path);
	if (fd < 0)
		return fd;
	x.fd = fd;
	x.deadline_ns =
		clock_now_ns() + (rq->timeout_s ? rq->timeout_s : CTL_TIMEOUT_S) * NSEC_PER_SEC;
	r = exchange_send(&x, head, (size_t)n);
	if (r == 0)
		r = exchange_send(&x, rq->body, body_len);
	if (r == 0)
		r = exchange_receive(&x, &reply);
	free(x.data);
	if (r < 0)
		ctl_reply_done(&reply);
	else
		*ret = reply;
	return r;
}
