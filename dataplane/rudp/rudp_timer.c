/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Session timers: a heap by deadline, so that a poll costs nothing for the thousands of sessions
 * that are idle.
 */
#include "dataplane/rudp/rudp_internal.h"

static void place(struct rudp *r, struct rudp_session *s, unsigned i)
{
	r->heap[i] = s;
	s->timer_at = i + 1;
}

static void move_up(struct rudp *r, unsigned i)
{
	struct rudp_session *s = r->heap[i];

	for (; i && s->timer_ns < r->heap[(i - 1) / 2]->timer_ns; i = (i - 1) / 2)
		place(r, r->heap[(i - 1) / 2], i);
	place(r, s, i);
}

static void move_down(struct rudp *r, unsigned i)
{
	struct rudp_session *s = r->heap[i];

	for (;;) {
		unsigned k = 2 * i + 1;

		if (k >= r->n_heap)
			break;
		if (k + 1 < r->n_heap && r->heap[k + 1]->timer_ns < r->heap[k]->timer_ns)
			k++;
		if (r->heap[k]->timer_ns >= s->timer_ns)
			break;
		place(r, r->heap[k], i);
		i = k;
	}
	place(r, s, i);
}

void rudp_timer_drop(struct rudp_session *s)
{
	struct rudp *r = s->r;
	unsigned i = s->timer_at;
	struct rudp_session *last;

	if (i-- == 0)
		return;
	s->timer_at = 0;
	last = r->heap[--r->n_heap];
	if (last == s)
		return;
	place(r, last, i);
	move_up(r, i);
	move_down(r, last->timer_at - 1);
}

void rudp_timer_set(struct rudp_session *s, uint64_t at_ns)
{
	struct rudp *r = s->r;

	if (at_ns == RUDP_TIME_NEVER) {
		rudp_timer_drop(s);
		return;
	}
	s->timer_ns = at_ns;
	if (s->timer_at == 0)
		place(r, s, r->n_heap++);
	move_up(r, s->timer_at - 1);
	move_down(r, s->timer_at - 1);
}

uint64_t rudp_timer_next(const struct rudp *r)
{
	return r->n_heap ? r->heap[0]->timer_ns : RUDP_TIME_NEVER;
}

void rudp_timer_run(struct rudp *r, uint64_t now)
{
	while (r->n_heap && r->heap[0]->timer_ns <= now) {
		struct rudp_session *s = r->heap[0];

		rudp_timer_drop(s);
		rudp_session_touch(s);
	}
}
