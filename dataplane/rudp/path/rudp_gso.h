/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether GSO bursts arrive on one path. A burst is a group of packets that the host sends
 * in one call and that the kernel or the NIC segments into datagrams. Some NICs and hypervisors
 * advertise segmentation but corrupt it: every packet of every burst is lost, while single packets
 * arrive. If packets of that size do not arrive singly either, the cause is their size and not
 * segmentation. This module watches some bursts and reports to the caller when none of them arrive.
 * It depends only on the path's packet numbers. Times are in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_GSO_H
#define PLENUM_DATAPLANE_RUDP_GSO_H

#include "netcfg/base/base.h"
#include <stdbool.h>
#include <stdint.h>

#define RUDP_GSO_WATCHED 8U
struct rudp_gso { /* a struct of zeros: nothing is known */
	struct rudp_gso_span {
		uint64_t from, to;   /* the burst's packet numbers, from `from` to `to` - 1 */
		uint64_t msg;	     /* identifies the message that the burst belongs to */
		uint16_t bytes;	     /* size of the burst's first packet */
	} watched[RUDP_GSO_WATCHED], /* bursts whose outcome is unknown; at most one as long as no
					burst was lost */
		last;		     /* the last burst counted as lost */
	uint8_t n_watched;
	uint8_t overtaken;  /* a bit for each watched burst: the current acknowledgement covers a
			       later packet of the same message */
	bool arrived;	    /* the current acknowledgement covers a packet of a burst */
	uint16_t single;    /* size of the largest packet that has arrived since the first of the
			       `lost` bursts */
	uint8_t lost;	    /* consecutive bursts of which no packet arrived */
	uint8_t tries;	    /* how often the time without bursts was doubled */
	uint64_t off_until; /* time (ns) until which packets are sent one by one; 0: bursts have
			       never failed */
};

enum rudp_gso_news { RUDP_GSO_NO_NEWS, RUDP_GSO_LOST, RUDP_GSO_ARRIVES };

/* Returns whether packets must be sent one by one now. */
static inline bool rudp_gso_is_off(const struct rudp_gso *t, uint64_t now)
{
	return now < t->off_until;
}

/* Call when the port has taken a burst in one send: n packets of this many bytes, numbered from pn
 * on. msg identifies their message. Packets of other messages do not show whether this burst was
 * lost, because the peer may have memory for those messages but not for this message. */
void rudp_gso_watch(struct rudp_gso *t, uint64_t pn, unsigned n, uint16_t bytes, uint64_t msg,
		    uint64_t now);
static inline void rudp_gso_sent(struct rudp_gso *t, uint64_t pn, unsigned n, uint16_t bytes,
				 uint64_t msg, uint64_t now)
{
	if (n >= 2)
		rudp_gso_watch(t, pn, n, bytes, msg, now);
}
/* Records that a packet of this size has arrived. */
static inline void rudp_gso_size_arrived(struct rudp_gso *t, uint16_t bytes)
{
	t->single = MAX_OF(t->single, bytes);
}
/* Call when packet pn of message msg was acknowledged. */
static inline void rudp_gso_acked(struct rudp_gso *t, uint64_t pn, uint16_t bytes, uint64_t msg)
{
	if (PLENUM_UNLIKELY(t->lost))
		rudp_gso_size_arrived(t, bytes);
	for (unsigned i = 0; i < t->n_watched; i++) {
		const struct rudp_gso_span *w = &t->watched[i];

		t->arrived |= pn >= w->from && pn < w->to;
		t->overtaken |= (uint8_t)((pn >= w->to && msg == w->msg) << i);
	}
	t->arrived |= pn >= t->last.from && pn < t->last.to;
}
/* Call when rudp_gso_acked() was called for all packets of one acknowledgement. */
enum rudp_gso_news rudp_gso_ack_done(struct rudp_gso *t, uint64_t now);

#endif
