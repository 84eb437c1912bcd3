/* SPDX-License-Identifier: BSD-3-Clause */
/* Grants the requests whose turn it is, and drops partial requests that stall. */
#include "dataplane/rudp/rudp_internal.h"

#define WINDOW_NS NSEC_PER_MSEC
/* If no chunk of a granted request arrives for this long, the request is stale: its bytes no longer
 * count for the limit, so that it does not delay other senders. */
#define STALE_NS (2 * NSEC_PER_MSEC)
/* While memory is short, grants are tried again at this interval, because rudp is not informed when
 * memory is freed. */
#define RETRY_NS (500 * NSEC_PER_USEC)
#define STALL_SHIFT_MAX 6U
#define TRIES 8U /* maximum number of sessions that one run tries in each class */
#define OLDEST_TURN 4U

/* Grants the first request of a class for which there is memory. Each session that was tried moves
 * to the end of the queue. */
static bool class_grant(struct rudp *r, unsigned c)
{
	struct list *queue = &r->grants.queues[c];

	for (unsigned i = 0; i < TRIES && !list_empty(queue); i++) {
		struct list *node = queue->next;
		struct rudp_session *s = list_entry(node, struct rudp_session, grants.nodes[c]);
		struct slot *slot = list_entry(s->grants.announced[c].next, struct slot, in.node);
		bool may = slot->state == SLOT_RECEIVING || rudp_call_reserve(s, slot);

		list_del(node);
		list_add_tail(queue, node);
		if (!may)
			continue;
		rudp_grant_give(s, slot);
		return true;
	}
	return false;
}

/* Returns the class whose first request has waited longest. */
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
		slot = list_entry(s->grants.announced[c].next, struct slot, in.node);
		if (slot->in.announced_ns < since) {
			since = slot->in.announced_ns;
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

/* Updates the receive rate, which is a maximum that decays over time. */
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

/* Moves requests without recent chunks from `fresh` to `stale`, and excludes them from
 * granted_bytes. */
static void stale_move(struct rudp *r, uint64_t now)
{
	struct list *fresh = &r->grants.fresh;

	while (!list_empty(fresh)) {
		struct slot *slot = list_entry(fresh->next, struct slot, in.node);

		if (slot->in.last_chunk_ns + STALE_NS > now)
			return;
		rudp_granted_remove(r, slot);
		list_del(&slot->in.node);
		list_add_tail(&r->grants.stale, &slot->in.node);
	}
}

static struct slot *stalled_find(const struct rudp *r, const struct list *among, uint64_t now)
{
	for (struct list *l = among->next; l != among; l = l->next) {
		struct slot *slot = list_entry(l, struct slot, in.node);

		if (slot->in.progress_ns + (r->lim.stall_ns << slot->in.stall_shift) <= now)
			return slot;
	}
	return NULL;
}

static void stall_check(struct rudp *r, uint64_t now)
{
	struct grants *g = &r->grants;
	struct slot *slot;

	while ((slot = stalled_find(r, &g->stale, now)) ||
	       (slot = stalled_find(r, &g->fresh, now))) {
		struct rudp_session *s = slot->call->s;

		s->grants.stall_shift = (uint8_t)MIN_OF(slot->in.stall_shift + 1U, STALL_SHIFT_MAX);
		rudp_call_discard(s, slot);
	}
	g->check_ns = list_empty(&g->stale) && list_empty(&g->fresh) ? RUDP_TIME_NEVER
								     : now + GRANT_CHECK_NS;
}

void rudp_grant_run(struct rudp *r, uint64_t now)
{
	struct grants *g = &r->grants;
	unsigned waiting = 0;

	if (now >= g->check_ns)
		stall_check(r, now);
	if (now < g->retry_ns)
		return;
	rate_update(g, now);
	g->retry_ns = RUDP_TIME_NEVER;
	g->short_of_memory = false;
	for (;;) {
		if (rudp_granted_is_full(g))
			stale_move(r, now);
		if (rudp_granted_is_full(g) || !grant_next(r))
			break;
	}
	for (unsigned c = 0; c < GRANT_CLASSES; c++)
		waiting += !list_empty(&g->queues[c]);
	if (waiting)
		g->retry_ns = MIN_OF(g->retry_ns, now + RETRY_NS);
}
