/* SPDX-License-Identifier: BSD-3-Clause */
/* Appends steps to lists of desired, recorded or planned steps. */
#include "netcfg/object/object.h"
#include "netcfg/plan/planner.h"
#include <stdlib.h>
#include <string.h>

struct plan_step *plan_step_append(struct plan_step **steps, size_t *n, size_t *cap)
{
	if (*n == *cap) {
		size_t grown_cap = *cap ? 2 * *cap : 16;
		struct plan_step *grown = reallocarray(*steps, grown_cap, sizeof(*grown));

		if (!grown)
			return NULL;
		*steps = grown;
		*cap = grown_cap;
	}
	memset(&(*steps)[*n], 0, sizeof(**steps));
	return &(*steps)[(*n)++];
}

void planner_step_on(struct plan_step *s, const struct inv_link *link)
{
	memcpy(s->ifname, link->name, sizeof(s->ifname));
	memcpy(s->link, link->name, sizeof(link->name));
	s->change.ifindex = link->ifindex;
}

struct plan_step *planner_want_add(struct plan_builder *b, const struct object_kind *kind,
				   const struct plan_leg *leg)
{
	struct plan_step *s = plan_step_append(&b->want.steps, &b->want.n, &b->want.cap);

	if (!s)
		return NULL;
	s->kind = kind;
	s->verb = kind->verb;
	memcpy(s->leg, leg->net->name, sizeof(s->leg));
	planner_step_on(s, leg->link);
	return s;
}
