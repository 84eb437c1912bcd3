/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of a packet with and without reliability, excluding kernel, NIC and other processors:
 * two ends in one thread, joined by two DPDK rings (net_ring). Measures in turn the rings alone, as
 * in a forwarding program; our port on them; and rudp on the port, with requests and responses of
 * 32 bytes and responses of 1 MiB. A packet's cost is for sending and receiving it; for rudp it
 * covers all packets, including acknowledgements.
 *
 * Beside the time, which other load affects, it counts executed instructions, which are ours alone.
 *
 *	rudp_ring [--rounds N] [--ms N] [--only WAY]
 */
#include "tests/perf/rudp_app.h"
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#define RING_FRAMES 1024U
#define BURST 32U
#define SMALL_BYTES 32U
#define LARGE_IN_FLIGHT 4U
#define SMALL_IN_FLIGHT 64U
#define ROUNDS_MAX 64U
#define MTU 1500

enum end { A, B, ENDS, FIRST = ENDS };

static const char *const ips[ENDS] = {"10.99.9.1/24", "10.99.9.2/24"};
static struct port ports[ENDS + 1];
static struct app *apps[ENDS];

static void die(const char *what)
{
	fprintf(stderr, "rudp_ring: %s\n", what);
	exit(1);
}

/* ------------------------------------------------------------------ the cable and the ports */

static void leg_fill(struct launch_port *lp, const char *ip, const char *device)
{
	if (ip_prefix_parse(ip, &lp->ip) < 0)
		die("address");
	snprintf(lp->device, sizeof(lp->device), "%s", device);
	lp->udp_port = APP_UDP_PORT;
	lp->mtu = MTU;
}

static void port_make(const struct launch_config *cfg, unsigned index)
{
	struct reason why = {.code = ""};

	if (port_ops_get(cfg->transport, &ports[index].ops, &why) < 0 ||
	    ports[index].ops->open(&ports[index], cfg, index, &why) < 0)
		die(why.text);
}

/* Each end reads from the ring that the other writes. The driver's own arguments give a device one
 * ring for both, and no MAC. */
static void cable_make(void)
{
	struct rte_ring *rings[ENDS] = {rte_ring_create("a-to-b", RING_FRAMES, (int)rte_socket_id(),
							RING_F_SP_ENQ | RING_F_SC_DEQ),
					rte_ring_create("b-to-a", RING_FRAMES, (int)rte_socket_id(),
							RING_F_SP_ENQ | RING_F_SC_DEQ)};
	static const char *const names[ENDS] = {"a", "b"};

	for (unsigned i = 0; i < ENDS; i++) {
		struct rte_ether_addr mac = {{2, 0, 0, 0, 0, (uint8_t)(i + 1)}};
		int id = -1;

		if (rings[A] && rings[B])
			id = rte_eth_from_rings(names[i], &rings[1 - i], 1, &rings[i], 1,
						rte_socket_id());
		if (id < 0 || rte_eth_dev_mac_addr_add((uint16_t)id, &mac, 0) != 0)
			die(rte_strerror(rte_errno));
	}
}

/* DPDK starts with the first port that opens, and the rings need DPDK: that port is otherwise
 * unused. */
static void ports_make(void)
{
	static struct launch_config cfg = {
		.n_ports = ENDS + 1, .log_level = 4, .transport = LAUNCH_DPDK};

	leg_fill(&cfg.ports[A], ips[A], "net_ring_a");
	leg_fill(&cfg.ports[B], ips[B], "net_ring_b");
	leg_fill(&cfg.ports[FIRST], "10.99.8.1/24", "net_null0");
	port_make(&cfg, FIRST);
	cable_make();
	for (unsigned i = 0; i < ENDS; i++)
		port_make(&cfg, i);
}

/* ------------------------------------------------------------------ what is compared */

/* Each of these passes at least n packets and returns their number. */

static uint64_t rings_pass(uint64_t n)
{
	static struct rte_mempool *pool;
	struct rte_mbuf *frames[BURST];
	uint64_t passed = 0;
	uint16_t ids[ENDS], got = BURST;

	if (!pool)
		pool = rte_pktmbuf_pool_create("bare", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					       SOCKET_ID_ANY);
	if (!pool || rte_eth_dev_get_port_by_name("net_ring_a", &ids[A]) != 0 ||
	    rte_eth_dev_get_port_by_name("net_ring_b", &ids[B]) != 0 ||
	    rte_pktmbuf_alloc_bulk(pool, frames, BURST) != 0)
		die("no frames");
	for (unsigned end = A; passed < n; end = 1 - end) {
		if (rte_eth_tx_burst(ids[end], 0, frames, got) != got)
			die("a ring is full");
		got = rte_eth_rx_burst(ids[1 - end], 0, frames, BURST);
		if (got != BURST)
			die("a frame is lost");
		passed += got;
	}
	rte_pktmbuf_free_bulk(frames, BURST);
	return passed;
}

static uint64_t port_pass(uint64_t n)
{
	static const uint8_t payload[SMALL_BYTES];
	struct datagram d = {.payload = payload, .payload_len = sizeof(payload)};
	struct port_rx rx[BURST];
	uint64_t passed = 0;

	for (unsigned end = A; passed < n; end = 1 - end) {
		struct port *from = &ports[end], *to = &ports[1 - end];
		struct datagram_addr dst = {.port = APP_UDP_PORT};
		struct ip_prefix p;

		(void)ip_prefix_parse(ips[1 - end], &p);
		dst.ip = p.addr;
		for (unsigned i = 0; i < BURST; i++)
			(void)from->ops->tx(from, &dst, &d);
		from->ops->flush(from);
		for (int got = 1; got > 0;) {
			got = to->ops->rx(to, rx, BURST);
			passed += got > 0 ? (unsigned)got : 0;
		}
		to->ops->flush(to);
	}
	return passed;
}

static uint64_t sent(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ENDS; i++) {
		struct launch_port_counters c;

		ports[i].ops->counters(&ports[i], &c);
		n += c.tx_packets;
	}
	return n;
}

static uint64_t rudp_pass(unsigned n, unsigned in_flight, uint32_t bytes)
{
	uint64_t before = sent();
	unsigned asked = 0, done = apps[A]->done;

	while (apps[A]->done - done < n) {
		while (asked < n && asked - (apps[A]->done - done) < in_flight)
			app_ask(apps[A], asked++ % in_flight, bytes);
		app_turn(apps[A]);
		app_turn(apps[B]);
	}
	if (apps[A]->failed)
		die("a request failed");
	return sent() - before;
}

static uint64_t small_pass(uint64_t n)
{
	return rudp_pass((unsigned)n / 2, SMALL_IN_FLIGHT, SMALL_BYTES);
}

static uint64_t large_pass(uint64_t n)
{
	(void)n; /* more than that */
	return rudp_pass(LARGE_IN_FLIGHT, LARGE_IN_FLIGHT, APP_ANSWER_BYTES_MAX);
}

/* ------------------------------------------------------------------ measuring */

static void connect_ends(void)
{
	struct datagram_addr peer = {.port = APP_UDP_PORT};
	uint64_t end = clock_now_ns() + 5 * NSEC_PER_SEC;
	struct ip_prefix p;

	for (unsigned i = 0; i < ENDS; i++) {
		struct app_config c = {.transport = LAUNCH_DPDK,
				       .ip = ips[i],
				       .port = &ports[i],
				       .mtu = MTU,
				       .is_server = i == B};

		apps[i] = app_new(&c);
		apps[i]->request_bytes = SMALL_BYTES;
	}
	(void)ip_prefix_parse(ips[B], &p);
	peer.ip = p.addr;
	if (rudp_connect(apps[A]->rudp, &peer, 1, NULL, 0, apps[A], clock_now_ns(),
			 &apps[A]->session) < 0)
		die("rudp_connect");
	while (!rudp_session_is_up(apps[A]->session)) {
		app_turn(apps[A]);
		app_turn(apps[B]);
		if (clock_now_ns() > end)
			die("the session does not come up");
	}
}

static const struct {
	const char *name;
	uint64_t (*pass)(uint64_t n);
} ways[] = {{"rings", rings_pass},
	    {"port", port_pass},
	    {"rudp 32B", small_pass},
	    {"rudp 1MiB", large_pass}};

struct options {
	unsigned rounds, ms;
	const char *only; /* variant; NULL: all */
};

static bool is_wanted(const struct options *o, unsigned way)
{
	return !o->only || strcmp(o->only, ways[way].name) == 0;
}

/* Counter of our instructions; -1 if kernel or processor offers none. */
static int counter_open(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
				    .size = sizeof(a),
				    .config = PERF_COUNT_HW_INSTRUCTIONS,
				    .exclude_kernel = 1,
				    .exclude_hv = 1};

	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t counter_read(int fd)
{
	uint64_t n = 0;

	return fd >= 0 && read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
}

struct cost {
	double ns, instructions; /* per packet */
};

static struct cost measure(uint64_t (*pass)(uint64_t n), uint64_t ms, int counter)
{
	uint64_t start = clock_now_ns(), now = start, packets = 0, counted = counter_read(counter);

	for (; now - start < ms * NSEC_PER_MSEC; now = clock_now_ns())
		packets += pass(4096);
	counted = counter_read(counter) - counted;
	return (struct cost){(double)(now - start) / (double)packets,
			     (double)counted / (double)packets};
}

static void options_parse(int argc, char **argv, struct options *o)
{
	int i = 1;

	for (; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--only") == 0)
			o->only = argv[i + 1];
		else
			*(strcmp(argv[i], "--rounds") == 0 ? &o->rounds : &o->ms) =
				(unsigned)strtoul(argv[i + 1], NULL, 10);
	}
	if (i != argc || o->rounds < 1 || o->rounds > ROUNDS_MAX || o->ms < 1)
		die("[--rounds N, up to 64] [--ms N] [--only WAY]");
}

int main(int argc, char **argv)
{
	double ns[ARRAY_SIZE(ways)][ROUNDS_MAX], n[ARRAY_SIZE(ways)][ROUNDS_MAX], bare = 0;
	struct options o = {.rounds = 7, .ms = 300};
	int counter = counter_open();

	options_parse(argc, argv, &o);
	ports_make();
	connect_ends();
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++)
		if (is_wanted(&o, i))
			(void)measure(ways[i].pass, 100, -1); /* warm up */
	for (unsigned r = 0; r < o.rounds; r++)
		for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
			struct cost c = {0};

			if (is_wanted(&o, i))
				c = measure(ways[i].pass, o.ms, counter);
			ns[i][r] = c.ns;
			n[i][r] = c.instructions;
		}
	printf("%-10s %14s %10s %15s %13s   (net_ring, both ends in one thread: sent and "
	       "received)\n",
	       "ring", "ns a packet", "cycles", "more than rings", "instructions");
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
		double m = app_median(ns[i], o.rounds);

		bare = i ? bare : m;
		if (is_wanted(&o, i))
			printf("%-10s %14.1f %10.0f %15.1f %13.0f\n", ways[i].name, m,
			       m * (double)rte_get_tsc_hz() / 1e9, m - bare,
			       app_median(n[i], o.rounds));
	}
	printf("(medians of %u rounds of %u ms%s)\n", o.rounds, o.ms,
	       counter < 0 ? "; no counter of instructions here" : "");
	return 0;
}
