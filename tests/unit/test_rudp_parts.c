/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a path in isolation: round trips, window, packets in flight, packets received. */
#include "dataplane/rudp/path/rudp_acks.h"
#include "dataplane/rudp/path/rudp_cc.h"
#include "dataplane/rudp/path/rudp_gso.h"
#include "dataplane/rudp/path/rudp_rtt.h"
#include "dataplane/rudp/path/rudp_sent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define US NSEC_PER_USEC
#define MS NSEC_PER_MSEC
#define MTU 1500

/* ------------------------------------------------------------------ round trips */

static void rtt_follows_its_samples(void **state)
{
	struct rudp_rtt t = {0};

	assert_int_equal(rudp_rtt_rto(&t, 200 * US, MS), 5 * MS); /* no sample yet */
	assert_int_equal(rudp_rtt_rto(&t, 200 * US, 9 * MS), 9 * MS);
	rudp_rtt_add(&t, 100 * US, NSEC_PER_SEC);
	assert_int_equal(t.srtt, 100 * US);
	assert_int_equal(t.base, 100 * US);
	for (unsigned i = 0; i < 200; i++)
		rudp_rtt_add(&t, 300 * US, NSEC_PER_SEC);
	assert_in_range(t.srtt, 299 * US, 300 * US);
	assert_in_range(t.rttvar, 0, US);
	assert_int_equal(t.latest, 300 * US);
	/* A quiet path: its round trip, the minimum reordering delay, and the peer's
	 * acknowledgement delay. */
	assert_in_range(rudp_rtt_rto(&t, 200 * US, 0), 590 * US, 610 * US);
	assert_int_equal(rudp_rtt_rto(&t, 200 * US, MS), MS);
	rudp_rtt_add(&t, NSEC_PER_SEC, NSEC_PER_SEC);
	assert_int_equal(rudp_rtt_rto(&t, 200 * US, MS), RUDP_RTO_MAX_NS);
}

/* A host that was late once makes the timeout long; the network's timeout is unaffected. */
static void the_network_rtt_excludes_host_lateness(void **state)
{
	struct rudp_rtt t = {0};

	for (unsigned i = 0; i < 100; i++) {
		rudp_rtt_add(&t, (i == 90 ? 30 : 0) * MS + 100 * US, NSEC_PER_SEC);
		rudp_rtt_net_add(&t, 100 * US);
	}
	assert_true(rudp_rtt_rto(&t, 200 * US, MS) > 3 * MS);
	assert_in_range(rudp_rtt_net_rto(&t, 200 * US, 0), 390 * US, 410 * US);
	assert_int_equal(rudp_rtt_net_rto(&t, 200 * US, MS), MS);
	for (unsigned i = 0; i < 100; i++) /* a longer path or a queue makes it longer */
		rudp_rtt_net_add(&t, 10 * MS);
	assert_true(rudp_rtt_net_rto(&t, 200 * US, MS) > 10 * MS);
}

/* A standing queue is not a longer route: packets sent with a small window distinguish them. */
static void the_minimum_rtt_is_remeasured(void **state)
{
	struct rudp_rtt t = {0};
	uint64_t now = NSEC_PER_SEC;

	rudp_rtt_add(&t, 100 * US, now);
	for (unsigned i = 0; i < 100; i++)
		rudp_rtt_add(&t, 400 * US, now += 90 * MS);
	assert_int_equal(t.base, 100 * US);
	assert_false(rudp_rtt_drains(&t));
	for (unsigned i = 0; !rudp_rtt_drains(&t) && i < 100; i++)
		rudp_rtt_add(&t, 400 * US, now += 90 * MS);
	assert_true(rudp_rtt_drains(&t)); /* the sender holds back, and the queue drains */
	rudp_rtt_add(&t, 400 * US, now += 100 * US); /* sent before that */
	rudp_rtt_add(&t, 102 * US, now += 900 * US);
	assert_false(rudp_rtt_drains(&t));
	assert_int_equal(t.base, 100 * US);
	/* A longer route: no packet is as fast as before. */
	for (unsigned i = 0; !rudp_rtt_drains(&t) && i < 1000; i++)
		rudp_rtt_add(&t, 400 * US, now += 90 * MS);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(t.base, 100 * US);
		rudp_rtt_add(&t, (400 + i) * US, now += MS);
	}
	assert_int_equal(t.base, 400 * US);
	assert_false(rudp_rtt_drains(&t));
	rudp_rtt_add(&t, 90 * US, now);
	assert_int_equal(t.base, 90 * US); /* a shorter one counts at once */
}

/* ------------------------------------------------------------------ the window */

/* One round trip of ten packets, some of them lost. */
static void round_trip(struct rudp_cc *c, uint64_t *pn, uint64_t delay, unsigned lost, bool limited)
{
	uint64_t last = *pn + 9;

	c->limited = limited;
	rudp_cc_delay(c, delay, 0);
	if (lost)
		rudp_cc_lost(c, lost);
	rudp_cc_acked(c, MTU, 10 - lost, (10 - lost) * MTU, last, last + 1, 100 * US);
	*pn = last + 1;
}

static void the_window_starts_by_doubling(void **state)
{
	struct rudp_cc c;
	uint64_t pn = 1;
	uint32_t before;

	rudp_cc_init(&c, MTU, pn);
	before = c.cwnd;
	assert_true(before >= 8 * MTU && before <= 16 * MTU);
	round_trip(&c, &pn, 100 * US, 0, false); /* the sender had nothing more to send */
	assert_int_equal(c.cwnd, before);
	round_trip(&c, &pn, 100 * US, 0, true);
	assert_int_equal(c.cwnd, before + 10 * MTU);
	for (unsigned i = 0; i < 10000; i++)
		round_trip(&c, &pn, 100 * US, 0, true);
	assert_int_equal(c.cwnd, 4U << 20); /* and not above */
}

static void the_window_shrinks_in_proportion_to_delay(void **state)
{
	struct rudp_cc c, more;
	uint64_t pn = 1;
	uint32_t before;

	rudp_cc_init(&c, MTU, pn);
	for (unsigned i = 0; i < 200; i++)
		round_trip(&c, &pn, 100 * US, 0, true);
	before = c.cwnd;
	more = c;
	round_trip(&c, &pn, 200 * US, 0, true);
	assert_true(c.cwnd < before && c.cwnd > before / 2);
	round_trip(&more, &pn, 2 * MS, 0, true);
	assert_true(more.cwnd < c.cwnd && more.cwnd >= before / 2);
	before = c.cwnd;
	round_trip(&c, &pn, 20 * MS, 0, true); /* no switch holds a packet that long */
	assert_int_equal(c.cwnd, before);
	for (unsigned i = 0; i < 100; i++)
		round_trip(&c, &pn, 5 * MS, 0, true);
	assert_int_equal(c.cwnd, MTU / 16); /* a packet in sixteen round trips */
	assert_int_equal(rudp_cc_pace(&c, MTU, 100 * US, MTU), 100 * US * MTU / (MTU / 16));
	round_trip(&c, &pn, 100 * US, 0, true);
	assert_true(c.cwnd > MTU / 16);
}

/* Small windows tolerate more delay, so that flows of one queue converge to equal windows. */
static void the_delay_target_scales_with_the_window(void **state)
{
	struct rudp_cc c;
	uint64_t latest = UINT64_MAX, t;

	rudp_cc_init(&c, MTU, 1);
	for (c.cwnd = MTU / 16; c.cwnd < 200 * MTU; c.cwnd *= 2) {
		t = rudp_cc_target(&c, MTU, 100 * US);
		assert_true(t <= latest);
		assert_in_range(t, 150 * US, 350 * US);
		latest = t;
	}
	c.cwnd = MTU / 10;
	assert_in_range(rudp_cc_target(&c, MTU, 100 * US), 300 * US, 350 * US);
	/* In between by the root of the window, rounded up. */
	for (c.cwnd = MTU / 4; c.cwnd < 100 * MTU; c.cwnd += 7) {
		uint64_t root = 0, share;

		while (root * root < (uint64_t)c.cwnd * 256 / MTU)
			root++;
		share = 16000 / root;
		assert_int_equal(rudp_cc_target(&c, MTU, 100 * US),
				 150 * US + (share > 100 ? 200 * US * (share - 100) / 3062 : 0));
	}
	c.cwnd = 100 * MTU;
	assert_int_equal(rudp_cc_target(&c, MTU, 100 * US), 150 * US);
	assert_int_equal(rudp_cc_target(&c, MTU, 1000 * US), 1250 * US);
}

/* Late threads keep a window that bridges their lateness, although the delay is too large. */
static void late_hosts_keep_a_window_floor(void **state)
{
	struct rudp_cc c;
	uint64_t pn = 1;

	rudp_cc_init(&c, MTU, pn);
	for (unsigned i = 0; i < 200; i++)
		rudp_cc_delay(&c, 100 * US, 100 * US);
	for (unsigned i = 0; i < 100; i++) {
		rudp_cc_delay(&c, 2 * MS, 100 * US);
		c.limited = true;
		rudp_cc_acked(&c, MTU, 10, 10 * MTU, pn + 9, pn + 10, 100 * US);
		pn += 10;
	}
	assert_in_range(c.cwnd, 100000, 125000);
	for (unsigned i = 0; i < 200; i++) { /* no longer late */
		rudp_cc_delay(&c, 2 * MS, 0);
		rudp_cc_acked(&c, MTU, 10, 10 * MTU, pn + 9, pn + 10, 100 * US);
		pn += 10;
	}
	assert_true(c.cwnd < MTU);
}

/* A rare late sample comes from a host, whatever its timestamps say; a queue persists. */
static void the_window_recovers_after_a_late_sample(void **state)
{
	struct rudp_cc c;
	uint64_t pn = 1;
	uint32_t before;

	rudp_cc_init(&c, MTU, pn);
	for (unsigned i = 0; i < 100; i++)
		round_trip(&c, &pn, 100 * US, 0, true);
	before = c.cwnd;
	assert_true(before >= 512 << 10);
	for (unsigned i = 0; i < 400; i++)
		round_trip(&c, &pn, i % 5 ? 110 * US : MS, 0, true);
	assert_true(c.cwnd >= before / 3 * 2);
	before = c.cwnd;
	for (unsigned i = 0; i < 5; i++)
		round_trip(&c, &pn, MS, 0, true);
	assert_true(c.cwnd < before / 16);
	before = c.cwnd;
	round_trip(&c, &pn, 110 * US, 0, true); /* bytes that the last cut took, and no more */
	assert_true(c.cwnd > before && c.cwnd <= 2 * before);
	c.acked = c.lost = 0; /* so that the loss is heavy */
	round_trip(&c, &pn, 100 * US, 8, true);
	before = c.cwnd;
	round_trip(&c, &pn, 110 * US, 0, true); /* recovery after loss is slow */
	assert_true(c.cwnd < before + MTU);
}

static void only_heavy_loss_shrinks_the_window(void **state)
{
	struct rudp_cc c;
	uint64_t pn = 1;
	uint32_t before;

	rudp_cc_init(&c, MTU, pn);
	before = c.cwnd;
	round_trip(&c, &pn, 100 * US, 1, false); /* one packet: repaired, without a cut */
	assert_int_equal(c.cwnd, before);
	round_trip(&c, &pn, 150 * US, 1, false); /* but with a building queue it causes a cut */
	assert_in_range(c.cwnd, before / 100 * 84, before / 100 * 86);
	before = c.cwnd;
	round_trip(&c, &pn, 100 * US, 8, false);
	assert_in_range(c.cwnd, before / 100 * 69, before / 100 * 71);
	assert_false(c.startup);
	rudp_cc_undo(&c); /* they were only late */
	assert_int_equal(c.cwnd, before);
	for (unsigned i = 0; i < 26; i++) /* a few percent: cut once enough packets were counted */
		round_trip(&c, &pn, 100 * US, i % 3 == 0, false);
	assert_in_range(c.cwnd, before / 100 * 69, before / 100 * 71);
	c.cwnd = 8 * MTU;
	assert_int_equal(rudp_cc_pace(&c, MTU, 100 * US, MTU), 0);
}

/* ------------------------------------------------------------------ packets in flight */

static struct pkt_rec ring[RUDP_RING_MAX];

static void packet_records_track_acknowledgements_and_losses(void **state)
{
	struct rudp_sent t;
	uint64_t pn = 1;
	bool copied;

	rudp_sent_init(&t, ring, 5);
	assert_true(rudp_sent_add(&t, 3, 4, 5, 1, 100, 10));
	assert_false(rudp_sent_add(&t, 3, 4, 6, 1, 100, 20));
	assert_false(rudp_sent_add(&t, PKT_NO_SLOT, 0, 0, 0, 16, 30));
	assert_int_equal(t.in_flight, 216);
	assert_int_equal(t.pto_base, 10);
	assert_int_equal(rudp_sent_at(&t, 2)->chunk, 6);
	/* Only the first time, and never packet 0. */
	assert_int_equal(rudp_sent_fresh(&t, 0, 1 | 1 << 3), 1 << 3);
	assert_int_equal(rudp_sent_fresh(&t, 0, 1 | 1 << 3 | 1 << 1), 1 << 1);
	rudp_sent_at(&t, 3)->state = rudp_sent_at(&t, 1)->state = PKT_ACKED;
	t.largest_acked = 3;
	rudp_sent_advance(&t);
	assert_int_equal(t.tail_pn, 2);
	/* Lost at its time, not before. */
	assert_null(rudp_sent_next_lost(&t, &pn, 100, 119, &copied));
	assert_int_equal(t.loss_deadline, 120);
	assert_ptr_equal(rudp_sent_next_lost(&t, &pn, 100, 120, &copied), rudp_sent_at(&t, 2));
	assert_null(rudp_sent_next_lost(&t, &pn, 100, 120, &copied));
	assert_int_equal(t.loss_deadline, UINT64_MAX);
	assert_int_equal(t.in_flight, 116);
	assert_false(copied);
	rudp_sent_advance(&t);
	assert_int_equal(t.tail_pn, t.next_pn);
	/* A copied packet is still in flight, and its loss is reported as a copy's. */
	assert_false(rudp_sent_add(&t, 3, 4, 7, 1, 100, 40));
	rudp_sent_at(&t, 4)->state = PKT_COPIED;
	rudp_sent_advance(&t);
	assert_int_equal(t.tail_pn, 4);
	t.largest_acked = 5;
	assert_ptr_equal(rudp_sent_next_lost(&t, &pn, 100, 140, &copied), rudp_sent_at(&t, 4));
	assert_true(copied);
	assert_int_equal(t.in_flight, 116);
}

/* With reordering, a part of its delay (at most 2 ms) is not counted as a queue; delay above it is.
 * Few late samples prove nothing. */
static void reordering_raises_the_delay_target(void **state)
{
	struct rudp_cc c;
	uint64_t pn = 1, least;
	uint32_t before;

	rudp_cc_init(&c, MTU, pn);
	for (unsigned i = 0; i < 100; i++)
		round_trip(&c, &pn, 100 * US, 0, true);
	before = c.cwnd;
	least = rudp_cc_target(&c, MTU, 100 * US);
	c.reordering_ns = 800 * US;
	assert_int_equal(rudp_cc_target(&c, MTU, 100 * US), least + 400 * US);
	for (unsigned i = 0; i < 80; i++) /* one in eight came without delay */
		round_trip(&c, &pn, i % 8 ? 900 * US : 120 * US, 0, true);
	assert_true(c.cwnd >= before);
	for (unsigned i = 0; i < 80; i++)
		round_trip(&c, &pn, 900 * US, 0, true);
	assert_true(c.cwnd < before / 4);
	c.reordering_ns = NSEC_PER_SEC;
	assert_true(rudp_cc_target(&c, MTU, 100 * US) <= least + 2 * MS + 200 * US);
}

/* One late packet does not delay loss detection forever. */
static void the_reordering_delay_decays(void **state)
{
	struct rudp_sent t;
	uint64_t now = NSEC_PER_SEC, least;

	rudp_sent_init(&t, ring, now);
	least = rudp_sent_reorder(&t, now);
	rudp_sent_reordered(&t, 800 * US, now);
	assert_int_equal(rudp_sent_reorder(&t, now), MS);
	rudp_sent_reordered(&t, 80 * US, now + NSEC_PER_SEC / 2); /* does not stop the decay */
	assert_int_equal(rudp_sent_reorder(&t, now + NSEC_PER_SEC), MS / 2);
	rudp_sent_reordered(&t, NSEC_PER_SEC, now);
	assert_int_equal(rudp_sent_reorder(&t, now), 4 * MS);
	assert_int_equal(rudp_sent_reorder(&t, now + NSEC_PER_SEC), 2 * MS);
	assert_int_equal(rudp_sent_reorder(&t, now + 100 * NSEC_PER_SEC), least);
}

static void packet_records_grow(void **state)
{
	struct rudp_sent t;

	rudp_sent_init(&t, ring, 0);
	for (unsigned i = 0; i < RUDP_SPAN_MAX; i++)
		(void)rudp_sent_add(&t, (uint16_t)(i % 1000), i, 0, 1, 1, i);
	for (unsigned i = 0; i < RUDP_SPAN_MAX; i++) {
		assert_int_equal(rudp_sent_at(&t, i + 1)->gen, i);
		assert_int_equal(rudp_sent_at(&t, i + 1)->pn, i + 1);
	}
	assert_int_equal(t.in_flight, RUDP_SPAN_MAX);
}

/* The next incarnation of a path numbers its packets from 1 again: a lookup never returns a record
 * of the previous one, however far either got. */
static void records_of_a_previous_incarnation_are_cleared(void **state)
{
	const uint32_t before = 7, after = 8;
	struct rudp_sent t;

	rudp_sent_init(&t, ring, 0);
	for (unsigned i = 0; i < RUDP_SPAN_MAX; i++)
		(void)rudp_sent_add(&t, 1, before, 0, 1, 1, i);
	rudp_sent_init(&t, ring, 0);
	for (unsigned i = 0; i < 3 * RUDP_RING_MIN; i++) {
		(void)rudp_sent_add(&t, 1, after, 0, 1, 1, i);
		for (uint64_t pn = 1; pn < t.next_pn; pn++) {
			const struct pkt_rec *rec = rudp_sent_at(&t, pn);

			assert_false(rec->pn == pn && rec->gen == before);
		}
		/* Acknowledged for a while, so that the small ring wraps before it grows. */
		for (; i < RUDP_RING_MIN * 3 / 2 && t.tail_pn < i; t.tail_pn++)
			rudp_sent_at(&t, t.tail_pn)->state = PKT_LOST;
	}
}

/* ------------------------------------------------------------------ packets received */

static void come(struct rudp_acks *a, uint32_t low, int want)
{
	uint64_t pn = 0;

	assert_int_equal(rudp_acks_check(a, low, &pn), want);
	if (want == 1)
		rudp_acks_note(a, pn, 100, 3 * US, 1000);
}

static void received_packets_are_recognised(void **state)
{
	struct rudp_acks a = {0};
	struct wire_ack w;

	come(&a, 0, -EBADMSG); /* there is no packet 0 */
	come(&a, 1, 1);
	assert_false(a.now); /* in order: may wait for more */
	assert_false(rudp_acks_due(&a, 1000));
	assert_true(rudp_acks_due(&a, 1000 + RUDP_ACK_DELAY_NS));
	come(&a, 3, 1);
	assert_true(rudp_acks_due(&a, 1000)); /* a gap must not wait */
	rudp_acks_sent(&a);
	come(&a, 3, 0);
	assert_true(a.now); /* the sender has missed our acknowledgement */
	rudp_acks_sent(&a);
	come(&a, 2, 1);
	assert_true(a.now);
	come(&a, 3 + (1U << 20) + 1, -EBADMSG);
	rudp_acks_fill(&a, a.top, 2, &w, 1000 + 5 * US);
	assert_int_equal(w.top, 3);
	assert_int_equal(w.n_words, 1);
	assert_int_equal(w.words[0], 0xe);
	assert_int_equal(w.delay_us, 5);
	assert_int_equal(wire_gap_us(w.gap), 3);
	rudp_acks_sent(&a);
	assert_false(rudp_acks_due(&a, UINT64_MAX));
}

static void an_acknowledgement_is_due_after_enough_bytes(void **state)
{
	struct rudp_acks a = {0};

	for (uint32_t i = 1; i < RUDP_ACK_EVERY_PACKETS; i++)
		come(&a, i, 1);
	assert_false(rudp_acks_due(&a, 1000));
	come(&a, RUDP_ACK_EVERY_PACKETS, 1);
	assert_true(rudp_acks_due(&a, 1000));
}

static void packet_numbers_pass_32_bits(void **state)
{
	struct rudp_acks a = {0};
	struct wire_ack w;
	uint64_t pn;

	/* Past 2^32: the wire has only the low half. */
	a.top = (1ULL << 32) - 2;
	come(&a, UINT32_MAX, 1);
	come(&a, 0, 1);
	assert_int_equal(a.top, 1ULL << 32);
	/* After a jump over the whole window nothing old counts as received. */
	come(&a, 64 * RUDP_ACK_WORDS * 3, 1);
	rudp_acks_fill(&a, a.top, WIRE_ACK_WORDS_MAX, &w, 1000);
	assert_int_equal(w.words[0], 1);
	for (unsigned i = 1; i < w.n_words; i++)
		assert_int_equal(w.words[i], 0);
	assert_int_equal(rudp_acks_check(&a, 5, &pn),
			 0); /* too old to tell: counts as a duplicate */
}

/* In order past the whole window: a reused word has no bits of its first use. */
static void in_order_packets_reuse_words(void **state)
{
	struct rudp_acks a = {0};
	struct wire_ack w;

	for (uint32_t pn = 1; pn < 64 * (RUDP_ACK_WORDS + 1); pn++) {
		come(&a, pn, 1);
		rudp_acks_fill(&a, a.top, 1, &w, 1000);
		assert_int_equal(w.words[0] >> (pn & 63), 1);
	}
	assert_false(a.now);
	assert_int_equal(w.words[0], UINT64_MAX);
}

/* A jump into a reused word, or over some: no bits of their first use remain. */
static void jumps_clear_skipped_words(void **state)
{
	for (uint32_t jump = 2; jump < 400; jump++) {
		struct rudp_acks a = {0};
		uint32_t at = 64 * (RUDP_ACK_WORDS + 1) - 30;

		for (uint32_t pn = 1; pn <= at; pn++)
			come(&a, pn, 1);
		come(&a, at + jump, 1);
		assert_true(a.now);
		for (uint32_t pn = at + 1; pn < at + jump; pn++)
			assert_false(rudp_acks_seen(&a, pn));
		for (uint32_t pn = at + jump - 1; pn > at; pn--)
			come(&a, pn, 1);
	}
}

/* Bursts of packets of this size are lost, while the short last packet of each message arrives. */
static enum rudp_gso_news lose_bursts(struct rudp_gso *t, unsigned n, uint16_t bytes)
{
	enum rudp_gso_news news = RUDP_GSO_NO_NEWS;

	for (uint64_t i = 0; i < n && news == RUDP_GSO_NO_NEWS; i++) {
		uint64_t pn = 1000 + 10 * i;

		rudp_gso_sent(t, pn, 9, bytes, i, 1);
		rudp_gso_acked(t, pn + 9, 100, i);
		news = rudp_gso_ack_done(t, 1);
	}
	return news;
}

/* Segmentation is to blame only if packets of the same size arrive singly. */
static void lost_sizes_do_not_disable_gso(void **state)
{
	struct rudp_gso t = {.lost = 0};

	assert_int_equal(lose_bursts(&t, 100, 9000), RUDP_GSO_NO_NEWS);
	assert_false(rudp_gso_is_off(&t, 2));
	rudp_gso_size_arrived(&t, 9000);
	assert_int_equal(lose_bursts(&t, 1, 9000), RUDP_GSO_LOST);
	assert_true(rudp_gso_is_off(&t, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_sizes_do_not_disable_gso),
		cmocka_unit_test(rtt_follows_its_samples),
		cmocka_unit_test(the_network_rtt_excludes_host_lateness),
		cmocka_unit_test(the_minimum_rtt_is_remeasured),
		cmocka_unit_test(the_window_starts_by_doubling),
		cmocka_unit_test(the_window_shrinks_in_proportion_to_delay),
		cmocka_unit_test(the_delay_target_scales_with_the_window),
		cmocka_unit_test(late_hosts_keep_a_window_floor),
		cmocka_unit_test(the_window_recovers_after_a_late_sample),
		cmocka_unit_test(only_heavy_loss_shrinks_the_window),
		cmocka_unit_test(packet_records_track_acknowledgements_and_losses),
		cmocka_unit_test(reordering_raises_the_delay_target),
		cmocka_unit_test(the_reordering_delay_decays),
		cmocka_unit_test(packet_records_grow),
		cmocka_unit_test(records_of_a_previous_incarnation_are_cleared),
		cmocka_unit_test(received_packets_are_recognised),
		cmocka_unit_test(an_acknowledgement_is_due_after_enough_bytes),
		cmocka_unit_test(packet_numbers_pass_32_bits),
		cmocka_unit_test(in_order_packets_reuse_words),
		cmocka_unit_test(jumps_clear_skipped_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
