/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator's network: packets, links with queues and faults, and the switch. It does not
 * depend on calls.
 */
#include "dataplane/rudp/wire/wire.h"
#include "tests/lib/rudp/rudp_ops.h"
#include "tests/lib/rudp/rudp_sim_internal.h"

bool sim_chance(struct sim *sim, uint32_t in_a_million)
{
	return in_a_million && sim_random(sim, 1000000) < in_a_million;
}

static bool earlier(const struct sim_pkt *a, const struct sim_pkt *b)
{
	return a->at != b->at ? a->at < b->at : a->serial < b->serial;
}

static void heap_push(struct sim *sim, struct sim_pkt *p)
{
	size_t i;

	if (sim->heap_n == sim->heap_size) {
		sim->heap_size = sim->heap_size ? sim->heap_size * 2 : 256;
		sim->heap = realloc(sim->heap, sim->heap_size * sizeof(*sim->heap));
		if (!sim->heap)
			abort();
	}
	i = sim->heap_n++;
	for (; i && earlier(p, sim->heap[(i - 1) / 2]); i = (i - 1) / 2)
		sim->heap[i] = sim->heap[(i - 1) / 2];
	sim->heap[i] = p;
}

struct sim_pkt *sim_net_pop(struct sim *sim)
{
	struct sim_pkt *top = sim->heap[0], *last = sim->heap[--sim->heap_n];
	size_t i = 0, k;

	while ((k = 2 * i + 1) < sim->heap_n) {
		if (k + 1 < sim->heap_n && earlier(sim->heap[k + 1], sim->heap[k]))
			k++;
		if (!earlier(sim->heap[k], last))
			break;
		sim->heap[i] = sim->heap[k];
		i = k;
	}
	sim->heap[i] = last;
	return top;
}

struct datagram_addr sim_end_addr(const struct sim *sim, unsigned end, unsigned leg)
{
	struct datagram_addr a = {.port = 7000};
	uint8_t net = sim->cfg.one_subnet ? 0 : (uint8_t)leg;
	uint8_t host = (uint8_t)end, port = (uint8_t)((leg + 1) | end >> 8 << 4);

	if (sim->cfg.ipv6) {
		a.ip = (struct ip_addr){AF_INET6, {0xfd, [7] = net, [14] = host, [15] = port}};
		if (sim->cfg.one_host && end > sim->cfg.one_host)
			a.ip.bytes[5] = host;
		return a;
	}
	a.ip = (struct ip_addr){AF_INET, {10, net, host, port}};
	return a;
}

static struct sim_end *end_of(struct sim *sim, const struct datagram_addr *a, unsigned *ret_leg)
{
	const uint8_t *at = a->ip.bytes + (sim->cfg.ipv6 ? 14 : 2);

	unsigned end = at[0] | at[1] >> 4 << 8, leg = at[1] & 15;

	if (end > sim->cfg.clients || leg == 0 || leg > sim->cfg.legs)
		return NULL;
	*ret_leg = leg - 1;
	return &sim->ends[end];
}

#define TRICKLE_NS (50 * NSEC_PER_MSEC)

/* Reduces the acknowledgements of a client that keeps the server's memory occupied: each
 * acknowledges at most one packet. */
static void trickle(struct sim_end *end, uint8_t *data, size_t len)
{
	uint8_t *words = data + WIRE_COMMON_BYTES + WIRE_ACK_BLOCK_BYTES;
	struct wire_ack ack;

	if ((data[1] & 0x0f) != WIRE_ACK || wire_get_ack(data, len, &ack))
		return;
	memset(words, 0, 8 * (size_t)ack.n_words);
	if (end->sim->now < end->trickled_ns + TRICKLE_NS)
		return;
	end->trickled_ns = end->sim->now;
	wire_put64(words, ack.words[0] & 1ULL << (ack.top & 63));
}

static struct sim_pkt *deliver(struct sim *sim, struct sim_end *from, unsigned port,
			       const struct datagram_addr *dst, const struct datagram *pkt,
			       uint64_t at)
{
	size_t len = (size_t)pkt->hdr_len + pkt->payload_len;
	struct sim_pkt *p = malloc(sizeof(*p) + len);

	if (!p)
		abort();
	p->at = at;
	p->vanishes = false;
	p->serial = sim->serial++;
	p->at_switch = sim->cfg.down_bits_per_s;
	p->to = end_of(sim, dst, &p->leg);
	p->from = from;
	p->src = sim_end_addr(sim, from->index, port);
	p->src.port = (uint16_t)(p->src.port + pkt->source);
	p->len = len;
	rudp_ops_copy(p->data, pkt);
	if (from->trickler)
		trickle(from, p->data, len);
	if (len && sim_chance(sim, sim->cfg.corrupt))
		/* Cut the packet, because the checksum of UDP would detect damage that keeps the
		 * length. */
		p->len = sim_random(sim, len);
	if (sim_chance(sim, sim->cfg.garbage))
		for (unsigned n = 1 + (unsigned)sim_random(sim, 4); n && p->len; n--)
			p->data[sim_random(sim, MIN_OF(p->len, 64))] = (uint8_t)sim_random(sim, 0);
	if (p->to) {
		heap_push(sim, p);
		return p;
	}
	free(p);
	return NULL;
}

/* Simulates a NIC that corrupts segmented bursts: if the packet forms a burst with the previous
 * one, both are lost. */
static void burst_join(struct sim *sim, struct sim_link *link, const struct datagram *pkt,
		       struct sim_pkt *p)
{
	struct sim_pkt *last = link->burst;

	link->burst = NULL;
	if (!sim->cfg.drops_bursts || !p || pkt->alone)
		return;
	if (last && last->to == p->to && last->leg == p->leg && last->src.port == p->src.port &&
	    p->len <= last->len) {
		last->vanishes = p->vanishes = true;
		link->burst = p->len == last->len ? p : NULL;
	} else {
		link->burst = p;
	}
}

/* Returns whether the packet is a later chunk of a request that must stay incomplete. */
static bool half_sent(const struct sim_end *end, const struct datagram *pkt)
{
	return end->half_sender && (pkt->hdr[1] & 0x0f) == WIRE_DATA &&
	       wire_get16(pkt->hdr + WIRE_OFF_CHUNK_INDEX) > 0;
}

/* Returns whether the packet is lost in a burst of losses, which may begin with this packet. */
static bool burst_takes(struct sim *sim, struct sim_link *link)
{
	if (!link->burst_left && sim_chance(sim, sim->cfg.burst))
		link->burst_left = 1 + (unsigned)sim_random(sim, sim->cfg.burst_packets);
	if (!link->burst_left)
		return false;
	link->burst_left--;
	return true;
}

/* Returns when the packet arrives if the port has sent it at time `at`. */
static uint64_t way(struct sim *sim, const struct sim_end *end, struct sim_link *link, uint64_t at)
{
	at += sim->cfg.down_bits_per_s ? sim->cfg.delay_ns / 2 : sim->cfg.delay_ns;
	if (end->index == SIM_SERVER)
		at += sim->cfg.server_delay_ns;
	at += link->out_delay_ns;
	if (sim->cfg.jitter_ns)
		at += sim_random(sim, sim->cfg.jitter_ns);
	if (sim_chance(sim, sim->cfg.reorder))
		at += sim_random(sim, sim->cfg.reorder_ns);
	if (sim_chance(sim, sim->cfg.hold))
		link->held_until = at + sim_random(sim, sim->cfg.hold_ns);
	return MAX_OF(at, link->held_until);
}

int sim_net_tx(void *user, unsigned port, const struct datagram_addr *dst,
	       const struct datagram *pkt)
{
	struct sim_end *end = user;
	struct sim *sim = end->sim;
	struct sim_link *link = &end->links[port];
	size_t wire = (size_t)pkt->hdr_len + pkt->payload_len + 28;
	uint64_t at, wait, left = MAX_OF(sim->now, end->sending_until);

	if (wire > sim->cfg.mtu - (sim->cfg.ipv6 ? 20U : 0U))
		FAULT(sim, "packet of %zu bytes", wire);
	if (sim_chance(sim, sim->cfg.eagain) || link->full)
		return -EAGAIN;
	if (sim->cfg.send_bits_per_s) {
		left += wire * 8 * NSEC_PER_SEC / sim->cfg.send_bits_per_s;
		end->sending_until = left;
		end->stalled_until = MAX_OF(end->stalled_until, left);
	}
	at = MAX_OF(left, link->busy_until);
	wait = at - left;
	if (sim->cfg.bits_per_s) {
		if (sim->cfg.queue_bytes &&
		    wait * sim->cfg.bits_per_s / 8 / NSEC_PER_SEC > sim->cfg.queue_bytes) {
			link->dropped++;
			return 0;
		}
		at += wire * 8 * NSEC_PER_SEC / sim->cfg.bits_per_s;
		link->busy_until = at;
	}
	link->packets++;
	link->bytes += wire;
	link->by_source[pkt->source]++;
	if (link->cut_out || link->sources_out >> pkt->source & 1 ||
	    sim_chance(sim, sim->cfg.loss) || sim_chance(sim, link->out_loss) ||
	    burst_takes(sim, link) || half_sent(end, pkt) ||
	    (link->out_mtu && wire > link->out_mtu) ||
	    (sim->cfg.path_mtu[port] && wire > sim->cfg.path_mtu[port])) {
		link->dropped++;
		return 0;
	}
	at = way(sim, end, link, at) + pkt->source * link->source_lag_ns;
	burst_join(sim, link, pkt, deliver(sim, end, port, dst, pkt, at));
	if (sim_chance(sim, sim->cfg.duplicate))
		deliver(sim, end, port, dst, pkt, at + sim_random(sim, 2 * sim->cfg.delay_ns + 1));
	return 0;
}

void sim_net_forward(struct sim *sim, struct sim_pkt *p)
{
	struct sim_link *link = &p->to->links[p->leg];
	uint64_t at = MAX_OF(sim->now, link->down_busy_until);
	uint64_t queued = (at - sim->now) * sim->cfg.down_bits_per_s / 8 / NSEC_PER_SEC;
	size_t wire = p->len + 28;

	link->down_packets++;
	if (queued + wire > sim->cfg.down_queue_bytes) {
		link->down_dropped++;
		free(p);
		return;
	}
	link->down_bytes += wire;
	at += wire * 8 * NSEC_PER_SEC / sim->cfg.down_bits_per_s;
	link->down_busy_until = at;
	p->at = at + sim->cfg.delay_ns - sim->cfg.delay_ns / 2;
	p->serial = sim->serial++;
	p->at_switch = false;
	heap_push(sim, p);
}
