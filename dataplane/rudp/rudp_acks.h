/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has come in on one path, by packet number, and what the peer is still to hear of it. Says
 * which packets are new and what an acknowledgement says; sends none and knows no path. Times in
 * ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_ACKS_H
#define PLENUM_DATAPLANE_RUDP_ACKS_H

#include "dataplane/rudp/wire.h"
#include "netcfg/base/base.h"

#define RUDP_ACK_WORDS 64U /* of 64 packets each: as many as a sender may have on its way */
#define RUDP_ACK_EVERY_PACKETS 32
#define RUDP_ACK_EVERY_BYTES (64U << 10)
#define RUDP_ACK_DELAY_NS (200 * NSEC_PER_USEC)

struct rudp_acks {
	uint64_t top;		  /* highest packet number seen, 0: none */
	uint64_t top_ns, top_gap; /* when it came; how long we had not looked by then */
	uint64_t words[RUDP_ACK_WORDS];
	uint64_t dirty_word; /* lowest word that changed since the last acknowledgement */
	uint32_t pending, pending_bytes;
	bool now, ping; /* ping: what is to be answered where it came in */
	uint64_t deadline;
};

/* low: the number as it is on the wire. 1: new, *ret its whole; 0: had it, to be acknowledged
 * again; -EBADMSG. */
int rudp_acks_check(struct rudp_acks *a, uint32_t low, uint64_t *ret);
/* It came before, or is too old to tell. */
bool rudp_acks_had(const struct rudp_acks *a, uint64_t pn);
/* A new packet of len bytes; gap: how long we had not looked when it was found. */
void rudp_acks_note(struct rudp_acks *a, uint64_t pn, size_t len, uint64_t gap, uint64_t now);
bool rudp_acks_due(const struct rudp_acks *a, uint64_t now);
/* What was received up to `top`: words, time and gap; not path and credit. */
void rudp_acks_fill(const struct rudp_acks *a, uint64_t top, unsigned max_words,
		    struct wire_ack *ret, uint64_t now);
/* All that is pending has been said. */
void rudp_acks_said(struct rudp_acks *a);
/* The 64-bit number that ends in `low` and is nearest to `near`. */
static inline uint64_t rudp_pn_expand(uint32_t low, uint64_t near)
{
	uint64_t pn = (near & ~0xffffffffULL) | low;

	if (pn + (1ULL << 31) < near)
		return pn + (1ULL << 32);
	return pn > near + (1ULL << 31) && pn >> 32 ? pn - (1ULL << 32) : pn;
}

#endif
