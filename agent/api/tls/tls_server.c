/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves connections with TLS: makes the handshake, passes bytes in both directions, and ends the
 * connection. tls_files.c makes the context from the certificate. */
#include "agent/api/tls/tls_internal.h"
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFER_BYTES 16384 /* size of the largest record of the TLS protocol */
/* Maximum number of bytes that are discarded if a client still sends after its answer. */
#define DISCARD_BYTES_MAX (4U << 20)

struct buffer {
	char bytes[BUFFER_BYTES];
	size_t at, len;
};

struct tls_connection {
	struct tls_server *server;
	uint64_t id;
	SSL *ssl;
	int fd, plain; /* plain: our side of the socket pair with api_client.c; -1: not open */
	struct loop_source *fd_source, *plain_source;
	struct buffer in, out; /* in: from the client; out: to the client */
	bool in_ended;	       /* the client sends no more bytes */
	bool out_ended;	       /* api_client.c has closed its side */
	bool draining; /* the answer was sent, and further bytes from the client are discarded */
	size_t n_discarded;
	struct tls_connection *next;
};

static struct tls_connection *find(const struct tls_server *s, uint64_t id)
{
	struct tls_connection *c = s->list;

	while (c && c->id != id)
		c = c->next;
	return c;
}

static void end(struct tls_connection *c)
{
	struct tls_server *s = c->server;
	const uint64_t id = c->id;

	for (struct tls_connection **at = &s->list; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	loop_source_free(c->fd_source);
	loop_source_free(c->plain_source);
	SSL_free(c->ssl);
	/* The monitor has a duplicate of the socket, so a close alone would not end the
	 * connection. */
	shutdown(c->fd, SHUT_RDWR);
	cleanup_close(&c->fd);
	cleanup_close(&c->plain);
	explicit_bzero(&c->in, sizeof(c->in));
	free(c);
	s->setup.on_end(s->setup.user, id);
}

/* ---- steps: each returns 1 if bytes were moved, 0 to wait for events, or negative errno to end
 * the connection ---- */

/* Returns 0 if the failed call of the library only has to wait for the socket, or -ECONNRESET if
 * the connection has to end. */
static int wait_or_fail(const struct tls_connection *c, int r)
{
	const int e = SSL_get_error(c->ssl, r);

	return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE ? 0 : -ECONNRESET;
}

static int from_client(struct tls_connection *c)
{
	size_t n = 0;
	int r;

	if (c->in_ended || c->in.len > 0)
		return 0;
	ERR_clear_error();
	r = SSL_read_ex(c->ssl, c->in.bytes, sizeof(c->in.bytes), &n);
	if (r > 0) {
		c->in.at = 0;
		c->in.len = n;
		return 1;
	}
	if (SSL_get_error(c->ssl, r) != SSL_ERROR_ZERO_RETURN)
		return wait_or_fail(c, r);
	c->in_ended = true;
	return shutdown(c->plain, SHUT_WR) < 0 && errno != ENOTCONN ? -errno : 1;
}

static int to_requests(struct tls_connection *c)
{
	ssize_t n;

	if (c->in.len == 0)
		return 0;
	n = send(c->plain, c->in.bytes + c->in.at, c->in.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* api_client.c has closed its side, perhaps before the client has received the complete
	 * answer. */
	if (n < 0)
		n = (ssize_t)c->in.len;
	c->in.at += (size_t)n;
	c->in.len -= (size_t)n;
	return 1;
}

static int from_requests(struct tls_connection *c)
{
	ssize_t n;

	if (c->out_ended || c->out.len > 0)
		return 0;
	n = recv(c->plain, c->out.bytes, sizeof(c->out.bytes), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		c->out_ended = true;
	else
		c->out.len = (size_t)n;
	c->out.at = 0;
	return 1;
}

static int to_client(struct tls_connection *c)
{
	size_t n = 0;
	int r;

	if (c->out.len == 0)
		return 0;
	ERR_clear_error();
	r = SSL_write_ex(c->ssl, c->out.bytes + c->out.at, c->out.len, &n);
	if (r <= 0)
		return wait_or_fail(c, r);
	c->out.at += n;
	c->out.len -= n;
	return 1;
}

/* Discards bytes from the client. If the socket were closed while the client is still sending, the
 * kernel would reset the connection, and the client would lose the answer. */
static int drain(struct tls_connection *c)
{
	ssize_t n;

	while ((n = recv(c->fd, c->in.bytes, sizeof(c->in.bytes), MSG_DONTWAIT)) > 0) {
		c->n_discarded += (size_t)n;
		if (c->n_discarded > DISCARD_BYTES_MAX)
			return -EFBIG;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -ECONNRESET;
}

static int begin_drain(struct tls_connection *c)
{
	c->draining = true;
	ERR_clear_error();
	SSL_shutdown(c->ssl);
	return shutdown(c->fd, SHUT_WR) < 0 ? -errno : drain(c);
}

static int pass(struct tls_connection *c)
{
	static int (*const steps[])(struct tls_connection *) = {from_client, to_requests,
								from_requests, to_client};
	int r = 0;
	bool moved;

	/* The loop ends when the sockets' buffers are full or empty, because api_client.c runs
	 * only afterwards. */
	do {
		moved = false;
		for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(steps); i++) {
			r = steps[i](c);
			moved = moved || r > 0;
		}
	} while (r >= 0 && moved);
	if (r >= 0 && c->out_ended && c->out.len == 0)
		r = begin_drain(c);
	return r;
}

/* ---- events ---- */

static int on_event(void *user, int fd, uint32_t revents);

static int open_plain(struct tls_connection *c)
{
	struct tls_server *s = c->server;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	c->plain = pair[0];
	r = loop_add_fd(s->setup.loop, c->plain, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, false,
			on_event, c, &c->plain_source);
	if (r < 0) {
		close(pair[1]);
		return r;
	}
	s->setup.on_open(s->setup.user, c->id, pair[1]);
	return 0;
}

static int handshake(struct tls_connection *c)
{
	int r;

	ERR_clear_error();
	r = SSL_accept(c->ssl);
	if (r <= 0)
		return wait_or_fail(c, r);
	return open_plain(c);
}

static int on_event(void *user, int fd, uint32_t revents)
{
	struct tls_connection *c = user;
	int r = 0;

	if (c->plain < 0)
		r = handshake(c);
	if (r >= 0 && c->plain >= 0)
		r = c->draining ? drain(c) : pass(c);
	if (r < 0)
		end(c);
	return 0;
}

/* ---- functions for other files ---- */

void tls_server_accept(struct tls_server *s, uint64_t id, int fd)
{
	struct tls_connection *c = s->context ? calloc(1, sizeof(*c)) : NULL;
	int r = -ENOMEM;

	if (!c) {
		close(fd);
		s->setup.on_end(s->setup.user, id);
		return;
	}
	*c = (struct tls_connection){.server = s, .id = id, .fd = fd, .plain = -1, .next = s->list};
	s->list = c;
	c->ssl = SSL_new(s->context);
	if (c->ssl && SSL_set_fd(c->ssl, fd) == 1)
		r = loop_add_fd(s->setup.loop, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, false,
				on_event, c, &c->fd_source);
	if (r < 0)
		end(c);
}

void tls_server_drop(struct tls_server *s, uint64_t id)
{
	struct tls_connection *c = find(s, id);

	if (c)
		end(c);
}

bool tls_server_has(const struct tls_server *s, uint64_t id)
{
	return s && find(s, id);
}

int tls_server_new(const struct tls_server_setup *setup, struct tls_server **ret)
{
	struct tls_server *s = calloc(1, sizeof(*s));
	uint8_t hash[TLS_HASH_BYTES];

	if (!s)
		return -ENOMEM;
	s->setup = *setup;
	signal(SIGPIPE, SIG_IGN); /* OpenSSL may write to a socket without a reader */
	/* Makes the library load its algorithms now, because it cannot open files later. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT |
				     OPENSSL_INIT_LOAD_SSL_STRINGS |
				     OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
			     NULL) != 1 ||
	    !tls_hash_token("", 0, hash)) {
		free(s);
		return -EIO;
	}
	*ret = s;
	return 0;
}
