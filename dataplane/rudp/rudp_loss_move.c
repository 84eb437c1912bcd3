/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues the chunks of a path's packets in flight again, so that other paths carry them. */
#include "dataplane/rudp/rudp_internal.h"

bool rudp_loss_packet(struct rudp_session *s, const struct pkt_rec *rec)
{
	bool any = false;

	for (unsigned i = 0; i < rec->n_chunks; i++)
		any |= rudp_call_lost(s, rec->slot, rec->gen, (uint16_t)(rec->chunk + i));
	if (rec->slot == PKT_NO_SLOT && rec->chunk == PKT_GRANT)
		rudp_grant_lost(s);
	return any;
}

static void pause_begin(struct rudp_session *s, struct rudp_path *p)
{
	s->pausing |= (uint8_t)(1U << p->index);
	p->pause_since = rudp_sent_silent_since(&p->sent);
	p->pause_from = s->r->now;
	p->pause_ns = 0;
}

void rudp_loss_move_all(struct rudp_session *s, struct rudp_path *p)
{
	bool moved = false;

	for (uint64_t pn = p->sent.tail_pn; pn < p->sent.next_pn; pn++) {
		struct pkt_rec *rec = rudp_sent_at(&p->sent, pn);

		if (!rudp_sent_in_flight(rec))
			continue;
		if (rec->state == PKT_IN_FLIGHT)
			moved |= rudp_loss_packet(s, rec);
		rec->state = PKT_MOVED;
	}
	rudp_mtu_probes_forget(&p->mtu, s->r->now);
	p->sent.in_flight = 0;
	p->sent.tail_pn = p->sent.next_pn;
	p->sent.loss_deadline = RUDP_TIME_NEVER;
	if (moved)
		pause_begin(s, p);
}

/* Returns whether the packet carries a short message, the announcement of a request that has no
 * grant, or grants. */
static bool is_small(const struct rudp_session *s, const struct pkt_rec *rec)
{
	if (rec->slot == PKT_NO_SLOT)
		return rec->chunk == PKT_GRANT;
	return s->slots[rec->slot].tx.len <= RUDP_SMALL_BYTES || !s->slots[rec->slot].tx.granted;
}

bool rudp_loss_copy_small(struct rudp_session *s, struct rudp_path *p, bool oldest)
{
	const struct pkt_rec *first = NULL;
	bool copied = false;

	for (uint64_t pn = p->sent.tail_pn; pn < p->sent.next_pn; pn++) {
		struct pkt_rec *rec = rudp_sent_at(&p->sent, pn);
		bool live;

		if (rec->state != PKT_IN_FLIGHT || !is_small(s, rec) ||
		    (oldest && first && (rec->slot != first->slot || rec->gen != first->gen)))
			continue;
		rec->state = PKT_COPIED;
		live = rudp_loss_packet(s, rec);
		copied |= live;
		/* The first packet with chunks that are still necessary becomes the probe. */
		if (!first && (live || rec->slot == PKT_NO_SLOT))
			first = rec;
	}
	if (copied)
		pause_begin(s, p);
	return copied;
}

void rudp_loss_move_above(struct rudp_session *s, struct rudp_path *p, uint32_t bytes)
{
	for (uint64_t pn = p->sent.tail_pn; pn < p->sent.next_pn; pn++) {
		struct pkt_rec *rec = rudp_sent_at(&p->sent, pn);

		if (!rudp_sent_in_flight(rec) || rec->bytes <= bytes)
			continue;
		if (rec->state == PKT_IN_FLIGHT)
			(void)rudp_loss_packet(s, rec);
		rec->state = PKT_MOVED;
		p->sent.in_flight -= rec->bytes;
	}
	rudp_sent_advance(&p->sent);
}
