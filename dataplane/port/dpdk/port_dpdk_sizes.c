/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the sizes of a DPDK port's queues and buffers. It accesses no device, so tests can try
 * any link speed and host.
 */
#include "dataplane/port/dpdk/port_dpdk_sizes.h"
#include <stdio.h>

/* A worker reads each port at least this often, even while it handles large requests. The queues
 * must have space for the packets that arrive in between. */
#define AWAY_USEC 1000ULL
/* Bytes of a frame on the wire besides the IP packet: Ethernet header, checksum, preamble and
 * gap. */
#define FRAME_EXTRA 38U
#define MBPS_UNKNOWN 10000U /* link speed that is assumed if the device does not report it */
/* Above this link speed a port needs more than one receive queue, because a NIC writes the packets
 * of a queue one after another. */
#define QUEUE_MBPS 25000U
#define DESCRIPTORS_MAX 4096U
/* Maximum number of send descriptors. No more packets than this ever wait, because rudp paces to
 * the link's rate. */
#define SEND_MAX 1024U
#define DESCRIPTORS_LEAST 128U
/* Minimum number of receive descriptors of a port: SHORT_LEAST with short packets, LONG_LEAST with
 * long packets. Even slow links need it, because the host may delay the worker. */
#define SHORT_LEAST 1024U
#define LONG_LEAST 256U
/* Bytes of a buffer besides the frame: mbuf header, headroom, and the padding by which DPDK spreads
 * buffers over memory channels. */
#define BUFFER_EXTRA 384U

uint32_t port_dpdk_sizes_buffer_bytes(unsigned room)
{
	return room + BUFFER_EXTRA;
}

unsigned port_dpdk_sizes_buffers(const struct port_dpdk_sizes *s, unsigned cache)
{
	unsigned rx = (unsigned)s->rx_queues * s->rx_descriptors;

	return rx + s->tx_descriptors + 3 * PORT_BURST_MAX + cache;
}

static uint16_t power_of_two(uint64_t at_least)
{
	unsigned n = DESCRIPTORS_LEAST;

	while (n < at_least && n < DESCRIPTORS_MAX)
		n *= 2;
	return (uint16_t)n;
}

static bool fits(const struct port_dpdk_sizes *s, const struct port_dpdk_wants *w)
{
	uint64_t buffers = port_dpdk_sizes_buffers(s, PORT_BURST_MAX);

	return buffers * port_dpdk_sizes_buffer_bytes(w->room) <= (uint64_t)w->memory_mib << 20;
}

static uint16_t queues_choose(const struct port_dpdk_wants *w, uint32_t mbps)
{
	unsigned n = w->all_queues ? w->queues : (mbps + QUEUE_MBPS - 1) / QUEUE_MBPS;

	n = MIN_OF(n, (unsigned)w->queues);
	return (uint16_t)MAX_OF(MIN_OF(n, PORT_DPDK_QUEUES_MAX), 1U);
}

/* Halves the larger of the two rings. Returns false if both are at their minimum. */
static bool shorten(struct port_dpdk_sizes *s, unsigned least)
{
	unsigned rx = (unsigned)s->rx_queues * s->rx_descriptors;

	if (s->tx_descriptors > LONG_LEAST && (s->tx_descriptors >= rx || rx <= least))
		s->tx_descriptors /= 2;
	else if (rx > least && s->rx_descriptors > DESCRIPTORS_LEAST)
		s->rx_descriptors /= 2;
	else
		return false;
	return true;
}

void port_dpdk_sizes_choose(const struct port_dpdk_wants *w, struct port_dpdk_sizes *ret)
{
	unsigned least = w->mtu > PLENUM_DPDK_SHORT_MTU ? LONG_LEAST : SHORT_LEAST;
	uint32_t mbps = w->mbps ? w->mbps : MBPS_UNKNOWN;
	uint64_t frames = mbps * AWAY_USEC / 8 / (w->mtu + FRAME_EXTRA);
	struct port_dpdk_sizes s = {.rx_queues = queues_choose(w, mbps)};

	frames = MAX_OF(frames, (uint64_t)least);
	s.rx_descriptors = power_of_two((frames + s.rx_queues - 1) / s.rx_queues);
	s.tx_descriptors = power_of_two(MIN_OF(frames, (uint64_t)SEND_MAX));
	while (!fits(&s, w) && shorten(&s, least))
		;
	*ret = s;
}

bool port_dpdk_sizes_halve(struct port_dpdk_sizes *s)
{
	if (s->rx_descriptors / 2 < DESCRIPTORS_LEAST)
		return false;
	s->rx_descriptors /= 2;
	if (s->tx_descriptors / 2 >= DESCRIPTORS_LEAST)
		s->tx_descriptors /= 2;
	return true;
}

void port_dpdk_sizes_report(const struct port_dpdk_got *g, struct reason *why)
{
	reason_clear(why);
	if (g->descriptors < g->wanted)
		reason_set(why, "few-buffers", "%u receive buffers, not %u: too few free hugepages",
			   g->descriptors, g->wanted);
	if (g->device_node < 0 || g->memory_node < 0 || g->device_node == g->memory_node)
		return;
	if (reason_is_set(why))
		reason_append(why, "far-memory: buffers are on NUMA node %d, the device on node %d",
			      g->memory_node, g->device_node);
	else
		reason_set(why, "far-memory", "buffers are on NUMA node %d, the device on node %d",
			   g->memory_node, g->device_node);
}
