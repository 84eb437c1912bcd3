/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses which of several ports that share an address is active. The caller passes the time, so
 * that tests can use a virtual clock. */
#include "dataplane/worker/worker_active.h"

void worker_active_init(struct worker_active *b, unsigned n, uint64_t hold_ns)
{
	*b = (struct worker_active){.n = MIN_OF(n, LAUNCH_PORTS_MAX), .hold_ns = hold_ns};
	for (unsigned i = 0; i < b->n; i++)
		/* A port counts as having always worked, so that the hold time does not apply at
		 * the start. */
		b->works[i] = true;
}

void worker_active_set(struct worker_active *b, unsigned i, bool works, uint64_t now_ns)
{
	if (i >= b->n || b->works[i] == works)
		return;
	b->works[i] = works;
	b->since_ns[i] = now_ns;
}

static uint64_t hold_now(const struct worker_active *b)
{
	return b->hold_ns << b->doubled;
}

static bool leave(struct worker_active *b, uint64_t now_ns)
{
	bool soon = b->returned_ns && now_ns - b->returned_ns < WORKER_ACTIVE_SOON * hold_now(b);

	for (unsigned i = 0; i < b->n; i++) {
		if (!b->works[i])
			continue;
		if (i > b->active) /* the active port changes to a later one in the list: the
				      earlier port has failed, perhaps soon after it became active
				      again */
			b->doubled = soon ? MIN_OF(b->doubled + 1, WORKER_ACTIVE_DOUBLED_MAX) : 0;
		b->active = i;
		return true;
	}
	return false;
}

bool worker_active_choose(struct worker_active *b, uint64_t now_ns, uint64_t *ret_due_ns)
{
	*ret_due_ns = UINT64_MAX;
	if (!b->works[b->active])
		return leave(b, now_ns);
	for (unsigned i = 0; i < b->active; i++) {
		uint64_t due_ns = b->since_ns[i] + hold_now(b);

		if (!b->works[i])
			continue;
		if (now_ns >= due_ns) {
			b->active = i;
			b->returned_ns = now_ns;
			*ret_due_ns = UINT64_MAX;
			return true;
		}
		*ret_due_ns = MIN_OF(*ret_due_ns, due_ns);
	}
	return false;
}
