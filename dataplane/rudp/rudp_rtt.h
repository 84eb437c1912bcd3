/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips of one path: smoothed (RFC 6298), the latest, and the least without a queue. Pure
 * numbers; knows nothing of packets, sessions or windows. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_RTT_H
#define PLENUM_DATAPLANE_RUDP_RTT_H

#include "netcfg/base/base.h"

#define RUDP_RTO_MAX_NS (200 * NSEC_PER_MSEC)
#define RUDP_REORDER_LEAST_NS (100 * NSEC_PER_USEC)

struct rudp_rtt {
	uint64_t srtt, rttvar, latest, sampled_ns; /* srtt 0: no sample yet */
	uint64_t base, base_until;	   /* the least, and when it was not seen for too long */
	uint64_t drain_ready, drain_least; /* measuring it anew: what was sent after that counts */
	unsigned drain_n;
	uint64_t net_srtt, net_rttvar; /* as srtt and rttvar, without what the hosts were late */
};

void rudp_rtt_add(struct rudp_rtt *t, uint64_t rtt, uint64_t now);
/* The retransmission timeout: ack_delay is how long the peer may wait before it answers. */
uint64_t rudp_rtt_rto(const struct rudp_rtt *t, uint64_t ack_delay, uint64_t least);
/* A sample without the hosts' share; not 0. */
void rudp_rtt_net_add(struct rudp_rtt *t, uint64_t net);
/* How long an answer takes at most where no host is late; UINT64_MAX: nobody knows yet. */
uint64_t rudp_rtt_net_rto(const struct rudp_rtt *t, uint64_t ack_delay, uint64_t least);
/* The sender is to keep the path's queue empty for a moment. */
static inline bool rudp_rtt_drains(const struct rudp_rtt *t)
{
	return t->drain_ready != 0;
}
/* How long after a later packet's acknowledgement a packet is lost; reorder: how late packets have
 * been seen to come. */
static inline uint64_t rudp_rtt_loss_wait(const struct rudp_rtt *t, uint64_t reorder)
{
	/* An eighth of the round trip, as RFC 9002 (6.1.2). */
	return MAX_OF(t->srtt, t->latest) + MAX_OF(t->srtt / 8, reorder);
}

#endif
