/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The UDP port on the loopback device and between two network namespaces over a veth pair: GSO
 * bursts of equal and mixed sizes arrive whole and in order, a full socket buffer loses nothing,
 * errors are explained.
 */
#include "dataplane/port/udp/port_udp_internal.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#define DEADLINE_NS (10 * NSEC_PER_SEC)
#define SEQ_BYTES 12U /* header of each test datagram: number, length, seed */

static struct launch_config config_make(const char *ip, uint16_t udp_port, const char *ifname)
{
	struct launch_config cfg = {.n_ports = 1, .spin_us = 10};
	struct launch_port *lp = &cfg.ports[0];

	assert_int_equal(ip_prefix_parse(ip, &lp->ip), 0);
	lp->udp_port = udp_port;
	lp->ifindex = if_nametoindex(ifname);
	snprintf(lp->ifname, sizeof(lp->ifname), "%s", ifname);
	lp->mtu = strcmp(ifname, "lo") == 0 ? 65535 : 1500;
	return cfg;
}

static void port_must_open(struct port *p, const struct launch_config *cfg)
{
	struct reason why;

	assert_int_equal(port_ops_get(LAUNCH_UDP, &p->ops, &why), 0);
	if (p->ops->open(p, cfg, 0, &why) != 0)
		fail_msg("open: %s", why.text);
	assert_string_equal(why.text, "");
}

static struct datagram_addr addr_of(const struct launch_config *cfg)
{
	return (struct datagram_addr){.ip = cfg->ports[0].ip.addr, .port = cfg->ports[0].udp_port};
}

static uint8_t pattern(uint32_t number, uint32_t at)
{
	return (uint8_t)(number * 131 + at * 7 + (at >> 8));
}

static void pkt_make(struct datagram *pkt, uint8_t *payload, uint32_t number, uint32_t bytes)
{
	uint32_t total = SEQ_BYTES + bytes;

	*pkt = (struct datagram){
		.hdr_len = SEQ_BYTES, .payload_len = (uint16_t)bytes, .payload = payload};
	memcpy(pkt->hdr, &number, 4);
	memcpy(pkt->hdr + 4, &total, 4);
	memset(pkt->hdr + 8, 0x5a, 4);
	for (uint32_t i = 0; i < bytes; i++)
		payload[i] = pattern(number, i);
}

static uint32_t datagram_check(const struct port_rx *d, const struct datagram_addr *from)
{
	uint32_t number, total;

	assert_true(d->len >= SEQ_BYTES);
	memcpy(&number, d->data, 4);
	memcpy(&total, d->data + 4, 4);
	assert_int_equal(total, d->len);
	assert_int_equal(d->src.port, from->port);
	assert_true(ip_addr_equal(&d->src.ip, &from->ip));
	for (uint32_t i = 0; i < d->len - SEQ_BYTES; i++)
		if (d->data[SEQ_BYTES + i] != pattern(number, i))
			fail_msg("datagram %u is damaged at %u", number, i);
	return number;
}

/* Receives until datagram `last`; they must come in order from `first`. */
static void receive_in_order(struct port *p, const struct datagram_addr *from, uint32_t first,
			     uint32_t last, unsigned max)
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct port_rx pkts[PORT_BURST_MAX];

	while (first <= last) {
		struct pollfd pfd = {.fd = p->ops->fd(p), .events = POLLIN};
		int n = p->ops->rx(p, pkts, max);

		assert_true(n >= 0);
		for (int i = 0; i < n; i++)
			assert_int_equal(datagram_check(&pkts[i], from), first++);
		if (clock_now_ns() > deadline)
			fail_msg("datagram %u did not arrive", first);
		if (n == 0 && p->ops->arm(p))
			poll(&pfd, 1, 100);
	}
}

struct pair {
	struct port a, b;
	struct datagram_addr addr_a, addr_b;
	uint8_t payload[PORT_BURST_MAX][9000];
};

static void exchange(struct pair *t, const uint32_t *sizes, unsigned n, unsigned max)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram pkt;

		pkt_make(&pkt, t->payload[i], i, sizes[i]);
		assert_int_equal(t->a.ops->tx(&t->a, &t->addr_b, &pkt), 0);
	}
	t->a.ops->flush(&t->a);
	memset(t->payload, 0xee, sizeof(t->payload)); /* must not be read after flush */
	receive_in_order(&t->b, &t->addr_a, 0, n - 1, max);
}

static void pair_open(struct pair *t, const char *ip_a, const char *ip_b)
{
	struct launch_config a = config_make(ip_a, 14420, "lo");
	struct launch_config b = config_make(ip_b, 14421, "lo");

	t->addr_a = addr_of(&a);
	t->addr_b = addr_of(&b);
	port_must_open(&t->a, &a);
	port_must_open(&t->b, &b);
}

static void pair_close(struct pair *t)
{
	t->a.ops->close(&t->a);
	t->b.ops->close(&t->b);
	t->b.ops->close(&t->b); /* closing twice is harmless */
}

static struct pair pair;

static int setup_v4(void **state)
{
	pair_open(&pair, "127.0.0.1/8", "127.0.0.2/8");
	*state = &pair;
	return 0;
}

static int setup_v6(void **state)
{
	pair_open(&pair, "::1/128", "::1/128");
	*state = &pair;
	return 0;
}

static int teardown(void **state)
{
	pair_close(*state);
	return 0;
}

static void gso_bursts_arrive_in_order(void **state)
{
	struct pair *t = *state;
	struct port_udp_counters c;
	uint32_t sizes[200];

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = 1400;
	sizes[199] = 77;
	exchange(t, sizes, ARRAY_SIZE(sizes), PORT_BURST_MAX);
	port_udp_counters_get(&t->a, &c);
	assert_int_equal(c.tx_datagrams, 200);
	assert_int_equal(c.tx_lost, 0);
	if (c.gso)
		assert_int_equal(c.tx_calls, 1);
	port_udp_counters_get(&t->b, &c);
	assert_int_equal(c.rx_datagrams, 200);
	assert_int_equal(c.rx_dropped, 0);
	if (c.gro)
		assert_in_range(c.rx_calls, 1, 20);
}

/* A datagram marked alone joins no burst, and none joins it. */
static void a_datagram_marked_alone_joins_no_burst(void **state)
{
	struct pair *t = *state;
	const struct port_udp *u = t->a.impl;
	const uint32_t n = 9;

	for (uint32_t i = 0; i < n; i++) {
		struct datagram pkt;

		pkt_make(&pkt, t->payload[i], i, 1400);
		pkt.alone = i % 3 == 1;
		assert_int_equal(t->a.ops->tx(&t->a, &t->addr_b, &pkt), 0);
	}
	if (u->counters.gso)
		assert_int_equal(u->tx.n_bursts, 7);
	t->a.ops->flush(&t->a);
	receive_in_order(&t->b, &t->addr_a, 0, n - 1, PORT_BURST_MAX);
}

static void mixed_sizes_arrive_in_order(void **state)
{
	uint32_t sizes[120];
	uint32_t seed = 7;

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		seed = seed * 1103515245 + 12345;
		sizes[i] = (seed >> 16) % 4 == 0 ? (seed >> 8) % 8900 : 1000;
	}
	sizes[3] = 0; /* a header alone */
	exchange(*state, sizes, ARRAY_SIZE(sizes), PORT_BURST_MAX);
}

static void exchange_uncut(struct pair *t, uint32_t bytes)
{
	struct port_udp_counters c;
	uint32_t sizes[100];
	int on = 1;

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = i % 7 == 6 ? 33 : bytes;
	/* A packet without checksum cannot be segmented. */
	assert_int_equal(
		setsockopt(port_udp_socket(&t->a), SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
	exchange(t, sizes, ARRAY_SIZE(sizes), PORT_BURST_MAX);
	port_udp_counters_get(&t->a, &c);
	assert_false(c.gso);
	assert_int_equal(c.tx_lost, 0);
	assert_int_equal(c.tx_datagrams, ARRAY_SIZE(sizes));
}

/* A kernel that refuses to segment super-packets gets single datagrams: both copied and referenced
 * ones. */
static void bursts_arrive_without_segmentation(void **state)
{
	exchange_uncut(*state, 1400);
}

static void large_bursts_arrive_without_segmentation(void **state)
{
	exchange_uncut(*state, 5000);
}

/* The caller's array may be smaller than what one system call returns. */
static void small_receive_arrays_lose_nothing(void **state)
{
	uint32_t sizes[64];

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = 500;
	exchange(*state, sizes, ARRAY_SIZE(sizes), 3);
}

static void many_bursts_arrive(void **state)
{
	uint32_t sizes[PORT_BURST_MAX];

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = 1200;
	for (int turn = 0; turn < 20; turn++)
		exchange(*state, sizes, ARRAY_SIZE(sizes), PORT_BURST_MAX);
}

/* More than the queue holds: tx flushes it itself. */
static void a_full_queue_flushes_itself(void **state)
{
	struct pair *t = *state;
	struct datagram pkt;

	for (uint32_t i = 0; i < 3 * PORT_BURST_MAX; i++) {
		pkt_make(&pkt, t->payload[i % PORT_BURST_MAX] + i / PORT_BURST_MAX * 128, i, 100);
		assert_int_equal(t->a.ops->tx(&t->a, &t->addr_b, &pkt), 0);
	}
	t->a.ops->flush(&t->a);
	receive_in_order(&t->b, &t->addr_a, 0, 3 * PORT_BURST_MAX - 1, PORT_BURST_MAX);
}

/* Datagrams without a header stay in place: those of a burst in one piece, and separate ones; mixed
 * with ones that have a header. */
static void datagrams_without_header_arrive(void **state)
{
	struct pair *t = *state;
	uint8_t *to = t->payload[0];
	const uint32_t n = 60;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t bytes = i % 20 == 19 ? 700 : 1400;
		struct datagram pkt;

		to += i % 7 == 6 ? 1 : 0; /* separate from the previous one */
		pkt_make(&pkt, to + SEQ_BYTES, i, bytes);
		if (i % 11 != 10) {
			memcpy(to, pkt.hdr, SEQ_BYTES);
			pkt.payload = to;
			pkt.payload_len = (uint16_t)(SEQ_BYTES + bytes);
			pkt.hdr_len = 0;
		}
		to += SEQ_BYTES + bytes;
		assert_int_equal(t->a.ops->tx(&t->a, &t->addr_b, &pkt), 0);
	}
	t->a.ops->flush(&t->a);
	memset(t->payload, 0xee, sizeof(t->payload));
	receive_in_order(&t->b, &t->addr_a, 0, n - 1, PORT_BURST_MAX);
}

static void bad_destinations_do_not_disturb_the_port(void **state)
{
	struct pair *t = *state;
	struct datagram_addr dst = t->addr_b;
	struct port_udp_counters c;
	struct datagram pkt;

	pkt_make(&pkt, t->payload[0], 0, 100);
	dst.ip.family = dst.ip.family == AF_INET ? AF_INET6 : AF_INET;
	assert_int_equal(t->a.ops->tx(&t->a, &dst, &pkt), -EAFNOSUPPORT);
	dst.ip.family = 0;
	assert_int_equal(t->a.ops->tx(&t->a, &dst, &pkt), -EAFNOSUPPORT);
	/* No listener there: the kernel's error must not disturb the port. */
	dst = t->addr_b;
	dst.port = 14999;
	assert_int_equal(t->a.ops->tx(&t->a, &dst, &pkt), 0);
	t->a.ops->flush(&t->a);
	/* No route: counted, and later datagrams of the same flush arrive. */
	if (dst.ip.family == AF_INET) {
		assert_int_equal(ip_addr_parse("240.0.0.1", &dst.ip), 0);
		assert_int_equal(t->a.ops->tx(&t->a, &dst, &pkt), 0);
	}
	assert_int_equal(t->a.ops->tx(&t->a, &t->addr_b, &pkt), 0);
	t->a.ops->flush(&t->a);
	receive_in_order(&t->b, &t->addr_a, 0, 0, PORT_BURST_MAX);
	port_udp_counters_get(&t->a, &c);
	if (dst.ip.family == AF_INET) {
		assert_int_equal(c.tx_lost, 1);
		assert_true(c.tx_errno != 0);
	}
}

/* One datagram at a time from `from` to `to`, n times. */
static void trickle(struct port *from, const struct datagram_addr *from_addr, struct port *to,
		    const struct datagram_addr *to_addr, unsigned n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct datagram pkt;

		pkt_make(&pkt, pair.payload[0], i, 64);
		assert_int_equal(from->ops->tx(from, to_addr, &pkt), 0);
		from->ops->flush(from);
		receive_in_order(to, from_addr, i, i, PORT_BURST_MAX);
	}
}

static bool is_hot(const struct port *p)
{
	struct port_udp_counters c;

	port_udp_counters_get(p, &c);
	return c.hot;
}

/* A peer that sends nearly everything gets its own socket; others still arrive, and when they send
 * more it loses the socket. Neither the peer's death nor its return disturbs. */
static void a_hot_peer_gets_its_own_socket(void **state)
{
	struct pair *t = *state;
	bool v4 = t->addr_a.ip.family == AF_INET;
	struct launch_config cfg = config_make(v4 ? "127.0.0.3/8" : "::1/128", 14422, "lo");
	struct launch_config cfg_a = config_make(v4 ? "127.0.0.1/8" : "::1/128", 14420, "lo");
	struct datagram_addr other_addr = addr_of(&cfg);
	struct port other = {0};
	struct datagram pkt;
	uint32_t sizes[100];

	trickle(&t->a, &t->addr_a, &t->b, &t->addr_b, 300);
	assert_true(is_hot(&t->b));
	trickle(&t->b, &t->addr_b, &t->a, &t->addr_a, 300);
	assert_true(is_hot(&t->a));
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = 1400;
	exchange(t, sizes, ARRAY_SIZE(sizes), PORT_BURST_MAX);
	port_must_open(&other, &cfg);
	trickle(&other, &other_addr, &t->b, &t->addr_b, 10);
	assert_true(is_hot(&t->b));
	/* The hot peer is gone: no listener, with an error. */
	t->a.ops->close(&t->a);
	for (int i = 0; i < 5; i++) {
		pkt_make(&pkt, t->payload[0], 0, 64);
		assert_int_equal(t->b.ops->tx(&t->b, &t->addr_a, &pkt), 0);
		t->b.ops->flush(&t->b);
	}
	trickle(&other, &other_addr, &t->b, &t->addr_b, 10);
	port_must_open(&t->a, &cfg_a);
	trickle(&t->b, &t->addr_b, &t->a, &t->addr_a, 10);
	trickle(&t->a, &t->addr_a, &t->b, &t->addr_b, 10);
	/* Another takes over. */
	trickle(&other, &other_addr, &t->b, &t->addr_b, 1500);
	assert_true(is_hot(&t->b));
	trickle(&t->b, &t->addr_b, &other, &other_addr, 10);
	trickle(&t->a, &t->addr_a, &t->b, &t->addr_b, 10);
	other.ops->close(&other);
}

/* The packets of another peer arrive although the hot peer's socket is never empty. */
static void a_hot_peer_delays_no_other(void **state)
{
	struct pair *t = *state;
	struct launch_config cfg = config_make("127.0.0.3/8", 14422, "lo");
	struct datagram_addr other_addr = addr_of(&cfg);
	struct port_rx pkts[PORT_BURST_MAX];
	struct port other = {0};
	unsigned n_hot = 0, n_other = 0;
	struct datagram pkt;

	trickle(&t->a, &t->addr_a, &t->b, &t->addr_b, 300);
	assert_true(is_hot(&t->b));
	port_must_open(&other, &cfg);
	for (uint32_t i = 0; i < 1000; i++) {
		pkt_make(&pkt, t->payload[0], i, 64);
		assert_int_equal(t->a.ops->tx(&t->a, &t->addr_b, &pkt), 0);
		t->a.ops->flush(&t->a); /* one by one: a burst would be one buffer */
	}
	pkt_make(&pkt, t->payload[0], 0, 64);
	assert_int_equal(other.ops->tx(&other, &t->addr_b, &pkt), 0);
	other.ops->flush(&other);
	while (n_other == 0) {
		int n = t->b.ops->rx(&t->b, pkts, PORT_BURST_MAX);

		for (int i = 0; i < n; i++) {
			bool same = ip_addr_equal(&pkts[i].src.ip, &other_addr.ip);

			n_hot += !same;
			n_other += same;
		}
		assert_in_range(n_hot, 0, 100);
	}
	other.ops->close(&other);
}

static void open_errors_are_explained(void **state)
{
	struct launch_config cfg = config_make("127.0.0.1/8", 14420, "lo");
	struct port first = {0}, second = {.ops = &port_udp_ops};
	struct reason why;

	port_must_open(&first, &cfg);
	assert_int_equal(second.ops->open(&second, &cfg, 0, &why), -EADDRINUSE);
	assert_string_equal(
		why.text,
		"UDP port 14420 of 127.0.0.1 is in use; free the port, or configure another port");
	first.ops->close(&first);
	cfg = config_make("192.0.2.77/24", 14420, "lo");
	assert_int_equal(second.ops->open(&second, &cfg, 0, &why), -EADDRNOTAVAIL);
	assert_string_equal(why.text, "192.0.2.77 is not an address of this host");
	cfg.ports[0].ip.addr.family = 0;
	assert_true(second.ops->open(&second, &cfg, 0, &why) < 0);
	assert_string_equal(why.text, "the leg has no address");
}

static void a_refused_size_is_reported(void **state)
{
	struct launch_config cfg = config_make("127.0.0.1/8", 14420, "lo");
	struct port p = {0};
	struct datagram_addr dst = addr_of(&cfg);
	struct datagram pkt;

	cfg.ports[0].mtu = 1500;
	port_must_open(&p, &cfg);
	pkt_make(&pkt, pair.payload[0], 0, 1472 - SEQ_BYTES);
	assert_int_equal(p.ops->tx(&p, &dst, &pkt), 0);
	pkt_make(&pkt, pair.payload[0], 0, 1473 - SEQ_BYTES);
	assert_int_equal(p.ops->tx(&p, &dst, &pkt), -EMSGSIZE);
	p.ops->close(&p);
}

static void transports_map_to_their_ports(void **state)
{
	const struct port_ops *ops;
	struct reason why;

	setenv("PLENUM_MODULE_DIR", "/nonexistent", 1);
	assert_int_equal(port_ops_get(LAUNCH_DPDK, &ops, &why), -ENOENT);
	assert_non_null(strstr(why.text, "/nonexistent/port_dpdk.so"));
	assert_int_equal(port_ops_get(LAUNCH_TRANSPORT_MAX, &ops, &why), -EINVAL);
	unsetenv("PLENUM_MODULE_DIR");
}

/* ------------------------------------------------------------------ two namespaces */

static int sh(const char *cmd)
{
	int r = system(cmd);

	return WIFEXITED(r) ? WEXITSTATUS(r) : -1;
}

static int in_netns(const char *name, void (*fn)(struct port *, void *), struct port *p, void *arg)
{
	char path[64];
	autoclose int self = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	autoclose int other = -1;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	other = open(path, O_RDONLY | O_CLOEXEC);
	if (self < 0 || other < 0 || setns(other, CLONE_NEWNET) != 0)
		return -errno;
	fn(p, arg);
	return setns(self, CLONE_NEWNET) != 0 ? -errno : 0;
}

static void open_in_a(struct port *p, void *arg)
{
	struct launch_config cfg = config_make("10.99.7.1/24", 14420, "pudp0");

	*(struct datagram_addr *)arg = addr_of(&cfg);
	port_must_open(p, &cfg);
}

static void open_in_b(struct port *p, void *arg)
{
	struct launch_config cfg = config_make("10.99.7.2/24", 14420, "pudp1");

	*(struct datagram_addr *)arg = addr_of(&cfg);
	port_must_open(p, &cfg);
}

static void announce_in_ns(struct port *p, void *arg)
{
	p->ops->announce(p);
}

/* As in a worker once its ports are open: no more raw sockets. */
static void raw_sockets_allow(bool allow)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];

	assert_int_equal(syscall(SYS_capget, &header, caps), 0);
	caps[0].effective &= ~(1U << CAP_NET_RAW);
	caps[0].effective |= allow ? caps[0].permitted & (1U << CAP_NET_RAW) : 0;
	assert_int_equal(syscall(SYS_capset, &header, caps), 0);
}

static void arp_socket_in_ns(struct port *p, void *arg)
{
	*(int *)arg = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ARP));
}

/* A switch learns the address although the port can no longer create raw sockets. */
static void the_address_is_announced_without_privilege(void **state)
{
	struct pair *t = *state;
	uint64_t deadline = clock_now_ns() + 5 * NSEC_PER_SEC;
	autoclose int heard = -1;
	uint8_t arp[64];

	if (!t) {
		print_message("network namespaces need root\n");
		skip();
	}
	assert_int_equal(in_netns("plenum-pudp-b", arp_socket_in_ns, NULL, &heard), 0);
	assert_true(heard >= 0);
	raw_sockets_allow(false);
	assert_true(socket(AF_PACKET, SOCK_RAW, 0) < 0);
	assert_int_equal(in_netns("plenum-pudp-a", announce_in_ns, &t->a, NULL), 0);
	raw_sockets_allow(true);
	for (;;) {
		struct pollfd pfd = {.fd = heard, .events = POLLIN};

		assert_true(clock_now_ns() < deadline);
		if (poll(&pfd, 1, 100) <= 0 || recv(heard, arp, sizeof(arp), 0) < 28)
			continue;
		/* RFC 5227: sender and target are the announced address. */
		if (memcmp(arp + 14, t->addr_a.ip.bytes, 4) == 0 &&
		    memcmp(arp + 24, t->addr_a.ip.bytes, 4) == 0)
			break;
	}
}

static int setup_netns(void **state)
{
	if (geteuid() != 0 || access("/run/netns", F_OK) != 0)
		(void)sh("mkdir -p /run/netns 2>/dev/null");
	(void)sh("ip netns del plenum-pudp-a 2>/dev/null; ip netns del plenum-pudp-b 2>/dev/null");
	if (sh("ip netns add plenum-pudp-a 2>/dev/null && ip netns add plenum-pudp-b && "
	       "ip -n plenum-pudp-a link add pudp0 type veth peer name pudp1 netns plenum-pudp-b "
	       "&& "
	       "ip -n plenum-pudp-a addr add 10.99.7.1/24 dev pudp0 && "
	       "ip -n plenum-pudp-b addr add 10.99.7.2/24 dev pudp1 && "
	       "ip -n plenum-pudp-a link set pudp0 up && ip -n plenum-pudp-b link set pudp1 up") !=
	    0) {
		*state = NULL;
		return 0;
	}
	/* The kernel drops packets until it has seen the carrier. */
	assert_int_equal(
		sh("timeout 20 sh -c \"until ip -n plenum-pudp-a -br link show pudp0 | "
		   "grep -q 'pudp0@[^ ]*  *UP' && ip -n plenum-pudp-b -br link show pudp1 | "
		   "grep -q 'pudp1@[^ ]*  *UP'; do :; done\""),
		0);
	assert_int_equal(in_netns("plenum-pudp-a", open_in_a, &pair.a, &pair.addr_a), 0);
	assert_int_equal(in_netns("plenum-pudp-b", open_in_b, &pair.b, &pair.addr_b), 0);
	*state = &pair;
	return 0;
}

static int teardown_netns(void **state)
{
	if (*state)
		pair_close(*state);
	(void)sh("ip netns del plenum-pudp-a 2>/dev/null; ip netns del plenum-pudp-b 2>/dev/null");
	return 0;
}

static void netns_exchange(struct pair *t)
{
	uint32_t sizes[150];

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = i % 50 == 49 ? 300 : 1460;
	exchange(t, sizes, ARRAY_SIZE(sizes), PORT_BURST_MAX);
}

/* The link carries less than configured: the port reports which size was too large for which
 * address, and continues with segmentation. */
static void netns_too_big(struct pair *t)
{
	struct port_udp_counters before, after;
	struct datagram_addr dst;
	struct datagram pkt;
	uint32_t bytes;

	port_udp_counters_get(&t->a, &before);
	assert_false(t->a.ops->too_big(&t->a, &dst, &bytes));
	assert_int_equal(sh("ip -n plenum-pudp-a link set pudp0 mtu 1000"), 0);
	for (unsigned i = 0; i < 3; i++) {
		pkt_make(&pkt, t->payload[i], i, 1400);
		assert_int_equal(t->a.ops->tx(&t->a, &t->addr_b, &pkt), 0);
	}
	t->a.ops->flush(&t->a);
	assert_true(t->a.ops->too_big(&t->a, &dst, &bytes));
	assert_memory_equal(&dst.ip, &t->addr_b.ip, sizeof(dst.ip));
	assert_int_equal(dst.port, t->addr_b.port);
	assert_int_equal(bytes, 1400 + SEQ_BYTES);
	assert_false(t->a.ops->too_big(&t->a, &dst, &bytes)); /* reported once */
	port_udp_counters_get(&t->a, &after);
	assert_int_equal(after.gso, before.gso);
	assert_int_equal(sh("ip -n plenum-pudp-a link set pudp0 mtu 1500"), 0);
}

static void the_port_works_between_namespaces(void **state)
{
	struct pair *t = *state;
	struct port_udp_counters c;
	uint64_t lost;
	struct datagram pkt;

	if (!t) {
		print_message("network namespaces need root\n");
		skip();
	}
	netns_exchange(t);
	assert_int_equal(in_netns("plenum-pudp-a", announce_in_ns, &t->a, NULL), 0);
	/* A wire that carries single frames only. */
	assert_int_equal(sh("ip netns exec plenum-pudp-a ethtool -K pudp0 tso off gso off "
			    "tx-udp-segmentation off >/dev/null 2>&1; "
			    "ip netns exec plenum-pudp-b ethtool -K pudp1 gro off >/dev/null 2>&1"),
			 0);
	netns_exchange(t);
	/* A device without checksum offload: some kernels refuse segmentation then. */
	assert_int_equal(sh("ip netns exec plenum-pudp-a ethtool -K pudp0 tx off >/dev/null 2>&1"),
			 0);
	netns_exchange(t);
	port_udp_counters_get(&t->a, &c);
	assert_int_equal(c.tx_lost, 0);
	netns_too_big(t);
	port_udp_counters_get(&t->a, &c);
	lost = c.tx_lost;
	/* A link that is down loses packets, but the port survives. */
	assert_int_equal(sh("ip -n plenum-pudp-a link set pudp0 down"), 0);
	pkt_make(&pkt, t->payload[0], 0, 10);
	assert_int_equal(t->a.ops->tx(&t->a, &t->addr_b, &pkt), 0);
	t->a.ops->flush(&t->a);
	port_udp_counters_get(&t->a, &c);
	assert_int_equal(c.tx_lost, lost + 1);
	assert_int_equal(sh("ip -n plenum-pudp-a link set pudp0 up"), 0);
	netns_exchange(t);
}

/* Sends until the socket is full; returns the number of accepted datagrams. */
static uint32_t send_until_full(struct pair *t)
{
	for (uint32_t i = 0; i < PORT_BURST_MAX; i++) {
		struct datagram pkt;
		int r;

		pkt_make(&pkt, t->payload[i], i, i % 3 ? 1300 : 600);
		r = t->a.ops->tx(&t->a, &t->addr_b, &pkt);
		if (r == -EAGAIN)
			return i;
		assert_int_equal(r, 0);
		if (i % 50 == 49) {
			t->a.ops->flush(&t->a);
			memset(t->payload, 0xee, sizeof(t->payload));
		}
	}
	return PORT_BURST_MAX;
}

/*
 * Datagrams waiting for neighbour resolution fill a tiny socket buffer: tx reports it, accepted
 * ones survive although the caller's memory is gone, and leave when the neighbour is resolved.
 */
static void a_full_socket_buffer_loses_nothing(void **state)
{
	struct pair *t = *state;
	struct port_udp_counters c;
	int small = 1;
	uint32_t taken;

	if (!t) {
		print_message("network namespaces need root\n");
		skip();
	}
	assert_int_equal(sh("ip -n plenum-pudp-b link set pudp1 address 02:00:00:00:07:02 arp off"),
			 0);
	assert_int_equal(
		setsockopt(port_udp_socket(&t->a), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
		0);
	taken = send_until_full(t);
	assert_in_range(taken, 50, PORT_BURST_MAX - 1);
	port_udp_counters_get(&t->a, &c);
	assert_true(c.tx_full > 0);
	assert_true(c.tx_datagrams < taken);
	assert_true(t->a.ops->tick(&t->a, 1) != UINT64_MAX);
	assert_false(t->a.ops->arm(&t->a));
	assert_int_equal(
		sh("ip -n plenum-pudp-a neigh replace 10.99.7.2 lladdr 02:00:00:00:07:02 dev "
		   "pudp0 nud permanent"),
		0);
	while (t->a.ops->tick(&t->a, 1) != UINT64_MAX)
		continue;
	receive_in_order(&t->b, &t->addr_a, 0, taken - 1, PORT_BURST_MAX);
	port_udp_counters_get(&t->a, &c);
	assert_int_equal(c.tx_datagrams, taken);
	assert_int_equal(c.tx_lost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gso_bursts_arrive_in_order, setup_v4, teardown),
		cmocka_unit_test_setup_teardown(a_datagram_marked_alone_joins_no_burst, setup_v4,
						teardown),
		cmocka_unit_test_setup_teardown(mixed_sizes_arrive_in_order, setup_v4, teardown),
		cmocka_unit_test_setup_teardown(bursts_arrive_without_segmentation, setup_v4,
						teardown),
		cmocka_unit_test_setup_teardown(large_bursts_arrive_without_segmentation, setup_v4,
						teardown),
		cmocka_unit_test_setup_teardown(small_receive_arrays_lose_nothing, setup_v4,
						teardown),
		cmocka_unit_test_setup_teardown(many_bursts_arrive, setup_v4, teardown),
		cmocka_unit_test_setup_teardown(a_full_queue_flushes_itself, setup_v4, teardown),
		cmocka_unit_test_setup_teardown(datagrams_without_header_arrive, setup_v4,
						teardown),
		cmocka_unit_test_setup_teardown(bad_destinations_do_not_disturb_the_port, setup_v4,
						teardown),
		cmocka_unit_test_setup_teardown(a_hot_peer_gets_its_own_socket, setup_v4, teardown),
		cmocka_unit_test_setup_teardown(a_hot_peer_delays_no_other, setup_v4, teardown),
		{"gso_bursts_arrive_in_order_v6", gso_bursts_arrive_in_order, setup_v6, teardown,
		 NULL},
		{"mixed_sizes_arrive_in_order_v6", mixed_sizes_arrive_in_order, setup_v6, teardown,
		 NULL},
		{"bad_destinations_do_not_disturb_the_port_v6",
		 bad_destinations_do_not_disturb_the_port, setup_v6, teardown, NULL},
		{"a_hot_peer_gets_its_own_socket_v6", a_hot_peer_gets_its_own_socket, setup_v6,
		 teardown, NULL},
		cmocka_unit_test(open_errors_are_explained),
		cmocka_unit_test(a_refused_size_is_reported),
		cmocka_unit_test(transports_map_to_their_ports),
		cmocka_unit_test_setup_teardown(the_port_works_between_namespaces, setup_netns,
						teardown_netns),
		cmocka_unit_test_setup_teardown(the_address_is_announced_without_privilege,
						setup_netns, teardown_netns),
		cmocka_unit_test_setup_teardown(a_full_socket_buffer_loses_nothing, setup_netns,
						teardown_netns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
