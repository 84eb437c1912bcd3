/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose request may come next. Requests of more than 16 KiB are announced; the receiver grants them
 * one by one, against memory that it has set aside and as fast as its link brings what it granted
 * before, as Homa does (Montazeri and others, SIGCOMM 2018): short ones first, clients in turn,
 * every fourth time the one that has waited longest. Apart from rudp_call.c, because it chooses
 * between sessions. Requests that stop half way give their memory back here.
 */
#include "dataplane/rudp/rudp_internal.h"

#define WINDOW_NS NSEC_PER_MSEC
/* Granted and not here yet: what came in twice this window, within bounds. One sender with that
 * much keeps the link busy; a few at a time do, when some of them are late. */
#define WAY_LEAST_BYTES (1U << 20)
#define WAY_MOST_BYTES (16U << 20)
#define WAY_LEAST_REQUESTS 2U
/* Where many wait and a queue on the way is too short for those few, there are fewer of them: less
 * than twice the window, by these parts of 256. */
#define WAY_PARTS 256U
#define WAY_PARTS_LEAST 112U
#define WAY_CUT 16U
#define WAY_GROW 1U
#define WAY_PEERS 8U
#define WAY_PACKETS 64U
#define WAY_LOSS_SHARE 256U	     /* one in so many is lost */
#define STALE_NS (2 * NSEC_PER_MSEC) /* a sender that silent does not hold up the others */
#define CHECK_NS (50 * NSEC_PER_MSEC)
#define RETRY_NS (500 * NSEC_PER_USEC) /* memory may come back without a word to us */
#define PATIENCE_MOST 6U
#define MARKS 16U /* progress is a sixteenth of the message */
#define TRIES 8U  /* sessions of a class asked in one run */
#define OLDEST_TURN 4U
/* What may be sent of a request that is not granted: all peers together, and each. */
#define FREE_BYTES (1U << 20)
#define FREE_PEER_BYTES (256U << 10)
#define FREE_ALONE_BYTES RUDP_MSG_BYTES_MAX /* of the only peer that sends: one request, whole */
#define FREE_BYTES_IDLE (4U << 20)	    /* of all sessions, while none of them sends */

void rudp_grant_init(struct rudp *r)
{
	for (unsigned i = 0; i < GRANT_CLASSES; i++)
		list_init(&r->grants.queues[i]);
	list_init(&r->grants.fresh);
	list_init(&r->grants.stale);
	r->grants.retry_ns = r->grants.check_ns = RUDP_TIME_NEVER;
	r->grants.way_parts = WAY_PARTS;
}

void rudp_grant_peer_init(struct rudp_session *s)
{
	s->grants = (struct grant_peer){};
	for (unsigned i = 0; i < GRANT_CLASSES; i++) {
		list_init(&s->grants.needs[i]);
		list_init(&s->grants.nodes[i]);
	}
	list_init(&s->grants.tells);
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

static void way_leave(struct rudp *r, struct slot *slot)
{
	if (!slot->in.counted)
		return;
	slot->in.counted = false;
	r->grants.way_bytes -= slot->in.way_bytes;
	r->grants.n_way--;
}

static void way_enter(struct rudp *r, struct slot *slot)
{
	uint32_t here = (uint32_t)slot->rx.n_got * slot->rx.chunk_bytes;

	slot->in.way_bytes = slot->rx.len > here ? slot->rx.len - here : 0;
	slot->in.counted = true;
	r->grants.way_bytes += slot->in.way_bytes;
	r->grants.n_way++;
}

static bool way_is_full(const struct grants *g)
{
	uint64_t window = 2 * g->rate_bytes * g->way_parts / WAY_PARTS;
	uint64_t most = MIN_OF(MAX_OF(window, WAY_LEAST_BYTES), WAY_MOST_BYTES);

	return g->n_way >= (g->way_parts < WAY_PARTS ? 1 : WAY_LEAST_REQUESTS) &&
	       g->way_bytes >= most;
}

void rudp_grant_losses(struct rudp *r, uint64_t lost, uint64_t packets)
{
	struct grants *g = &r->grants;

	if (g->n_peers >= WAY_PEERS && packets >= WAY_PACKETS && lost * WAY_LOSS_SHARE > packets)
		g->way_parts = MAX_OF(g->way_parts - WAY_CUT, WAY_PARTS_LEAST);
	else
		g->way_parts = MIN_OF(g->way_parts + WAY_GROW, WAY_PARTS);
}

static void here_add(struct rudp_session *s)
{
	if (s->grants.n_here++ == 0)
		s->r->grants.n_peers++;
}

static void here_remove(struct rudp_session *s)
{
	if (--s->grants.n_here == 0)
		s->r->grants.n_peers--;
}

void rudp_grant_need(struct rudp_session *s, struct slot *slot)
{
	unsigned c = class_of(slot->rx.len);
	struct grants *g = &s->r->grants;

	slot->in.granted = false;
	slot->in.since_ns = s->r->now;
	slot->in.marked = 0;
	here_add(s);
	if (list_empty(&s->grants.needs[c]))
		list_add_tail(&g->queues[c], &s->grants.nodes[c]);
	list_add_tail(&s->grants.needs[c], &slot->in.node);
	wake(s->r);
}

void rudp_grant_first(struct rudp_session *s, struct slot *slot)
{
	list_del(&slot->in.node);
	list_add_tail(s->grants.needs[class_of(slot->rx.len)].next, &slot->in.node);
}

static void need_remove(struct rudp_session *s, struct slot *slot)
{
	unsigned c = class_of(slot->rx.len);

	list_del(&slot->in.node);
	if (list_empty(&s->grants.needs[c]))
		list_del(&s->grants.nodes[c]);
}

static void watch(struct rudp *r, struct slot *slot)
{
	slot->in.heard_ns = slot->in.mark_ns = r->now;
	slot->in.patience = slot->call->s->grants.patience;
	list_add_tail(&r->grants.fresh, &slot->in.node);
	r->grants.check_ns = MIN_OF(r->grants.check_ns, r->now + CHECK_NS);
}

void rudp_grant_begin(struct rudp_session *s, struct slot *slot)
{
	slot->in.granted = true;
	slot->in.marked = 0;
	watch(s->r, slot);
}

void rudp_grant_progress(struct rudp_session *s, struct slot *slot, uint32_t bytes)
{
	struct rudp *r = s->r;
	struct coming *in = &slot->in;

	r->grants.window_bytes += bytes;
	in->heard_ns = r->now;
	if (slot->rx.n_got >= in->marked + MAX_OF(slot->rx.n_chunks / MARKS, 1U)) {
		in->marked = slot->rx.n_got;
		in->mark_ns = r->now;
	}
	if (!in->granted)
		return; /* it keeps its place among those who wait */
	if (slot->rx.len > RUDP_SMALL_BYTES) {
		way_leave(r, slot);
		way_enter(r, slot);
		if (!way_is_full(&r->grants))
			r->grants.retry_ns = r->now;
	}
	list_del(&in->node);
	list_add_tail(&r->grants.fresh, &in->node);
}

void rudp_grant_end(struct rudp_session *s, struct slot *slot)
{
	bool big = slot->rx.len > RUDP_SMALL_BYTES;

	way_leave(s->r, slot);
	list_del(&slot->in.tell);
	if (slot->state == SLOT_DISCARDED)
		return;
	if (slot->in.granted || !big)
		list_del(&slot->in.node);
	else
		need_remove(s, slot);
	slot->in.granted = false;
	if (!big)
		return;
	here_remove(s);
	wake(s->r);
}

void rudp_grant_tell(struct rudp_session *s, struct slot *slot)
{
	list_del(&slot->in.tell);
	list_add_tail(&s->grants.tells, &slot->in.tell);
	rudp_session_touch(s);
}

void rudp_grant_lost(struct rudp_session *s)
{
	for (unsigned i = 0; i < s->n_fresh; i++) {
		struct slot *slot = &s->slots[i];

		if (slot->state == SLOT_DISCARDED ||
		    (slot->state == SLOT_RECEIVING && slot->in.granted &&
		     slot->rx.len > RUDP_SMALL_BYTES))
			rudp_grant_tell(s, slot);
	}
}

static void grant(struct rudp_session *s, struct slot *slot)
{
	need_remove(s, slot);
	slot->in.granted = true;
	watch(s->r, slot);
	way_enter(s->r, slot);
	rudp_grant_tell(s, slot);
}

/* The first of a class whose client may have it; those that may not go to the end of the line. */
static bool class_grant(struct rudp *r, unsigned c)
{
	struct list *queue = &r->grants.queues[c];

	for (unsigned i = 0; i < TRIES && !list_empty(queue); i++) {
		struct list *node = queue->next;
		struct rudp_session *s = list_entry(node, struct rudp_session, grants.nodes[c]);
		struct slot *slot = list_entry(s->grants.needs[c].next, struct slot, in.node);
		bool may = slot->state == SLOT_RECEIVING || rudp_call_reserve(s, slot);

		list_del(node);
		list_add_tail(queue, node);
		if (!may)
			continue;
		grant(s, slot);
		return true;
	}
	return false;
}

/* The class whose head has waited longest. */
static unsigned class_oldest(struct rudp *r)
{
	unsigned best = 0;
	uint64_t since = RUDP_TIME_NEVER;

	for (unsigned c = 0; c < GRANT_CLASSES; c++) {
		struct list *queue = &r->grants.queues[c];
		const struct rudp_session *s;
		const struct slot *slot;

		if (list_empty(queue))
			continue;
		s = list_entry(queue->next, struct rudp_session, grants.nodes[c]);
		slot = list_entry(s->grants.needs[c].next, struct slot, in.node);
		if (slot->in.since_ns < since) {
			since = slot->in.since_ns;
			best = c;
		}
	}
	return best;
}

static bool grant_next(struct rudp *r)
{
	if (++r->grants.turn % OLDEST_TURN == 0 && class_grant(r, class_oldest(r)))
		return true;
	for (unsigned c = 0; c < GRANT_CLASSES; c++)
		if (class_grant(r, c))
			return true;
	return false;
}

/* How fast requests come in, the greatest of late. */
static void rate_update(struct grants *g, uint64_t now)
{
	uint64_t bytes;

	if (now < g->window_ns + WINDOW_NS)
		return;
	bytes = g->window_bytes * WINDOW_NS / (now - g->window_ns);
	g->rate_bytes = MAX_OF(bytes, g->rate_bytes - g->rate_bytes / 8);
	g->window_bytes = 0;
	g->window_ns = now;
}

/* Those that nothing has come of for a while do not count. */
static void stall_find(struct rudp *r, uint64_t now)
{
	struct list *fresh = &r->grants.fresh;

	while (!list_empty(fresh)) {
		struct slot *slot = list_entry(fresh->next, struct slot, in.node);

		if (slot->in.heard_ns + STALE_NS > now)
			return;
		way_leave(r, slot);
		list_del(&slot->in.node);
		list_add_tail(&r->grants.stale, &slot->in.node);
	}
}

static struct slot *given_up(const struct rudp *r, const struct list *among, uint64_t now)
{
	for (struct list *l = among->next; l != among; l = l->next) {
		struct slot *slot = list_entry(l, struct slot, in.node);

		if (slot->in.mark_ns + (r->lim.half_ns << slot->in.patience) <= now)
			return slot;
	}
	return NULL;
}

static void half_check(struct rudp *r, uint64_t now)
{
	struct grants *g = &r->grants;
	struct slot *slot;

	while ((slot = given_up(r, &g->stale, now)) || (slot = given_up(r, &g->fresh, now))) {
		struct rudp_session *s = slot->call->s;

		s->grants.patience = (uint8_t)MIN_OF(slot->in.patience + 1U, PATIENCE_MOST);
		rudp_call_discard(s, slot);
	}
	g->check_ns =
		list_empty(&g->stale) && list_empty(&g->fresh) ? RUDP_TIME_NEVER : now + CHECK_NS;
}

void rudp_grant_run(struct rudp *r, uint64_t now)
{
	struct grants *g = &r->grants;
	unsigned waiting = 0;

	if (now >= g->check_ns)
		half_check(r, now);
	if (now < g->retry_ns)
		return;
	rate_update(g, now);
	g->retry_ns = RUDP_TIME_NEVER;
	g->short_of_memory = false;
	for (;;) {
		if (way_is_full(g))
			stall_find(r, now);
		if (way_is_full(g) || !grant_next(r))
			break;
	}
	for (unsigned c = 0; c < GRANT_CLASSES; c++)
		waiting += !list_empty(&g->queues[c]);
	if (waiting)
		g->retry_ns = MIN_OF(g->retry_ns, now + RETRY_NS);
}

uint64_t rudp_grant_deadline(const struct rudp *r)
{
	return MIN_OF(r->grants.retry_ns, r->grants.check_ns);
}

/* Nobody else's big request is here or waits. */
static bool is_alone(const struct rudp_session *s)
{
	return s->r->grants.n_peers == (s->grants.n_here > 0 ? 1U : 0U);
}

uint32_t rudp_grant_free_bytes(const struct rudp_session *s)
{
	const struct rudp *r = s->r;
	uint32_t bytes;

	if (s->is_client || r->grants.short_of_memory)
		return 0;
	/* A grant would cost it a round trip in the middle of each request; what it may not have
	 * here would come in vain. */
	if (is_alone(s) && s->grants.held_bytes + FREE_ALONE_BYTES <= r->lim.rx_bytes_per_session)
		bytes = FREE_ALONE_BYTES;
	else
		bytes = MIN_OF(FREE_BYTES / (r->grants.n_peers + 1), FREE_PEER_BYTES);
	/* Each packet says it: no division where there is enough. */
	if ((uint64_t)bytes * r->n_live > FREE_BYTES_IDLE)
		bytes = FREE_BYTES_IDLE / r->n_live;
	return bytes < RUDP_SMALL_BYTES ? 0 : bytes;
}
