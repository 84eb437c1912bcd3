/* SPDX-License-Identifier: BSD-3-Clause */
/* Round trips: apart from losses, because the handshake samples them too. */
#include "dataplane/rudp/rudp_rtt.h"

#define FIRST_RTO_NS (5 * NSEC_PER_MSEC)
#define BASE_PERIOD_NS (5 * NSEC_PER_SEC) /* a route that got longer is believed after two */

void rudp_rtt_add(struct rudp_rtt *t, uint64_t rtt, uint64_t now)
{
	uint64_t diff = rtt > t->srtt ? rtt - t->srtt : t->srtt - rtt;

	if (t->srtt == 0) {
		t->srtt = rtt;
		t->rttvar = rtt / 2;
		t->base = t->base_next = rtt;
		t->base_until = now + BASE_PERIOD_NS;
	} else {
		t->rttvar += (diff >> 2) - (t->rttvar >> 2);
		t->srtt += (rtt >> 3) - (t->srtt >> 3);
	}
	if (now >= t->base_until) {
		t->base = t->base_next;
		t->base_next = rtt;
		t->base_until = now + BASE_PERIOD_NS;
	}
	t->base_next = MIN_OF(t->base_next, rtt);
	t->base = MIN_OF(t->base, rtt);
	t->latest = rtt;
	t->sampled_ns = now;
}

uint64_t rudp_rtt_rto(const struct rudp_rtt *t, uint64_t ack_delay, uint64_t least)
{
	uint64_t rto;

	if (t->srtt == 0)
		return MAX_OF(FIRST_RTO_NS, least);
	rto = t->srtt + MAX_OF(4 * t->rttvar, RUDP_REORDER_LEAST_NS) + ack_delay;
	return MAX_OF(MIN_OF(rto, RUDP_RTO_MAX_NS), least);
}
