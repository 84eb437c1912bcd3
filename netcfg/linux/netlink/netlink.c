/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends requests and receives answers for all netlink families that the agent uses. The difficult
 * cases (truncated datagrams, overflow, interrupted dumps, late answers to earlier requests) are
 * handled here, and tested without a kernel.
 */
#include "netcfg/linux/netlink/netlink.h"
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFER_BYTES_MIN 65536
#define BUFFER_BYTES_MAX (8U << 20)
/* Size of the socket buffer. A dump arrives in parts, and the buffer has to hold only a few of
 * them. */
#define SOCKET_BYTES (1 << 20)
/* Timeout for an answer. The kernel processes a request within send(), so an answer that does not
 * arrive shortly afterwards was lost. */
#define TIMEOUT_NS (5 * NSEC_PER_SEC)
/* Maximum number of unread datagrams that are dropped before a request. The unread rest of a dump
 * of some GiB has about this many. */
#define STALE_MAX 65536

struct netlink {
	int fd;
	unsigned seq;
	uint64_t timeout_ns;
	char *buf;
	size_t buf_bytes;
};

int netlink_open_fd(int fd, struct netlink **ret)
{
	struct netlink *nl = calloc(1, sizeof(*nl));
	char *buf = malloc(BUFFER_BYTES_MIN);

	if (!nl || !buf) {
		free(nl);
		free(buf);
		close(fd);
		return -ENOMEM;
	}
	*nl = (struct netlink){.fd = fd,
			       .seq = (unsigned)time(NULL),
			       .timeout_ns = TIMEOUT_NS,
			       .buf = buf,
			       .buf_bytes = BUFFER_BYTES_MIN};
	*ret = nl;
	return 0;
}

int netlink_open(int protocol, struct netlink **ret)
{
	const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
	const int on = 1, bytes = SOCKET_BYTES;
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	/* Old kernels lack some of these options. Without them, errors have no text, or a dump
	 * contains more than was requested. */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	return netlink_open_fd(fd_take(fd), ret);
}

struct netlink *netlink_close(struct netlink *nl)
{
	if (nl) {
		close(nl->fd);
		free(nl->buf);
		free(nl);
	}
	return NULL;
}

void netlink_set_timeout(struct netlink *nl, uint64_t timeout_ns)
{
	nl->timeout_ns = timeout_ns;
}

/* Enlarges the buffer for a datagram of `bytes`. Returns 0, -EMSGSIZE or -ENOMEM. */
static int make_room(struct netlink *nl, size_t bytes)
{
	char *grown;

	if (bytes <= nl->buf_bytes)
		return 0;
	if (bytes > BUFFER_BYTES_MAX)
		return -EMSGSIZE;
	grown = realloc(nl->buf, 2 * bytes);
	if (!grown)
		return -ENOMEM;
	nl->buf = grown;
	nl->buf_bytes = 2 * bytes;
	return 0;
}

/* Waits until the socket is readable. Returns 0 or -ETIMEDOUT. */
static int wait_readable(const struct netlink *nl, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = nl->fd, .events = POLLIN};

	for (;;) {
		uint64_t now = clock_now_ns();
		uint64_t left_ms = now < deadline_ns ? (deadline_ns - now) / NSEC_PER_MSEC + 1 : 0;
		int r = poll(&p, 1, (int)left_ms);

		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r == 0)
			return -ETIMEDOUT;
	}
}

/* Receives the kernel's next datagram into nl->buf. Returns the length of the datagram; -ETIMEDOUT;
 * -ENOBUFS if earlier messages were lost; or another negative errno. */
static ssize_t receive(struct netlink *nl, uint64_t deadline_ns)
{
	for (;;) {
		struct sockaddr_nl from = {0};
		socklen_t from_len = sizeof(from);
		int r = wait_readable(nl, deadline_ns);
		ssize_t n;

		if (r < 0)
			return r;
		/* Asks for the length first, because a datagram that does not fit the buffer would
		 * be lost. */
		n = recv(nl->fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
		if (n >= 0) {
			r = make_room(nl, (size_t)n);
			n = recvfrom(nl->fd, nl->buf, nl->buf_bytes, MSG_TRUNC | MSG_DONTWAIT,
				     (struct sockaddr *)&from, &from_len);
		}
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (from.nl_pid != 0)
			continue; /* ignore messages from other processes */
		return r < 0 ? r : (size_t)n > nl->buf_bytes ? -EMSGSIZE : n;
	}
}

/* Drops the rest of an earlier answer: the kernel refuses a dump while another dump is unread. */
static void forget_stale(struct netlink *nl)
{
	char byte;

	for (int i = 0; i < STALE_MAX; i++) {
		ssize_t n = recv(nl->fd, &byte, sizeof(byte), MSG_TRUNC | MSG_DONTWAIT);

		if (n < 0 && errno != EINTR && errno != ENOBUFS)
			return;
	}
}

int netlink_parse_ack(struct nlmsghdr *h, struct reason *why)
{
	const struct nlmsgerr *e = nlmsg_data(h);
	size_t skip = sizeof(*e);
	struct nlattr *text;

	if (nlmsg_datalen(h) < (int)sizeof(*e) || e->error > 0)
		return -EBADMSG;
	reason_clear(why);
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || !why)
		return e->error;
	/* An ack contains the request before the ack's attributes, unless NETLINK_CAP_ACK omits the
	 * request. */
	if (!(h->nlmsg_flags & NLM_F_CAPPED)) {
		if (e->msg.nlmsg_len < NLMSG_HDRLEN)
			return e->error;
		skip += e->msg.nlmsg_len - NLMSG_HDRLEN;
	}
	if (NLMSG_ALIGN(skip) >= (size_t)nlmsg_datalen(h))
		return e->error;
	text = nla_find((struct nlattr *)((char *)nlmsg_data(h) + NLMSG_ALIGN(skip)),
			nlmsg_datalen(h) - (int)NLMSG_ALIGN(skip), NLMSGERR_ATTR_MSG);
	if (text)
		reason_set_text(why, "%.*s", nla_len(text), (const char *)nla_data(text));
	return e->error;
}

/* The state of reading one answer. */
struct talk {
	unsigned seq;
	netlink_message_cb cb;
	void *user;
	struct reason *why;
	bool interrupted; /* the dump is inconsistent, because objects changed meanwhile */
	int first_error;  /* the first error that cb returned */
};

/* Handles one message. Returns 1 if more messages follow, 0 if the answer is complete, or the
 * kernel's error as negative errno. */
static int take_message(struct talk *t, struct nlmsghdr *h)
{
	int r;

	t->interrupted |= (h->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
	switch (h->nlmsg_type) {
	case NLMSG_ERROR:
		return netlink_parse_ack(h, t->why);
	case NLMSG_DONE:
		r = nlmsg_datalen(h) >= (int)sizeof(int) ? *(int *)nlmsg_data(h) : 0;
		return MIN_OF(r, 0);
	case NLMSG_OVERRUN:
		t->interrupted = true;
		return 1;
	default:
		if (t->cb && t->first_error == 0 && h->nlmsg_type >= NLMSG_MIN_TYPE) {
			r = t->cb(t->user, h);
			t->first_error = MIN_OF(r, 0);
		}
		return 1;
	}
}

static int take_datagram(struct netlink *nl, int len, struct talk *t)
{
	struct nlmsghdr *h = (struct nlmsghdr *)nl->buf;

	for (; nlmsg_ok(h, len); h = nlmsg_next(h, &len)) {
		int r = h->nlmsg_seq == t->seq ? take_message(t, h) : 1;

		if (r <= 0)
			return r;
	}
	/* A truncated message may have been the last message, so do not wait for another. */
	return len > 0 ? -EBADMSG : 1;
}

static int send_request(struct netlink *nl, struct nlmsghdr *h, int flags)
{
	ssize_t n;

	h->nlmsg_flags |= NLM_F_REQUEST | flags;
	h->nlmsg_seq = ++nl->seq;
	h->nlmsg_pid = 0;
	do
		n = send(nl->fd, h, h->nlmsg_len, 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int netlink_talk(struct netlink *nl, struct nlmsghdr *h, int flags, netlink_message_cb cb,
		 void *user, struct reason *why)
{
	struct talk t = {.cb = cb, .user = user, .why = why};
	uint64_t timeout_ns = nl->timeout_ns;
	int r;

	reason_clear(why);
	forget_stale(nl);
	r = send_request(nl, h, flags);
	t.seq = nl->seq;
	if (r < 0)
		return r;
	/* Reads the answer to its end even after an error of cb, because the next request uses the
	 * same socket. */
	do {
		ssize_t n = receive(nl, clock_now_ns() + timeout_ns);

		if (n == -ENOBUFS || n == -EMSGSIZE) {
			/* The rest of a dump still arrives, but an ack may be lost, so wait only a
			 * short time. */
			t.interrupted = true;
			timeout_ns = MIN_OF(timeout_ns, NSEC_PER_MSEC);
			r = 1;
			continue;
		}
		r = n < 0 ? (int)n : take_datagram(nl, (int)n, &t);
	} while (r > 0);
	if (r == -ETIMEDOUT && t.interrupted)
		return flags & NLM_F_DUMP ? -EAGAIN : -ENOBUFS;
	if (r < 0)
		return r == -EINTR ? -EAGAIN : r;
	return t.first_error ? t.first_error : t.interrupted ? -EAGAIN : 0;
}

ssize_t netlink_notification(int fd, bool of_kernel, void *buf, size_t size)
{
	for (;;) {
		struct sockaddr_nl from = {0};
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(fd, buf, size, MSG_TRUNC | MSG_DONTWAIT,
				     (struct sockaddr *)&from, &from_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
		if (of_kernel && from.nl_pid != 0)
			continue;
		return (size_t)n > size ? -ENOBUFS : n;
	}
}
