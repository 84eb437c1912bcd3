/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The congestion window of one path. It is told of acknowledgements, losses and delays and says how
 * much may be on its way, and how fast; it sends nothing and knows no packet but by its number.
 * Windows in bytes, times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_CC_H
#define PLENUM_DATAPLANE_RUDP_CC_H

#include "netcfg/base/base.h"

#define RUDP_CC_PACE_PACKETS 8U /* smaller windows are spread over the round trip */

struct rudp_cc {
	uint32_t cwnd, cwnd_before; /* before: what an undo restores */
	uint32_t returns_to;	    /* the window before delay cut it; 0: loss did */
	bool startup, limited;	    /* limited: the sender had more than the window let it send */
	uint8_t grown;		    /* rounds in a row */
	uint8_t late_hold;	    /* rounds in which late hosts are no reason for a window */
	uint64_t round_end_pn;
	uint64_t round_min_ns;
	uint64_t late_ns;    /* of the hosts, smoothed */
	uint64_t noise_ns;   /* how much round trips vary; the caller's to set */
	uint64_t shuffle_ns; /* how much later than its successors a packet comes; likewise */
	unsigned n_delays;   /* samples that round_min_ns is the least of */
	uint32_t acked, lost, round_acked, round_lost; /* packets */
};

/* next_pn: the number that the next packet sent will have. */
void rudp_cc_init(struct rudp_cc *c, uint32_t mtu, uint64_t next_pn);
/* A round trip: the network's part of it and the hosts'. */
void rudp_cc_delay(struct rudp_cc *c, uint64_t network_ns, uint64_t host_ns);
/* The network's delay above which the window shrinks. */
uint64_t rudp_cc_target(const struct rudp_cc *c, uint32_t mtu, uint64_t base_rtt);
/* Packets up to acked_pn have arrived; base_rtt: the least round trip of the path. */
void rudp_cc_acked(struct rudp_cc *c, uint32_t mtu, unsigned packets, uint32_t bytes,
		   uint64_t acked_pn, uint64_t next_pn, uint64_t base_rtt);
void rudp_cc_lost(struct rudp_cc *c, unsigned packets);
/* A packet that counted as lost was only late. */
void rudp_cc_undo(struct rudp_cc *c);
/* How long to wait after so many bytes; 0: not at all. */
static inline uint64_t rudp_cc_pace(const struct rudp_cc *c, uint32_t mtu, uint64_t srtt,
				    uint32_t bytes)
{
	return c->cwnd >= RUDP_CC_PACE_PACKETS * mtu ? 0 : srtt * bytes / c->cwnd;
}

#endif
