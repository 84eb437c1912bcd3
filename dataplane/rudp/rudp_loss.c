/* SPDX-License-Identifier: BSD-3-Clause */
/* What is on its way: acknowledgements, round trips, losses. */
#include "dataplane/rudp/rudp_internal.h"

#define RTT_FIRST_RTO_NS (5 * NSEC_PER_MSEC)
#define STALE_NS (100 * NSEC_PER_MSEC)
#define RTO_MAX_NS (200 * NSEC_PER_MSEC)
#define BASE_PERIOD_NS (5 * NSEC_PER_SEC)
#define REORDER_LEAST_NS (100 * NSEC_PER_USEC)
#define REORDER_MOST_NS (4 * NSEC_PER_MSEC)

/* RFC 6298; besides, the least of the last periods. */
void rudp_rtt_sample(struct rudp_path *p, uint64_t rtt, uint64_t host, uint64_t now)
{
	uint64_t diff = rtt > p->srtt ? rtt - p->srtt : p->srtt - rtt;

	if (p->srtt == 0) {
		p->srtt = rtt;
		p->rttvar = rtt / 2;
		p->base_rtt = p->base_next = rtt;
		p->base_until = now + BASE_PERIOD_NS;
	} else {
		p->rttvar += (diff >> 2) - (p->rttvar >> 2);
		p->srtt += (rtt >> 3) - (p->srtt >> 3);
	}
	if (now >= p->base_until) {
		p->base_rtt = p->base_next;
		p->base_next = rtt;
		p->base_until = now + BASE_PERIOD_NS;
	}
	p->base_next = MIN_OF(p->base_next, rtt);
	p->base_rtt = MIN_OF(p->base_rtt, rtt);
	p->latest_rtt = rtt;
	p->sampled_ns = now;
	p->round_min_rtt = MIN_OF(p->round_min_rtt, rtt > host ? rtt - host : 0);
}

uint64_t rudp_rto(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t rto;

	if (p->srtt == 0)
		return MAX_OF(RTT_FIRST_RTO_NS, s->r->lim.min_rto_ns);
	rto = p->srtt + MAX_OF(4 * p->rttvar, REORDER_LEAST_NS) + RUDP_ACK_DELAY_NS;
	rto = MIN_OF(rto, RTO_MAX_NS);
	return MAX_OF(rto, s->r->lim.min_rto_ns);
}

uint64_t rudp_path_pto(const struct rudp_session *s, const struct rudp_path *p)
{
	return p->pto_base + MIN_OF(rudp_rto(s, p) << MIN_OF(p->pto_count, 6U), RTO_MAX_NS);
}

static void ring_grow(struct rudp_path *p)
{
	uint32_t mask = p->ring_mask << 1 | 1;

	/* A record stays, or moves up by the old size. */
	for (uint64_t pn = p->tail_pn; pn < p->next_pn; pn++)
		if ((pn & mask) != (pn & p->ring_mask))
			p->ring[pn & mask] = p->ring[pn & p->ring_mask];
	p->ring_mask = mask;
}

void rudp_loss_sent(struct rudp_path *p, uint16_t slot, uint32_t gen, uint16_t chunk,
		    uint32_t bytes, uint64_t now)
{
	struct pkt_rec *rec;

	if (p->next_pn - p->tail_pn > p->ring_mask)
		ring_grow(p);
	rec = &p->ring[p->next_pn & p->ring_mask];
	*rec = (struct pkt_rec){.sent_ns = now,
				.pn = (uint32_t)p->next_pn,
				.gen = gen,
				.slot = slot,
				.chunk = chunk,
				.bytes = (uint16_t)bytes,
				.state = PKT_IN_FLIGHT};
	if (p->in_flight == 0) {
		p->pto_base = now;
		if (!p->suspect)
			p->progress_ns = now;
	}
	p->in_flight += bytes;
	if ((++p->next_pn & 63) == 0)
		p->acked[(p->next_pn >> 6) % RUDP_ACK_WORDS] = 0;
	p->tx_packets++;
	p->tx_bytes += bytes;
	p->tx_error_ns = 0;
}

static void tail_advance(struct rudp_path *p)
{
	while (p->tail_pn < p->next_pn && p->ring[p->tail_pn & p->ring_mask].state != PKT_IN_FLIGHT)
		p->tail_pn++;
}

/* The first packet sent after a path was left has arrived: the pause is over. */
static void pause_end(struct rudp_session *s, const struct pkt_rec *rec, uint64_t now)
{
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];

		if (!(s->pausing & 1U << i) || rec->sent_ns < p->pause_from)
			continue;
		p->pause_ns = now - p->pause_since;
		if (p->state == PATH_DOWN)
			p->last_pause_ns = p->pause_ns;
		s->pausing &= (uint8_t) ~(1U << i);
	}
}

struct ack_sum { /* what one acknowledgement brought */
	unsigned packets;
	uint32_t bytes;
	bool any;
	bool newest; /* the highest packet so far is among it, sent at: */
	uint64_t newest_sent_ns;
};

static void packet_acked(struct rudp_session *s, struct rudp_path *p, uint64_t pn,
			 struct ack_sum *sum, uint64_t now)
{
	struct pkt_rec *rec = &p->ring[pn & p->ring_mask];

	if (rec->pn != (uint32_t)pn)
		return; /* forgotten long ago */
	sum->any = true;
	if (rec->state == PKT_IN_FLIGHT) {
		p->in_flight -= rec->bytes;
		sum->packets++;
		sum->bytes += rec->bytes;
	} else if (rec->state == PKT_LOST) {
		/* It was only late. Wait longer from now on. */
		p->lost_packets--;
		p->reorder_ns = MIN_OF(p->reorder_ns * 2, REORDER_MOST_NS);
		rudp_cc_undo(p);
	}
	rec->state = PKT_ACKED;
	if (pn > p->largest_acked) {
		p->largest_acked = pn;
		sum->newest = true;
		sum->newest_sent_ns = rec->sent_ns;
	}
	if (rec->slot == PKT_NO_SLOT)
		return;
	if (PLENUM_UNLIKELY(s->pausing))
		pause_end(s, rec, now);
	rudp_call_acked(s, rec->slot, rec->gen, rec->chunk);
}

static void ack_sum_use(struct rudp_session *s, struct rudp_path *p, const struct wire_ack *a,
			const struct ack_sum *sum, const struct rudp_path *via, uint64_t now)
{
	if (!sum->any)
		return;
	tail_advance(p);
	p->progress_ns = now;
	p->pto_base = now;
	p->pto_count = 0;
	p->suspect = false;
	p->loss_check = true;
	/* Over another path it is that one's delay, too: better than nothing, no more. */
	if (sum->newest && a->delay_us != UINT16_MAX &&
	    (via == p || p->srtt == 0 || now > p->sampled_ns + STALE_NS)) {
		uint64_t rtt = now - sum->newest_sent_ns;
		uint64_t delay = a->delay_us * NSEC_PER_USEC;

		rudp_rtt_sample(p, rtt > delay + NSEC_PER_USEC ? rtt - delay : NSEC_PER_USEC,
				wire_gap_us(a->gap) * NSEC_PER_USEC + now - s->r->polled_ns, now);
	}
	if (sum->packets)
		rudp_cc_acked(s, p, sum->packets, sum->bytes);
	rudp_session_touch(s);
}

int rudp_loss_ack(struct rudp_session *s, const struct wire_ack *a, const struct rudp_path *via,
		  uint64_t now)
{
	struct rudp_path *p = &s->paths[a->path];
	struct ack_sum sum = {0};
	uint64_t top;

	if (p->state == PATH_NONE)
		return -EBADMSG;
	top = rudp_pn_expand(a->top, p->next_pn);
	if (top >= p->next_pn)
		return -EBADMSG;
	if (s->is_client && (int32_t)(a->credit - s->credit_granted) > 0)
		s->credit_granted = a->credit;
	for (unsigned i = 0; i < a->n_words && i <= top >> 6; i++) {
		uint64_t word = (top >> 6) - i;
		uint64_t *known = &p->acked[word % RUDP_ACK_WORDS];
		uint64_t fresh;

		if ((p->next_pn >> 6) - word >= RUDP_ACK_WORDS)
			break;
		fresh = a->words[i] & ~*known;
		*known |= fresh;
		while (fresh) {
			/* The highest first: it is the one that tells the time. */
			unsigned bit = 63U - (unsigned)__builtin_clzll(fresh);

			fresh &= ~(1ULL << bit);
			packet_acked(s, p, word << 6 | bit, &sum, now);
			if (s->state != SESSION_UP)
				return 0;
		}
	}
	ack_sum_use(s, p, a, &sum, via, now);
	if (sum.any && via == p)
		rudp_path_answered(s, p, now);
	return 0;
}

void rudp_loss_detect(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint64_t wait = MAX_OF(p->srtt, p->latest_rtt) + MAX_OF(p->srtt / 8, p->reorder_ns);
	unsigned lost = 0;

	p->loss_check = false;
	p->loss_deadline = RUDP_TIME_NEVER;
	for (uint64_t pn = p->tail_pn; pn < p->largest_acked; pn++) {
		struct pkt_rec *rec = &p->ring[pn & p->ring_mask];

		if (rec->state != PKT_IN_FLIGHT)
			continue;
		if (rec->sent_ns + wait > now) {
			p->loss_deadline = rec->sent_ns + wait;
			break;
		}
		rec->state = PKT_LOST;
		p->in_flight -= rec->bytes;
		p->lost_packets++;
		lost++;
		if (rec->slot != PKT_NO_SLOT)
			rudp_call_lost(s, rec->slot, rec->gen, rec->chunk);
	}
	tail_advance(p);
	if (lost)
		rudp_cc_lost(s, p, lost);
}

void rudp_loss_move_all(struct rudp_session *s, struct rudp_path *p)
{
	bool moved = false;

	for (uint64_t pn = p->tail_pn; pn < p->next_pn; pn++) {
		struct pkt_rec *rec = &p->ring[pn & p->ring_mask];

		if (rec->state != PKT_IN_FLIGHT)
			continue;
		rec->state = PKT_MOVED;
		if (rec->slot != PKT_NO_SLOT)
			moved |= rudp_call_lost(s, rec->slot, rec->gen, rec->chunk);
	}
	p->in_flight = 0;
	p->tail_pn = p->next_pn;
	p->loss_deadline = RUDP_TIME_NEVER;
	if (!moved)
		return;
	s->pausing |= (uint8_t)(1U << p->index);
	p->pause_since = p->progress_ns;
	p->pause_from = s->r->now;
	p->pause_ns = 0;
}
