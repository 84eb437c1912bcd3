/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/plan/apply_step.h"
#include <stdio.h>
#include <string.h>

enum presence {
	ABSENT,
	PRESENT, /* exactly so, but made by others */
	PRESENT_OURS,
};

static enum presence addr_presence(const struct inventory *inv, const struct inv_addr *want)
{
	for (size_t i = 0; i < inv->n_addrs; i++) {
		const struct inv_addr *have = &inv->addrs[i];

		if (have->ifindex == want->ifindex && have->ip.len == want->ip.len &&
		    ip_addr_equal(&have->ip.addr, &want->ip.addr))
			return have->proto == PLENUM_RTPROT ? PRESENT_OURS : PRESENT;
	}
	return ABSENT;
}

static enum presence route_presence(const struct inventory *inv, const struct inv_route *want)
{
	struct inv_route normal = *want;

	kernel_route_normalize(&normal);
	for (size_t i = 0; i < inv->n_routes; i++) {
		struct inv_route have = inv->routes[i];

		have.proto = normal.proto;
		if (kernel_route_equal(&have, &normal))
			return inv->routes[i].proto == PLENUM_RTPROT ? PRESENT_OURS : PRESENT;
	}
	return ABSENT;
}

static enum presence rule_presence(const struct inventory *inv, const struct inv_rule *want)
{
	for (size_t i = 0; i < inv->n_rules; i++) {
		struct inv_rule have = inv->rules[i];

		have.proto = want->proto;
		if (kernel_rule_equal(&have, want))
			return inv->rules[i].proto == PLENUM_RTPROT ? PRESENT_OURS : PRESENT;
	}
	return ABSENT;
}

/* Asks the host anew whether the address, route or rule of the step is there. */
static int step_presence(struct kernel *k, const struct plan_step *s, enum presence *ret)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	int r = inv_collect(k, &d, &inv);

	diag_done(&d);
	if (r < 0)
		return r;
	switch (s->op) {
	case PLAN_ADDR_ADD:
	case PLAN_ADDR_DEL:
		*ret = addr_presence(inv, &s->addr);
		break;
	case PLAN_ROUTE_ADD:
	case PLAN_ROUTE_DEL:
		*ret = route_presence(inv, &s->route);
		break;
	case PLAN_RULE_ADD:
	case PLAN_RULE_DEL:
		*ret = rule_presence(inv, &s->rule);
		break;
	default:
		*ret = ABSENT;
		break;
	}
	inv_free(inv);
	return 0;
}

static int step_call(struct kernel *k, const struct plan_step *s, char *why)
{
	switch (s->op) {
	case PLAN_LINK_SET:
		return k->ops->link_set(k, &s->link.want, why);
	case PLAN_ADDR_ADD:
		return k->ops->addr_add(k, &s->addr, why);
	case PLAN_ADDR_DEL:
		return k->ops->addr_del(k, &s->addr, why);
	case PLAN_ROUTE_ADD:
		return k->ops->route_add(k, &s->route, why);
	case PLAN_ROUTE_DEL:
		return k->ops->route_del(k, &s->route, why);
	case PLAN_RULE_ADD:
		return k->ops->rule_add(k, &s->rule, why);
	case PLAN_RULE_DEL:
		return k->ops->rule_del(k, &s->rule, why);
	case PLAN_SYSCTL_SET:
		return k->ops->sysctl_set(k, s->sysctl.key, s->sysctl.want, why);
	case PLAN_OP_MAX:
		break;
	}
	return -EINVAL;
}

static bool op_adds(enum plan_op op)
{
	return op == PLAN_ADDR_ADD || op == PLAN_ROUTE_ADD || op == PLAN_RULE_ADD;
}

static bool op_removes(enum plan_op op)
{
	return op == PLAN_ADDR_DEL || op == PLAN_ROUTE_DEL || op == PLAN_RULE_DEL;
}

int apply_step_do(struct kernel *k, const struct plan_step *s, enum apply_step_state *ret,
		  char *why)
{
	enum presence is = ABSENT;
	int r = step_call(k, s, why);

	if (r == 0) {
		*ret = APPLY_STEP_DONE;
		return 0;
	}
	if (op_adds(s->op) && r == -EEXIST) {
		if (step_presence(k, s, &is) < 0 || is == ABSENT)
			return r;
	} else if (op_removes(s->op) && (r == -ENOENT || r == -ESRCH || r == -EADDRNOTAVAIL)) {
		if (step_presence(k, s, &is) < 0 || is != ABSENT)
			return r;
	} else {
		return r;
	}
	*ret = APPLY_STEP_KEPT;
	return 0;
}

/* The step that takes s back. False: nothing can, e.g. a setting whose old value is not known. */
static bool step_inverse(const struct plan_step *s, struct plan_step *ret)
{
	*ret = *s;
	switch (s->op) {
	case PLAN_LINK_SET:
		ret->link.want = s->link.was;
		return true;
	case PLAN_ADDR_ADD:
		ret->op = PLAN_ADDR_DEL;
		return true;
	case PLAN_ADDR_DEL:
		ret->op = PLAN_ADDR_ADD;
		return true;
	case PLAN_ROUTE_ADD:
		ret->op = PLAN_ROUTE_DEL;
		return true;
	case PLAN_ROUTE_DEL:
		ret->op = PLAN_ROUTE_ADD;
		return true;
	case PLAN_RULE_ADD:
		ret->op = PLAN_RULE_DEL;
		return true;
	case PLAN_RULE_DEL:
		ret->op = PLAN_RULE_ADD;
		return true;
	case PLAN_SYSCTL_SET:
		memcpy(ret->sysctl.want, s->sysctl.was, sizeof(ret->sysctl.want));
		return s->sysctl.was[0] != '\0';
	case PLAN_OP_MAX:
		break;
	}
	return false;
}

/* Whether a step that was only begun has had its effect. An object that others own is not it. */
static int step_happened(struct kernel *k, const struct plan_step *s, bool *ret)
{
	enum presence is;
	int r;

	if (!op_adds(s->op) && !op_removes(s->op)) {
		*ret = true; /* writing the old value once more changes nothing */
		return 0;
	}
	r = step_presence(k, s, &is);
	if (r == 0)
		*ret = op_adds(s->op) ? is == PRESENT_OURS : is == ABSENT;
	return r;
}

int apply_step_undo(struct kernel *k, const struct plan_step *s, enum apply_step_state state,
		    char *why)
{
	enum apply_step_state ignored;
	struct plan_step inverse;
	bool happened = state == APPLY_STEP_DONE;
	int r = 0;

	if (state == APPLY_STEP_BEGUN)
		r = step_happened(k, s, &happened);
	if (r < 0) {
		snprintf(why, KERNEL_WHY_MAX, "%s", strerror(-r));
		return r;
	}
	if (!happened || !step_inverse(s, &inverse))
		return 0;
	r = apply_step_do(k, &inverse, &ignored, why);
	/* With its link or setting gone, nothing of the step is left. */
	return r == -ENODEV || (r == -ENOENT && s->op == PLAN_SYSCTL_SET) ? 0 : r;
}
