/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the defaults for RoCE connections of programs that do not choose their own. Applies to any
 * RDMA device on Ethernet, including soft-RoCE.
 */
#include "netcfg/feature/feature.h"
#include "netcfg/feature/plan_rxe.h"
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_asked(const struct spec_net *net)
{
	return net->roce_mode != SPEC_ROCE_AS_FOUND || net->roce_tos;
}

/* Returns whether an earlier step creates the leg's RDMA device. */
static bool will_be_created(const struct plan_builder *b, const struct plan_leg *leg)
{
	return leg->net->soft_roce && b->inv->soft_roce;
}

/* Returns whether the port has GIDs of that version. *ret_any says whether it has any GIDs. */
static bool has_version(const struct inventory *inv, const struct inv_rdma *p, const char *version,
			bool *ret_any)
{
	bool found = false;

	*ret_any = false;
	for (size_t i = 0; i < inv->n_gids; i++) {
		const struct inv_gid *g = &inv->gids[i];

		if (strcmp(g->device, p->device) != 0 || g->port != p->port)
			continue;
		*ret_any = true;
		found = found || strstr(g->type, version);
	}
	return found;
}

/* Returns true and sets why if the leg's device does not support the leg's configuration. */
static bool refusal(const struct plan_builder *b, const struct plan_leg *leg, struct reason *why)
{
	const struct spec_net *net = leg->net;
	const struct inv_link *place = plan_rxe_place(b->inv, leg->device);
	const struct inv_rdma *p = place ? inv_rdma_find(b->inv, place->ifindex) : NULL;
	const char *version = spec_roce_to_string(net->roce_mode);
	const bool soft = p ? kernel_rdma_is_ours(p->device) : will_be_created(b, leg);
	bool any = false;

	if ((!p && !soft) || (p && strcmp(p->kind, "roce") != 0)) {
		reason_set(why, "no-roce",
			   "%s has no RoCE device; remove roce-mode and roce-tos from leg %s",
			   leg->device->name, net->name);
		return true;
	}
	if (!p || net->roce_mode == SPEC_ROCE_AS_FOUND || has_version(b->inv, p, version, &any) ||
	    !any)
		return false;
	reason_set(why, "no-roce", "%s does not support RoCE %s; remove roce-mode from leg %s",
		   p->device, version, net->name);
	return true;
}

static void roce_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg)
{
	struct reason why;

	if (is_asked(leg->net) && refusal(b, leg, &why))
		planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
}

static int want_value(struct plan_builder *b, const struct plan_leg *leg,
		      const struct inv_link *place, enum device_attr attr, const char *value)
{
	struct plan_step *s = planner_want_add(b, &object_device, leg);
	struct kernel_device *v;

	if (!s)
		return -ENOMEM;
	planner_step_on(s, place);
	/* The phase is after the step that may create the RDMA device. The step is not disruptive,
	 * because existing connections keep their settings. */
	s->phase = OBJECT_PHASE_LINK;
	s->disruptive = false;
	s->change.kind = KERNEL_DEVICE;
	v = &s->change.device;
	v->attr = attr;
	snprintf(v->value, sizeof(v->value), "%s", value);
	if (!device_value_find(b->inv, place->ifindex, attr, 0, v->was))
		v->was[0] = '\0';
	snprintf(s->reason, sizeof(s->reason), "the configuration of leg %s sets this value",
		 leg->net->name);
	return 0;
}

static int roce_want(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_link *place = plan_rxe_place(b->inv, leg->device);
	struct reason why;
	char tos[8];
	int r = 0;

	if (!is_asked(leg->net) || !place || refusal(b, leg, &why))
		return 0;
	if (leg->net->roce_mode != SPEC_ROCE_AS_FOUND)
		r = want_value(b, leg, place, DEVICE_ROCE_MODE,
			       spec_roce_to_string(leg->net->roce_mode));
	snprintf(tos, sizeof(tos), "%" PRIu32, leg->net->roce_tos);
	if (r == 0 && leg->net->roce_tos)
		r = want_value(b, leg, place, DEVICE_ROCE_TOS, tos);
	return r;
}

const struct plan_feature plan_feature_roce = {
	.name = "roce",
	.check_leg = roce_check_leg,
	.want = {[PLAN_STAGE_DEVICE] = roce_want},
};
