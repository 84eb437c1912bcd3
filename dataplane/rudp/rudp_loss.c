/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies acknowledgements and losses to messages, round trips and the congestion window.
 * rudp_sent.c has the packet records.
 */
#include "dataplane/rudp/rudp_internal.h"

#define STALE_NS (100 * NSEC_PER_MSEC)

void rudp_path_rtt(struct rudp_path *p, uint64_t rtt, uint64_t host, uint64_t now)
{
	rudp_rtt_add(&p->rtt, rtt, now);
	/* If the port has no timestamps, it is unknown how long a packet waited while this process
	 * slept. A part of the network's delay may then count as this host's delay, so use at least
	 * the minimum round trip. */
	rudp_rtt_net_add(&p->rtt, MAX_OF(rtt > host ? rtt - host : 0, p->rtt.base));
	rudp_latency_add(&p->latency, rtt, host, now);
	p->cc.noise_ns = p->rtt.rttvar;
	p->cc.reordering_ns = rudp_sent_reorder(&p->sent, now) - RUDP_REORDER_FIRST_NS;
	rudp_cc_delay(&p->cc, rtt > host ? rtt - host : 0, MIN_OF(host, rtt));
}

/* Ends the pause of a failover when the first packet that was sent after it has arrived. */
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

struct ack_sum { /* the effect of one acknowledgement */
	unsigned packets;
	uint32_t bytes;
	uint64_t had; /* highest packet number that earlier acknowledgements covered */
	bool any;
	bool gap; /* gap: the acknowledgement covers a packet that arrived out of order;
		     gap_sent_ns: when the first such packet was sent */
	uint64_t gap_sent_ns;
	bool newest; /* newest: the acknowledgement covers a higher packet number than all earlier
			ones; newest_sent_ns: when that packet was sent */
	uint64_t newest_sent_ns;
	uint8_t newest_source;
	bool newest_message; /* the newest packet was part of a message, not a probe */
	bool first;	     /* the acknowledgement covers a packet from source port 0 */
};

static bool is_probe(const struct pkt_rec *rec)
{
	return rec->slot == PKT_NO_SLOT && rec->chunk == PKT_PROBE;
}

static void packet_acked(struct rudp_session *s, struct rudp_path *p, uint64_t pn,
			 struct ack_sum *sum, uint64_t now)
{
	struct pkt_rec *rec = rudp_sent_at(&p->sent, pn);

	if (rec->pn != (uint32_t)pn)
		return; /* the record belongs to a later packet now */
	sum->any = true;
	sum->first |= rec->source == 0;
	if (rudp_sent_in_flight(rec)) {
		p->sent.in_flight -= rec->bytes;
		sum->packets++;
		sum->bytes += rec->bytes;
	} else if (rec->state == PKT_LOST && is_probe(rec)) {
		p->probes_lost--;
	} else if (rec->state == PKT_LOST) {
		p->lost_packets--; /* the packet was not lost, only late */
		rudp_cc_undo(&p->cc);
	}
	rec->state = PKT_ACKED;
	if (pn > p->sent.largest_acked) {
		p->sent.largest_acked = pn;
		sum->newest = true;
		sum->newest_sent_ns = rec->sent_ns;
		sum->newest_source = rec->source;
		sum->newest_message = rec->slot != PKT_NO_SLOT;
	} else if (pn < sum->had) {
		sum->gap = true;
		sum->gap_sent_ns = rec->sent_ns;
	}
	if (is_probe(rec)) {
		rudp_path_mtu_result(s, p, rudp_mtu_probe_acked(&p->mtu, pn, now), now);
		rudp_gso_size_arrived(&p->gso, (uint16_t)(p->mtu.cur - rudp_path_packet(s, p, 0)));
	}
	if (rec->slot == PKT_NO_SLOT)
		return;
	rudp_gso_acked(&p->gso, pn, rec->bytes, (uint64_t)rec->gen << 16 | rec->slot);
	if (PLENUM_UNLIKELY(rec->source)) /* packets from another source port may take another
					     route, so they say nothing about the path MTU */
		rudp_src_ports_acked(&p->src_ports, rec->source);
	else
		rudp_mtu_packet_acked(&p->mtu, pn, rudp_path_packet(s, p, rec->bytes));
	if (PLENUM_UNLIKELY(s->pausing))
		pause_end(s, rec, now);
	for (unsigned i = 0; i < rec->n_chunks; i++)
		rudp_call_acked(s, rec->slot, rec->gen, (uint16_t)(rec->chunk + i));
}

static void gso_update(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	enum rudp_gso_news news = rudp_gso_ack_done(&p->gso, now);

	if (PLENUM_UNLIKELY(news))
		rudp_session_event(s, RUDP_PATH_GSO, p->index, news == RUDP_GSO_LOST);
}

static void ack_sum_use(struct rudp_session *s, struct rudp_path *p, const struct wire_ack *a,
			const struct ack_sum *sum, const struct rudp_path *via, uint64_t now)
{
	if (!sum->any)
		return;
	rudp_sent_advance(&p->sent);
	/* Any acknowledged packet, whatever its source port, shows that the peer is alive and not
	 * late. */
	p->sent.any_ns = now;
	if (sum->newest)
		p->sent.answered_ns = sum->newest_sent_ns;
	if (PLENUM_UNLIKELY(p->suspect_stage))
		rudp_suspect_clear(s, p);
	/* Source port 0 decides the path's health, because small messages use no other. */
	if (PLENUM_LIKELY(sum->first)) {
		p->sent.progress_ns = p->sent.acked_ns = now;
		p->sent.pto_base = now;
		p->sent.pto_count = 0;
		p->timed_out = false;
	}
	p->sent.loss_check = true;
	if (PLENUM_UNLIKELY(sum->gap && via == p)) {
		uint64_t soonest = sum->gap_sent_ns + p->rtt.latest + rudp_waited(s->r, now);

		if (now > soonest) /* the packet was later than the delay of this host explains */
			rudp_sent_reordered(&p->sent, now - soonest, now);
	}
	/* If the acknowledgement came on another path, its round trip includes the delay of that
	 * path. Use such a sample only if no better one is known. */
	if (sum->newest && a->delay_us != UINT16_MAX &&
	    (via == p || p->rtt.srtt == 0 || now > p->rtt.sampled_ns + STALE_NS)) {
		uint64_t rtt = now - sum->newest_sent_ns;
		uint64_t delay = a->delay_us * NSEC_PER_USEC;

		rtt = rtt > delay + NSEC_PER_USEC ? rtt - delay : NSEC_PER_USEC;
		if (sum->newest_message)
			p->rtt_at_ns = now;
		/* Packets from other source ports may take a longer route. Their round trip does
		 * not show a queue, so it has no effect on the congestion window. */
		if (PLENUM_UNLIKELY(sum->newest_source))
			rudp_rtt_add(&p->rtt, rtt, now);
		else
			rudp_path_rtt(p, rtt,
				      wire_gap_us(a->gap) * NSEC_PER_USEC + rudp_waited(s->r, now),
				      now);
	}
	if (sum->packets)
		rudp_cc_acked(&p->cc, p->mtu.cur, sum->packets, sum->bytes, p->sent.largest_acked,
			      p->sent.next_pn, p->rtt.base);
	rudp_session_touch(s);
}

int rudp_loss_ack(struct rudp_session *s, const struct wire_ack *a, const struct rudp_path *via,
		  uint64_t now)
{
	struct rudp_path *p = &s->paths[a->path];
	struct ack_sum sum = {.had = p->sent.largest_acked};
	uint64_t top;

	if (p->state == PATH_NONE)
		return -EBADMSG;
	top = rudp_pn_expand(a->top, p->sent.next_pn);
	if (top >= p->sent.next_pn)
		return -EBADMSG;
	if (s->is_client)
		rudp_call_set_free(s, a->credit);
	for (unsigned i = 0; i < a->n_words && i <= top >> 6; i++) {
		uint64_t word = (top >> 6) - i;
		uint64_t fresh;

		if ((p->sent.next_pn >> 6) - word >= RUDP_ACK_WORDS)
			break;
		fresh = rudp_sent_fresh(&p->sent, word, a->words[i]);
		while (fresh) {
			/* Start with the highest packet number, to which the timestamp of the
			 * acknowledgement belongs. */
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
	if (sum.any)
		gso_update(s, p, now);
	return 0;
}

/* Returns how many probes of one size must be lost before the size counts as too large. While the
 * path's loss share is unknown, it counts as 0, because the packets lost so far may have been too
 * large for the path. */
static unsigned mtu_tries(const struct rudp_path *p)
{
	uint32_t ppm = rudp_loss_share(&p->quality.out);

	if (ppm == RUDP_LOSS_UNKNOWN)
		ppm = 0;
	return rudp_mtu_tries(MAX_OF(ppm, p->quality.out.lossy_ppm));
}

void rudp_loss_detect(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint64_t wait = rudp_rtt_loss_wait(&p->rtt, rudp_sent_reorder(&p->sent, now));
	uint64_t pn = p->sent.tail_pn;
	struct pkt_rec *rec;
	unsigned lost = 0, news = 0;
	bool copied;

	p->sent.loss_check = false;
	while ((rec = rudp_sent_next_lost(&p->sent, &pn, wait, now, &copied))) {
		if (is_probe(rec)) { /* a lost probe only shows that its size is too large, so
					do not count it as lost */
			p->probes_lost++;
			news |= rudp_mtu_probe_lost(&p->mtu, pn - 1, mtu_tries(p), now);
			continue;
		}
		p->lost_packets++;
		lost++;
		if (PLENUM_LIKELY(!copied))
			(void)rudp_loss_packet(s, rec);
		if (PLENUM_UNLIKELY(rec->source)) { /* this loss may be the fault of the source
						       port; if the path itself loses packets,
						       packets from source port 0 show that */
			rudp_src_ports_packet_lost(&p->src_ports, rec->source, now);
			continue;
		}
		news |= rudp_mtu_packet_lost(&p->mtu, pn - 1, rudp_path_packet(s, p, rec->bytes),
					     now);
	}
	rudp_sent_advance(&p->sent);
	if (lost)
		rudp_cc_lost(&p->cc, lost);
	if (news)
		rudp_path_mtu_result(s, p, news, now);
}
