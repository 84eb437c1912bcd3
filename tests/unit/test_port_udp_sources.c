/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A UDP port with several source ports, and its counters: on the loopback device, over IPv4 and
 * IPv6.
 */
#include "dataplane/port/udp/port_udp.h"
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define DEADLINE_NS (20 * NSEC_PER_SEC)
#define BYTES 1400U
#define SOURCES 4U

static uint8_t payload[64][BYTES];

struct ends {
	struct port a, b;
	struct datagram_addr addr_a, addr_b;
	const char *ip_a, *ip_b;
};

static void end_open(struct port *p, const char *ip, uint16_t udp_port, unsigned sources,
		     struct datagram_addr *ret)
{
	struct launch_config cfg = {.n_ports = 1, .spin_us = 10};
	struct launch_port *lp = &cfg.ports[0];
	struct reason why;

	assert_int_equal(ip_prefix_parse(ip, &lp->ip), 0);
	lp->udp_port = udp_port;
	lp->udp_sources = (uint8_t)sources;
	lp->mtu = 65535;
	assert_int_equal(port_ops_get(LAUNCH_UDP, &p->ops, &why), 0);
	if (p->ops->open(p, &cfg, 0, &why) != 0 || why.text[0])
		fail_msg("open: %s", why.text);
	*ret = (struct datagram_addr){.ip = lp->ip.addr, .port = udp_port};
}

static void ends_open(struct ends *e, bool v4)
{
	end_open(&e->a, v4 ? "127.0.0.1/8" : "::1/128", 14430, SOURCES, &e->addr_a);
	end_open(&e->b, v4 ? "127.0.0.2/8" : "::1/128", 14431, 1, &e->addr_b);
}

static void ends_close(struct ends *e)
{
	e->a.ops->close(&e->a);
	e->b.ops->close(&e->b);
}

static void send_one(struct port *p, const struct datagram_addr *to, unsigned i, unsigned source)
{
	struct datagram pkt = {.payload = payload[i],
			       .payload_len = BYTES,
			       .hdr = {(uint8_t)i},
			       .hdr_len = 1,
			       .source = (uint8_t)source};

	memset(payload[i], (int)i, BYTES);
	assert_int_equal(p->ops->tx(p, to, &pkt), 0);
}

/* Waits for n datagrams; counts them by the peer's port. */
static void receive(struct port *p, const struct port *peer, unsigned n,
		    unsigned ret[DATAGRAM_SOURCES_MAX])
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct port_rx pkts[PORT_BURST_MAX];
	unsigned got = 0;

	memset(ret, 0, DATAGRAM_SOURCES_MAX * sizeof(ret[0]));
	while (got < n) {
		struct pollfd pfd = {.fd = p->ops->fd(p), .events = POLLIN};
		int r = p->ops->rx(p, pkts, PORT_BURST_MAX);

		for (int i = 0; i < r; i++, got++) {
			unsigned k = 0;

			while (k < SOURCES && peer->ops->source(peer, k) != pkts[i].src.port)
				k++;
			ret[k]++;
			assert_true(k < SOURCES);
			assert_int_equal(pkts[i].len, 1 + BYTES);
			for (unsigned at = 1; at <= BYTES; at++)
				assert_int_equal(pkts[i].data[at], pkts[i].data[0]);
		}
		assert_true(clock_now_ns() < deadline);
		if (r == 0 && p->ops->arm(p))
			poll(&pfd, 1, 100);
	}
	assert_int_equal(got, n);
}

static bool is_hot(const struct port *p)
{
	struct port_udp_counters c;

	port_udp_counters_get(p, &c);
	return c.hot;
}

/* A datagram leaves from its source port, whole and separate from others; a missing source port is
 * replaced by source port 0. Also if the receiver has a connected socket for the sender. */
static void spread(struct ends *e)
{
	unsigned by[DATAGRAM_SOURCES_MAX];

	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < 60; i++)
			send_one(&e->a, &e->addr_b, i, i / 10);
		e->a.ops->flush(&e->a);
		receive(&e->b, &e->a, 60, by);
		assert_int_equal(by[0], 30); /* including those of source ports 4 and 5 */
		for (unsigned k = 1; k < SOURCES; k++)
			assert_int_equal(by[k], 10);
		for (unsigned i = 0; i < 300; i++) {
			send_one(&e->a, &e->addr_b, 0, 0);
			e->a.ops->flush(&e->a);
			receive(&e->b, &e->a, 1, by);
		}
		assert_true(is_hot(&e->b));
	}
}

static void datagrams_leave_from_their_source_port(void **state)
{
	for (unsigned v4 = 0; v4 < 2; v4++) {
		struct port_udp_counters udp;
		struct launch_port_counters c;
		struct datagram_addr to_source;
		struct port_rx none;
		struct ends e = {0};

		ends_open(&e, v4);
		for (unsigned k = 1; k < SOURCES; k++) {
			int port = e.a.ops->source(&e.a, k);

			assert_true(port <= 14430 - 1024 || port >= 14430 + 1024);
			assert_int_not_equal(port, e.a.ops->source(&e.a, k - 1));
		}
		assert_int_equal(e.a.ops->source(&e.a, SOURCES), 14430);
		spread(&e);
		e.a.ops->counters(&e.a, &c);
		assert_int_equal(c.tx_by_source[0], 90 + 900);
		assert_int_equal(c.tx_by_source[3], 30);
		assert_int_equal(c.tx_by_source[4], 0);
		assert_int_equal(c.tx_packets, 180 + 900);
		assert_int_equal(c.tx_bytes, (180 + 900) * (BYTES + 1));
		port_udp_counters_get(&e.a, &udp);
		if (udp.gso)
			assert_int_equal(c.tx_bursts, 3 * 5);
		e.b.ops->counters(&e.b, &c);
		assert_int_equal(c.rx_packets, 180 + 900);
		assert_int_equal(c.rx_bytes, (180 + 900) * (BYTES + 1));
		assert_int_equal(c.rx_missed, 0);
		/* Nothing should be sent there. */
		to_source = e.addr_a;
		to_source.port = e.a.ops->source(&e.a, 2);
		send_one(&e.b, &to_source, 0, 0);
		e.b.ops->flush(&e.b);
		assert_int_equal(e.a.ops->rx(&e.a, &none, 1), 0);
		ends_close(&e);
	}
}

/* More than a socket buffer holds: the next packet reports the drops, once. */
static void socket_overflows_are_counted(void **state)
{
	struct ends e = {0};
	struct launch_port_counters c;
	struct port_rx pkts[PORT_BURST_MAX];
	int small = 1, n;
	unsigned got = 0;

	ends_open(&e, true);
	assert_int_equal(
		setsockopt(port_udp_socket(&e.b), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	for (unsigned i = 0; i < 41; i++) {
		send_one(&e.a, &e.addr_b, i, 0);
		e.a.ops->flush(&e.a);
		if (i < 39)
			continue;
		while ((n = e.b.ops->rx(&e.b, pkts, PORT_BURST_MAX)) > 0) /* the last one fits */
			got += (unsigned)n;
	}
	for (unsigned i = 0; i < 2; i++) {
		e.b.ops->counters(&e.b, &c);
		assert_int_equal(c.rx_packets, got);
		assert_int_equal(c.rx_packets + c.rx_missed, 41);
		assert_in_range(c.rx_missed, 1, 40);
	}
	ends_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_leave_from_their_source_port),
		cmocka_unit_test(socket_overflows_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
