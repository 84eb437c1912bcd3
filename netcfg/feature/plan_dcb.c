/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans `dcb`. DCB is a property of NIC ports: a VLAN uses the settings of its parent, and a bond
 * uses the settings of each of its ports.
 */
#include "netcfg/feature/feature.h"
#include "netcfg/feature/plan_bond.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/nic.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_asked(const struct spec_dcb *dcb)
{
	return dcb->n_pfc || dcb->n_dscp || dcb->n_ets || dcb->trust != SPEC_TRUST_AS_FOUND;
}

static uint8_t bits_of(const uint32_t *prios, size_t n)
{
	unsigned bits = 0;

	for (size_t i = 0; i < n; i++)
		bits |= 1U << prios[i];
	return (uint8_t)bits;
}

static const char *ets_value(const struct spec_dcb *dcb, char buf[static INV_DEVICE_VALUE_MAX])
{
	struct dcb_ets e = {.tc = {0}};

	for (size_t i = 0; i < dcb->n_ets; i++) {
		const struct spec_ets *c = &dcb->ets[i];

		e.tsa[c->tc] = c->bandwidth ? DCB_TSA_ETS : DCB_TSA_STRICT;
		e.bandwidth[c->tc] = (uint8_t)c->bandwidth;
		for (size_t j = 0; j < c->n_prios; j++)
			e.tc[c->prios[j]] = (uint8_t)c->tc;
	}
	return dcb_ets_format(&e, buf);
}

static uint32_t classes_of(const struct spec_dcb *dcb)
{
	uint32_t n = 0;

	for (size_t i = 0; i < dcb->n_ets; i++)
		n = MAX_OF(n, dcb->ets[i].tc + 1);
	return n;
}

/* Returns whether the port trusts the configured field without a trust setting: a driver that lacks
 * the setting trusts DSCP as soon as its DSCP table has entries. */
static bool trust_is_implied(const struct inv_dcb *have, const struct spec_dcb *dcb)
{
	return !have->trust[0] &&
	       (dcb->trust == SPEC_TRUST_DSCP ? dcb->n_dscp > 0 || have->dscp[0] : !have->dscp[0]);
}

/* Returns what the driver lacks for this configuration, or "" if it lacks nothing. */
static const char *missing_capability(const struct inv_dcb *have, const struct spec_dcb *dcb,
				      char *buf, size_t size)
{
	buf[0] = '\0';
	if (dcb->n_pfc && !have->pfc[0])
		snprintf(buf, size, "the device has no flow control (pfc)");
	else if (dcb->n_ets && !have->ets[0])
		snprintf(buf, size, "the device has no traffic classes (ets)");
	else if (have->max_pfc && dcb->n_pfc > have->max_pfc)
		snprintf(buf, size, "flow control covers at most %u priorities, but 'pfc' has %zu",
			 have->max_pfc, dcb->n_pfc);
	else if (have->max_classes && classes_of(dcb) > have->max_classes)
		snprintf(buf, size,
			 "the device has %u traffic classes, from 0 on, but 'ets' uses class "
			 "%" PRIu32 "",
			 have->max_classes, classes_of(dcb) - 1);
	else if (dcb->trust == SPEC_TRUST_DSCP && !have->trust[0] && !trust_is_implied(have, dcb))
		snprintf(buf, size,
			 "the device trusts DSCP only if 'dscp' has entries, but 'dscp' has none");
	else if (dcb->trust == SPEC_TRUST_PCP && !have->trust[0] && !trust_is_implied(have, dcb))
		snprintf(buf, size,
			 "the device trusts DSCP while it has DSCP entries, and %.60s exists",
			 have->dscp);
	return buf;
}

/* Returns true and sets why if the port does not support the leg's configuration. */
static bool refusal(const struct plan_builder *b, const struct plan_place *p, struct reason *ret)
{
	const struct inv_dcb *have = inv_dcb_find(b->inv, p->link->ifindex);
	const char *flag = nic_family_find(p->link->driver)->lldp_to_host;
	char what[128];

	if (!have)
		reason_set(ret, "no-dcb",
			   "the driver of %s%s%s%s does not support DCB (dcbnl); remove 'dcb' from "
			   "leg %s",
			   p->link->name, p->link->driver[0] ? " (" : "", p->link->driver,
			   p->link->driver[0] ? ")" : "", p->net->name);
	else if (have->firmware && flag)
		reason_set(ret, "dcb-firmware",
			   "the firmware of %s controls DCB, not the host; disable its LLDP agent "
			   "(ethtool --set-priv-flags %s %s), or remove 'dcb' from the leg",
			   p->link->name, p->link->name, flag);
	else if (have->firmware)
		reason_set(ret, "dcb-firmware",
			   "the firmware of %s controls DCB, not the host; disable its LLDP agent "
			   "with the vendor's tool, or remove 'dcb' from the leg",
			   p->link->name);
	else if (*missing_capability(have, &p->net->dcb, what, sizeof(what)))
		reason_set(ret, "dcb-lacking", "%s does not support what 'dcb' asks for: %s",
			   p->link->name, what);
	else
		return false;
	return true;
}

static void dcb_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg)
{
	struct plan_place places[PLAN_PORTS_MAX];
	const size_t n = plan_bond_places(b, leg, places);
	struct reason why;

	for (size_t j = 0; j < n; j++)
		if (is_asked(&places[j].net->dcb) && refusal(b, &places[j], &why))
			planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
}

static int want_value(struct plan_builder *b, const struct plan_leg *leg,
		      const struct plan_place *p, enum device_attr attr, uint32_t dscp,
		      const char *value)
{
	struct plan_step *s = planner_want_add(b, &object_device, leg);
	struct kernel_device *v;

	if (!s)
		return -ENOMEM;
	planner_step_on(s, p->link);
	memcpy(s->leg, p->net->name, sizeof(s->leg));
	s->disruptive = p->link->up; /* disruptive, because some drivers stop their queues for the
					change */
	s->change.kind = KERNEL_DEVICE;
	v = &s->change.device;
	v->attr = attr;
	v->dscp = (uint8_t)dscp;
	snprintf(v->value, sizeof(v->value), "%s", value);
	if (!device_value_find(b->inv, p->link->ifindex, attr, v->dscp, v->was))
		snprintf(v->was, sizeof(v->was), "none");
	snprintf(s->reason, sizeof(s->reason), "'dcb' of leg %s sets this value", p->net->name);
	return 0;
}

static int want_place(struct plan_builder *b, const struct plan_leg *leg,
		      const struct plan_place *p)
{
	const struct inv_dcb *have = inv_dcb_find(b->inv, p->link->ifindex);
	const struct spec_dcb *dcb = &p->net->dcb;
	char value[INV_DEVICE_VALUE_MAX];
	int r = 0;

	if (have->trust[0] && dcb->trust != SPEC_TRUST_AS_FOUND)
		r = want_value(b, leg, p, DEVICE_TRUST, 0,
			       dcb->trust == SPEC_TRUST_DSCP ? "dscp" : "pcp");
	for (size_t i = 0; i < dcb->n_dscp && r == 0; i++)
		r = want_value(b, leg, p, DEVICE_DSCP, dcb->dscp[i].dscp,
			       dcb_prios_format((uint8_t)(1U << dcb->dscp[i].prio), value));
	if (r == 0 && dcb->n_ets)
		r = want_value(b, leg, p, DEVICE_ETS, 0, ets_value(dcb, value));
	if (r == 0 && dcb->n_pfc)
		r = want_value(b, leg, p, DEVICE_PFC, 0,
			       dcb_prios_format(bits_of(dcb->pfc, dcb->n_pfc), value));
	return r;
}

static int dcb_want(struct plan_builder *b, const struct plan_leg *leg)
{
	struct plan_place places[PLAN_PORTS_MAX];
	const size_t n = plan_bond_places(b, leg, places);
	struct reason why;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		if (is_asked(&places[i].net->dcb) && !refusal(b, &places[i], &why))
			r = want_place(b, leg, &places[i]);
	return r;
}

const struct plan_feature plan_feature_dcb = {
	.name = "dcb",
	.check_leg = dcb_check_leg,
	.want = {[PLAN_STAGE_DEVICE] = dcb_want},
};
