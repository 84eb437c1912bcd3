/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversations with a peer that imitates the kernel over a socketpair: answers that are cut, late,
 * to another question, or without an end. The caller gets a complete answer or an error, and the
 * next question is answered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/linux/netlink/netlink.h"
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#define TIMEOUT_NS (20 * NSEC_PER_SEC)
#define SHORT_NS NSEC_PER_SEC /* for a timeout */
#define LARGE_BYTES 150000
#define STEPS_MAX 8

/* The content of one datagram of the peer, one letter a message: m an ordinary one, L a large
 * one, o one of another conversation, D that one's end, i one of an interrupted dump, v overrun,
 * c a truncated one; d the end, x the end by an error, e the end of an interrupted dump. */
struct script {
	const char *datagrams[STEPS_MAX]; /* of the answer to one request */
};

struct peer {
	int fd;
	pthread_t thread;
	const struct script *scripts; /* one a request, to one without datagrams[0] */
};

static size_t put(char *buf, uint16_t type, uint16_t flags, unsigned seq, const void *data,
		  size_t len)
{
	struct nlmsghdr h = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(len),
			     .nlmsg_type = type,
			     .nlmsg_flags = flags,
			     .nlmsg_seq = seq};

	memset(buf, 0, NLMSG_SPACE(len));
	memcpy(buf, &h, sizeof(h));
	if (data)
		memcpy(buf + NLMSG_HDRLEN, data, len);
	return NLMSG_SPACE(len);
}

static size_t put_letter(char *buf, char letter, unsigned seq)
{
	const int interrupted = -EINTR;
	const struct nlmsgerr refused = {.error = -EPERM};

	switch (letter) {
	case 'm':
		return put(buf, RTM_NEWLINK, NLM_F_MULTI, seq, NULL, 4);
	case 'L':
		return put(buf, RTM_NEWLINK, NLM_F_MULTI, seq, NULL, LARGE_BYTES);
	case 'o':
		return put(buf, RTM_NEWLINK, NLM_F_MULTI, seq - 1, NULL, 4);
	case 'D':
		return put(buf, NLMSG_DONE, NLM_F_MULTI, seq - 1, NULL, 4);
	case 'i':
		return put(buf, RTM_NEWLINK, NLM_F_MULTI | NLM_F_DUMP_INTR, seq, NULL, 4);
	case 'v':
		return put(buf, NLMSG_OVERRUN, 0, seq, NULL, 0);
	case 'c':
		return put(buf, RTM_NEWLINK, NLM_F_MULTI, seq, NULL, 100) - 60;
	case 'd':
		return put(buf, NLMSG_DONE, NLM_F_MULTI, seq, NULL, 4);
	case 'e':
		return put(buf, NLMSG_DONE, NLM_F_MULTI, seq, &interrupted, sizeof(interrupted));
	default:
		return put(buf, NLMSG_ERROR, 0, seq, &refused, sizeof(refused));
	}
}

static void *peer_run(void *user)
{
	static char buf[LARGE_BYTES + 4096];
	struct peer *p = user;

	for (const struct script *s = p->scripts; s->datagrams[0]; s++) {
		struct nlmsghdr request;

		if (recv(p->fd, &request, sizeof(request), 0) != sizeof(request))
			break;
		for (int i = 0; i < STEPS_MAX && s->datagrams[i]; i++) {
			size_t len = 0;

			for (const char *c = s->datagrams[i]; *c; c++)
				len += put_letter(buf + len, *c, request.nlmsg_seq);
			if (send(p->fd, buf, len, 0) != (ssize_t)len)
				break;
		}
	}
	return NULL;
}

static struct netlink *peer_start(struct peer *p, const struct script *scripts)
{
	const int bytes = 4 * LARGE_BYTES;
	struct netlink *nl;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
	*p = (struct peer){.fd = fds[1], .scripts = scripts};
	assert_int_equal(netlink_open_fd(fds[0], &nl), 0);
	netlink_set_timeout(nl, TIMEOUT_NS);
	assert_int_equal(pthread_create(&p->thread, NULL, peer_run, p), 0);
	return nl;
}

static void peer_stop(struct peer *p, struct netlink *nl)
{
	netlink_close(nl);
	pthread_join(p->thread, NULL);
	close(p->fd);
}

struct seen {
	unsigned n;
	size_t bytes;
	int answer;
};

static int see(void *user, struct nlmsghdr *h)
{
	struct seen *s = user;

	s->n++;
	s->bytes += h->nlmsg_len;
	return s->answer;
}

static int ask(struct netlink *nl, struct seen *s)
{
	struct nlmsghdr h = {.nlmsg_len = sizeof(h), .nlmsg_type = RTM_GETLINK};
	struct reason why;

	*s = (struct seen){.answer = s->answer};
	return netlink_talk(nl, &h, NLM_F_DUMP, see, s, &why);
}

/* Each answer and its result, and that the next one is complete again. */
static void test_answers_are_complete_or_errors(void **state)
{
	static const struct {
		struct script script;
		int result;
		unsigned n;
	} cases[] = {
		{{{"mm", "m", "d"}}, 0, 3},
		{{{"mmd"}}, 0, 2},
		{{{"d"}}, 0, 0},
		{{{"m", "L", "md"}}, 0, 3},  /* longer than any buffer so far */
		{{{"m", "c"}}, -EBADMSG, 1}, /* the end was in the part that is gone */
		{{{"mc", "d"}}, -EBADMSG, 1},
		{{{"m", "m"}}, -ETIMEDOUT, 2}, /* and no end */
		{{{"oo", "oD", "m", "d"}}, 0, 1},
		{{{"D", "D"}}, -ETIMEDOUT, 0},
		{{{"m", "i", "d"}}, -EAGAIN, 2},
		{{{"m", "e"}}, -EAGAIN, 1},
		{{{"m", "v", "m", "d"}}, -EAGAIN, 2},
		{{{"mx"}}, -EPERM, 1},
		{{{"mxm", "m"}}, -EPERM, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct script scripts[] = {cases[i].script, {{"m", "md"}}, {{NULL}}};
		struct seen s = {0};
		struct peer p;
		struct netlink *nl = peer_start(&p, scripts);

		if (cases[i].result == -ETIMEDOUT)
			netlink_set_timeout(nl, SHORT_NS);
		assert_int_equal(ask(nl, &s), cases[i].result);
		assert_int_equal(s.n, cases[i].n);
		assert_int_equal(ask(nl, &s), 0);
		assert_int_equal(s.n, 2);
		peer_stop(&p, nl);
	}
}

/* The callback may fail: the rest is read all the same, and not passed on. */
static void test_a_failing_callback_ends_no_conversation(void **state)
{
	static const struct script scripts[] = {{{"mm", "m", "d"}}, {{"md"}}, {{NULL}}};
	struct seen s = {.answer = -ENOMEM};
	struct peer p;
	struct netlink *nl = peer_start(&p, scripts);

	assert_int_equal(ask(nl, &s), -ENOMEM);
	assert_int_equal(s.n, 1);
	s.answer = 0;
	assert_int_equal(ask(nl, &s), 0);
	assert_int_equal(s.n, 1);
	peer_stop(&p, nl);
}

/* The peer is gone: an error, not a wait. */
static void test_a_closed_peer_is_an_error(void **state)
{
	static const struct script scripts[] = {{{NULL}}};
	struct seen s = {0};
	struct peer p;
	struct netlink *nl = peer_start(&p, scripts);

	pthread_join(p.thread, NULL);
	close(p.fd);
	assert_true(ask(nl, &s) < 0);
	netlink_close(nl);
}

/* A dump on this socket that was not read to its end does not make the next one fail. */
static void test_an_unfinished_dump_does_not_fail_the_next(void **state)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg g;
	} request = {.h = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = RTM_GETADDR,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			   .nlmsg_seq = 7}};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct netlink *nl;
	struct seen s = {0};

	assert_true(fd >= 0);
	assert_int_equal(send(fd, &request, sizeof(request), 0), sizeof(request));
	assert_int_equal(netlink_open_fd(fd, &nl), 0);
	assert_int_equal(netlink_talk(nl, &request.h, NLM_F_DUMP, see, &s, NULL), 0);
	netlink_close(nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_are_complete_or_errors),
		cmocka_unit_test(test_a_failing_callback_ends_no_conversation),
		cmocka_unit_test(test_a_closed_peer_is_an_error),
		cmocka_unit_test(test_an_unfinished_dump_does_not_fail_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
