/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the configuration generation in force, and replaces it as a whole. */
#include "agent/agent.h"

void generation_done(struct generation *r)
{
	free(r->desired);
	plan_free(r->plan);
	inv_free(r->inv);
	spec_free(r->spec);
	*r = (struct generation){0};
}

/* The members of struct running are const for all other code; only this function frees them. */
void generation_swap(struct agent *a, struct generation *next)
{
	struct generation old = {.spec = (struct spec *)a->running.spec,
				 .inv = (struct inventory *)a->running.inv,
				 .plan = (struct plan *)a->running.plan,
				 .desired = (struct launch_config *)a->running.desired};

	if (!next->spec && next->plan)
		next->spec = ptr_take(old.spec);
	a->running =
		(struct running){next->spec, next->inv, next->plan, next->desired, next->n_desired};
	*next = (struct generation){0};
	generation_done(&old);
}

void generation_put_desired(struct agent *a, struct launch_config *desired)
{
	free((struct launch_config *)a->running.desired);
	a->running.desired = desired;
}
