/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The congestion window of a path. As in Swift (Kumar and others, SIGCOMM 2020) delay is the signal
 * and the reaction is in proportion to it, at most once a round trip. The delay of a round is the
 * least of its samples, less the time that either host had not looked at its input, so that a host
 * whose threads run late is not taken for a full switch. Delay alone never shrinks the window below
 * what keeps a host busy, and one that no switch can cause says nothing. Single losses are
 * repaired, not answered: only a round that lost more than LOSS_SHARE, or lost while delay was
 * rising, shrinks it further.
 */
#include "dataplane/rudp/rudp_cc.h"

#define CWND_MAX (4U << 20)
/* What a first burst may be: a switch port with a shallow buffer still takes it. */
#define CWND_FIRST (64U << 10)
#define CWND_FIRST_PACKETS 8U
/* What keeps a host busy whose threads run late: 10 Gb/s for 200 us. Delay says nothing below. */
#define CWND_DELAY_FLOOR (256U << 10)
#define CWND_DELAY_FLOOR_PACKETS 16U
#define CWND_LEAST_PACKETS 2U /* one on its way, one to follow: less would wait for timers */
#define QUEUE_TARGET_NS (500 * NSEC_PER_USEC)
#define STALL_NS (8 * NSEC_PER_MSEC) /* no switch holds a packet that long, a busy host does */
#define LOSS_SHARE 50		     /* one in so many: cables and rebooting switches lose less */
#define LOSS_LEAST 3
#define PACE_PACKETS 8U /* smaller windows are spread over the round trip */

/* After heavy loss: CUBIC's factor (RFC 9438, 4.6), so that we are no ruder than others there. */
#define AFTER_LOSS(cwnd) ((cwnd) / 10 * 7)
/* Some loss while a queue builds: ABE's factor (RFC 8511), for a sign that comes early. */
#define AFTER_EARLY_LOSS(cwnd) ((cwnd) / 20 * 17)
/* Delay: in proportion to its excess, halved as in Swift (beta 0.8 there, 0.5 here, because the
 * reaction is to the least delay of a round and not to each), never more than a quarter at once. */
#define DELAY_GAIN(cut) ((cut) / 2)
#define DELAY_CUT_MOST(cwnd) ((cwnd) / 4)
/* Growth per round: 3 %, so that a window that was cut by a quarter is back within ten rounds. */
#define GROW(cwnd) ((cwnd) / 32)

void rudp_cc_init(struct rudp_cc *c, uint32_t mtu, uint64_t next_pn)
{
	c->cwnd = MAX_OF(CWND_FIRST, CWND_FIRST_PACKETS * mtu);
	c->cwnd_before = c->cwnd;
	c->startup = true;
	c->limited = false;
	c->round_end_pn = next_pn;
	c->round_min_rtt = UINT64_MAX;
	c->round_acked = c->round_lost = 0;
}

void rudp_cc_delay(struct rudp_cc *c, uint64_t network_ns)
{
	c->round_min_rtt = MIN_OF(c->round_min_rtt, network_ns);
}

static void shrink(struct rudp_cc *c, uint32_t mtu, uint32_t to, uint32_t floor)
{
	c->startup = false;
	if (to >= c->cwnd)
		return;
	c->cwnd_before = c->cwnd;
	c->cwnd = MAX_OF(to, MIN_OF(floor, c->cwnd));
	c->cwnd = MAX_OF(c->cwnd, CWND_LEAST_PACKETS * mtu);
}

/* Once per round trip. */
static void round_end(struct rudp_cc *c, uint32_t mtu, uint64_t next_pn, uint64_t base_rtt)
{
	/* On long paths a queue of half the round trip is no worse than a short one's 500 us. */
	uint64_t budget = MAX_OF(QUEUE_TARGET_NS, base_rtt / 2);
	uint64_t target = base_rtt + budget;
	uint64_t delay = c->round_min_rtt == UINT64_MAX ? 0 : c->round_min_rtt;
	uint32_t total = c->round_acked + c->round_lost;
	uint32_t floor = MAX_OF(CWND_DELAY_FLOOR, CWND_DELAY_FLOOR_PACKETS * mtu);

	if (c->round_lost >= LOSS_LEAST && c->round_lost * LOSS_SHARE > total) {
		shrink(c, mtu, AFTER_LOSS(c->cwnd), 0);
	} else if (c->round_lost && delay > base_rtt + budget / 2) {
		shrink(c, mtu, AFTER_EARLY_LOSS(c->cwnd), 0);
	} else if (delay > target && delay < target + STALL_NS) {
		uint64_t cut = DELAY_GAIN(c->cwnd * (delay - target) / delay);

		shrink(c, mtu, c->cwnd - (uint32_t)MIN_OF(cut, DELAY_CUT_MOST(c->cwnd)), floor);
	} else if (delay <= target && c->limited && !c->startup) {
		c->cwnd += MAX_OF(2U * mtu, GROW(c->cwnd));
	}
	c->cwnd = MIN_OF(c->cwnd, CWND_MAX);
	c->limited = false;
	c->round_end_pn = next_pn;
	c->round_min_rtt = UINT64_MAX;
	c->round_acked = c->round_lost = 0;
}

void rudp_cc_acked(struct rudp_cc *c, uint32_t mtu, unsigned packets, uint32_t bytes,
		   uint64_t acked_pn, uint64_t next_pn, uint64_t base_rtt)
{
	c->round_acked += packets;
	if (c->startup && c->limited)
		c->cwnd = MIN_OF(c->cwnd + bytes, CWND_MAX);
	if (acked_pn >= c->round_end_pn)
		round_end(c, mtu, next_pn, base_rtt);
}

void rudp_cc_lost(struct rudp_cc *c, unsigned packets)
{
	c->round_lost += packets;
}

void rudp_cc_undo(struct rudp_cc *c)
{
	if (c->round_lost)
		c->round_lost--;
	c->cwnd = MAX_OF(c->cwnd, c->cwnd_before);
}

uint64_t rudp_cc_pace(const struct rudp_cc *c, uint32_t mtu, uint64_t srtt, uint32_t bytes)
{
	if (c->cwnd >= PACE_PACKETS * mtu)
		return 0;
	return srtt * bytes / c->cwnd;
}
