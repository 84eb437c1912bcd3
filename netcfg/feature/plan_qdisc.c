/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans `qdisc`, the queueing discipline of a leg. It is set where packets queue: at the leg's
 * device, at the device below its VLAN, or at the ports of the bond that Plenum makes.
 */
#include "netcfg/feature/feature.h"
#include "netcfg/feature/plan_bond.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_owned.h"
#include <stdio.h>
#include <string.h>

#define BY_TC "tc:" /* begins the text of a qdisc that another program has set */

/* Returns whether an earlier apply has set the link's qdisc, so that a later change by another
 * program is undone. */
static bool was_set(const struct plan_builder *b, const struct inv_link *l)
{
	const struct plan_owned *o = b->ctx->owned;

	for (size_t i = 0; o && i < o->n; i++)
		if (o->steps[i].kind == &object_device &&
		    o->steps[i].change.device.attr == DEVICE_QDISC &&
		    o->steps[i].change.ifindex == l->ifindex)
			return true;
	return false;
}

/* Returns true and sets why if the qdisc of the link cannot be set. */
static bool refuses(const struct plan_builder *b, const struct plan_leg *leg,
		    const struct inv_link *l, struct reason *why)
{
	if (!l->qdisc[0])
		reason_set(why, "no-qdisc",
			   "the kernel shows no qdisc of %s; remove qdisc from leg %s", l->name,
			   leg->net->name);
	else if (leg->shared)
		reason_set(why, "no-qdisc",
			   "leg %s shares the host's address, so %s is not changed; remove qdisc "
			   "from the leg, or set the qdisc of the device with tc(8)",
			   leg->net->name, l->name);
	else if (l->kind == INV_LINK_BOND || l->kind == INV_LINK_BRIDGE || l->lower)
		reason_set(why, "no-qdisc",
			   "%s has no queue, because it sends through other devices; remove qdisc "
			   "from leg %s, and set the qdisc of those devices with tc(8)",
			   l->name, leg->net->name);
	else if (strncmp(l->qdisc, BY_TC, strlen(BY_TC)) == 0 && !was_set(b, l))
		reason_set(why, "qdisc-foreign",
			   "another program has set the qdisc of %s to %s; run tc qdisc del dev "
			   "%s root, or remove qdisc from leg %s",
			   l->name, l->qdisc + strlen(BY_TC), l->name, leg->net->name);
	else
		return false;
	return true;
}

static void qdisc_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg)
{
	struct plan_place places[PLAN_PORTS_MAX];
	const size_t n = plan_bond_places(b, leg, places);
	struct reason why;

	for (size_t k = 0; k < n; k++)
		if (places[k].net->qdisc != SPEC_QDISC_AS_FOUND &&
		    refuses(b, leg, places[k].link, &why))
			planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
}

static int want_on(struct plan_builder *b, const struct plan_leg *leg, const struct plan_place *at)
{
	struct plan_step *s = planner_want_add(b, &object_device, leg);
	struct kernel_device *v;

	if (!s)
		return -ENOMEM;
	planner_step_on(s, at->link);
	/* Set the qdisc after ports have joined their bond, because the queues of a link are
	 * unknown while it is down. */
	s->phase = OBJECT_PHASE_ROUTE;
	s->disruptive = false; /* the change is not disruptive: packets in the queue are lost
				  and sent again */
	s->change.kind = KERNEL_DEVICE;
	v = &s->change.device;
	v->attr = DEVICE_QDISC;
	snprintf(v->value, sizeof(v->value), "%s", spec_qdisc_to_string(at->net->qdisc));
	snprintf(v->was, sizeof(v->was), "%s", at->link->qdisc);
	snprintf(s->reason, sizeof(s->reason), "qdisc of leg %s sets this value", at->net->name);
	return 0;
}

static int qdisc_want(struct plan_builder *b, const struct plan_leg *leg)
{
	struct plan_place places[PLAN_PORTS_MAX];
	const size_t n = plan_bond_places(b, leg, places);
	struct reason why;
	int r = 0;

	for (size_t k = 0; k < n && r == 0; k++)
		if (places[k].net->qdisc != SPEC_QDISC_AS_FOUND &&
		    !refuses(b, leg, places[k].link, &why))
			r = want_on(b, leg, &places[k]);
	return r;
}

const struct plan_feature plan_feature_qdisc = {
	.name = "qdisc",
	.check_leg = qdisc_check_leg,
	.want = {[PLAN_STAGE_AFTER_LINK] = qdisc_want},
};
