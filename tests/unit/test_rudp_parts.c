/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a path, each alone: round trips, window, what is on its way, what has come in. */
#include "dataplane/rudp/rudp_acks.h"
#include "dataplane/rudp/rudp_cc.h"
#include "dataplane/rudp/rudp_rtt.h"
#include "dataplane/rudp/rudp_sent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define US NSEC_PER_USEC
#define MS NSEC_PER_MSEC
#define MTU 1500

/* ------------------------------------------------------------------ round trips */

static void test_rtt_learns(void **state)
{
	struct rudp_rtt t = {0};

	assert_int_equal(rudp_rtt_rto(&t, 200 * US, MS), 5 * MS); /* nothing is known */
	assert_int_equal(rudp_rtt_rto(&t, 200 * US, 9 * MS), 9 * MS);
	rudp_rtt_add(&t, 100 * US, NSEC_PER_SEC);
	assert_int_equal(t.srtt, 100 * US);
	assert_int_equal(t.base, 100 * US);
	for (unsigned i = 0; i < 200; i++)
		rudp_rtt_add(&t, 300 * US, NSEC_PER_SEC);
	assert_in_range(t.srtt, 299 * US, 300 * US);
	assert_in_range(t.rttvar, 0, US);
	assert_int_equal(t.latest, 300 * US);
	/* A quiet path: its round trip, the least reordering, and what the peer may wait. */
	assert_in_range(rudp_rtt_rto(&t, 200 * US, 0), 590 * US, 610 * US);
	assert_int_equal(rudp_rtt_rto(&t, 200 * US, MS), MS);
	rudp_rtt_add(&t, NSEC_PER_SEC, NSEC_PER_SEC);
	assert_int_equal(rudp_rtt_rto(&t, 200 * US, MS), RUDP_RTO_MAX_NS);
}

/* A host that was late once makes the timeout long; how long the network takes is known all the
 * same. */
static void test_rtt_without_hosts(void **state)
{
	struct rudp_rtt t = {0};

	for (unsigned i = 0; i < 100; i++) {
		rudp_rtt_add(&t, (i == 90 ? 30 : 0) * MS + 100 * US, NSEC_PER_SEC);
		rudp_rtt_net_add(&t, 100 * US);
	}
	assert_true(rudp_rtt_rto(&t, 200 * US, MS) > 3 * MS);
	assert_in_range(rudp_rtt_net_rto(&t, 200 * US, 0), 390 * US, 410 * US);
	assert_int_equal(rudp_rtt_net_rto(&t, 200 * US, MS), MS);
	for (unsigned i = 0; i < 100; i++) /* of a longer way, or behind a queue, it is longer */
		rudp_rtt_net_add(&t, 10 * MS);
	assert_true(rudp_rtt_net_rto(&t, 200 * US, MS) > 10 * MS);
}

/* A queue that stands is no longer route: what is sent with a small window tells which it is. */
static void test_rtt_measures_its_least_anew(void **state)
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
	assert_true(rudp_rtt_drains(&t));	     /* the sender holds back, the queue goes */
	rudp_rtt_add(&t, 400 * US, now += 100 * US); /* sent before that */
	rudp_rtt_add(&t, 102 * US, now += 900 * US);
	assert_false(rudp_rtt_drains(&t));
	assert_int_equal(t.base, 100 * US);
	/* A longer route: nothing comes as early as it did. */
	for (unsigned i = 0; !rudp_rtt_drains(&t) && i < 1000; i++)
		rudp_rtt_add(&t, 400 * US, now += 90 * MS);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(t.base, 100 * US);
		rudp_rtt_add(&t, (400 + i) * US, now += MS);
	}
	assert_int_equal(t.base, 400 * US);
	assert_false(rudp_rtt_drains(&t));
	rudp_rtt_add(&t, 90 * US, now);
	assert_int_equal(t.base, 90 * US); /* a shorter one at once */
}

/* ------------------------------------------------------------------ the window */

/* One round trip of ten packets, of which some were lost. */
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

static void test_cc_starts_by_doubling(void **state)
{
	struct rudp_cc c;
	uint64_t pn = 1;
	uint32_t before;

	rudp_cc_init(&c, MTU, pn);
	before = c.cwnd;
	assert_true(before >= 8 * MTU && before <= 16 * MTU);
	round_trip(&c, &pn, 100 * US, 0, false); /* the sender had no more to send */
	assert_int_equal(c.cwnd, before);
	round_trip(&c, &pn, 100 * US, 0, true);
	assert_int_equal(c.cwnd, before + 10 * MTU);
	for (unsigned i = 0; i < 10000; i++)
		round_trip(&c, &pn, 100 * US, 0, true);
	assert_int_equal(c.cwnd, 4U << 20); /* and no further */
}

static void test_cc_answers_delay_in_proportion(void **state)
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

/* Small windows bear more delay, so that flows of one queue come to equal ones. */
static void test_cc_target_scales(void **state)
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

/* Threads that run late keep what bridges it, though delay says that it is too much. */
static void test_cc_allows_for_late_hosts(void **state)
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

/* A late sample now and then is of a host, whatever its timestamps say; a queue stays. */
static void test_cc_comes_back(void **state)
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
	round_trip(&c, &pn, 110 * US, 0, true); /* what the latest took, and no more */
	assert_true(c.cwnd > before && c.cwnd <= 2 * before);
	c.acked = c.lost = 0; /* so that it is much at once */
	round_trip(&c, &pn, 100 * US, 8, true);
	before = c.cwnd;
	round_trip(&c, &pn, 110 * US, 0, true); /* what loss took comes back slowly */
	assert_true(c.cwnd < before + MTU);
}

static void test_cc_answers_loss(void **state)
{
	struct rudp_cc c;
	uint64_t pn = 1;
	uint32_t before;

	rudp_cc_init(&c, MTU, pn);
	before = c.cwnd;
	round_trip(&c, &pn, 100 * US, 1, false); /* one packet: repaired, not answered */
	assert_int_equal(c.cwnd, before);
	round_trip(&c, &pn, 150 * US, 1, false); /* but while a queue builds it is */
	assert_in_range(c.cwnd, before / 100 * 84, before / 100 * 86);
	before = c.cwnd;
	round_trip(&c, &pn, 100 * US, 8, false);
	assert_in_range(c.cwnd, before / 100 * 69, before / 100 * 71);
	assert_false(c.startup);
	rudp_cc_undo(&c); /* they were only late */
	assert_int_equal(c.cwnd, before);
	for (unsigned i = 0; i < 26; i++) /* a few in a hundred: answered when enough were seen */
		round_trip(&c, &pn, 100 * US, i % 3 == 0, false);
	assert_in_range(c.cwnd, before / 100 * 69, before / 100 * 71);
	c.cwnd = 8 * MTU;
	assert_int_equal(rudp_cc_pace(&c, MTU, 100 * US, MTU), 0);
}

/* ------------------------------------------------------------------ what is on its way */

static struct pkt_rec ring[RUDP_RING_MAX];

static void test_sent_keeps_accounts(void **state)
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
	/* The first time only, and never packet 0. */
	assert_int_equal(rudp_sent_fresh(&t, 0, 1 | 1 << 3), 1 << 3);
	assert_int_equal(rudp_sent_fresh(&t, 0, 1 | 1 << 3 | 1 << 1), 1 << 1);
	rudp_sent_at(&t, 3)->state = rudp_sent_at(&t, 1)->state = PKT_ACKED;
	t.largest_acked = 3;
	rudp_sent_advance(&t);
	assert_int_equal(t.tail_pn, 2);
	/* Lost when its time has come, not before. */
	assert_null(rudp_sent_next_lost(&t, &pn, 100, 119, &copied));
	assert_int_equal(t.loss_deadline, 120);
	assert_ptr_equal(rudp_sent_next_lost(&t, &pn, 100, 120, &copied), rudp_sent_at(&t, 2));
	assert_null(rudp_sent_next_lost(&t, &pn, 100, 120, &copied));
	assert_int_equal(t.loss_deadline, UINT64_MAX);
	assert_int_equal(t.in_flight, 116);
	assert_false(copied);
	rudp_sent_advance(&t);
	assert_int_equal(t.tail_pn, t.next_pn);
	/* What was copied is still on its way, and its loss is one. */
	assert_false(rudp_sent_add(&t, 3, 4, 7, 1, 100, 40));
	rudp_sent_at(&t, 4)->state = PKT_COPIED;
	rudp_sent_advance(&t);
	assert_int_equal(t.tail_pn, 4);
	t.largest_acked = 5;
	assert_ptr_equal(rudp_sent_next_lost(&t, &pn, 100, 140, &copied), rudp_sent_at(&t, 4));
	assert_true(copied);
	assert_int_equal(t.in_flight, 116);
}

/* Where packets overtake each other a part of that is no queue, and no more than 2 ms of it; what
 * stands above is one. Late samples among few say nothing. */
static void test_cc_tells_noise_from_a_queue(void **state)
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
	for (unsigned i = 0; i < 80; i++) /* one in eight came without a delay */
		round_trip(&c, &pn, i % 8 ? 900 * US : 120 * US, 0, true);
	assert_true(c.cwnd >= before);
	for (unsigned i = 0; i < 80; i++)
		round_trip(&c, &pn, 900 * US, 0, true);
	assert_true(c.cwnd < before / 4);
	c.reordering_ns = NSEC_PER_SEC;
	assert_true(rudp_cc_target(&c, MTU, 100 * US) <= least + 2 * MS + 200 * US);
}

/* What came late once is not waited for for ever. */
static void test_sent_reorder_decays(void **state)
{
	struct rudp_sent t;
	uint64_t now = NSEC_PER_SEC, least;

	rudp_sent_init(&t, ring, now);
	least = rudp_sent_reorder(&t, now);
	rudp_sent_reordered(&t, 800 * US, now);
	assert_int_equal(rudp_sent_reorder(&t, now), MS);
	rudp_sent_reordered(&t, 80 * US, now + NSEC_PER_SEC / 2); /* it does not hold the rest */
	assert_int_equal(rudp_sent_reorder(&t, now + NSEC_PER_SEC), MS / 2);
	rudp_sent_reordered(&t, NSEC_PER_SEC, now);
	assert_int_equal(rudp_sent_reorder(&t, now), 4 * MS);
	assert_int_equal(rudp_sent_reorder(&t, now + NSEC_PER_SEC), 2 * MS);
	assert_int_equal(rudp_sent_reorder(&t, now + 100 * NSEC_PER_SEC), least);
}

static void test_sent_grows(void **state)
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

/* The next life of a path numbers its packets from 1 again: what is found by a number is never a
 * record of the life before, however far either had got. */
static void test_sent_forgets_its_former_life(void **state)
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
		/* Settled for a while, so that the small ring goes round once before it grows. */
		for (; i < RUDP_RING_MIN * 3 / 2 && t.tail_pn < i; t.tail_pn++)
			rudp_sent_at(&t, t.tail_pn)->state = PKT_LOST;
	}
}

/* ------------------------------------------------------------------ what has come in */

static void come(struct rudp_acks *a, uint32_t low, int want)
{
	uint64_t pn = 0;

	assert_int_equal(rudp_acks_check(a, low, &pn), want);
	if (want == 1)
		rudp_acks_note(a, pn, 100, 3 * US, 1000);
}

static void test_acks_know_what_came(void **state)
{
	struct rudp_acks a = {0};
	struct wire_ack w;

	come(&a, 0, -EBADMSG); /* there is no packet 0 */
	come(&a, 1, 1);
	assert_false(a.now); /* in order: it may wait for others */
	assert_false(rudp_acks_due(&a, 1000));
	assert_true(rudp_acks_due(&a, 1000 + RUDP_ACK_DELAY_NS));
	come(&a, 3, 1);
	assert_true(rudp_acks_due(&a, 1000)); /* a gap may not */
	rudp_acks_sent(&a);
	come(&a, 3, 0);
	assert_true(a.now); /* it had not heard us */
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

static void test_acks_by_amount(void **state)
{
	struct rudp_acks a = {0};

	for (uint32_t i = 1; i < RUDP_ACK_EVERY_PACKETS; i++)
		come(&a, i, 1);
	assert_false(rudp_acks_due(&a, 1000));
	come(&a, RUDP_ACK_EVERY_PACKETS, 1);
	assert_true(rudp_acks_due(&a, 1000));
}

static void test_acks_go_round(void **state)
{
	struct rudp_acks a = {0};
	struct wire_ack w;
	uint64_t pn;

	/* Past 2^32: the wire has the low half only. */
	a.top = (1ULL << 32) - 2;
	come(&a, UINT32_MAX, 1);
	come(&a, 0, 1);
	assert_int_equal(a.top, 1ULL << 32);
	/* After a jump over the whole memory nothing old is taken for received. */
	come(&a, 64 * RUDP_ACK_WORDS * 3, 1);
	rudp_acks_fill(&a, a.top, WIRE_ACK_WORDS_MAX, &w, 1000);
	assert_int_equal(w.words[0], 1);
	for (unsigned i = 1; i < w.n_words; i++)
		assert_int_equal(w.words[i], 0);
	assert_int_equal(rudp_acks_check(&a, 5, &pn), 0); /* too old to tell: counts as had */
}

/* In order past the whole memory: a word that is used again says nothing of its first use. */
static void test_acks_in_order(void **state)
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

/* A jump into a word that is used again, or over some: they say nothing of their first use. */
static void test_acks_jump(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rtt_learns),
		cmocka_unit_test(test_rtt_without_hosts),
		cmocka_unit_test(test_rtt_measures_its_least_anew),
		cmocka_unit_test(test_cc_starts_by_doubling),
		cmocka_unit_test(test_cc_answers_delay_in_proportion),
		cmocka_unit_test(test_cc_target_scales),
		cmocka_unit_test(test_cc_allows_for_late_hosts),
		cmocka_unit_test(test_cc_comes_back),
		cmocka_unit_test(test_cc_answers_loss),
		cmocka_unit_test(test_sent_keeps_accounts),
		cmocka_unit_test(test_cc_tells_noise_from_a_queue),
		cmocka_unit_test(test_sent_reorder_decays),
		cmocka_unit_test(test_sent_grows),
		cmocka_unit_test(test_sent_forgets_its_former_life),
		cmocka_unit_test(test_acks_know_what_came),
		cmocka_unit_test(test_acks_by_amount),
		cmocka_unit_test(test_acks_go_round),
		cmocka_unit_test(test_acks_in_order),
		cmocka_unit_test(test_acks_jump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
