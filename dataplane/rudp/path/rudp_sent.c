/* SPDX-License-Identifier: BSD-3-Clause */
/* The sender's packet records. */
#include "dataplane/rudp/path/rudp_sent.h"

#define REORDER_MOST_NS (4 * NSEC_PER_MSEC)
#define REORDER_PERIOD_NS NSEC_PER_SEC

void rudp_sent_init(struct rudp_sent *t, struct pkt_rec *ring, uint64_t now)
{
	*t = (struct rudp_sent){.ring = t->first,
				.lent = ring,
				.ring_mask = RUDP_RING_FIRST - 1,
				.next_pn = 1,
				.tail_pn = 1,
				.acked = {1}, /* packet numbers begin at 1, so number 0 counts as
						 acknowledged */
				.loss_deadline = UINT64_MAX,
				.reorder_ns = RUDP_REORDER_FIRST_NS,
				.progress_ns = now};
}

void rudp_sent_grow(struct rudp_sent *t)
{
	uint32_t mask = t->ring_mask << 1 | 1, had = t->ring_mask + 1;

	/* The new memory may still hold records of an earlier incarnation of the path with the same
	 * packet numbers. Clear them, so that they are not taken for packets of this
	 * incarnation. */
	if (t->ring == t->first) {
		mask = RUDP_RING_MIN - 1;
		had = 0;
	}
	memset(t->lent + had, 0, (mask + 1 - had) * sizeof(*t->ring));
	/* The ring doubles its size. Each record stays at its place or moves to the new half. */
	for (uint64_t pn = t->tail_pn; pn < t->next_pn; pn++)
		if (t->ring == t->first || (pn & mask) != (pn & t->ring_mask))
			t->lent[pn & mask] = t->ring[pn & t->ring_mask];
	t->ring = t->lent;
	t->ring_mask = mask;
}

void rudp_sent_stamp(struct rudp_sent *t, uint64_t pn, unsigned n, uint64_t at)
{
	for (uint64_t end = pn + n; pn < end; pn++)
		rudp_sent_at(t, pn)->sent_ns = at;
}

uint64_t rudp_sent_fresh(struct rudp_sent *t, uint64_t word, uint64_t bits)
{
	uint64_t *known = &t->acked[word % RUDP_ACK_WORDS];
	uint64_t fresh = bits & ~*known;

	*known |= fresh;
	return fresh;
}

void rudp_sent_reordered(struct rudp_sent *t, uint64_t by, uint64_t now)
{
	if (by <= t->reorder_ns / 2)
		return;
	t->reorder_ns = MIN_OF(MAX_OF(t->reorder_ns, by + by / 4), REORDER_MOST_NS);
	t->reorder_until = now + REORDER_PERIOD_NS;
}

uint64_t rudp_sent_reorder(struct rudp_sent *t, uint64_t now)
{
	while (t->reorder_ns > RUDP_REORDER_FIRST_NS && now >= t->reorder_until) {
		t->reorder_ns = MAX_OF(t->reorder_ns / 2, RUDP_REORDER_FIRST_NS);
		t->reorder_until += REORDER_PERIOD_NS;
	}
	return t->reorder_ns;
}

void rudp_sent_advance(struct rudp_sent *t)
{
	while (t->tail_pn < t->next_pn && !rudp_sent_in_flight(rudp_sent_at(t, t->tail_pn)))
		t->tail_pn++;
}

struct pkt_rec *rudp_sent_next_lost(struct rudp_sent *t, uint64_t *pn, uint64_t wait, uint64_t now,
				    bool *ret_copied)
{
	t->loss_deadline = UINT64_MAX;
	for (; *pn < t->largest_acked; ++*pn) {
		struct pkt_rec *rec = rudp_sent_at(t, *pn);

		if (!rudp_sent_in_flight(rec))
			continue;
		if (rec->sent_ns + wait > now) {
			t->loss_deadline = rec->sent_ns + wait;
			return NULL;
		}
		*ret_copied = rec->state == PKT_COPIED;
		rec->state = PKT_LOST;
		t->in_flight -= rec->bytes;
		++*pn;
		return rec;
	}
	return NULL;
}
