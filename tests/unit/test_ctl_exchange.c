/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line's side of HTTP, against peers that answer in pieces, too late, too much or not
 * at all. Apart from test_ctl.c, whose peer is a good one. */
#include "agent/ctl/ctl.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

struct peer {
	const char *reply;
	size_t len;	    /* of the reply; 0: up to the NUL */
	size_t piece;	    /* bytes at a time; 0: all */
	bool silent;	    /* answers nothing, and holds the connection */
	bool reads_nothing; /* answers and closes with the request unread */
	char got[4096];	    /* the request, as far as it was read */
	size_t n_got, n_read;
	int listener, held;
	pthread_t thread;
	char path[64];
};

static bool peer_has_request(const struct peer *p)
{
	const char *end = strstr(p->got, "\r\n\r\n"), *length = strstr(p->got, "Content-Length: ");

	return end && p->n_read >= (size_t)(end + 4 - p->got) +
					   (length ? strtoul(length + 16, NULL, 10) : 0);
}

static void peer_read(struct peer *p, int fd)
{
	char buf[65536];
	ssize_t n;

	while (!peer_has_request(p) && (n = read(fd, buf, sizeof(buf))) > 0) {
		size_t room = sizeof(p->got) - 1 - p->n_got, len = MIN_OF((size_t)n, room);

		memcpy(p->got + p->n_got, buf, len);
		p->n_got += len;
		p->n_read += (size_t)n;
	}
}

static void *peer_main(void *user)
{
	struct peer *p = user;
	int fd = accept(p->listener, NULL, NULL);
	size_t len = p->len || !p->reply ? p->len : strlen(p->reply);

	if (!p->reads_nothing)
		peer_read(p, fd);
	if (p->silent) {
		p->held = fd;
		return NULL;
	}
	for (size_t at = 0, n; at < len; at += n) {
		n = p->piece ? MIN_OF(p->piece, len - at) : len - at;
		if (send(fd, p->reply + at, n, MSG_NOSIGNAL) != (ssize_t)n)
			break;
	}
	close(fd);
	return NULL;
}

static void peer_start(struct peer *p)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	snprintf(p->path, sizeof(p->path), "/tmp/plenum-exchange.%d", (int)getpid());
	strcpy(sa.sun_path, p->path);
	unlink(p->path);
	p->held = -1;
	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->listener, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(p->listener, 1), 0);
	assert_int_equal(pthread_create(&p->thread, NULL, peer_main, p), 0);
}

static void peer_end(struct peer *p)
{
	pthread_join(p->thread, NULL);
	close(p->listener);
	if (p->held >= 0)
		close(p->held);
	unlink(p->path);
}

static int ask(struct peer *p, const struct ctl_request *rq, struct ctl_reply *ret)
{
	int r;

	*ret = (struct ctl_reply){0};
	peer_start(p);
	r = ctl_exchange(p->path, rq, ret);
	peer_end(p);
	return r;
}

static const struct ctl_request get = {.method = "GET", .path = "/v1/status"};

static void test_whole(void **state)
{
	static const size_t pieces[] = {0, 1, 3, 17};
	struct ctl_reply r;

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct peer p = {.piece = pieces[i],
				 .reply = "HTTP/1.1 200 OK\r\nContent-length: 5\r\n"
					  "eTaG:  \"v1\"\r\n\r\n{\"a\"}too much"};

		assert_int_equal(ask(&p, &get, &r), 0);
		assert_int_equal(r.status, 200);
		assert_int_equal(r.len, 5);
		assert_string_equal(r.body, "{\"a\"}");
		assert_string_equal(r.etag, "\"v1\"");
		assert_string_equal(
			p.got, "GET /v1/status HTTP/1.1\r\nHost: plenum\r\nConnection: close\r\n"
			       "Content-Type: application/json\r\n\r\n");
		ctl_reply_done(&r);
	}
}

static void test_empty_body(void **state)
{
	struct peer p = {.reply = "HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n"};
	struct ctl_reply r;

	assert_int_equal(ask(&p, &get, &r), 0);
	assert_int_equal(r.status, 404);
	assert_string_equal(r.body, "");
	ctl_reply_done(&r);
}

static void test_bad_replies(void **state)
{
	static const struct {
		const char *reply;
		int error;
	} cases[] = {
		{"", -ECONNRESET},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", -ECONNRESET},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour", -ECONNRESET},
		{"HTTP/1.1 200 OK\r\n\r\nno length", -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: "
		 "chunked\r\n\r\n0\r\n\r\n",
		 -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n12345", -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\n", -EFBIG},
		{"HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n", -EPROTO},
		{"HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n", -EPROTO},
		{"SSH-2.0-OpenSSH\r\n\r\n", -EPROTO},
	};
	struct ctl_reply r;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct peer p = {.reply = cases[i].reply};

		assert_int_equal(ask(&p, &get, &r), cases[i].error);
		assert_null(r.body);
	}
}

/* A head without end, and one that hides its end behind a NUL. */
static void test_endless_head(void **state)
{
	static char head[65536] = "HTTP/1.1 200 OK\r\n";
	struct peer p = {.reply = head, .len = sizeof(head)};
	struct ctl_reply r;

	memset(head + 17, 'x', sizeof(head) - 17);
	assert_int_equal(ask(&p, &get, &r), -EPROTO);
	memset(head + 17, 0, sizeof(head) - 17);
	assert_int_equal(ask(&p, &get, &r), -EPROTO);
}

static void test_silence(void **state)
{
	struct peer p = {.silent = true};
	struct ctl_request rq = get;
	struct ctl_reply r;

	rq.timeout_s = 1;
	assert_int_equal(ask(&p, &rq, &r), -ETIMEDOUT);
}

/* A body that is far more than a socket holds, of bytes that are no text; and one that nobody
 * reads, whose refusal is heard all the same. */
static void test_bodies(void **state)
{
	static char body[4U << 20];
	struct ctl_request rq = {.method = "PUT",
				 .path = "/v1/staged",
				 .content_type = "application/yaml",
				 .body = body,
				 .body_len = sizeof(body),
				 .if_match = "\"7\""};
	struct peer p = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"};
	struct peer refusal = {.reads_nothing = true,
			       .reply = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}"};
	struct ctl_reply r;

	assert_int_equal(ask(&p, &rq, &r), 0);
	ctl_reply_done(&r);
	assert_non_null(strstr(p.got, "\r\nContent-Type: application/yaml\r\nIf-Match: "
				      "\"7\"\r\nContent-Length: 4194304\r\n\r\n"));
	assert_true(p.n_read > sizeof(body));
	assert_int_equal(ask(&refusal, &rq, &r), 0);
	assert_int_equal(r.status, 413);
	ctl_reply_done(&r);
}

/* What would be another line of the head is not sent. */
static void test_bad_requests(void **state)
{
	struct ctl_request rq = {.method = "GET", .path = "/v1/x HTTP/1.1\r\nHost: a"};
	char *path = calloc(1, 2000);
	struct ctl_reply r;

	assert_int_equal(ctl_exchange("/nonexistent/socket", &rq, &r), -EPROTO);
	rq = (struct ctl_request){.method = "GET", .path = "/", .if_match = "1\r\nX: y"};
	assert_int_equal(ctl_exchange("/nonexistent/socket", &rq, &r), -EPROTO);
	rq = (struct ctl_request){.method = "GET", .path = path};
	memset(path, 'a', 1999);
	assert_int_equal(ctl_exchange("/nonexistent/socket", &rq, &r), -ENAMETOOLONG);
	assert_int_equal(ctl_exchange(path, &get, &r), -ENAMETOOLONG);
	assert_int_equal(ctl_exchange("/nonexistent/socket", &get, &r), -ENOENT);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	     cmocka_unit_test(test_empty_body),
		cmocka_unit_test(test_bad_replies),  cmocka_unit_test(test_endless_head),
		cmocka_unit_test(test_silence),	     cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_bad_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
