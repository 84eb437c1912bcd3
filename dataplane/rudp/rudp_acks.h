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

/* As rudp_acks_check and rudp_acks_note, of a packet that is not the next one. */
int rudp_acks_check_unordered(struct rudp_acks *a, uint32_t low, uint64_t *ret);
void rudp_acks_note_unordered(struct rudp_acks *a, uint64_t pn);
/* low: the number as it is on the wire. 1: new, *ret its whole; 0: had it, to be acknowledged
 * again; -EBADMSG. */
static inline int rudp_acks_check(struct rudp_acks *a, uint32_t low, uint64_t *ret)
{
	if (PLENUM_UNLIKELY(low != (uint32_t)(a->top + 1)))
		return rudp_acks_check_unordered(a, low, ret);
	*ret = a->top + 1; /* the next one: no more is to be known of it */
	return 1;
}
/* It came before, or is too old to tell. */
bool rudp_acks_had(const struct rudp_acks *a, uint64_t pn);
/* A new packet of len bytes; gap: how long we had not looked when it was found. */
static inline void rudp_acks_note(struct rudp_acks *a, uint64_t pn, size_t len, uint64_t gap,
				  uint64_t now)
{
	uint64_t word = pn >> 6;

	if (PLENUM_UNLIKELY(pn != a->top + 1))
		rudp_acks_note_unordered(a, pn);
	else if ((pn & 63) == 0)
		a->words[word % RUDP_ACK_WORDS] = 0;
	if (pn > a->top) {
		a->top = pn;
		a->top_ns = now;
		a->top_gap = gap;
	}
	a->words[word % RUDP_ACK_WORDS] |= 1ULL << (pn & 63);
	if (a->pending++ == 0) {
		a->dirty_word = word;
		a->deadline = now + RUDP_ACK_DELAY_NS;
	}
	a->dirty_word = MIN_OF(a->dirty_word, word);
	a->pending_bytes += (uint32_t)len;
}
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
