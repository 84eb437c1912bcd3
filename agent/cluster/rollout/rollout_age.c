/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds turns whose hosts have not reported a result in time. */
#include "agent/cluster/rollout/rollout_age.h"

void rollout_ages_restart(struct rollout_ages *a)
{
	a->n = 0;
}

static bool has_turn(const struct rollout *r, uint64_t turn)
{
	for (size_t i = 0; i < r->n_slots; i++)
		if (r->slots[i].turn == turn)
			return true;
	return false;
}

/* Returns when this host first saw the turn in the record. */
static uint64_t since(struct rollout_ages *a, uint64_t turn, uint64_t now_ns)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->of[i].turn == turn)
			return a->of[i].since_ns;
	if (a->n < ROLLOUT_SLOTS_MAX) {
		a->of[a->n].turn = turn;
		a->of[a->n++].since_ns = now_ns;
	}
	return now_ns;
}

const struct rollout_slot *rollout_ages_read(struct rollout_ages *a, const struct rollout *r,
					     uint64_t now_ns)
{
	const struct rollout_slot *ret = NULL;
	size_t n = 0;

	if (now_ns - a->read_ns > ROLLOUT_AGE_GAP_NS)
		rollout_ages_restart(a);
	a->read_ns = now_ns;
	for (size_t i = 0; i < a->n; i++)
		if (has_turn(r, a->of[i].turn))
			a->of[n++] = a->of[i];
	a->n = n;
	for (size_t i = 0; i < r->n_slots; i++) {
		const struct rollout_slot *s = &r->slots[i];

		if (!s->expired &&
		    now_ns - since(a, s->turn, now_ns) > r->timeout_s * NSEC_PER_SEC && !ret)
			ret = s;
	}
	return ret;
}
