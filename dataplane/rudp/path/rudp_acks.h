/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiver's record of packet numbers on one path (RFC 9000, 13.2): which packets are new, and
 * the content of the next acknowledgement. Sends nothing and knows no path. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_ACKS_H
#define PLENUM_DATAPLANE_RUDP_ACKS_H

#include "dataplane/rudp/wire/wire.h"
#include "netcfg/base/base.h"

#define RUDP_ACK_WORDS 64U /* words of 64 packets: as many as a sender may have in flight */
#define RUDP_ACK_EVERY_PACKETS 32
#define RUDP_ACK_EVERY_BYTES (64U << 10)
#define RUDP_ACK_DELAY_NS (200 * NSEC_PER_USEC)

struct rudp_acks {
	uint64_t top;	  /* highest packet number seen, 0: none */
	uint64_t arrived; /* packets, each counted once; also those without memory for them */
	uint64_t top_ns,
		top_gap; /* arrival time of top; time since our previous poll at that moment */
	uint64_t words[RUDP_ACK_WORDS];
	uint64_t dirty_word; /* lowest word that changed since the last acknowledgement */
	uint32_t pending, pending_bytes;
	bool now, ping; /* ping: answer on the path that the PING came on */
	uint64_t deadline;
};

/* As rudp_acks_check and rudp_acks_note, for a packet out of order. */
int rudp_acks_check_unordered(struct rudp_acks *a, uint32_t low, uint64_t *ret);
void rudp_acks_note_unordered(struct rudp_acks *a, uint64_t pn);
/* low: the low 32 bits, as on the wire. 1: new, *ret is the full number; 0: duplicate, to be
 * acknowledged again; -EBADMSG. */
static inline int rudp_acks_check(struct rudp_acks *a, uint32_t low, uint64_t *ret)
{
	if (PLENUM_UNLIKELY(low != (uint32_t)(a->top + 1)))
		return rudp_acks_check_unordered(a, low, ret);
	*ret = a->top + 1; /* in order: no further check needed */
	return 1;
}
/* A duplicate, or too old to tell. */
bool rudp_acks_seen(const struct rudp_acks *a, uint64_t pn);
/* Records a new packet of len bytes; gap: time between our previous poll and its processing. */
static inline void rudp_acks_note(struct rudp_acks *a, uint64_t pn, size_t len, uint64_t gap,
				  uint64_t now)
{
	uint64_t word = pn >> 6;

	a->arrived++;
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
/* Fills in the packets received up to `top`: words, time and gap; not path and credit. */
void rudp_acks_fill(const struct rudp_acks *a, uint64_t top, unsigned max_words,
		    struct wire_ack *ret, uint64_t now);
/* Everything pending has been acknowledged. */
void rudp_acks_sent(struct rudp_acks *a);
/* The 64-bit number that ends in `low` and is nearest to `near`. */
static inline uint64_t rudp_pn_expand(uint32_t low, uint64_t near)
{
	uint64_t pn = (near & ~0xffffffffULL) | low;

	if (pn + (1ULL << 31) < near)
		return pn + (1ULL << 32);
	return pn > near + (1ULL << 31) && pn >> 32 ? pn - (1ULL << 32) : pn;
}

#endif
