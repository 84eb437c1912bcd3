/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of a port on a kernel interface without any protocol: datagrams of 18 bytes (60-byte
 * frames, the minimum) or more, there and back between the two ends of a cable, by one thread for
 * both, so that neither waits for a core. As testpmd with macswap on two ports, whose packets
 * circulate by themselves; see part packets of run. Prints the back end, round trips per second,
 * and round trips per second of processor time, which depends less on other load.
 *
 *	port_packets af-packet|af-xdp|udp IFNAME-A IFNAME-B MS [BYTES]
 */
#include "dataplane/port/port.h"
#include <stdio.h>
#include <string.h>

#define PAYLOAD_LEAST 18U
#define PAYLOAD_MOST 1472U
#define BURST 32U
#define LOST_NS                                                                                  \
	(20 * NSEC_PER_MSEC) /* after so long without an answer the outstanding packets count as \
				lost */
#define UDP_PORT 4420

static uint16_t payload_len = PAYLOAD_LEAST;

static const char *const ips[2] = {"10.99.7.1/24", "10.99.7.2/24"};

static void die(const char *what)
{
	fprintf(stderr, "port_packets: %s\n", what);
	exit(1);
}

static void leg_fill(struct launch_port *lp, const char *over, const char *ifname, unsigned index)
{
	if (ip_prefix_parse(ips[index], &lp->ip) < 0)
		die("address");
	snprintf(lp->leg, sizeof(lp->leg), "leg-%u", index);
	snprintf(lp->ifname, sizeof(lp->ifname), "%s", ifname);
	if (strcmp(over, "af-xdp") == 0)
		snprintf(lp->device, sizeof(lp->device), LAUNCH_DEVICE_AF_XDP);
	lp->ifindex = if_nametoindex(ifname);
	lp->mtu = 1500;
	lp->udp_port = UDP_PORT;
}

static void port_make(struct port *p, const struct launch_config *cfg, unsigned index)
{
	struct reason why = {.code = ""};

	p->ops = &port_xdp_ops;
	if (!launch_port_is_xdp(&cfg->ports[index]) &&
	    port_ops_get(cfg->transport, &p->ops, &why) < 0)
		die(why.text);
	if (p->ops->open(p, cfg, index, &why) < 0)
		die(why.text);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void tick(struct port *p)
{
	if (p->ops->tick)
		(void)p->ops->tick(p, clock_now_ns());
}

/* Echoes received packets. */
static void echo(struct port *p)
{
	struct port_rx rx[BURST];
	int n = p->ops->rx(p, rx, BURST);

	for (int i = 0; i < n; i++) {
		struct datagram d = {.payload = rx[i].data, .payload_len = (uint16_t)rx[i].len};

		(void)p->ops->tx(p, &rx[i].src, &d);
	}
	if (n > 0)
		p->ops->flush(p);
	else
		tick(p);
}

static void ask(struct port *p, const struct datagram_addr *dst, unsigned n)
{
	static const uint8_t payload[PAYLOAD_MOST];
	struct datagram d = {.payload = payload, .payload_len = payload_len};

	for (unsigned i = 0; i < n; i++)
		(void)p->ops->tx(p, dst, &d);
	p->ops->flush(p);
}

/* Packets that came back within that time. */
static uint64_t run(struct port ports[2], const struct datagram_addr *dst, uint64_t ms)
{
	uint64_t start = clock_now_ns(), now = start, heard = 0, got = 0;
	struct port_rx rx[BURST];
	unsigned out = 0;

	for (; now - start < ms * NSEC_PER_MSEC; now = clock_now_ns()) {
		int n;

		if (now - heard > LOST_NS) {
			out = 0;
			heard = now;
		}
		if (out < BURST) {
			ask(&ports[0], dst, BURST - out);
			out = BURST;
		}
		echo(&ports[1]);
		n = ports[0].ops->rx(&ports[0], rx, BURST);
		if (n > 0) {
			got += (unsigned)n;
			out -= MIN_OF(out, (unsigned)n);
			heard = now;
		} else {
			tick(&ports[0]);
		}
	}
	return got;
}

int main(int argc, char **argv)
{
	uint64_t ms = argc == 5 || argc == 6 ? strtoull(argv[4], NULL, 10) : 0, start, busy, got;
	uint64_t bytes = argc == 6 ? strtoull(argv[5], NULL, 10) : PAYLOAD_LEAST;
	static struct launch_config cfg = {.n_ports = 2, .log_level = 4};
	struct datagram_addr dst = {.port = UDP_PORT};
	struct port ports[2] = {{.impl = NULL}};
	struct ip_prefix to;

	if (ms == 0 || bytes < PAYLOAD_LEAST || bytes > PAYLOAD_MOST)
		die("af-packet|af-xdp|udp IFNAME-A IFNAME-B MS [BYTES, 18 to 1472]");
	payload_len = (uint16_t)bytes;
	cfg.transport = strcmp(argv[1], "udp") == 0 ? LAUNCH_UDP : LAUNCH_DPDK;
	for (unsigned i = 0; i < 2; i++)
		leg_fill(&cfg.ports[i], argv[1], argv[2 + i], i);
	for (unsigned i = 0; i < 2; i++)
		port_make(&ports[i], &cfg, i);
	if (ip_prefix_parse(ips[1], &to) < 0)
		die("address");
	dst.ip = to.addr;
	(void)run(ports, &dst, 100);
	start = clock_now_ns();
	busy = cpu_ns();
	got = run(ports, &dst, ms);
	busy = cpu_ns() - busy;
	printf("%s %.0f %.0f\n", argv[1], (double)got / ((double)(clock_now_ns() - start) / 1e9),
	       (double)got / ((double)busy / 1e9));
	ports[0].ops->close(&ports[0]);
	ports[1].ops->close(&ports[1]);
	return 0;
}
