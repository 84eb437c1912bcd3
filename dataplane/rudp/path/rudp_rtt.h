/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round-trip times of one path: smoothed (RFC 6298), the latest, and the minimum without a queue.
 * It only computes, and does not depend on packets, sessions or windows. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_RTT_H
#define PLENUM_DATAPLANE_RUDP_RTT_H

#include "netcfg/base/base.h"

#define RUDP_RTO_MAX_NS (200 * NSEC_PER_MSEC)
#define RUDP_REORDER_LEAST_NS (100 * NSEC_PER_USEC)

struct rudp_rtt {
	uint64_t srtt, rttvar, latest, sampled_ns; /* srtt 0: no sample yet */
	uint64_t base, base_until; /* base: the minimum round trip; base_until: when the minimum
				      must be measured again */
	uint64_t drain_ready,
		drain_least; /* drain_least: minimum round trip since `base` is being measured
				again, for packets that were sent after drain_ready */
	unsigned drain_n;
	uint64_t net_srtt, net_rttvar; /* smoothed round trip and its variation, without the
					  delay of late hosts */
};

void rudp_rtt_add(struct rudp_rtt *t, uint64_t rtt, uint64_t now);
/* Returns the retransmission timeout. ack_delay: the longest time the peer may delay an
 * acknowledgement. least: lower bound of the result. */
uint64_t rudp_rtt_rto(const struct rudp_rtt *t, uint64_t ack_delay, uint64_t least);
/* Adds a sample without the hosts' part of the delay. net must not be 0. */
void rudp_rtt_net_add(struct rudp_rtt *t, uint64_t net);
/* Returns the retransmission timeout for hosts that are not late; UINT64_MAX: no sample yet. */
uint64_t rudp_rtt_net_rto(const struct rudp_rtt *t, uint64_t ack_delay, uint64_t least);
/* Returns whether the minimum round trip is being measured again, during which the sender must keep
 * the path's queue empty. */
static inline bool rudp_rtt_drains(const struct rudp_rtt *t)
{
	return t->drain_ready != 0;
}
/* Returns how long after its sending a packet counts as lost, if a later packet was acknowledged.
 * reorder: how late reordered packets have arrived so far. */
static inline uint64_t rudp_rtt_loss_wait(const struct rudp_rtt *t, uint64_t reorder)
{
	/* An eighth of the round trip, as in RFC 9002 (6.1.2). */
	return MAX_OF(t->srtt, t->latest) + MAX_OF(t->srtt / 8, reorder);
}

#endif
