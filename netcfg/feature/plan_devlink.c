/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns the parameters that a NIC family needs (nic.h) into steps and operator actions, by their
 * mode. Runtime parameters are set by steps. Parameters that take effect when the driver starts are
 * set too, but the operator must restart the driver, because the restart removes the driver's
 * links. Permanent parameters belong to the firmware, and only the operator changes them.
 */
#include "netcfg/feature/plan_devlink.h"
#include "netcfg/feature/feature.h"
#include "netcfg/feature/plan_bond.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/nic.h"
#include <stdio.h>
#include <string.h>

#define DRIVERINIT "driverinit"
#define PERMANENT "permanent"

static bool is_asked(const struct plan_place *p, const struct nic_devlink *want)
{
	switch (want->when) {
	case NIC_WHEN_ROCE:
		return p->net->rdma >= SPEC_RDMA_ON || p->net->roce_mode != SPEC_ROCE_AS_FOUND ||
		       p->net->roce_tos;
	default:
		return false;
	}
}

static bool is_true(const struct inventory *inv, const char *pci, const char *name)
{
	static const char *const modes[] = {"runtime", DRIVERINIT};

	for (size_t i = 0; name && i < ARRAY_SIZE(modes); i++) {
		const struct inv_devlink_param *p =
			inv_devlink_param_find(inv, pci, name, modes[i]);

		if (p && strcmp(p->value, "true") == 0)
			return true;
	}
	return false;
}

/* Returns the device's parameter if a leg on the device needs it. Returns NULL if no leg needs it,
 * or if the operator chose an alternative parameter (`unless`). */
static const struct inv_devlink_param *wanted(const struct plan_builder *b,
					      const struct plan_place *p,
					      const struct nic_devlink *want)
{
	if (!p->link->pci[0] || !is_asked(p, want) || is_true(b->inv, p->link->pci, want->unless))
		return NULL;
	return inv_devlink_param_find(b->inv, p->link->pci, want->name, want->mode);
}

/* Returns whether the parameter has taken effect. */
static bool has_effect(const struct plan_place *p, const struct nic_devlink *want)
{
	return want->when != NIC_WHEN_ROCE || p->link->rdma[0];
}

static void need_reload(struct plan_builder *b, const struct plan_place *p,
			const struct nic_devlink *want)
{
	struct plan_need *need =
		plan_need_add(b->plan, "devlink-reload",
			      "%s; %s becomes %s only when the driver of %s restarts, and a "
			      "restart removes its links for a moment",
			      want->why, want->name, want->value, p->link->name);

	if (need)
		snprintf(need->command, sizeof(need->command),
			 "devlink dev param set pci/%s name %s value %s cmode %s && "
			 "devlink dev reload pci/%s",
			 p->link->pci, want->name, want->value, want->mode, p->link->pci);
}

static void need_permanent(struct plan_builder *b, const struct plan_place *p,
			   const struct nic_devlink *want, const char *is)
{
	struct plan_need *need = plan_need_add(b->plan, "devlink-permanent",
					       "%s; the firmware of %s has %s set to %s", want->why,
					       p->link->name, want->name, is);

	if (!need)
		return;
	need->reboot = true;
	snprintf(need->command, sizeof(need->command),
		 "devlink dev param set pci/%s name %s value %s cmode " PERMANENT, p->link->pci,
		 want->name, want->value);
}

static void check_place(struct plan_builder *b, const struct plan_place *p)
{
	const struct nic_family *family = nic_family_find(p->link->driver);

	for (size_t i = 0; i < family->n_devlink; i++) {
		const struct nic_devlink *want = &family->devlink[i];
		const struct inv_devlink_param *is = wanted(b, p, want);

		if (!is)
			continue;
		if (strcmp(want->mode, PERMANENT) == 0 && strcmp(is->value, want->value) != 0)
			need_permanent(b, p, want, is->value);
		else if (strcmp(want->mode, DRIVERINIT) == 0 && !has_effect(p, want))
			need_reload(b, p, want);
	}
}

static void devlink_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg)
{
	struct plan_place places[PLAN_PORTS_MAX];
	const size_t n = plan_bond_places(b, leg, places);

	for (size_t j = 0; j < n; j++)
		check_place(b, &places[j]);
}

static int want_param(struct plan_builder *b, const struct plan_leg *leg,
		      const struct plan_place *p, const struct nic_devlink *want, const char *was)
{
	struct plan_step *s = planner_want_add(b, &object_devlink, leg);
	struct kernel_devlink *v;

	if (!s)
		return -ENOMEM;
	planner_step_on(s, p->link);
	memcpy(s->leg, p->net->name, sizeof(s->leg));
	snprintf(s->link, sizeof(s->link), "%s", p->link->pci);
	s->change.kind = KERNEL_DEVLINK;
	s->change.ifindex = 0;
	v = &s->change.devlink;
	snprintf(v->name, sizeof(v->name), "%s", want->name);
	snprintf(v->mode, sizeof(v->mode), "%s", want->mode);
	snprintf(v->value, sizeof(v->value), "%s", want->value);
	snprintf(v->was, sizeof(v->was), "%s", was);
	snprintf(s->reason, sizeof(s->reason), "%s", want->why);
	return 0;
}

/* Returns whether a step may set the parameter. The parameter must not be permanent. Its present
 * value must not contain blanks, which the journal cannot store; no known driver has such a
 * value. */
static bool can_set(const struct inv_devlink_param *is, const struct nic_devlink *want)
{
	return strcmp(want->mode, PERMANENT) != 0 && !strpbrk(is->value, " \t\n");
}

static int devlink_want(struct plan_builder *b, const struct plan_leg *leg)
{
	struct plan_place places[PLAN_PORTS_MAX];
	const size_t n = plan_bond_places(b, leg, places);
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		const struct nic_family *family = nic_family_find(places[i].link->driver);

		for (size_t j = 0; j < family->n_devlink && r == 0; j++) {
			const struct nic_devlink *want = &family->devlink[j];
			const struct inv_devlink_param *is = wanted(b, &places[i], want);

			if (is && can_set(is, want))
				r = want_param(b, leg, &places[i], want, is->value);
		}
	}
	return r;
}

bool plan_devlink_need_sriov(struct plan_builder *b, const char *pci, const char *leg, uint32_t n)
{
	const struct inv_devlink_param *on =
		inv_devlink_param_find(b->inv, pci, "enable_sriov", PERMANENT);
	const bool counts = inv_devlink_param_find(b->inv, pci, "total_vfs", PERMANENT) != NULL;
	struct plan_need *need;
	char count[160] = "";

	if (!on || strcmp(on->value, "false") != 0)
		return false;
	need = plan_need_add(b->plan, "sriov-firmware",
			     "SR-IOV is disabled in the firmware of %s, but leg %s needs %u VFs",
			     pci, leg, n);
	if (!need)
		return true;
	need->reboot = true;
	if (counts)
		snprintf(
			count, sizeof(count),
			" && devlink dev param set pci/%s name total_vfs value %u cmode " PERMANENT,
			pci, n);
	snprintf(need->command, sizeof(need->command),
		 "devlink dev param set pci/%s name enable_sriov value true cmode " PERMANENT "%s",
		 pci, count);
	return true;
}

const struct plan_feature plan_feature_devlink = {
	.name = "devlink",
	.check_leg = devlink_check_leg,
	.want = {[PLAN_STAGE_DEVICE] = devlink_want},
};
