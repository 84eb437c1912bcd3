/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiver's record of the packet numbers that arrived on one path (RFC 9000, 13.2). It shows
 * which packets are new and what the next acknowledgement contains. It sends nothing and does not
 * use struct rudp_path. Times are in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_ACKS_H
#define PLENUM_DATAPLANE_RUDP_ACKS_H

#include "dataplane/rudp/wire/wire.h"
#include "netcfg/base/base.h"

/* Count of words, each with a bit for each of 64 packets. They are enough for all packets that a
 * sender may have in flight. */
#define RUDP_ACK_WORDS 64U
#define RUDP_ACK_EVERY_PACKETS 32
#define RUDP_ACK_EVERY_BYTES (64U << 10)
#define RUDP_ACK_DELAY_NS (200 * NSEC_PER_USEC)

struct rudp_acks {
	uint64_t top;	  /* highest packet number seen, 0: none */
	uint64_t arrived; /* count of packets that arrived, each counted once, including those that
			     were dropped for lack of memory */
	uint64_t top_ns, top_gap; /* top_ns: when packet `top` arrived; top_gap: time between the
				     last poll before that and the packet's arrival */
	uint64_t words[RUDP_ACK_WORDS];
	uint64_t dirty_word; /* lowest word that changed since the last acknowledgement */
	uint32_t pending, pending_bytes;
	bool now, ping; /* now: acknowledge at the next poll; ping: send the acknowledgement on the
			   path on which the PING arrived */
	uint64_t deadline;
};

/* Called by rudp_acks_check() and rudp_acks_note() for packets that arrive out of order. */
int rudp_acks_check_unordered(struct rudp_acks *a, uint32_t low, uint64_t *ret);
void rudp_acks_note_unordered(struct rudp_acks *a, uint64_t pn);
/* Checks a received packet number. low: its low 32 bits, as on the wire. Returns 1 and sets *ret to
 * the full number if the packet is new; 0 if it is a duplicate, which must be acknowledged again;
 * or -EBADMSG if the number is too far ahead. */
static inline int rudp_acks_check(struct rudp_acks *a, uint32_t low, uint64_t *ret)
{
	if (PLENUM_UNLIKELY(low != (uint32_t)(a->top + 1)))
		return rudp_acks_check_unordered(a, low, ret);
	*ret = a->top + 1; /* the packet is the next one in order */
	return 1;
}
/* Returns whether the packet is a duplicate, or too old to decide that. */
bool rudp_acks_seen(const struct rudp_acks *a, uint64_t pn);
/* Records a new packet of len bytes. gap: time between the last poll before the packet arrived and
 * its processing. */
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
/* Sets in *ret which packets up to `top` have arrived, in at most max_words words. If `top` is the
 * highest number that arrived, also sets the delay and gap of that packet. The caller sets path and
 * credit. */
void rudp_acks_fill(const struct rudp_acks *a, uint64_t top, unsigned max_words,
		    struct wire_ack *ret, uint64_t now);
/* Call when an acknowledgement of everything pending was sent. */
void rudp_acks_sent(struct rudp_acks *a);
/* Returns the 64-bit number whose low 32 bits are `low` and that is nearest to `near`. */
static inline uint64_t rudp_pn_expand(uint32_t low, uint64_t near)
{
	uint64_t pn = (near & ~0xffffffffULL) | low;

	if (pn + (1ULL << 31) < near)
		return pn + (1ULL << 32);
	return pn > near + (1ULL << 31) && pn >> 32 ? pn - (1ULL << 32) : pn;
}

#endif
