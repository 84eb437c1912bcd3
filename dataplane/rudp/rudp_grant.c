/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whose big request may be sent next. Clients announce requests of more than 16 KiB. The
 * server grants large requests one by one. It grants a request only when it has reserved memory for
 * the request, and only as fast as the server's link delivers the granted requests. Homa does the
 * same (Montazeri and others, SIGCOMM 2018). Short requests come first, and clients take turns; but
 * every fourth grant is for the request that has waited longest. rudp_grant_run.c issues the grants
 * and takes memory back from requests that stall.
 */
#include "dataplane/rudp/rudp_internal.h"

/* Scale of the limit of granted bytes, in units of 1/256. Granted bytes up to the full limit may
 * not fit into the queue of a switch on the path. So if packets of many peers are lost, the limit
 * is scaled down, to a little less than one window at the lowest. */
#define GRANTED_SCALE_MIN 112U
#define GRANTED_CUT 16U
#define GRANTED_GROW 1U
#define GRANTED_PEERS 8U
#define GRANTED_PACKETS 64U
#define GRANTED_LOSS_SHARE 256U /* losses count as too many if one packet in this many is lost */
#define MARKS 16U		/* progress is recorded for each sixteenth of the message */
/* Limits for the bytes of big requests that may be in flight without a grant. FREE_PEER_BYTES:
 * limit of one peer. FREE_BYTES: limit of all peers together that have announced a big request or
 * are sending one, and of one more. */
#define FREE_BYTES (1U << 20)
#define FREE_PEER_BYTES (256U << 10)
/* Number of bytes that a peer may have in flight without a grant while no other peer sends: one
 * whole request. */
#define FREE_ALONE_BYTES RUDP_MSG_BYTES_MAX
#define FREE_BYTES_IDLE (4U << 20) /* The same limit for all live sessions together. */

void rudp_grant_init(struct rudp *r)
{
	for (unsigned i = 0; i < GRANT_CLASSES; i++)
		list_init(&r->grants.queues[i]);
	list_init(&r->grants.fresh);
	list_init(&r->grants.stale);
	r->grants.retry_ns = r->grants.check_ns = RUDP_TIME_NEVER;
	r->grants.granted_scale = GRANTED_SCALE;
}

void rudp_grant_peer_init(struct rudp_session *s)
{
	s->grants = (struct grant_peer){};
	for (unsigned i = 0; i < GRANT_CLASSES; i++) {
		list_init(&s->grants.announced[i]);
		list_init(&s->grants.nodes[i]);
	}
	list_init(&s->grants.to_send);
}

static unsigned class_of(uint32_t len)
{
	unsigned c = 0;

	while (c + 1 < GRANT_CLASSES && len > 2 * RUDP_SMALL_BYTES << c)
		c++;
	return c;
}

static void wake(struct rudp *r)
{
	r->grants.retry_ns = r->now;
	r->dirty = true;
}

static void granted_add(struct rudp *r, struct slot *slot)
{
	uint32_t here = (uint32_t)slot->rx.n_got * slot->rx.chunk_bytes;

	slot->in.granted_bytes = slot->rx.len > here ? slot->rx.len - here : 0;
	slot->in.counted = true;
	r->grants.granted_bytes += slot->in.granted_bytes;
	r->grants.n_granted++;
}

void rudp_grant_losses(struct rudp *r, uint64_t lost, uint64_t packets)
{
	struct grants *g = &r->grants;

	if (g->n_peers >= GRANTED_PEERS && packets >= GRANTED_PACKETS &&
	    lost * GRANTED_LOSS_SHARE > packets)
		g->granted_scale = MAX_OF(g->granted_scale - GRANTED_CUT, GRANTED_SCALE_MIN);
	else
		g->granted_scale = MIN_OF(g->granted_scale + GRANTED_GROW, GRANTED_SCALE);
}

static void incoming_add(struct rudp_session *s)
{
	if (s->grants.n_incoming++ == 0)
		s->r->grants.n_peers++;
}

static void incoming_remove(struct rudp_session *s)
{
	if (--s->grants.n_incoming == 0)
		s->r->grants.n_peers--;
}

void rudp_grant_announced(struct rudp_session *s, struct slot *slot)
{
	unsigned c = class_of(slot->rx.len);
	struct grants *g = &s->r->grants;

	slot->in.granted = false;
	slot->in.announced_ns = s->r->now;
	slot->in.progress_chunks = 0;
	incoming_add(s);
	if (list_empty(&s->grants.announced[c]))
		list_add_tail(&g->queues[c], &s->grants.nodes[c]);
	list_add_tail(&s->grants.announced[c], &slot->in.node);
	wake(s->r);
}

void rudp_grant_move_first(struct rudp_session *s, struct slot *slot)
{
	list_del(&slot->in.node);
	list_add_tail(s->grants.announced[class_of(slot->rx.len)].next, &slot->in.node);
}

static void announced_remove(struct rudp_session *s, struct slot *slot)
{
	unsigned c = class_of(slot->rx.len);

	list_del(&slot->in.node);
	if (list_empty(&s->grants.announced[c]))
		list_del(&s->grants.nodes[c]);
}

static void stall_watch(struct rudp *r, struct slot *slot)
{
	slot->in.last_chunk_ns = slot->in.progress_ns = r->now;
	slot->in.stall_shift = slot->call->s->grants.stall_shift;
	list_add_tail(&r->grants.fresh, &slot->in.node);
	r->grants.check_ns = MIN_OF(r->grants.check_ns, r->now + GRANT_CHECK_NS);
}

void rudp_grant_begin(struct rudp_session *s, struct slot *slot)
{
	slot->in.granted = true;
	slot->in.progress_chunks = 0;
	stall_watch(s->r, slot);
}

void rudp_grant_progress(struct rudp_session *s, struct slot *slot, uint32_t bytes)
{
	struct rudp *r = s->r;
	struct incoming *in = &slot->in;

	r->grants.window_bytes += bytes;
	in->last_chunk_ns = r->now;
	if (slot->rx.n_got >= in->progress_chunks + MAX_OF(slot->rx.n_chunks / MARKS, 1U)) {
		in->progress_chunks = slot->rx.n_got;
		in->progress_ns = r->now;
	}
	if (!in->granted)
		return; /* the request still waits for its grant, and the session keeps its position
			   in the queue */
	if (slot->rx.len > RUDP_SMALL_BYTES) {
		rudp_granted_remove(r, slot);
		granted_add(r, slot);
		if (!rudp_granted_is_full(&r->grants))
			r->grants.retry_ns = r->now;
	}
	list_del(&in->node);
	list_add_tail(&r->grants.fresh, &in->node);
}

void rudp_grant_end(struct rudp_session *s, struct slot *slot)
{
	bool big = slot->rx.len > RUDP_SMALL_BYTES;

	rudp_granted_remove(s->r, slot);
	list_del(&slot->in.grant_node);
	if (slot->state == SLOT_DISCARDED)
		return;
	if (slot->in.granted || !big)
		list_del(&slot->in.node);
	else
		announced_remove(s, slot);
	slot->in.granted = false;
	if (!big)
		return;
	incoming_remove(s);
	wake(s->r);
}

void rudp_grant_queue(struct rudp_session *s, struct slot *slot)
{
	list_del(&slot->in.grant_node);
	list_add_tail(&s->grants.to_send, &slot->in.grant_node);
	rudp_session_touch(s);
}

void rudp_grant_lost(struct rudp_session *s)
{
	for (unsigned i = 0; i < s->n_fresh; i++) {
		struct slot *slot = &s->slots[i];

		if (slot->state == SLOT_DISCARDED ||
		    (slot->state == SLOT_RECEIVING && slot->in.granted &&
		     slot->rx.len > RUDP_SMALL_BYTES))
			rudp_grant_queue(s, slot);
	}
}

void rudp_grant_give(struct rudp_session *s, struct slot *slot)
{
	announced_remove(s, slot);
	slot->in.granted = true;
	stall_watch(s->r, slot);
	granted_add(s->r, slot);
	rudp_grant_queue(s, slot);
}

uint64_t rudp_grant_deadline(const struct rudp *r)
{
	return MIN_OF(r->grants.retry_ns, r->grants.check_ns);
}

/* Returns whether no other peer has a big request announced or partly received. */
static bool is_alone(const struct rudp_session *s)
{
	return s->r->grants.n_peers == (s->grants.n_incoming > 0 ? 1U : 0U);
}

uint32_t rudp_grant_free_bytes(const struct rudp_session *s)
{
	const struct rudp *r = s->r;
	uint32_t bytes;

	if (s->is_client || r->grants.short_of_memory)
		return 0;
	/* A single sending peer needs no grant: waiting for one would cost a round trip per
	 * request. But do not allow more than the peer's memory limit, because the excess would be
	 * dropped. */
	if (is_alone(s) && s->grants.held_bytes + FREE_ALONE_BYTES <= r->lim.rx_bytes_per_session)
		bytes = FREE_ALONE_BYTES;
	else
		bytes = MIN_OF(FREE_BYTES / (r->grants.n_peers + 1), FREE_PEER_BYTES);
	/* Divide only if the limit is exceeded: a division is slow, and this code runs for every
	 * packet. */
	if ((uint64_t)bytes * r->n_live > FREE_BYTES_IDLE)
		bytes = FREE_BYTES_IDLE / r->n_live;
	return bytes < RUDP_SMALL_BYTES ? 0 : bytes;
}
