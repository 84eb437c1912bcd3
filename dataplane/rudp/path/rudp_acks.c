/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiver's record of packet numbers. */
#include "dataplane/rudp/path/rudp_acks.h"

/* No sender has a window this large, so a packet with a number this far ahead is not from the
 * peer. */
#define PN_JUMP_MAX (1U << 20)

bool rudp_acks_seen(const struct rudp_acks *a, uint64_t pn)
{
	if (pn > a->top)
		return false;
	if ((a->top >> 6) - (pn >> 6) >= RUDP_ACK_WORDS)
		return true; /* the record of arrivals does not reach back to this packet */
	return a->words[(pn >> 6) % RUDP_ACK_WORDS] >> (pn & 63) & 1;
}

int rudp_acks_check_unordered(struct rudp_acks *a, uint32_t low, uint64_t *ret)
{
	uint64_t pn = rudp_pn_expand(low, a->top + 1);

	if (pn == 0 || pn > a->top + PN_JUMP_MAX)
		return -EBADMSG;
	if (rudp_acks_seen(a, pn)) {
		a->now = true;
		return 0;
	}
	*ret = pn;
	return 1;
}

void rudp_acks_note_unordered(struct rudp_acks *a, uint64_t pn)
{
	uint64_t word = pn >> 6, w = a->top >> 6;

	a->now = true; /* acknowledge at once, because the packet closes a gap: the sender then
			  knows early that it was not lost */
	if (pn <= a->top)
		return;
	if (word - w >= RUDP_ACK_WORDS)
		w = word - RUDP_ACK_WORDS;
	while (w < word)
		a->words[++w % RUDP_ACK_WORDS] = 0;
}

bool rudp_acks_due(const struct rudp_acks *a, uint64_t now)
{
	return a->now || a->pending >= RUDP_ACK_EVERY_PACKETS ||
	       a->pending_bytes >= RUDP_ACK_EVERY_BYTES || (a->pending && now >= a->deadline);
}

void rudp_acks_fill(const struct rudp_acks *a, uint64_t top, unsigned max_words,
		    struct wire_ack *ret, uint64_t now)
{
	uint64_t delay_us = top == a->top ? (now - a->top_ns) / NSEC_PER_USEC : UINT16_MAX;

	ret->gap = top == a->top ? wire_gap_code(a->top_gap / NSEC_PER_USEC) : 0;
	ret->delay_us = (uint16_t)MIN_OF(delay_us, UINT16_MAX);
	ret->top = (uint32_t)top;
	ret->n_words = 0;
	for (uint64_t word = top >> 6; ret->n_words < max_words; word--) {
		ret->words[ret->n_words++] =
			(a->top >> 6) - word < RUDP_ACK_WORDS ? a->words[word % RUDP_ACK_WORDS] : 0;
		if (word == 0)
			break;
	}
}

void rudp_acks_sent(struct rudp_acks *a)
{
	a->pending = 0;
	a->pending_bytes = 0;
	a->now = false;
	a->ping = false;
	a->deadline = 0;
}
