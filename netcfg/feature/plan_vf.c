/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the VFs of a leg, from the spec, the NIC family and the host. All VFs of a leg are planned
 * together.
 */
#include "netcfg/feature/plan_vf.h"
#include "netcfg/feature/feature.h"
#include "netcfg/feature/plan_devlink.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/backend.h"
#include "netcfg/plan/nic_use.h"
#include "netcfg/plan/plan_guard.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/worker/plan_vf_assign.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VFIO_DRIVER "vfio-pci"

/* Counts the workers whose requested transport uses VFs. A worker that falls back to UDP for now
 * counts too, so that it keeps its VF. */
static uint32_t workers_by_name(const struct plan *p, const struct nic_family *family)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n_workers; i++)
		n += backend_takes_vf(p->workers[i].asked, family);
	return n;
}

/* Counts the workers that workers_by_name() counts, and also the workers with transport: auto for
 * which an apply has accepted a transport that uses VFs. */
static uint32_t workers_with_claim(const struct plan *p, const struct nic_family *family)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n_workers; i++)
		n += backend_takes_vf(p->workers[i].claim, family);
	return n;
}

/* Returns whether Plenum created the VFs of this PF, according to the record of owned values or in
 * the apply in progress. */
static bool vfs_are_ours(const struct plan_builder *b, const char *pf)
{
	const struct plan_owned *owned = b->ctx->owned;

	for (size_t i = 0; i < b->ctx->n_made; i++)
		if (strcmp(b->ctx->made[i], pf) == 0)
			return true;
	for (size_t i = 0; owned && i < owned->n; i++)
		if (owned->steps[i].kind == &object_pci &&
		    owned->steps[i].change.pci_value.attr == KERNEL_PCI_VFS &&
		    strcmp(owned->steps[i].link, pf) == 0)
			return true;
	return false;
}

/* Returns whether vfio still gives a device to a process if another device of its IOMMU group has
 * this driver. */
static bool driver_is_accepted(const char *driver)
{
	static const char *const accepted[] = {"", VFIO_DRIVER, "pci-stub", "pcieport"};

	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++)
		if (strcmp(driver, accepted[i]) == 0)
			return true;
	return strncmp(driver, "vfio", 4) == 0;
}

/* Returns true and sets why if another driver has a device in the IOMMU group of one of the VFs:
 * the kernel then does not give that VF to any process. Other VFs of Plenum in the group do not
 * count, because they will be bound to vfio too. The groups of new VFs are known only after their
 * creation; pci.c checks them then. */
static bool group_is_foreign(const struct plan_builder *b, const struct inv_function *pf,
			     const struct nic_family *family, uint32_t n, struct reason *why)
{
	for (uint32_t vf = 0; family->reach == NIC_BY_VFIO && vf < n; vf++) {
		const struct inv_function *fn = inv_function_vf(b->inv, pf->pci, vf);
		const struct inv_iommu *m;

		for (size_t i = 0; fn && (m = inv_iommu_other(b->inv, fn, i)); i++) {
			const struct inv_function *other = inv_function_find(b->inv, m->pci);

			if (driver_is_accepted(m->driver) ||
			    (other && strcmp(other->physfn, pf->pci) == 0 && other->vf < n))
				continue;
			reason_set(why, "iommu-group",
				   "%s shares IOMMU group %d with %s (driver %.31s), so this VF "
				   "cannot be assigned to a worker; enable ACS in the firmware, "
				   "move the NIC to another slot, or write vfs: 0",
				   fn->pci, m->group, m->pci, m->driver);
			return true;
		}
	}
	return false;
}

/* Returns a VF of the PF that is bound to a driver, or NULL if no VF is bound. */
static const struct inv_function *vf_in_use(const struct plan_builder *b, const char *pf)
{
	for (size_t i = 0; i < b->inv->n_functions; i++) {
		const struct inv_function *fn = &b->inv->functions[i];

		if (strcmp(fn->physfn, pf) == 0 && fn->driver[0])
			return fn;
	}
	return NULL;
}

/* ---- number of VFs ---- */

struct vf_ask {
	uint32_t n;
	bool by_auto; /* some of the VFs are for workers with transport: auto */
};

static void too_many(struct plan_builder *b, const struct spec_net *net,
		     const struct inv_function *pf, uint32_t limit)
{
	const char *tool = nic_family_find(pf->driver)->sriov_tool;
	char more[96] = "";

	if (tool)
		snprintf(more, sizeof(more),
			 ", or raise the limit with '%s -d %s set NUM_OF_VFS=%d'", tool, pf->pci,
			 net->vfs);
	diag_add(b->d, DIAG_ERROR, &net->pos, NULL,
		 "leg %s asks for %d VFs, but %s supports at most %u; write fewer, or auto%s",
		 net->name, net->vfs, pf->pci, limit, more);
}

static void too_few(struct plan_builder *b, const struct spec_net *net, uint32_t workers)
{
	diag_add(
		b->d, DIAG_ERROR, &net->pos, NULL,
		"leg %s has vfs: %d, but %u workers use dpdk and each needs a VF; write %u or auto",
		net->name, net->vfs, workers, workers);
}

static uint32_t limit_of(const struct inv_function *pf, const struct nic_family *family)
{
	const uint32_t most = MIN_OF(pf->max_vfs, PLAN_VFS_MAX);

	return family->vf_limit ? MIN_OF(family->vf_limit, most) : most;
}

/* Returns how many VFs the spec and the device allow at most. */
static uint32_t numbers_of(const struct spec_net *net, const struct inv_function *pf,
			   const struct nic_family *family)
{
	const uint32_t limit = limit_of(pf, family);

	return net->vfs > 0 ? MIN_OF((uint32_t)net->vfs, limit) : limit;
}

/* Returns the number of VFs for this leg, whose workers need `needed`. Returns 0 with an error in d
 * if the configured number is impossible. */
static uint32_t choose_count(struct plan_builder *b, const struct spec_net *net,
			     const struct inv_function *pf, const struct nic_family *family,
			     uint32_t needed)
{
	const uint32_t workers = workers_by_name(b->plan, family), limit = limit_of(pf, family);

	if (net->vfs == SPEC_VFS_AUTO)
		return MIN_OF(needed, limit); /* workers without a VF share the kernel's
						 interface */
	if ((uint32_t)net->vfs > limit)
		too_many(b, net, pf, limit);
	else if ((uint32_t)net->vfs < workers)
		too_few(b, net, workers);
	else
		return (uint32_t)net->vfs;
	return 0;
}

/* ---- availability ---- */

static void need_switch(struct plan_builder *b, const struct plan_leg *leg,
			const struct inv_function *pf, const struct nic_family *family, uint32_t n)
{
	struct plan_need *need = plan_need_add(
		b->plan, "sriov-firmware",
		"SR-IOV is disabled in the firmware of %s (%s), but leg %s needs %u VFs", pf->pci,
		family->name, leg->net->name, n);

	if (!need)
		return;
	need->reboot = true;
	snprintf(need->command, sizeof(need->command), "%s -y -d %s set SRIOV_EN=1 NUM_OF_VFS=%u",
		 family->sriov_tool, pf->pci, n);
}

static bool no_sriov(struct plan_builder *b, const struct plan_leg *leg,
		     const struct inv_function *pf, const struct nic_family *family, bool quiet,
		     struct reason *why)
{
	const char *driver = leg->device->driver[0] ? leg->device->driver
						    : inv_link_kind_to_string(leg->device->kind);
	const uint32_t n =
		leg->net->vfs > 0 ? (uint32_t)leg->net->vfs : workers_with_claim(b->plan, family);
	bool off;

	if (pf && pf->max_vfs)
		return false;
	off = pf && !quiet && plan_devlink_need_sriov(b, pf->pci, leg->net->name, n);
	if (pf && !off && !quiet && family->sriov_tool)
		need_switch(b, leg, pf, family, n);
	if (off || (pf && family->sriov_tool)) {
		reason_set(why, "no-vf", "SR-IOV of %s (%.31s) is disabled in firmware",
			   leg->device->name, driver);
		return true;
	}
	reason_set(why, "no-vf", "%s (%.31s) offers no SR-IOV", leg->device->name, driver);
	return true;
}

/* In switchdev mode, VFs are ports of a switch inside the NIC. Plenum does not configure that
 * switch, so their frames would not leave the NIC. */
static bool is_switchdev(const struct plan_builder *b, const struct inv_function *pf,
			 struct reason *why)
{
	const struct inv_devlink *d = inv_devlink_find(b->inv, pf->pci);

	if (!d || strcmp(d->eswitch, "switchdev") != 0)
		return false;
	reason_set(why, "switchdev",
		   "%s is in switchdev mode, so its VFs reach the wire only through representors; "
		   "write vfs: 0, or run 'devlink dev eswitch set %s mode legacy'",
		   pf->pci, d->device);
	return true;
}

static bool no_iommu(struct plan_builder *b, const struct inv_function *pf,
		     const struct nic_family *family, bool quiet, struct reason *why)
{
	struct plan_need *need;

	if (family->reach != NIC_BY_VFIO || pf->iommu_group != INV_IOMMU_NONE)
		return false;
	need = quiet ? NULL
		     : plan_need_add(b->plan, "iommu",
				     "the IOMMU is off, and workers need it to use VFs");
	if (need) {
		need->reboot = true;
		snprintf(need->kernel_args, sizeof(need->kernel_args),
			 "intel_iommu=on amd_iommu=on iommu=pt");
		snprintf(need->firmware, sizeof(need->firmware),
			 "enable VT-d or AMD-Vi (IOMMU) in the firmware setup");
	}
	reason_set(why, "no-iommu",
		   "the IOMMU is off, so VFs of %s cannot be assigned to workers; boot with "
		   "intel_iommu=on or amd_iommu=on, and iommu=pt",
		   pf->pci);
	return true;
}

static bool vfs_are_foreign(const struct plan_builder *b, const struct inv_function *pf, uint32_t n,
			    struct reason *why)
{
	const struct inv_function *used;

	if (pf->n_vfs == 0 || vfs_are_ours(b, pf->pci))
		return false;
	used = vf_in_use(b, pf->pci);
	if (pf->n_vfs == n && !used)
		/* The needed VFs exist exactly: another program, such as a systemd unit, presumably
		 * created them for Plenum. */
		return false;
	if (used)
		reason_set(why, "vfs-foreign",
			   "another program created %u VFs of %s, and %s is in use by driver "
			   "%.31s; remove these VFs, or write vfs: 0",
			   pf->n_vfs, pf->pci, used->pci, used->driver);
	else
		reason_set(why, "vfs-foreign",
			   "another program created %u VFs of %s, but %u are needed; write 0 to "
			   "the device's sriov_numvfs, or configure vfs: %u",
			   pf->n_vfs, pf->pci, n, pf->n_vfs);
	return true;
}

/* Returns true and sets why if an attempt to create n VFs has failed. Such an attempt is not
 * repeated, because it would interrupt the PF and fail again. */
static bool vfs_are_refused(struct plan_builder *b, const struct inv_function *pf, uint32_t n,
			    struct reason *why)
{
	const struct plan_refusal *refusal = plan_failures_find_vfs(b->ctx->failures, pf->pci, n);
	struct plan_need *need;

	if (!refusal || pf->n_vfs == n)
		return false;
	reason_set(why, "vfs-refused",
		   "the kernel failed to create %u VFs of %s: %s; an apply or a reload retries", n,
		   pf->pci, refusal->why);
	need = plan_need_add(b->plan, "vf-resources",
			     "the kernel failed to create %u VFs of %s: %s", n, pf->pci,
			     refusal->why);
	if (need) {
		need->reboot = true;
		snprintf(need->kernel_args, sizeof(need->kernel_args), "pci=realloc");
		snprintf(need->firmware, sizeof(need->firmware),
			 "enable SR-IOV and 'above 4G decoding' in the firmware setup, or "
			 "configure fewer VFs");
	}
	return true;
}

/* Returns true and sets why if running workers use the VFs but more are needed: the kernel must
 * remove all VFs before it can create more. */
static bool vfs_are_busy(const struct plan_builder *b, const struct inv_function *pf, uint32_t n,
			 struct reason *why)
{
	if (pf->n_vfs == 0 || pf->n_vfs >= n || !plan_function_is_held(b, pf))
		return false;
	reason_set(why, "vfs-busy",
		   "%s has %u VFs in use, but %u are needed, and the kernel must remove all VFs to "
		   "add some; run 'plenum stop', then apply",
		   pf->pci, pf->n_vfs, n);
	return true;
}

/* Returns true and sets why if the device carries the host's default route. The plan creates no VFs
 * for transport: auto on such a device, even if the driver promises no interruption, or with
 * --force. */
static bool carries_host(const struct plan_builder *b, const struct plan_leg *leg,
			 struct reason *why)
{
	struct reason dependent;

	if (!plan_link_dependent(b->inv, leg->device, &dependent) ||
	    strcmp(dependent.code, "default-route") != 0)
		return false;
	reason_set(why, dependent.code,
		   "%.80s, so transport: auto creates no VFs there; write transport: dpdk",
		   dependent.text);
	return true;
}

static bool creation_disturbs_host(struct plan_builder *b, const struct plan_leg *leg,
				   const struct inv_function *pf, const struct nic_family *family,
				   const struct vf_ask *ask, struct reason *why)
{
	const struct inv_link *mgmt = inv_link_by_name(b->inv, b->spec->management_interface);
	struct reason dependent;

	if (pf->n_vfs >= ask->n)
		return false;
	if (mgmt && plan_link_stands_on(b->inv, mgmt, leg->device)) {
		reason_set(why, "management",
			   "%s carries the management interface %s, which is never reconfigured; "
			   "write another device or vfs: 0",
			   leg->device->name, mgmt->name);
		return true;
	}
	if (ask->by_auto && carries_host(b, leg, why))
		return true;
	if (family->vfs_undisturbed || !leg->device->up ||
	    !plan_link_guarded(b, leg->device, &dependent))
		return false;
	reason_set(why, dependent.code,
		   "%.80s, and the driver interrupts the link while VFs are created; write another "
		   "device or vfs: 0, or use plenum apply --force %s",
		   dependent.text, leg->device->name);
	return true;
}

/* Returns true and sets why if another leg has the VFs: two ports of one PCI function share its
 * VFs, and a VF can belong to only one leg. */
static bool vfs_are_taken(const struct plan_builder *b, const struct plan_leg *leg,
			  struct reason *why)
{
	for (size_t i = 0; i < b->n_legs; i++) {
		if (&b->legs[i] == leg || b->legs[i].n_vfs == 0 ||
		    strcmp(b->legs[i].device->pci, leg->device->pci) != 0)
			continue;
		reason_set(why, "vfs-taken",
			   "%s and %s are ports of the same PCI function, %s, and leg %s uses its "
			   "VFs; write vfs: 0",
			   leg->device->name, b->legs[i].device->name, leg->device->pci,
			   b->legs[i].net->name);
		return true;
	}
	return false;
}

/* Sets leg->n_vfs if that many VFs are possible. Returns false and sets why if not. */
static bool try_count(struct plan_builder *b, struct plan_leg *leg, const struct inv_function *pf,
		      const struct nic_family *family, const struct vf_ask *ask, struct reason *why)
{
	const uint32_t n = ask->n;

	if (vfs_are_foreign(b, pf, n, why) || vfs_are_refused(b, pf, n, why) ||
	    group_is_foreign(b, pf, family, n, why) || vfs_are_busy(b, pf, n, why) ||
	    creation_disturbs_host(b, leg, pf, family, ask, why))
		return false;
	/* VFs that are no longer needed stay, because the kernel can only remove all VFs of a PF
	 * together. */
	leg->n_vfs = vfs_are_ours(b, pf->pci) ? MAX_OF(n, pf->n_vfs) : n;
	return true;
}

/* Tries the needed number of VFs first. The second try is the number of workers that name a
 * transport, or the number of existing VFs if that is larger. The last try is the number of
 * existing VFs. So a worker never loses its VF because other workers ask for more. */
static void try_counts(struct plan_builder *b, struct plan_leg *leg, const struct inv_function *pf,
		       const struct nic_family *family, uint32_t n)
{
	const bool by_auto = leg->net->vfs == SPEC_VFS_AUTO;
	const uint32_t named = by_auto ? MIN_OF(plan_vf_needed(b->plan, leg, true), n) : 0;
	const uint32_t there = vfs_are_ours(b, pf->pci) ? pf->n_vfs : 0;
	const uint32_t counts[] = {n, MAX_OF(named, there), there};
	struct reason unused;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const struct vf_ask ask = {.n = counts[i], .by_auto = by_auto && counts[i] > named};

		if (i > 0 && (counts[i] == 0 || counts[i] >= counts[i - 1]))
			continue;
		if (try_count(b, leg, pf, family, &ask, i == 0 ? &leg->why_no_vfs : &unused))
			return;
	}
}

/* Removes the assignment of VF numbers that do not exist. */
static void drop_missing_vfs(struct plan_builder *b, const struct plan_leg *leg)
{
	for (size_t i = 0; leg->n_vfs && i < b->plan->n_workers; i++)
		if (b->plan->workers[i].vf[leg->index] > leg->n_vfs)
			b->plan->workers[i].vf[leg->index] = 0;
}

static void vf_claim(struct plan_builder *b, struct plan_leg *leg)
{
	const struct spec_net *net = leg->net;
	const struct inv_function *pf = inv_function_find(b->inv, leg->device->pci);
	const struct nic_family *family = nic_family_find(leg->device->driver);
	struct reason *why = &leg->why_no_vfs;
	const bool quiet = net->vfs == SPEC_VFS_AUTO && workers_with_claim(b->plan, family) == 0;
	uint32_t needed, n;

	if (net->vfs == 0 || leg->shared)
		return;
	if (pf && pf->max_vfs)
		plan_vf_assign(b, leg, numbers_of(net, pf, family));
	needed = plan_vf_needed(b->plan, leg, false);
	if (net->vfs == SPEC_VFS_AUTO &&
	    ((needed == 0 && quiet) || family->reach == NIC_BY_FLOW_RULES))
		return; /* flow rules steer packets to workers without VFs, so no VFs are needed */
	if (!no_sriov(b, leg, pf, family, quiet, why) && !vfs_are_taken(b, leg, why) &&
	    !no_iommu(b, pf, family, quiet, why) && !is_switchdev(b, pf, why)) {
		n = choose_count(b, net, pf, family, needed);
		if (n == 0)
			return; /* d already has the error */
		try_counts(b, leg, pf, family, n);
		drop_missing_vfs(b, leg);
	}
	if (net->vfs != SPEC_VFS_AUTO && reason_is_set(why))
		planner_leg_set_state(b, leg->index, PLAN_LEG_DEGRADED, why);
}

static void explain_limit(const struct plan_leg *leg, uint32_t n, struct reason *why)
{
	reason_set(why, "vf-limit", "other workers use all VFs of %.15s (%u)", leg->device->name,
		   n);
}

/* Returns true and sets why if the device or the spec allows no VFs at all. */
static bool vfs_are_excluded(struct plan_builder *b, const struct plan_leg *leg,
			     const struct inv_function *pf, const struct nic_family *family,
			     struct reason *why)
{
	if (no_sriov(b, leg, pf, family, true, why))
		return true;
	if (leg->net->vfs == 0)
		reason_set(why, "policy", "leg %.32s has vfs: 0", leg->net->name);
	else if (leg->net->vfs == SPEC_VFS_AUTO && family->reach == NIC_BY_FLOW_RULES)
		reason_set(why, "no-vf", "%.15s (%.31s) gets VFs only if 'vfs' gives a number",
			   leg->device->name, leg->device->driver);
	else
		return vfs_are_taken(b, leg, why) || no_iommu(b, pf, family, true, why) ||
		       is_switchdev(b, pf, why);
	return true;
}

static bool vf_offer(struct plan_builder *b, struct plan_leg *leg, struct plan_worker *w,
		     struct reason *why)
{
	const struct inv_function *pf = inv_function_find(b->inv, leg->device->pci);
	const struct nic_family *family = nic_family_find(leg->device->driver);
	struct vf_ask ask = {.by_auto = true};
	uint32_t limit;

	if (w->vf[leg->index] && w->vf[leg->index] <= leg->n_vfs)
		return true;
	if (vfs_are_excluded(b, leg, pf, family, why))
		return false;
	limit = numbers_of(leg->net, pf, family);
	ask.n = plan_vf_number(b, leg, w, false, limit) + 1;
	if (ask.n > limit) {
		explain_limit(leg, limit, why);
		return false;
	}
	if (leg->n_vfs < ask.n && reason_is_set(&leg->why_no_vfs) && leg->net->vfs > 0) {
		*why = leg->why_no_vfs;
		return false;
	}
	if (leg->n_vfs < ask.n && !try_count(b, leg, pf, family, &ask, why))
		return false;
	w->vf[leg->index] = (uint16_t)ask.n;
	return true;
}

/* ---- desired state ---- */

static void vf_ref(const struct plan_leg *leg, uint32_t n, char ret[static KERNEL_LINK_REF_MAX])
{
	snprintf(ret, KERNEL_LINK_REF_MAX, "%.15s/vf%u", leg->device->pci, (uint16_t)n);
}

static void vf_resolve(struct plan_port *port, const struct inventory *inv)
{
	const struct inv_function *fn = port->vf[0] ? inv_function_by_ref(inv, port->vf) : NULL;

	if (fn)
		memcpy(port->pci, fn->pci, sizeof(port->pci));
}

size_t plan_vf_made(const struct plan *p, char made[static PLAN_PORTS_MAX][16])
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_steps && n < PLAN_PORTS_MAX; i++) {
		const struct kernel_change *c = &p->steps[i].change;

		if (c->kind == KERNEL_PCI && c->pci_value.attr == KERNEL_PCI_VFS &&
		    p->steps[i].verb == PLAN_SET)
			snprintf(made[n++], sizeof(made[0]), "%.15s", p->steps[i].link);
	}
	return n;
}

static bool vf_take(const struct plan_builder *b, const struct plan_leg *leg,
		    const struct plan_worker *w, struct plan_port *port)
{
	const uint32_t n = w->vf[leg->index] - 1U;
	const struct inv_function *fn;

	if (n >= leg->n_vfs)
		return false;
	vf_ref(leg, n, port->vf);
	fn = inv_function_by_ref(b->inv, port->vf);
	snprintf(port->pci, sizeof(port->pci), "%s", fn ? fn->pci : "");
	port->mac = nic_vf_mac(leg->device, n);
	return true;
}

static int want_value(struct plan_builder *b, const struct plan_leg *leg, const char *ref,
		      enum kernel_pci_attr attr, const char *value, const char *was,
		      const char *reason)
{
	struct plan_step *s = planner_want_add(b, &object_pci, leg);
	struct kernel_pci *v;

	if (!s)
		return -ENOMEM;
	planner_step_on(s, leg->device);
	snprintf(s->link, sizeof(s->link), "%s", ref);
	s->change.kind = KERNEL_PCI;
	s->change.ifindex = 0;
	v = &s->change.pci_value;
	v->attr = attr;
	snprintf(v->value, sizeof(v->value), "%s", value);
	snprintf(v->was, sizeof(v->was), "%s", was);
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	return 0;
}

static int want_setting(struct plan_builder *b, const struct plan_leg *leg, uint32_t n,
			enum kernel_vf_attr attr, const char *value, const char *reason)
{
	const struct inv_vf *have = inv_vf_find(b->inv, leg->device->ifindex, n);
	struct plan_step *s = planner_want_add(b, &object_vf, leg);
	struct kernel_vf *v;

	if (!s)
		return -ENOMEM;
	planner_step_on(s, leg->device);
	s->change.kind = KERNEL_VF;
	v = &s->change.vf;
	v->vf = n;
	v->attr = attr;
	snprintf(v->value, sizeof(v->value), "%s", value);
	if (have)
		kernel_vf_format(have, attr, v->was);
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	return 0;
}

/* Adds the settings that the spec gives to each VF. */
static int want_configured(struct plan_builder *b, const struct plan_leg *leg, uint32_t n)
{
	const struct spec_net *net = leg->net;
	char rate[16], reason[PLENUM_NAME_MAX + 48];
	int r = 0;

	snprintf(reason, sizeof(reason), "the configuration of leg %s sets this value", net->name);
	snprintf(rate, sizeof(rate), "%" PRIu32, net->vf_rate_mbps);
	if (net->vf_spoof_check != SPEC_AUTO)
		r = want_setting(b, leg, n, KERNEL_VF_SPOOF_CHECK,
				 net->vf_spoof_check == SPEC_ON ? "1" : "0", reason);
	if (r == 0 && net->vf_trust != SPEC_AUTO)
		r = want_setting(b, leg, n, KERNEL_VF_TRUST, net->vf_trust == SPEC_ON ? "1" : "0",
				 reason);
	if (r == 0 && net->vf_rate_mbps)
		r = want_setting(b, leg, n, KERNEL_VF_RATE, rate, reason);
	return r;
}

static int want_vf(struct plan_builder *b, const struct plan_leg *leg, uint32_t n, bool vfio)
{
	const struct mac_addr mac = nic_vf_mac(leg->device, n);
	const struct inv_function *fn;
	char ref[KERNEL_LINK_REF_MAX], text[MAC_ADDR_STR_MAX];
	int r;

	vf_ref(leg, n, ref);
	fn = inv_function_by_ref(b->inv, ref);
	mac_addr_format(&mac, text, sizeof(text));
	r = want_setting(b, leg, n, KERNEL_VF_MAC, text,
			 "the MAC of a VF must stay the same after a reboot");
	if (r == 0 && leg->network->vlan) {
		snprintf(text, sizeof(text), "%u", leg->network->vlan);
		r = want_setting(b, leg, n, KERNEL_VF_VLAN, text,
				 "the NIC adds the VLAN tag to packets of the worker");
	}
	if (r == 0)
		r = want_configured(b, leg, n);
	if (r == 0 && vfio)
		r = want_value(b, leg, ref, KERNEL_PCI_DRIVER, VFIO_DRIVER, fn ? fn->driver : "",
			       "a worker uses the VF via vfio");
	return r;
}

static int vf_want(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_function *pf = inv_function_find(b->inv, leg->device->pci);
	const bool vfio = nic_family_find(leg->device->driver)->reach == NIC_BY_VFIO;
	char count[16], was[16];
	int r = 0;

	if (!leg->n_vfs)
		return 0;
	if (vfio)
		r = want_value(b, leg, leg->device->pci, KERNEL_PCI_AUTOPROBE, "0",
			       pf->autoprobe ? "1" : "0",
			       "the kernel's driver must not claim VFs of workers");
	snprintf(count, sizeof(count), "%" PRIu32, leg->n_vfs);
	snprintf(was, sizeof(was), "%" PRIu32, pf->n_vfs);
	if (r == 0)
		r = want_value(b, leg, leg->device->pci, KERNEL_PCI_VFS, count, was,
			       "each DPDK worker needs a VF");
	for (uint32_t n = 0; n < leg->n_vfs && r == 0; n++)
		r = want_vf(b, leg, n, vfio);
	return r;
}

const struct plan_feature plan_feature_vf = {
	.name = "vf",
	.claim = vf_claim,
	.offer = vf_offer,
	.take = vf_take,
	.want = {[PLAN_STAGE_AFTER_LINK] = vf_want},
	.resolve = vf_resolve,
};
