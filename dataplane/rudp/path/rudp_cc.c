/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the congestion window of a path by Swift (Kumar and others, SIGCOMM 2020). The window
 * reacts to the delay in the network: the round trip without the time that packets waited in either
 * host. While the delay is below a target, the window grows additively. While it is above, the
 * window shrinks in proportion to the excess, at most once per round trip. The target is larger for
 * small windows, so that many flows through one queue share it evenly. A window may be a fraction
 * of a packet; one packet is then sent in several round trips.
 *
 * There are three differences from Swift. The delay of a round is the minimum of its samples,
 * because hosts without NIC timestamps add noise. The window keeps a minimum, in proportion to how
 * late host threads are, so that the link stays busy while they are late. Single losses do not
 * shrink the window: only losses above LOSS_SHARE do, or losses while the delay rises.
 */
#include "dataplane/rudp/path/rudp_cc.h"

#define CWND_MAX (4U << 20)
/* Size of the first burst. Sixty-four such bursts at the same time nearly fit into the queue of a
 * switch. */
#define CWND_FIRST (16U << 10)
#define CWND_FIRST_PACKETS 2U
/* Bytes that count as one packet. A packet of 9000 bytes counts as two, because messages of 4 KiB
 * do not fill it. */
#define UNIT(mtu) MIN_OF(mtu, 4500U)
#define CWND_LEAST(mtu) ((mtu) / 16) /* minimum window: one packet in sixteen round trips */
/* Number of bytes that must be in flight to keep a link of 10 Gb/s busy while threads are late by
 * `ns`. */
#define LATE_BYTES(ns) ((ns) / 4 * 5)
#define LATE_BYTES_MOST (256U << 10)
#define LATE_LEAST_NS (20 * NSEC_PER_USEC)
/* For this many rounds after a cut for loss, late threads do not raise the minimum window. */
#define LATE_HOLD 100U

/*
 * If round trips vary by more than the queue of any switch can cause, the cause is the delay of
 * hosts that timestamps do not show, such as virtual machines. On such a path, every other sample
 * looks like a queue, and a late packet looks like a lost one. So neither delay nor loss shrinks
 * the window below the size that keeps the host busy.
 */
#define NOISE_NS (500 * NSEC_PER_USEC)
#define NOISY_FLOOR (64U << 10)
#define NOISY_FLOOR_LOSS (16U << 10)

/* The target for the delay above the path's minimum round trip. It is TARGET_NS or, on a long path,
 * a share of the minimum round trip. Flow scaling is added, as in Swift's section 3.5: up to
 * FS_RANGE_NS, at windows of FS_LEAST packets. */
#define TARGET_NS (50 * NSEC_PER_USEC)
#define TARGET_SHARE 4U
#define FS_RANGE_NS (200 * NSEC_PER_USEC)
#define FS_MOST_PACKETS 100U

/*
 * A queue keeps the order of its packets, so reordering means that some packets are slow by chance.
 * On such a path the target is raised by a part of the delay of reordered packets. The raise is
 * limited, because a queue may be a part of that delay. Also, only the minimum of DELAYS_LEAST
 * samples shows whether there is a queue. That also holds for a sender of rare single packets,
 * which no other packet can overtake.
 */
#define REORDERING_SHARE 2U
#define REORDERING_MAX_NS (2 * NSEC_PER_MSEC)
#define DELAYS_LEAST 8U

/* A delay longer than this does not shrink the window, because only a busy host holds a packet for
 * so long, not a switch. */
#define STALL_NS (8 * NSEC_PER_MSEC)
/* Losses are heavy if more than one packet in this many is lost. Bad cables and rebooting switches
 * lose fewer packets. */
#define LOSS_SHARE 50
#define LOSS_PACKETS 256U /* minimum packets for a loss estimate */
#define LOSS_LEAST 3
/* After this many rounds of growth, the window grows by a part of itself. */
#define FAST_ROUNDS 8U

/* The window after heavy loss. The factor is CUBIC's (RFC 9438, 4.6), to be no more aggressive than
 * other traffic. */
#define AFTER_LOSS(cwnd) ((cwnd) / 10 * 7)
/* The window after some loss while a queue builds up. The factor is that of ABE (RFC 8511), because
 * this signal comes early. */
#define AFTER_EARLY_LOSS(cwnd) ((cwnd) / 20 * 17)
/* By how much the window is cut for delay: in proportion to the excess, with Swift's beta, but by
 * at most half at once. */
#define DELAY_CUT(cwnd, excess, delay) ((cwnd) / 5 * 4 * (excess) / (delay))
#define DELAY_CUT_MOST(cwnd) ((cwnd) / 2)
#define GROW(mtu) (UNIT(mtu) / 4)
#define GROW_FAST(cwnd) ((cwnd) / 32)
#define GROW_CLEAR(cwnd) ((cwnd) / 8)

void rudp_cc_init(struct rudp_cc *c, uint32_t mtu, uint64_t next_pn)
{
	*c = (struct rudp_cc){.cwnd = MAX_OF(CWND_FIRST, CWND_FIRST_PACKETS * mtu),
			      .startup = true,
			      .round_end_pn = next_pn,
			      .round_min_ns = UINT64_MAX};
	c->cwnd_before = c->cwnd;
}

void rudp_cc_delay(struct rudp_cc *c, uint64_t network_ns, uint64_t host_ns)
{
	c->round_min_ns = MIN_OF(c->round_min_ns, network_ns);
	c->n_delays++;
	host_ns = MIN_OF(host_ns, STALL_NS);
	c->late_ns += host_ns / 16;
	c->late_ns -= c->late_ns / 16;
}

/* Returns the smallest number whose square is at least n; n: 1 to 2^16. */
static uint64_t root_up(uint64_t n)
{
	uint64_t below = 0; /* the largest number found so far whose square is less than n */

	for (uint64_t bit = 128; bit; bit >>= 1)
		if ((below + bit) * (below + bit) < n)
			below += bit;
	return below + 1;
}

/* Returns the addition to the target delay for a window, which is given in units of 1/256 packet:
 * FS_RANGE_NS at a tenth of a packet, falling to 0 at FS_MOST_PACKETS. */
static uint64_t flow_scale(uint64_t packets_256)
{
	/* The formula is range / (1/sqrt(0.1) - 1/sqrt(100)) * (1/sqrt(packets) - 1/sqrt(100)),
	 * here in integers. */
	uint64_t root, inverse_1000;

	if (packets_256 >= FS_MOST_PACKETS * 256)
		return 0;
	root = root_up(MAX_OF(packets_256, 26U));
	inverse_1000 = 16000 / root; /* sqrt(256) = 16 */
	return inverse_1000 > 100 ? MIN_OF(FS_RANGE_NS * (inverse_1000 - 100) / 3062, FS_RANGE_NS)
				  : 0;
}

uint64_t rudp_cc_target(const struct rudp_cc *c, uint32_t mtu, uint64_t base_rtt)
{
	return base_rtt + MAX_OF(TARGET_NS, base_rtt / TARGET_SHARE) +
	       flow_scale((uint64_t)c->cwnd * 256 / UNIT(mtu)) +
	       MIN_OF(c->reordering_ns / REORDERING_SHARE, REORDERING_MAX_NS);
}

static void shrink(struct rudp_cc *c, uint32_t mtu, uint32_t to, uint32_t floor)
{
	c->startup = false;
	c->growth_rounds = 0;
	c->recover_to = 0;
	if (to >= c->cwnd)
		return;
	c->cwnd_before = c->cwnd;
	c->cwnd = MAX_OF(to, MIN_OF(floor, c->cwnd));
	c->cwnd = MAX_OF(c->cwnd, CWND_LEAST(mtu));
}

/* Grows the window. clear: the delay is reliable and shows almost no queue. */
static void grow(struct rudp_cc *c, uint32_t mtu, bool clear)
{
	uint32_t by = GROW(mtu);

	if (c->growth_rounds < FAST_ROUNDS)
		c->growth_rounds++;
	else
		by = MAX_OF(by, clear ? GROW_CLEAR(c->cwnd) : GROW_FAST(c->cwnd));
	/* Grow fast to the former window: the cause of the cut was not a queue, or the queue has
	 * drained. */
	if (clear && c->recover_to > c->cwnd)
		by = MAX_OF(by, (c->recover_to - c->cwnd) / 2 + GROW_FAST(c->cwnd));
	c->cwnd = MIN_OF(c->cwnd + by, CWND_MAX);
}

/* Returns whether many packets were lost or, if there were few packets, whether a quarter of them
 * was lost. */
static bool heavy_loss(const struct rudp_cc *c)
{
	uint32_t total = c->acked + c->lost;

	if (c->lost * 4 >= total && c->lost)
		return true;
	return total >= LOSS_PACKETS && c->lost >= LOSS_LEAST && c->lost * LOSS_SHARE > total;
}

/* Returns the minimum window that keeps hosts with late threads busy. It applies whatever the delay
 * is. */
static uint32_t late_floor(struct rudp_cc *c)
{
	if (c->late_hold) {
		c->late_hold--;
		return 0;
	}
	if (c->late_ns < LATE_LEAST_NS)
		return 0;
	return (uint32_t)MIN_OF(LATE_BYTES(c->late_ns), LATE_BYTES_MOST);
}

static bool is_noisy(const struct rudp_cc *c)
{
	return c->noise_ns > NOISE_NS;
}

/* Returns whether the round needs more samples, because a few samples above the target may be
 * chance. */
static bool needs_more(const struct rudp_cc *c, uint32_t mtu)
{
	bool alone =
		!c->limited &&
		c->cwnd <= UNIT(mtu) /
				   2; /* with so few packets in flight, packets are not reordered */

	return c->n_delays < DELAYS_LEAST && (c->reordering_ns || alone);
}

/* Ends a round, once per round trip: adjusts the window. */
static void round_end(struct rudp_cc *c, uint32_t mtu, uint64_t next_pn, uint64_t base_rtt)
{
	uint64_t target = rudp_cc_target(c, mtu, base_rtt);
	uint64_t delay = c->round_min_ns == UINT64_MAX ? 0 : c->round_min_ns;
	uint32_t least = is_noisy(c) ? NOISY_FLOOR_LOSS : 0;
	uint32_t floor = MAX_OF(late_floor(c), is_noisy(c) ? NOISY_FLOOR : 0);
	bool heavy = heavy_loss(c), judged = true;

	if (heavy) {
		shrink(c, mtu, AFTER_LOSS(c->cwnd), least);
		c->late_hold = LATE_HOLD;
	} else if (c->round_lost * LOSS_SHARE > c->round_acked &&
		   delay > base_rtt + (target - base_rtt) / 2) {
		shrink(c, mtu, AFTER_EARLY_LOSS(c->cwnd), least);
		c->late_hold = LATE_HOLD;
	} else if (c->cwnd < floor) {
		c->cwnd = c->limited ? MIN_OF(2 * c->cwnd, floor) : c->cwnd;
	} else if (delay > target && needs_more(c, mtu)) {
		judged = false;
	} else if (delay > target && delay < target + STALL_NS) {
		uint64_t cut = DELAY_CUT((uint64_t)c->cwnd, delay - target, delay);

		shrink(c, mtu, c->cwnd - (uint32_t)MIN_OF(cut, DELAY_CUT_MOST(c->cwnd)), floor);
		c->recover_to = c->cwnd_before;
	} else if (delay <= target && c->limited && !c->startup) {
		grow(c, mtu, !is_noisy(c) && delay <= base_rtt + (target - base_rtt) / 2);
	}
	if (heavy || c->acked + c->lost >= LOSS_PACKETS)
		c->acked = c->lost = 0;
	c->limited = false;
	c->round_end_pn = next_pn;
	c->round_acked = c->round_lost = 0;
	if (!judged)
		return;
	c->round_min_ns = UINT64_MAX;
	c->n_delays = 0;
}

void rudp_cc_acked(struct rudp_cc *c, uint32_t mtu, unsigned packets, uint32_t bytes,
		   uint64_t acked_pn, uint64_t next_pn, uint64_t base_rtt)
{
	c->acked += packets;
	c->round_acked += packets;
	if (c->startup && c->limited)
		c->cwnd = MIN_OF(c->cwnd + bytes, CWND_MAX);
	if (acked_pn >= c->round_end_pn)
		round_end(c, mtu, next_pn, base_rtt);
}

void rudp_cc_lost(struct rudp_cc *c, unsigned packets)
{
	c->lost += packets;
	c->round_lost += packets;
}

void rudp_cc_undo(struct rudp_cc *c)
{
	if (c->round_lost)
		c->round_lost--;
	if (c->lost)
		c->lost--;
	c->cwnd = MAX_OF(c->cwnd, c->cwnd_before);
}
