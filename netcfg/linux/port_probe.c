/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends HELLO packets by UDP sockets, as a worker does on a kernel interface, and reads answers and
 * ICMP errors. */
#include "netcfg/linux/port_probe.h"

#include <endian.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

/* Time between two packets to one peer. A worker can queue only a limited number of HELLO packets.
 * With these gaps, the worker answers all HELLO packets even if the kernel schedules the worker
 * late. */
#define GAP_NS (4 * NSEC_PER_MSEC)

/* Values from plenum-protocol(7), sections "Common header" and HELLO. */
#define HELLO_MAGIC 0xa7
#define HELLO_VERSION 2
#define HELLO 1
#define CHALLENGE 2
#define VERSIONS 13
#define HELLO_BYTES 36
#define ANSWER_BYTES_MIN 16
#define PACKET_MAX 65536
#define READS_MAX 256

struct sender {
	struct ip_addr from;
	bool own_port, has_own_port;
	int fd, error; /* error: negative errno if the socket could not be opened */
};

struct run {
	struct port_probe *probes;
	size_t n;
	struct sender *senders; /* one for each pair of source address and kind of source port */
	size_t *sender_of;	/* index of the sender of each probe */
	size_t n_senders;
	struct pollfd *polls;
	uint32_t id; /* random ID of this run; answers with another ID are ignored */
	uint8_t *packet;
};

/* ---- sockets ---- */

static int set_options(int fd, int family)
{
	const int on = 1, probe4 = IP_PMTUDISC_PROBE, probe6 = IPV6_PMTUDISC_PROBE;
	const int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;

	/* Sets DF, and makes the kernel ignore its path MTU cache, as the workers' sockets do. */
	if (setsockopt(fd, level, family == AF_INET ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER,
		       family == AF_INET ? &probe4 : &probe6, sizeof(int)) < 0 ||
	    setsockopt(fd, level, family == AF_INET ? IP_PKTINFO : IPV6_RECVPKTINFO, &on,
		       sizeof(on)) < 0 ||
	    setsockopt(fd, level, family == AF_INET ? IP_RECVERR : IPV6_RECVERR, &on, sizeof(on)) <
		    0)
		return -errno;
	return 0;
}

static int sender_bind(struct sender *s, int fd, uint16_t port)
{
	struct sockaddr_storage name;
	int len = ip_addr_to_sockaddr(&s->from, port, &name);

	if (len < 0)
		return len;
	return bind(fd, (struct sockaddr *)&name, (socklen_t)len) < 0 ? -errno : 0;
}

static void sender_open(struct sender *s, uint16_t port)
{
	autoclose int fd =
		socket(s->from.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);

	s->fd = -1;
	s->error = fd < 0 ? -errno : set_options(fd, s->from.family);
	if (s->error < 0)
		return;
	s->has_own_port = s->own_port && sender_bind(s, fd, port) == 0;
	if (!s->has_own_port)
		s->error = sender_bind(s, fd, 0);
	if (s->error == 0)
		s->fd = fd_take(fd);
}

static size_t sender_find(struct run *r, const struct port_probe *p)
{
	size_t i;

	for (i = 0; i < r->n_senders; i++)
		if (ip_addr_equal(&r->senders[i].from, &p->from) &&
		    r->senders[i].own_port == p->own_port)
			return i;
	r->senders[i] = (struct sender){.from = p->from, .own_port = p->own_port};
	sender_open(&r->senders[i], p->port);
	r->polls[i] = (struct pollfd){.fd = r->senders[i].fd, .events = POLLIN};
	r->n_senders++;
	return i;
}

static void run_done(struct run *r)
{
	for (size_t i = 0; i < r->n_senders; i++)
		cleanup_close(&r->senders[i].fd);
	free(r->senders);
	free(r->sender_of);
	free(r->polls);
	free(r->packet);
}

/* ---- packets ---- */

/* Writes a HELLO. The client number in it encodes run, probe and packet, and the answer returns
 * that number. */
static size_t write_hello(const struct run *r, size_t probe, unsigned packet)
{
	const struct port_probe *p = &r->probes[probe];
	const size_t head = (p->from.family == AF_INET ? 20U : 40U) + 8U;
	const size_t len =
		MIN_OF(MAX_OF((size_t)p->bytes, head + HELLO_BYTES) - head, (size_t)PACKET_MAX);
	const uint64_t number = htobe64((uint64_t)r->id << 32 | (uint64_t)probe << 16 | packet);
	const uint16_t padding = htobe16((uint16_t)(len - HELLO_BYTES));

	memset(r->packet, 0, len);
	r->packet[0] = HELLO_MAGIC;
	r->packet[1] = HELLO_VERSION << 4 | HELLO;
	memcpy(r->packet + 16, &number, sizeof(number));
	memcpy(r->packet + 34, &padding, sizeof(padding));
	return len;
}

static void take_answer(struct run *r, const uint8_t *data, size_t len, const struct ip_addr *by,
			uint16_t port, uint32_t ifindex)
{
	struct port_probe *p;
	uint64_t number;
	unsigned packet;

	if (len < ANSWER_BYTES_MIN || data[0] != HELLO_MAGIC ||
	    ((data[1] & 0xf) != CHALLENGE && (data[1] & 0xf) != VERSIONS))
		return;
	memcpy(&number, data + 4, sizeof(number));
	number = be64toh(number);
	packet = (unsigned)(number & 0xffff);
	if (number >> 32 != r->id || (number >> 16 & 0xffff) >= r->n)
		return;
	p = &r->probes[number >> 16 & 0xffff];
	if (packet >= p->n_packets || !ip_addr_equal(by, &p->to) || port != p->port ||
	    (p->ifindex && ifindex != p->ifindex) || p->seen[packet / 64] >> packet % 64 & 1)
		return;
	p->seen[packet / 64] |= 1ULL << packet % 64;
	p->n_answered++;
}

/* An ICMP error does not contain the probe's number, so the probe is found by the destination
 * address. */
static void take_error(struct run *r, size_t sender, const struct ip_addr *to, struct cmsghdr *c)
{
	struct {
		struct sock_extended_err e;
		struct sockaddr_storage by; /* the offender's address follows the error, where
					       SO_EE_OFFENDER() expects it */
	} m;
	uint16_t port;

	memset(&m, 0, sizeof(m));
	memcpy(&m, CMSG_DATA(c), MIN_OF(sizeof(m), c->cmsg_len - CMSG_LEN(0)));
	if (m.e.ee_origin != SO_EE_ORIGIN_ICMP && m.e.ee_origin != SO_EE_ORIGIN_ICMP6)
		return;
	for (size_t i = 0; i < r->n; i++) {
		struct port_probe *p = &r->probes[i];

		if (r->sender_of[i] != sender || !ip_addr_equal(&p->to, to))
			continue;
		p->icmp_error = (int)m.e.ee_errno;
		if (ip_addr_from_sockaddr((struct sockaddr *)&m.by, &p->icmp_by, &port) < 0)
			p->icmp_by = (struct ip_addr){0};
	}
}

static void take_control(struct run *r, size_t sender, struct msghdr *m, const struct ip_addr *peer,
			 bool errors, uint32_t *ret_ifindex)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct in_pktinfo four;
		struct in6_pktinfo six;

		if (errors && ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
			       (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))) {
			take_error(r, sender, peer, c);
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&four, CMSG_DATA(c), sizeof(four));
			*ret_ifindex = (uint32_t)four.ipi_ifindex;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&six, CMSG_DATA(c), sizeof(six));
			*ret_ifindex = six.ipi6_ifindex;
		}
	}
}

/* Reads one message of the socket or of its error queue. Returns false if no message is waiting. */
static bool read_one(struct run *r, size_t sender, int flags)
{
	union {
		char bytes[512];
		struct cmsghdr align;
	} control;
	struct sockaddr_storage from;
	uint8_t data[64];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr m = {.msg_name = &from,
			   .msg_namelen = sizeof(from),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t len = recvmsg(r->senders[sender].fd, &m, flags | MSG_DONTWAIT);
	uint32_t ifindex = 0;
	struct ip_addr peer;
	uint16_t port;

	/* recvmsg() returns and clears a pending socket error; messages may follow */
	if (len < 0)
		return errno == EINTR || (!flags && errno != EAGAIN);
	if (ip_addr_from_sockaddr((struct sockaddr *)&from, &peer, &port) < 0)
		return true;
	take_control(r, sender, &m, &peer, flags != 0, &ifindex);
	if (!flags)
		take_answer(r, data, (size_t)len, &peer, port, ifindex);
	return true;
}

/* Reads a limited number of messages from each socket, so that a host that floods a socket cannot
 * delay the caller beyond its time limit. */
static void read_all(struct run *r)
{
	for (size_t i = 0; i < r->n_senders; i++) {
		if (r->senders[i].fd < 0)
			continue;
		for (unsigned k = 0; k < READS_MAX && read_one(r, i, MSG_ERRQUEUE); k++)
			continue;
		for (unsigned k = 0; k < READS_MAX && read_one(r, i, 0); k++)
			continue;
	}
}

/* ---- the run ---- */

/* Sends one packet. If an ICMP error is pending, the first call of sendto() only returns that
 * error, so the function calls it again. */
static void send_one(struct run *r, size_t probe, unsigned packet)
{
	struct port_probe *p = &r->probes[probe];
	const struct sender *s = &r->senders[r->sender_of[probe]];
	const size_t len = write_hello(r, probe, packet);
	struct sockaddr_storage name;
	int name_len = ip_addr_to_sockaddr(&p->to, p->port, &name);

	if (s->fd < 0 || name_len < 0) {
		p->send_error = s->fd < 0 ? s->error : name_len;
		return;
	}
	for (unsigned i = 0; i < 3; i++) {
		if (sendto(s->fd, r->packet, len, 0, (struct sockaddr *)&name,
			   (socklen_t)name_len) >= 0) {
			p->n_sent++;
			return;
		}
		if (errno != ECONNREFUSED && errno != EHOSTUNREACH && errno != EINTR)
			break;
		if (i < 2)
			read_all(r);
	}
	p->send_error = -errno;
}

static bool is_complete(const struct run *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->probes[i].n_answered < r->probes[i].n_sent)
			return false;
	return true;
}

static void wait_until(struct run *r, uint64_t end_ns, bool for_answers)
{
	uint64_t now;

	while ((now = clock_now_ns()) < end_ns && !(for_answers && is_complete(r))) {
		const uint64_t left = end_ns - now;
		const struct timespec t = {.tv_sec = (time_t)(left / NSEC_PER_SEC),
					   .tv_nsec = (long)(left % NSEC_PER_SEC)};

		if (ppoll(r->polls, r->n_senders, &t, NULL) > 0)
			read_all(r);
	}
}

int port_probe_run(struct port_probe *probes, size_t n, uint64_t limit_ns)
{
	PLENUM_CLEANUP(run_done)
	struct run r = {.probes = probes,
			.n = n,
			.senders = calloc(n + 1, sizeof(*r.senders)),
			.sender_of = calloc(n + 1, sizeof(*r.sender_of)),
			.polls = calloc(n + 1, sizeof(*r.polls)),
			.packet = malloc(PACKET_MAX)};
	unsigned most = 0;

	if (!r.senders || !r.sender_of || !r.polls || !r.packet)
		return -ENOMEM;
	if (getrandom(&r.id, sizeof(r.id), 0) != sizeof(r.id))
		return -EIO;
	r.id |= 1; /* the client's number must not be 0 */
	for (size_t i = 0; i < n; i++) {
		struct port_probe *p = &probes[i];

		p->n_packets = MIN_OF(p->n_packets, PORT_PROBE_PACKETS_MAX);
		r.sender_of[i] = sender_find(&r, p);
		p->had_own_port = r.senders[r.sender_of[i]].has_own_port;
		most = MAX_OF(most, p->n_packets);
	}
	for (unsigned k = 0; k < most; k++) {
		for (size_t i = 0; i < n; i++)
			if (k < probes[i].n_packets)
				send_one(&r, i, k);
		wait_until(&r, clock_now_ns() + GAP_NS, false);
	}
	wait_until(&r, clock_now_ns() + limit_ns, true);
	return 0;
}
