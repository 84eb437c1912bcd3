/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers of sessions, in a heap ordered by deadline, so that thousands of idle sessions add no work
 * to a poll. The heap contains the deadlines: comparing them does not access the sessions, whose
 * memory is rarely in the processor's cache.
 */
#include "dataplane/rudp/rudp_internal.h"

static void place(struct rudp *r, struct rudp_timer t, unsigned i)
{
	r->heap[i] = t;
	t.session->timer_at = i + 1;
}

static void move_up(struct rudp *r, unsigned i)
{
	struct rudp_timer t = r->heap[i];

	for (; i && t.at_ns < r->heap[(i - 1) / 2].at_ns; i = (i - 1) / 2)
		place(r, r->heap[(i - 1) / 2], i);
	place(r, t, i);
}

static void move_down(struct rudp *r, unsigned i)
{
	struct rudp_timer t = r->heap[i];

	for (;;) {
		unsigned k = 2 * i + 1;

		if (k >= r->n_heap)
			break;
		if (k + 1 < r->n_heap && r->heap[k + 1].at_ns < r->heap[k].at_ns)
			k++;
		if (r->heap[k].at_ns >= t.at_ns)
			break;
		place(r, r->heap[k], i);
		i = k;
	}
	place(r, t, i);
}

void rudp_timer_drop(struct rudp_session *s)
{
	struct rudp *r = s->r;
	unsigned i = s->timer_at;
	struct rudp_timer last;

	if (i-- == 0)
		return;
	s->timer_at = 0;
	last = r->heap[--r->n_heap];
	if (last.session == s)
		return;
	place(r, last, i);
	move_up(r, i);
	move_down(r, last.session->timer_at - 1);
}

void rudp_timer_set(struct rudp_session *s, uint64_t at_ns)
{
	struct rudp *r = s->r;

	if (at_ns == RUDP_TIME_NEVER) {
		rudp_timer_drop(s);
		return;
	}
	/* Replace a time in the past by the current time: otherwise the session would get ahead of
	 * all other due sessions again and again. */
	at_ns = MAX_OF(at_ns, r->now);
	place(r, (struct rudp_timer){.at_ns = at_ns, .session = s},
	      s->timer_at ? s->timer_at - 1 : r->n_heap++);
	move_up(r, s->timer_at - 1);
	move_down(r, s->timer_at - 1);
}

uint64_t rudp_timer_next(const struct rudp *r)
{
	return r->n_heap ? r->heap[0].at_ns : RUDP_TIME_NEVER;
}

bool rudp_timer_run(struct rudp *r, uint64_t now)
{
	for (unsigned n = 0; r->n_heap && r->heap[0].at_ns <= now; n++) {
		struct rudp_session *s = r->heap[0].session;

		if (n == RUDP_POLL_TIMERS)
			return true;
		rudp_timer_drop(s);
		rudp_session_touch(s);
	}
	return false;
}
