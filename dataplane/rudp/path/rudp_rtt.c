/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes round-trip times. It does not depend on the handling of losses, because the handshake
 * takes samples too. */
#include "dataplane/rudp/path/rudp_rtt.h"

#define FIRST_RTO_NS (5 * NSEC_PER_MSEC)
/* If there was no sample near the minimum for this time, the minimum is measured again. */
#define BASE_PERIOD_NS (10 * NSEC_PER_SEC)
#define BASE_AGAIN(base) ((base) / 16)
#define DRAIN_SAMPLES 4U

/* Updates the minimum. A standing queue must not be taken for a longer route: if there was no
 * sample near the minimum for a while, the window shrinks for a moment, and the packets sent then
 * measure the round trip without a queue. */
static void base_update(struct rudp_rtt *t, uint64_t rtt, uint64_t now)
{
	if (rtt <= t->base + BASE_AGAIN(t->base)) {
		t->base = MIN_OF(t->base, rtt);
		t->base_until = now + BASE_PERIOD_NS;
		t->drain_ready = 0;
		return;
	}
	if (t->drain_ready == 0) {
		if (now < t->base_until)
			return;
		t->drain_ready = now + t->srtt;
		t->drain_least = UINT64_MAX;
		t->drain_n = 0;
		return;
	}
	if (now - rtt < t->drain_ready) /* ignore a packet that was sent while the queue still
					   existed */
		return;
	t->drain_least = MIN_OF(t->drain_least, rtt);
	if (++t->drain_n < DRAIN_SAMPLES)
		return;
	t->base = t->drain_least;
	t->base_until = now + BASE_PERIOD_NS;
	t->drain_ready = 0;
}

void rudp_rtt_add(struct rudp_rtt *t, uint64_t rtt, uint64_t now)
{
	uint64_t diff = rtt > t->srtt ? rtt - t->srtt : t->srtt - rtt;

	if (t->srtt == 0) {
		t->srtt = t->base = rtt;
		t->rttvar = rtt / 2;
	} else {
		t->rttvar += (diff >> 2) - (t->rttvar >> 2);
		t->srtt += (rtt >> 3) - (t->srtt >> 3);
	}
	base_update(t, rtt, now);
	t->latest = rtt;
	t->sampled_ns = now;
}

void rudp_rtt_net_add(struct rudp_rtt *t, uint64_t net)
{
	uint64_t diff = net > t->net_srtt ? net - t->net_srtt : t->net_srtt - net;

	if (t->net_srtt == 0) {
		t->net_srtt = net;
		t->net_rttvar = net / 2;
		return;
	}
	t->net_rttvar += (diff >> 2) - (t->net_rttvar >> 2);
	t->net_srtt += (net >> 3) - (t->net_srtt >> 3);
}

uint64_t rudp_rtt_net_rto(const struct rudp_rtt *t, uint64_t ack_delay, uint64_t least)
{
	uint64_t rto = t->net_srtt + MAX_OF(4 * t->net_rttvar, RUDP_REORDER_LEAST_NS) + ack_delay;

	if (t->net_srtt == 0)
		return UINT64_MAX;
	return MAX_OF(rto, least);
}

uint64_t rudp_rtt_rto(const struct rudp_rtt *t, uint64_t ack_delay, uint64_t least)
{
	uint64_t rto;

	if (t->srtt == 0)
		return MAX_OF(FIRST_RTO_NS, least);
	rto = t->srtt + MAX_OF(4 * t->rttvar, RUDP_REORDER_LEAST_NS) + ack_delay;
	return MAX_OF(MIN_OF(rto, RUDP_RTO_MAX_NS), least);
}
