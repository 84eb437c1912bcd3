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
#include "dataplane/rudp/rudp_internal.h"

#define CWND_MAX (4U << 20)
#define CWND_FIRST (64U << 10)
#define CWND_DELAY_FLOOR (256U << 10)
#define QUEUE_TARGET_NS (500 * NSEC_PER_USEC)
#define STALL_NS (8 * NSEC_PER_MSEC) /* no switch holds a packet that long, a busy host does */
#define LOSS_SHARE 50		     /* one in so many */
#define LOSS_LEAST 3
#define PACE_PACKETS 8 /* smaller windows are spread over the round trip */

void rudp_cc_init(struct rudp_session *s, struct rudp_path *p)
{
	p->cwnd = MAX_OF(CWND_FIRST, 8U * s->mtu);
	p->cwnd_before = p->cwnd;
	p->startup = true;
	p->limited = false;
	p->round_end_pn = p->next_pn;
	p->round_min_rtt = UINT64_MAX;
	p->round_acked = p->round_lost = 0;
	p->pace_ns = 0;
}

static void shrink(struct rudp_session *s, struct rudp_path *p, uint32_t to, uint32_t floor)
{
	p->startup = false;
	if (to >= p->cwnd)
		return;
	p->cwnd_before = p->cwnd;
	p->cwnd = MAX_OF(to, MIN_OF(floor, p->cwnd));
	p->cwnd = MAX_OF(p->cwnd, 2U * s->mtu);
}

/* Once per round trip. */
static void round_end(struct rudp_session *s, struct rudp_path *p)
{
	uint64_t budget = MAX_OF(QUEUE_TARGET_NS, p->base_rtt / 2);
	uint64_t target = p->base_rtt + budget;
	uint64_t delay = p->round_min_rtt == UINT64_MAX ? 0 : p->round_min_rtt;
	uint32_t total = p->round_acked + p->round_lost;
	uint32_t floor = MAX_OF(CWND_DELAY_FLOOR, 16U * s->mtu);

	if (p->round_lost >= LOSS_LEAST && p->round_lost * LOSS_SHARE > total) {
		shrink(s, p, p->cwnd / 10 * 7, 0);
	} else if (p->round_lost && delay > p->base_rtt + budget / 2) {
		shrink(s, p, p->cwnd / 20 * 17, 0);
	} else if (delay > target && delay < target + STALL_NS) {
		uint64_t cut = p->cwnd * (delay - target) / delay / 2;

		shrink(s, p, p->cwnd - (uint32_t)MIN_OF(cut, p->cwnd / 4), floor);
	} else if (delay <= target && p->limited && !p->startup) {
		p->cwnd += MAX_OF(2U * s->mtu, p->cwnd / 32);
	}
	p->cwnd = MIN_OF(p->cwnd, CWND_MAX);
	p->limited = false;
	p->round_end_pn = p->next_pn;
	p->round_min_rtt = UINT64_MAX;
	p->round_acked = p->round_lost = 0;
}

void rudp_cc_acked(struct rudp_session *s, struct rudp_path *p, unsigned packets, uint32_t bytes)
{
	p->round_acked += packets;
	if (p->startup && p->limited)
		p->cwnd = MIN_OF(p->cwnd + bytes, CWND_MAX);
	if (p->largest_acked >= p->round_end_pn)
		round_end(s, p);
}

void rudp_cc_lost(struct rudp_session *s, struct rudp_path *p, unsigned packets)
{
	p->round_lost += packets;
}

void rudp_cc_undo(struct rudp_path *p)
{
	if (p->round_lost)
		p->round_lost--;
	p->cwnd = MAX_OF(p->cwnd, p->cwnd_before);
}

uint64_t rudp_cc_pace(const struct rudp_session *s, const struct rudp_path *p, uint32_t bytes)
{
	if (p->cwnd >= PACE_PACKETS * (uint32_t)s->mtu)
		return 0;
	return p->srtt * bytes / p->cwnd;
}
