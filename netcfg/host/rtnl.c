/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/host/rtnl.h"
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFER_BYTES_MIN 65536
#define BUFFER_BYTES_MAX (8U << 20)
/* Socket buffer: a dump is answered in pieces, so this only has to hold a few of them. */
#define SOCKET_BYTES (1 << 20)

struct rtnl {
	struct nl_sock *sock;
	char *buf;
	size_t buf_bytes;
};

int rtnl_open(struct rtnl **ret)
{
	struct rtnl *rt = calloc(1, sizeof(*rt));
	const int on = 1;
	int fd;

	if (!rt)
		return -ENOMEM;
	rt->sock = nl_socket_alloc();
	rt->buf_bytes = BUFFER_BYTES_MIN;
	rt->buf = malloc(rt->buf_bytes);
	if (!rt->sock || !rt->buf) {
		rtnl_close(rt);
		return -ENOMEM;
	}
	errno = 0;
	if (nl_connect(rt->sock, NETLINK_ROUTE) < 0) {
		int r = errno ? -errno : -EIO;

		rtnl_close(rt);
		return r;
	}
	nl_socket_disable_auto_ack(rt->sock); /* asked for where it is read */
	nl_socket_set_buffer_size(rt->sock, SOCKET_BYTES, SOCKET_BYTES);
	fd = nl_socket_get_fd(rt->sock);
	/* Old kernels lack some of these; then there is no text, or a dump shows more than asked.
	 */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	*ret = rt;
	return 0;
}

struct rtnl *rtnl_close(struct rtnl *rt)
{
	if (rt) {
		if (rt->sock)
			nl_socket_free(rt->sock);
		free(rt->buf);
		free(rt);
	}
	return NULL;
}

static int send_request(struct rtnl *rt, struct nl_msg *request, int flags)
{
	struct nlmsghdr *h = nlmsg_hdr(request);
	ssize_t n;

	h->nlmsg_flags |= NLM_F_REQUEST | flags;
	nl_complete_msg(rt->sock, request);
	do
		n = send(nl_socket_get_fd(rt->sock), h, h->nlmsg_len, 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* The next datagram of the kernel in rt->buf: its length. A longer one than the buffer is lost:
 * -EAGAIN, and the buffer has grown for the next attempt. */
static ssize_t receive(struct rtnl *rt)
{
	struct sockaddr_nl from;
	socklen_t from_len;
	char *grown;
	ssize_t n;

	do {
		from_len = sizeof(from);
		n = recvfrom(nl_socket_get_fd(rt->sock), rt->buf, rt->buf_bytes, MSG_TRUNC,
			     (struct sockaddr *)&from, &from_len);
	} while ((n < 0 && errno == EINTR) || (n >= 0 && from.nl_pid != 0));
	if (n < 0)
		return -errno;
	if ((size_t)n <= rt->buf_bytes)
		return n;
	if (n > BUFFER_BYTES_MAX)
		return -EMSGSIZE;
	grown = realloc(rt->buf, 2 * (size_t)n);
	if (!grown)
		return -ENOMEM;
	rt->buf = grown;
	rt->buf_bytes = 2 * (size_t)n;
	return -EAGAIN;
}

int rtnl_parse_ack(struct nlmsghdr *h, char *why)
{
	const struct nlmsgerr *e = nlmsg_data(h);
	size_t skip = sizeof(*e);
	struct nlattr *text;

	if (nlmsg_datalen(h) < (int)sizeof(*e) || e->error > 0)
		return -EBADMSG;
	if (why)
		why[0] = '\0';
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || !why)
		return e->error;
	/* The request comes back before the attributes unless NETLINK_CAP_ACK cut it off. */
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
		nla_strlcpy(why, text, KERNEL_WHY_MAX);
	return e->error;
}

/* One datagram of a dump. 1: more follows, 0: that was the end; negative errno. */
static int dump_datagram(struct rtnl *rt, int len, unsigned seq, bool *interrupted,
			 rtnl_message_cb cb, struct inventory *inv, int *first_error)
{
	for (struct nlmsghdr *h = (struct nlmsghdr *)rt->buf; nlmsg_ok(h, len);
	     h = nlmsg_next(h, &len)) {
		int r;

		if (h->nlmsg_seq != seq)
			continue;
		*interrupted |= (h->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return rtnl_parse_ack(h, NULL);
		if (h->nlmsg_type == NLMSG_DONE) {
			r = nlmsg_datalen(h) >= (int)sizeof(int) ? *(int *)nlmsg_data(h) : 0;
			return r < 0 ? r : 0;
		}
		if (*first_error == 0 && h->nlmsg_type >= NLMSG_MIN_TYPE) {
			r = cb(inv, h);
			*first_error = r < 0 ? r : 0;
		}
	}
	return 1;
}

int rtnl_dump(struct rtnl *rt, struct nl_msg *request, rtnl_message_cb cb, struct inventory *inv)
{
	int r = send_request(rt, request, NLM_F_DUMP), first_error = 0;
	unsigned seq = nlmsg_hdr(request)->nlmsg_seq;
	bool interrupted = false;

	if (r < 0)
		return r;
	/* Read to the end even after an error: the socket is used again. */
	do {
		ssize_t n = receive(rt);

		if (n == -EAGAIN) {
			interrupted = true;
			r = 1;
			continue;
		}
		if (n < 0)
			return (int)n;
		r = dump_datagram(rt, (int)n, seq, &interrupted, cb, inv, &first_error);
	} while (r > 0);
	if (r < 0)
		return r == -EINTR ? -EAGAIN : r;
	return first_error ? first_error : interrupted ? -EAGAIN : 0;
}

int rtnl_change(struct rtnl *rt, struct nl_msg *request, char *why)
{
	char text[KERNEL_WHY_MAX] = "";
	int r = send_request(rt, request, NLM_F_ACK);
	unsigned seq = nlmsg_hdr(request)->nlmsg_seq;
	bool answered = r < 0;

	while (!answered) {
		ssize_t n = receive(rt);
		int len = (int)n;

		if (n < 0) {
			r = (int)n;
			break;
		}
		for (struct nlmsghdr *h = (struct nlmsghdr *)rt->buf; nlmsg_ok(h, len);
		     h = nlmsg_next(h, &len)) {
			if (h->nlmsg_seq != seq || h->nlmsg_type != NLMSG_ERROR)
				continue;
			r = rtnl_parse_ack(h, text);
			answered = true;
		}
	}
	if (r < 0 && why)
		snprintf(why, KERNEL_WHY_MAX, "%s", text[0] ? text : strerror(-r));
	return r;
}
