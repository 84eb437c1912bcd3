/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The congestion window of one path. The caller reports acknowledgements, losses and delays. This
 * module returns how many bytes may be in flight and at what rate they may be sent. It sends
 * nothing, and uses packets only by number. Windows are in bytes, times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_CC_H
#define PLENUM_DATAPLANE_RUDP_CC_H

#include "netcfg/base/base.h"

/* If the window has fewer packets than this, they are paced over the round trip. */
#define RUDP_CC_PACE_PACKETS 8U

struct rudp_cc {
	uint32_t cwnd, cwnd_before; /* cwnd_before: value that rudp_cc_undo restores */
	uint32_t recover_to;   /* the window before it was cut for delay, up to which it may grow
				  fast; 0: the window was last cut for loss */
	bool startup, limited; /* startup: the window was never cut; limited: the sender had more
				  data than the window allowed */
	uint8_t growth_rounds; /* consecutive round trips in which the window grew */
	uint8_t late_hold;     /* for this many further rounds, late hosts do not raise the minimum
				  window */
	uint64_t round_end_pn;
	uint64_t round_min_ns;
	uint64_t late_ns;	/* smoothed delay of late threads at both hosts */
	uint64_t noise_ns;	/* how much the round trips vary; set by the caller */
	uint64_t reordering_ns; /* how much later reordered packets have arrived than packets sent
				   after them; set by the caller */
	unsigned n_delays;	/* count of delay samples in the current round; round_min_ns is the
				   minimum of these */
	uint32_t acked, lost, round_acked,
		round_lost; /* counts of packets; round_*: in the current round */
};

/* next_pn: number of the next packet to be sent. */
void rudp_cc_init(struct rudp_cc *c, uint32_t mtu, uint64_t next_pn);
/* Adds a round-trip sample, split into the network's part and the hosts' part. */
void rudp_cc_delay(struct rudp_cc *c, uint64_t network_ns, uint64_t host_ns);
/* Returns the network delay above which the window shrinks. */
uint64_t rudp_cc_target(const struct rudp_cc *c, uint32_t mtu, uint64_t base_rtt);
/* Call when packets were acknowledged. acked_pn: the highest of their numbers. base_rtt: the path's
 * minimum round trip. */
void rudp_cc_acked(struct rudp_cc *c, uint32_t mtu, unsigned packets, uint32_t bytes,
		   uint64_t acked_pn, uint64_t next_pn, uint64_t base_rtt);
void rudp_cc_lost(struct rudp_cc *c, unsigned packets);
/* Restores the window after a packet that counted as lost was found to be only late. */
void rudp_cc_undo(struct rudp_cc *c);
/* Returns how long to wait after sending this many bytes; 0: no pacing. */
static inline uint64_t rudp_cc_pace(const struct rudp_cc *c, uint32_t mtu, uint64_t srtt,
				    uint32_t bytes)
{
	return c->cwnd >= RUDP_CC_PACE_PACKETS * mtu ? 0 : srtt * bytes / c->cwnd;
}

#endif
