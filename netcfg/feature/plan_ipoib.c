/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans `ipoib-mode` for legs on InfiniBand. */
#include "netcfg/feature/feature.h"
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

/* the kernel rejects more than 2044 if the MTU of the InfiniBand subnet is 2048 */
#define DATAGRAM_MTU_MAX 4092

static bool is_asked(const struct plan_leg *leg)
{
	return leg->net->ipoib_mode != SPEC_IPOIB_AS_FOUND;
}

static bool ipoib_refuse_mtu(const struct plan_leg *leg, struct reason *why)
{
	const char *mode = is_asked(leg) ? spec_ipoib_to_string(leg->net->ipoib_mode)
					 : leg->device->ipoib_mode;

	if (!leg->device->ipoib_mode[0] || strcmp(mode, "datagram") != 0 ||
	    leg->mtu <= DATAGRAM_MTU_MAX || !leg->set_mtu)
		return false;
	reason_set(
		why, "mtu-impossible",
		"network %.*s needs mtu %u, but IPoIB in datagram mode supports at most 2044, or "
		"%u if the subnet's MTU is 4096; write ipoib-mode: connected, or a smaller mtu",
		PLENUM_NAME_MAX, leg->network->name, leg->mtu, DATAGRAM_MTU_MAX);
	return true;
}

static void ipoib_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg)
{
	struct reason why;

	if (leg->shared || !is_asked(leg) || leg->device->ipoib_mode[0])
		return;
	reason_set(&why, "no-ipoib", "%s is not an IPoIB interface; remove ipoib-mode from leg %s",
		   leg->device->name, leg->net->name);
	planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
}

static int want_mode(struct plan_builder *b, const struct plan_leg *leg, bool after_mtu)
{
	const bool datagram = leg->net->ipoib_mode == SPEC_IPOIB_DATAGRAM;
	struct kernel_device *v;
	struct plan_step *s;

	if (!is_asked(leg) || !leg->device->ipoib_mode[0] || datagram != after_mtu)
		return 0;
	s = planner_want_add(b, &object_device, leg);
	if (!s)
		return -ENOMEM;
	planner_step_on(s, leg->device);
	s->phase = datagram ? OBJECT_PHASE_LINK : OBJECT_PHASE_OF_KIND;
	s->disruptive = leg->device->up;
	s->change.kind = KERNEL_DEVICE;
	v = &s->change.device;
	v->attr = DEVICE_IPOIB_MODE;
	snprintf(v->value, sizeof(v->value), "%s", spec_ipoib_to_string(leg->net->ipoib_mode));
	snprintf(v->was, sizeof(v->was), "%s", leg->device->ipoib_mode);
	snprintf(s->reason, sizeof(s->reason), "ipoib-mode of leg %s sets this value",
		 leg->net->name);
	return 0;
}

/* Sets connected mode. This must come before the MTU, because a large MTU needs connected mode. */
static int want_connected(struct plan_builder *b, const struct plan_leg *leg)
{
	return want_mode(b, leg, false);
}

/* Sets datagram mode. This must come after the MTU, because the kernel rejects datagram mode while
 * the MTU is too large for it. */
static int want_datagram(struct plan_builder *b, const struct plan_leg *leg)
{
	return want_mode(b, leg, true);
}

const struct plan_feature plan_feature_ipoib = {
	.name = "ipoib",
	.refuse_mtu = ipoib_refuse_mtu,
	.check_leg = ipoib_check_leg,
	.want = {[PLAN_STAGE_BEFORE_LINK] = want_connected,
		 [PLAN_STAGE_AFTER_LINK] = want_datagram},
};
