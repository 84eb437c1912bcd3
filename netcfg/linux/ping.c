/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends all echo requests at once by raw sockets, and repeats the unanswered ones until the time
 * limit. */
#include "netcfg/linux/ping.h"
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define AGAIN_NS (200 * NSEC_PER_MSEC)
#define FRAME_MAX 65536
#define ECHO_BYTES 8 /* header of an echo message, in both families */

/* State that all requests of one run share. */
struct run {
	const struct ping_sockets *sockets;
	struct kernel_ping *pings;
	size_t n, n_left;
	uint16_t id;
	uint8_t *frame;
};

static int open_one(int family, int protocol)
{
	const int on = 1, probe = family == AF_INET ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
	const int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	autoclose int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	struct icmp6_filter filter;

	if (fd < 0)
		return -errno;
	/* Sets DF, and makes the kernel ignore its path MTU cache. */
	if (setsockopt(fd, level, family == AF_INET ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &probe,
		       sizeof(probe)) < 0 ||
	    setsockopt(fd, level, family == AF_INET ? IP_PKTINFO : IPV6_RECVPKTINFO, &on,
		       sizeof(on)) < 0)
		return -errno;
	if (family == AF_INET)
		return fd_take(fd);
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof(on)) < 0)
		return -errno;
	ICMP6_FILTER_SETBLOCKALL(&filter);
	ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
	if (setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof(filter)) < 0 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_DONTFRAG, &on, sizeof(on)) < 0)
		return -errno;
	return fd_take(fd);
}

int ping_open(struct ping_sockets *s)
{
	if (s->four < 0)
		s->four = open_one(AF_INET, IPPROTO_ICMP);
	if (s->six < 0)
		s->six = open_one(AF_INET6, IPPROTO_ICMPV6);
	return s->four < 0 ? s->four : 0;
}

void ping_close(struct ping_sockets *s)
{
	cleanup_close(&s->four);
	cleanup_close(&s->six);
	*s = PING_SOCKETS_INIT;
}

static uint16_t checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0U);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Writes an echo request into the buffer of the run. The kernel fills in the checksum of ICMPv6. */
static size_t write_echo(const struct run *r, size_t i)
{
	const bool six = r->pings[i].to.family == AF_INET6;
	const size_t head = six ? sizeof(struct in6_addr) * 2 + 8 : sizeof(struct iphdr);
	const size_t len = MIN_OF(MAX_OF((size_t)r->pings[i].bytes, head + ECHO_BYTES) - head,
				  (size_t)FRAME_MAX);
	uint16_t sum;

	memset(r->frame, 0, len);
	r->frame[0] = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	r->frame[4] = (uint8_t)(r->id >> 8);
	r->frame[5] = (uint8_t)r->id;
	r->frame[6] = (uint8_t)(i >> 8);
	r->frame[7] = (uint8_t)i;
	if (!six) {
		sum = checksum(r->frame, len);
		r->frame[2] = (uint8_t)(sum >> 8);
		r->frame[3] = (uint8_t)sum;
	}
	return len;
}

union control {
	char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void add_control(struct msghdr *m, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *c = (void *)((char *)m->msg_control + m->msg_controllen);

	*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
	memcpy(CMSG_DATA(c), data, len);
	m->msg_controllen += CMSG_SPACE(len);
}

/* Sends one request; if that fails, the request counts as unanswered. It sets the source address
 * but no link, so that rules and routes choose the link as they do for a worker. If it set the
 * link, the kernel would use this link even without a route. */
static void send_one(const struct run *r, size_t i)
{
	struct kernel_ping *p = &r->pings[i];
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct in_pktinfo from4 = {.ipi_ifindex = 0};
	struct in6_pktinfo from6 = {.ipi6_ifindex = 0};
	union control control = {{0}};
	struct iovec iov = {r->frame, write_echo(r, i)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};
	const int tos = p->tos;

	p->took_ns = clock_now_ns(); /* contains the sending time until the answer arrives */
	if (p->to.family == AF_INET) {
		memcpy(&four.sin_addr, p->to.bytes, 4);
		memcpy(&from4.ipi_spec_dst, p->from.bytes, 4);
		add_control(&m, IPPROTO_IP, IP_PKTINFO, &from4, sizeof(from4));
		if (tos)
			add_control(&m, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
		m.msg_name = &four;
		m.msg_namelen = sizeof(four);
		(void)sendmsg(r->sockets->four, &m, 0);
	} else {
		memcpy(&six.sin6_addr, p->to.bytes, 16);
		memcpy(&from6.ipi6_addr, p->from.bytes, 16);
		add_control(&m, IPPROTO_IPV6, IPV6_PKTINFO, &from6, sizeof(from6));
		if (tos)
			add_control(&m, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
		m.msg_name = &six;
		m.msg_namelen = sizeof(six);
		(void)sendmsg(r->sockets->six, &m, 0);
	}
}

/* Returns the ifindex of the link by which an answer arrived, or 0 if unknown. Also stores the
 * traffic class of an IPv6 packet, because a raw socket does not receive the IPv6 header. */
static uint32_t came_by(struct msghdr *m, uint8_t *ret_class)
{
	uint32_t r = 0;
	int class;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct in_pktinfo four;
		struct in6_pktinfo six;

		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&four, CMSG_DATA(c), sizeof(four));
			r = (uint32_t)four.ipi_ifindex;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&six, CMSG_DATA(c), sizeof(six));
			r = six.ipi6_ifindex;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
			memcpy(&class, CMSG_DATA(c), sizeof(class));
			*ret_class = (uint8_t) class;
		}
	}
	return r;
}

/* Accepts an answer only from the requested address and by the requested link. Without this check,
 * an address of this host could answer without any packet on a cable. */
static void take_answer(struct run *r, int family, const uint8_t *p, size_t len,
			const struct sockaddr_storage *from, uint32_t ifindex, uint8_t class)
{
	const size_t head = family == AF_INET && len > 0 ? (size_t)(p[0] & 0xf) * 4 : 0;
	struct ip_addr who = {.family = (uint8_t)family};
	struct kernel_ping *ping;
	size_t i;

	if (len < head + ECHO_BYTES ||
	    p[head] != (family == AF_INET ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY) ||
	    (p[head + 4] << 8 | p[head + 5]) != r->id)
		return;
	i = (size_t)(p[head + 6] << 8 | p[head + 7]);
	if (i >= r->n)
		return;
	ping = &r->pings[i];
	if (family == AF_INET)
		memcpy(who.bytes, &((const struct sockaddr_in *)from)->sin_addr, 4);
	else
		memcpy(who.bytes, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
	if (ping->answered || !ip_addr_equal(&who, &ping->to) || ping->ifindex != ifindex)
		return;
	ping->answered = true;
	ping->answered_tos = family == AF_INET ? p[1] : class;
	ping->took_ns = clock_now_ns() - ping->took_ns;
	r->n_left--;
}

static void read_all(struct run *r, int fd, int family)
{
	for (;;) {
		struct sockaddr_storage from;
		union {
			char bytes[256];
			struct cmsghdr align;
		} control;
		struct iovec iov = {r->frame, FRAME_MAX};
		struct msghdr m = {.msg_name = &from,
				   .msg_namelen = sizeof(from),
				   .msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = &control,
				   .msg_controllen = sizeof(control)};
		ssize_t len = recvmsg(fd, &m, MSG_DONTWAIT);
		uint8_t class = 0;
		uint32_t ifindex;

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return;
		ifindex = came_by(&m, &class);
		take_answer(r, family, r->frame, (size_t)len, &from, ifindex, class);
	}
}

static void wait_until(struct run *r, uint64_t until_ns)
{
	uint64_t now;

	while (r->n_left > 0 && (now = clock_now_ns()) < until_ns) {
		struct pollfd fds[2] = {{.fd = r->sockets->four, .events = POLLIN},
					{.fd = r->sockets->six, .events = POLLIN}};

		if (poll(fds, 2, (int)((until_ns - now) / NSEC_PER_MSEC) + 1) <= 0)
			continue;
		if (fds[0].revents)
			read_all(r, r->sockets->four, AF_INET);
		if (fds[1].revents)
			read_all(r, r->sockets->six, AF_INET6);
	}
}

int ping_run(const struct ping_sockets *s, struct kernel_ping *pings, size_t n, uint64_t limit_ns)
{
	const uint64_t end_ns = clock_now_ns() + limit_ns;
	struct run r = {.sockets = s, .pings = pings, .n = n, .n_left = n};
	autofree uint8_t *frame = malloc(FRAME_MAX);

	if (s->four < 0)
		return -EBADF;
	if (!frame)
		return -ENOMEM;
	if (getrandom(&r.id, sizeof(r.id), 0) != sizeof(r.id))
		return -EIO;
	r.frame = frame;
	for (size_t i = 0; i < n; i++)
		pings[i].answered = false;
	while (r.n_left > 0 && clock_now_ns() < end_ns) {
		for (size_t i = 0; i < n; i++)
			if (!pings[i].answered)
				send_one(&r, i);
		wait_until(&r, MIN_OF(clock_now_ns() + AGAIN_NS, end_ns));
	}
	return 0;
}
