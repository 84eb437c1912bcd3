/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking back a whole plan that was applied and did not make the host as wanted. */
#include "agent/agent.h"
#include <stdio.h>
#include <string.h>

static const enum plan_op undo_ops[PLAN_OP_MAX] = {
	[PLAN_LINK_SET] = PLAN_LINK_SET,   [PLAN_ADDR_ADD] = PLAN_ADDR_DEL,
	[PLAN_ADDR_DEL] = PLAN_ADDR_ADD,   [PLAN_ROUTE_ADD] = PLAN_ROUTE_DEL,
	[PLAN_ROUTE_DEL] = PLAN_ROUTE_ADD, [PLAN_RULE_ADD] = PLAN_RULE_DEL,
	[PLAN_RULE_DEL] = PLAN_RULE_ADD,   [PLAN_SYSCTL_SET] = PLAN_SYSCTL_SET,
};

void undo_invert_step(const struct plan_step *s, struct plan_step *ret)
{
	struct plan_step inverse = *s;

	inverse.op = undo_ops[s->op];
	if (s->op == PLAN_LINK_SET) {
		inverse.link.want = s->link.was;
		inverse.link.was = s->link.want;
	} else if (s->op == PLAN_SYSCTL_SET) {
		memcpy(inverse.sysctl.want, s->sysctl.was, sizeof(inverse.sysctl.want));
		memcpy(inverse.sysctl.was, s->sysctl.want, sizeof(inverse.sysctl.was));
	}
	snprintf(inverse.reason, sizeof(inverse.reason), "taken back");
	*ret = inverse;
}

int undo_apply(struct kernel *k, const struct plan *p, const char *journal,
	       struct apply_outcome *ret)
{
	autofree struct plan_step *steps = calloc(MAX_OF(p->n_steps, 1), sizeof(*steps));
	struct plan inverse = {.steps = steps, .n_steps = p->n_steps};

	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_steps; i++)
		undo_invert_step(&p->steps[p->n_steps - 1 - i], &steps[i]);
	return apply_run(k, &inverse, journal, ret);
}
