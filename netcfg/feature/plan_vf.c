/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VFs from the spec, the family of the NIC and what is there. Apart from the legs because most legs
 * have none, and from the workers because a leg's VFs are made for all of them at once.
 */
#include "netcfg/feature/plan_vf.h"
#include "netcfg/base/hash.h"
#include "netcfg/feature/plan_devlink.h"
#include "netcfg/feature/plan_vf_assign.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/backend.h"
#include "netcfg/plan/plan_guard.h"
#include "netcfg/plan/plan_owned.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VFIO_DRIVER "vfio-pci"

static bool takes_vf(enum spec_transport t, const struct nic_family *family)
{
	const struct backend *e = backend_find(t);

	return e->takes_vf && e->takes_vf(family);
}

/* By what is asked for alone: a worker that falls back to UDP today keeps its VF for tomorrow. */
static uint32_t workers_by_name(const struct plan *p, const struct nic_family *family)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n_workers; i++)
		n += takes_vf(p->workers[i].asked, family);
	return n;
}

/* With those for whom somebody has agreed to it. */
static uint32_t workers_who_claim(const struct plan *p, const struct nic_family *family)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n_workers; i++)
		n += takes_vf(p->workers[i].claim, family);
	return n;
}

/* The record says that we made the VFs of this PF, or an apply does that is under way. */
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

bool plan_vf_is_held(const struct plan_builder *b, const struct inv_function *fn)
{
	for (size_t i = 0; fn && i < b->ctx->n_held; i++) {
		const struct inv_function *held = inv_function_find(b->inv, b->ctx->held[i]);

		if (held && (held == fn || strcmp(held->physfn, fn->pci) == 0))
			return true;
	}
	return false;
}

/* Drivers that vfio takes for nobody: the rest of an IOMMU group must have one of them, or none. */
static bool driver_is_aside(const char *driver)
{
	static const char *const aside[] = {"", VFIO_DRIVER, "pci-stub", "pcieport"};

	for (size_t i = 0; i < ARRAY_SIZE(aside); i++)
		if (strcmp(driver, aside[i]) == 0)
			return true;
	return strncmp(driver, "vfio", 4) == 0;
}

/* Of a VF's group somebody else has a device, by another driver: the kernel would give the VF to
 * nobody. Other VFs that are to be ours will be bound too. What groups new VFs come into is known
 * when they are there: then pci.c looks, before it binds one. */
static bool group_is_foreign(const struct plan_builder *b, const struct inv_function *pf,
			     const struct nic_family *family, uint32_t n, struct reason *why)
{
	for (uint32_t vf = 0; family->reach == NIC_BY_VFIO && vf < n; vf++) {
		const struct inv_function *fn = inv_function_vf(b->inv, pf->pci, vf);
		const struct inv_iommu *m;

		for (size_t i = 0; fn && (m = inv_iommu_other(b->inv, fn, i)); i++) {
			const struct inv_function *other = inv_function_find(b->inv, m->pci);

			if (driver_is_aside(m->driver) ||
			    (other && strcmp(other->physfn, pf->pci) == 0 && other->vf < n))
				continue;
			reason_set(why, "iommu-group",
				   "%s is in IOMMU group %d with %s, which %.31s has: it can be "
				   "given to nobody; turn ACS on in the firmware, move the NIC to "
				   "another slot, or write vfs: 0",
				   fn->pci, m->group, m->pci, m->driver);
			return true;
		}
	}
	return false;
}

/* Somebody else uses a VF that we did not make: by a link, by vfio, by another driver. */
static const struct inv_function *vf_in_use(const struct plan_builder *b, const char *pf)
{
	for (size_t i = 0; i < b->inv->n_functions; i++) {
		const struct inv_function *fn = &b->inv->functions[i];

		if (strcmp(fn->physfn, pf) == 0 && fn->driver[0])
			return fn;
	}
	return NULL;
}

/* ---- how many ---- */

struct vf_ask {
	uint32_t n;
	bool by_auto; /* nobody asks for all of them by name */
};

static void too_many(struct plan_builder *b, const struct spec_net *net,
		     const struct inv_function *pf, uint32_t limit)
{
	const char *tool = nic_family_find(pf->driver)->sriov_tool;
	char more[96] = "";

	if (tool)
		snprintf(more, sizeof(more), ", or raise it by '%s -d %s set NUM_OF_VFS=%d'", tool,
			 pf->pci, net->vfs);
	diag_add(b->d, DIAG_ERROR, &net->pos, NULL,
		 "%s asks for %d VFs, and %s has at most %u; write fewer, or auto%s", net->name,
		 net->vfs, pf->pci, limit, more);
}

static void too_few(struct plan_builder *b, const struct spec_net *net, uint32_t workers)
{
	diag_add(b->d, DIAG_ERROR, &net->pos, NULL,
		 "%s has vfs: %d, but %u workers use dpdk and each needs one; write %u or auto",
		 net->name, net->vfs, workers, workers);
}

static uint32_t limit_of(const struct inv_function *pf, const struct nic_family *family)
{
	const uint32_t most = MIN_OF(pf->max_vfs, PLAN_VFS_MAX);

	return family->vf_limit ? MIN_OF(family->vf_limit, most) : most;
}

/* The numbers that there are to deal: none that what is written takes away again. */
static uint32_t numbers_of(const struct spec_net *net, const struct inv_function *pf,
			   const struct nic_family *family)
{
	const uint32_t limit = limit_of(pf, family);

	return net->vfs > 0 ? MIN_OF((uint32_t)net->vfs, limit) : limit;
}

/* The number of VFs to be had for what is asked; 0: d says why not. needed: those of workers. */
static uint32_t choose_count(struct plan_builder *b, const struct spec_net *net,
			     const struct inv_function *pf, const struct nic_family *family,
			     uint32_t needed)
{
	const uint32_t workers = workers_by_name(b->plan, family), limit = limit_of(pf, family);

	if (net->vfs == SPEC_VFS_AUTO)
		return MIN_OF(needed, limit); /* the rest share the kernel's interface */
	if ((uint32_t)net->vfs > limit)
		too_many(b, net, pf, limit);
	else if ((uint32_t)net->vfs < workers)
		too_few(b, net, workers);
	else
		return (uint32_t)net->vfs;
	return 0;
}

/* ---- whether they can be had ---- */

static void need_switch(struct plan_builder *b, const struct plan_leg *leg,
			const struct inv_function *pf, const struct nic_family *family, uint32_t n)
{
	struct plan_need *need = plan_need_add(b->plan, "sriov-firmware",
					       "the firmware of %s (%s) has SR-IOV switched off, "
					       "and %s asks for %u VFs",
					       pf->pci, family->name, leg->net->name, n);

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
		leg->net->vfs > 0 ? (uint32_t)leg->net->vfs : workers_who_claim(b->plan, family);
	bool off;

	if (pf && pf->max_vfs)
		return false;
	off = pf && !quiet && plan_devlink_need_sriov(b, pf->pci, leg->net->name, n);
	if (pf && !off && !quiet && family->sriov_tool)
		need_switch(b, leg, pf, family, n);
	if (off || (pf && family->sriov_tool)) {
		reason_set(why, "no-vf",
			   "%s (%.31s) offers no SR-IOV until its firmware's switch is on",
			   leg->device->name, driver);
		return true;
	}
	reason_set(why, "no-vf", "%s (%.31s) offers no SR-IOV", leg->device->name, driver);
	return true;
}

/* In that mode the VFs are ports of a switch in the NIC that nobody has set up: no frame of theirs
 * reaches the wire. */
static bool is_switchdev(const struct plan_builder *b, const struct inv_function *pf,
			 struct reason *why)
{
	const struct inv_devlink *d = inv_devlink_find(b->inv, pf->pci);

	if (!d || strcmp(d->eswitch, "switchdev") != 0)
		return false;
	reason_set(why, "switchdev",
		   "%s is in switchdev mode: its VFs reach the wire only through representors; "
		   "write vfs: 0, or devlink dev eswitch set %s mode legacy",
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
		     : plan_need_add(
			       b->plan, "iommu",
			       "the IOMMU is off, and without it no worker drives a VF itself");
	if (need) {
		need->reboot = true;
		snprintf(need->kernel_args, sizeof(need->kernel_args),
			 "intel_iommu=on amd_iommu=on iommu=pt");
		snprintf(need->firmware, sizeof(need->firmware),
			 "VT-d or AMD-Vi (IOMMU) must be on in the firmware's setup");
	}
	reason_set(why, "no-iommu",
		   "the IOMMU is off, and without it no VF of %s can be given to a worker; boot "
		   "with intel_iommu=on or amd_iommu=on, and iommu=pt",
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
		return false; /* made for us, by a unit of the distribution or the like */
	if (used)
		reason_set(why, "vfs-foreign",
			   "others have made %u VFs of %s, and %s is in use by %.31s; remove them "
			   "or write vfs: 0",
			   pf->n_vfs, pf->pci, used->pci, used->driver);
	else
		reason_set(why, "vfs-foreign",
			   "others have made %u VFs of %s, %u are needed; write 0 into its "
			   "sriov_numvfs, or vfs: %u",
			   pf->n_vfs, pf->pci, n, pf->n_vfs);
	return true;
}

/* Once was enough: each try stops what the PF carries, and would end alike. */
static bool vfs_are_refused(struct plan_builder *b, const struct inv_function *pf, uint32_t n,
			    struct reason *why)
{
	const struct plan_refusal *refusal = plan_failures_find_vfs(b->ctx->failures, pf->pci, n);
	struct plan_need *need;

	if (!refusal || pf->n_vfs == n)
		return false;
	reason_set(why, "vfs-refused",
		   "the kernel does not make %u VFs of %s: %s; an apply or a reload tries again", n,
		   pf->pci, refusal->why);
	need = plan_need_add(b->plan, "vf-resources", "the kernel does not make %u VFs of %s: %s",
			     n, pf->pci, refusal->why);
	if (need) {
		need->reboot = true;
		snprintf(need->kernel_args, sizeof(need->kernel_args), "pci=realloc");
		snprintf(need->firmware, sizeof(need->firmware),
			 "SR-IOV and 'above 4G decoding' must be on in the firmware's setup, or "
			 "fewer VFs be asked for");
	}
	return true;
}

/* The kernel takes all VFs away before it makes another number of them. */
static bool vfs_are_busy(const struct plan_builder *b, const struct inv_function *pf, uint32_t n,
			 struct reason *why)
{
	if (pf->n_vfs == 0 || pf->n_vfs >= n || !plan_vf_is_held(b, pf))
		return false;
	reason_set(why, "vfs-busy",
		   "%s has %u VFs in service and %u are needed: all would have to go first; stop "
		   "the workers on it (plenum stop), then apply",
		   pf->pci, pf->n_vfs, n);
	return true;
}

/* What nobody has asked for by name is not worth the host's own way out, whatever the driver
 * promises and whatever is forced. */
static bool carries_host(const struct plan_builder *b, const struct plan_leg *leg,
			 struct reason *why)
{
	struct reason dependent;

	if (!plan_link_dependent(b->inv, leg->device, &dependent) ||
	    strcmp(dependent.code, "default-route") != 0)
		return false;
	reason_set(why, dependent.code, "%.80s: auto makes no VFs of it; write transport: dpdk",
		   dependent.text);
	return true;
}

static bool making_hurts(struct plan_builder *b, const struct plan_leg *leg,
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
		   "%.80s: its driver stops it for a moment while VFs are made; write another "
		   "device, vfs: 0, or apply --force %s",
		   dependent.text, leg->device->name);
	return true;
}

/* Two ports of one function have its VFs together, and a worker's VF is of one leg. */
static bool vfs_are_taken(const struct plan_builder *b, const struct plan_leg *leg,
			  struct reason *why)
{
	for (size_t i = 0; i < b->n_legs; i++) {
		if (&b->legs[i] == leg || b->legs[i].n_vfs == 0 ||
		    strcmp(b->legs[i].device->pci, leg->device->pci) != 0)
			continue;
		reason_set(why, "vfs-taken",
			   "%s and %s are ports of one function, %s, and %s has its VFs; write "
			   "vfs: 0",
			   leg->device->name, b->legs[i].device->name, leg->device->pci,
			   b->legs[i].net->name);
		return true;
	}
	return false;
}

/* True with leg->n_vfs, where so many can be had; else why not. */
static bool try_count(struct plan_builder *b, struct plan_leg *leg, const struct inv_function *pf,
		      const struct nic_family *family, const struct vf_ask *ask, struct reason *why)
{
	const uint32_t n = ask->n;

	if (vfs_are_foreign(b, pf, n, why) || vfs_are_refused(b, pf, n, why) ||
	    group_is_foreign(b, pf, family, n, why) || vfs_are_busy(b, pf, n, why) ||
	    making_hurts(b, leg, pf, family, ask, why))
		return false;
	/* More than are needed stay: taking one away takes all. */
	leg->n_vfs = vfs_are_ours(b, pf->pci) ? MAX_OF(n, pf->n_vfs) : n;
	return true;
}

/* All that are needed; else those that are there, or those who ask by name: that others want more
 * takes nobody his own. */
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

/* A number beyond those that there are is nobody's. */
static void drop_beyond(struct plan_builder *b, const struct plan_leg *leg)
{
	for (size_t i = 0; leg->n_vfs && i < b->plan->n_workers; i++)
		if (b->plan->workers[i].vf[leg->index] > leg->n_vfs)
			b->plan->workers[i].vf[leg->index] = 0;
}

void plan_vf_check_leg(struct plan_builder *b, struct plan_leg *leg)
{
	const struct spec_net *net = leg->net;
	const struct inv_function *pf = inv_function_find(b->inv, leg->device->pci);
	const struct nic_family *family = nic_family_find(leg->device->driver);
	struct reason *why = &leg->why_no_vfs;
	const bool quiet = net->vfs == SPEC_VFS_AUTO && workers_who_claim(b->plan, family) == 0;
	uint32_t needed, n;

	if (net->vfs == 0 || leg->shared)
		return;
	if (pf && pf->max_vfs)
		plan_vf_assign(b, leg, numbers_of(net, pf, family));
	needed = plan_vf_needed(b->plan, leg, false);
	if (net->vfs == SPEC_VFS_AUTO &&
	    ((needed == 0 && quiet) || family->reach == NIC_BY_FLOW_RULES))
		return; /* queues by rules are had without any */
	if (!no_sriov(b, leg, pf, family, quiet, why) && !vfs_are_taken(b, leg, why) &&
	    !no_iommu(b, pf, family, quiet, why) && !is_switchdev(b, pf, why)) {
		n = choose_count(b, net, pf, family, needed);
		if (n == 0)
			return; /* d has the error */
		try_counts(b, leg, pf, family, n);
		drop_beyond(b, leg);
	}
	if (net->vfs != SPEC_VFS_AUTO && reason_is_set(why))
		planner_leg_set_state(b, leg->index, PLAN_LEG_DEGRADED, why);
}

static void explain_limit(const struct plan_leg *leg, uint32_t n, struct reason *why)
{
	reason_set(why, "vf-limit", "%.15s has %u VFs, and other workers have them",
		   leg->device->name, n);
}

/* The facts of device and file that no number changes. */
static bool offers_none(struct plan_builder *b, const struct plan_leg *leg,
			const struct inv_function *pf, const struct nic_family *family,
			struct reason *why)
{
	if (no_sriov(b, leg, pf, family, true, why))
		return true;
	if (leg->net->vfs == 0)
		reason_set(why, "policy", "vfs: 0 is written for %.32s", leg->net->name);
	else if (leg->net->vfs == SPEC_VFS_AUTO && family->reach == NIC_BY_FLOW_RULES)
		reason_set(why, "no-vf", "%.15s (%.31s) gets VFs only where vfs says how many",
			   leg->device->name, leg->device->driver);
	else
		return vfs_are_taken(b, leg, why) || no_iommu(b, pf, family, true, why) ||
		       is_switchdev(b, pf, why);
	return true;
}

bool plan_vf_offer(struct plan_builder *b, struct plan_leg *leg, struct plan_worker *w,
		   struct reason *why)
{
	const struct inv_function *pf = inv_function_find(b->inv, leg->device->pci);
	const struct nic_family *family = nic_family_find(leg->device->driver);
	struct vf_ask ask = {.by_auto = true};
	uint32_t limit;

	if (w->vf[leg->index] && w->vf[leg->index] <= leg->n_vfs)
		return true;
	if (offers_none(b, leg, pf, family, why))
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

/* ---- what is wanted ---- */

/* The same after every boot and for every VF another one: locally administered, and derived from
 * the PF's own address, which is the NIC maker's. */
struct mac_addr plan_vf_mac(const struct inv_link *pf, uint32_t vf)
{
	static const uint64_t key[2] = {0x706c656e756d0000, 0x5646206d61630000};
	static const struct mac_addr none;
	const bool has_own = memcmp(&pf->permanent_mac, &none, sizeof(none)) != 0;
	uint8_t text[10];
	struct mac_addr mac;
	uint64_t h;

	memcpy(text, has_own ? pf->permanent_mac.bytes : pf->mac.bytes, 6);
	memcpy(text + 6, &vf, sizeof(vf));
	h = hash_keyed(key, text, sizeof(text));
	memcpy(mac.bytes, &h, sizeof(mac.bytes));
	mac.bytes[0] = (uint8_t)((mac.bytes[0] & 0xfc) | 0x02);
	return mac;
}

static void vf_ref(const struct plan_leg *leg, uint32_t n, char ret[static KERNEL_LINK_REF_MAX])
{
	snprintf(ret, KERNEL_LINK_REF_MAX, "%.15s/vf%u", leg->device->pci, (uint16_t)n);
}

void plan_vf_resolve(struct plan_port *port, const struct inventory *inv)
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

bool plan_vf_fits(const struct plan_leg *leg, enum spec_transport t)
{
	return takes_vf(t, nic_family_find(leg->device->driver));
}

bool plan_vf_take(const struct plan_builder *b, const struct plan_leg *leg,
		  const struct plan_worker *w, struct plan_port *port)
{
	const uint32_t n = w->vf[leg->index] - 1U;
	const struct inv_function *fn;

	if (n >= leg->n_vfs)
		return false;
	vf_ref(leg, n, port->vf);
	fn = inv_function_by_ref(b->inv, port->vf);
	snprintf(port->pci, sizeof(port->pci), "%s", fn ? fn->pci : "");
	port->mac = plan_vf_mac(leg->device, n);
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

/* What the spec says of each VF. */
static int want_told(struct plan_builder *b, const struct plan_leg *leg, uint32_t n)
{
	const struct spec_net *net = leg->net;
	char rate[16], reason[PLENUM_NAME_MAX + 32];
	int r = 0;

	snprintf(reason, sizeof(reason), "%s asks for it", net->name);
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
	const struct mac_addr mac = plan_vf_mac(leg->device, n);
	const struct inv_function *fn;
	char ref[KERNEL_LINK_REF_MAX], text[MAC_ADDR_STR_MAX];
	int r;

	vf_ref(leg, n, ref);
	fn = inv_function_by_ref(b->inv, ref);
	mac_addr_format(&mac, text, sizeof(text));
	r = want_setting(b, leg, n, KERNEL_VF_MAC, text, "the same after every boot");
	if (r == 0 && leg->network->vlan) {
		snprintf(text, sizeof(text), "%u", leg->network->vlan);
		r = want_setting(b, leg, n, KERNEL_VF_VLAN, text,
				 "the NIC tags what the worker sends");
	}
	if (r == 0)
		r = want_told(b, leg, n);
	if (r == 0 && vfio)
		r = want_value(b, leg, ref, KERNEL_PCI_DRIVER, VFIO_DRIVER, fn ? fn->driver : "",
			       "a worker drives it itself");
	return r;
}

int plan_vf_want(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_function *pf = inv_function_find(b->inv, leg->device->pci);
	const bool vfio = nic_family_find(leg->device->driver)->reach == NIC_BY_VFIO;
	char count[16], was[16];
	int r = 0;

	if (vfio)
		r = want_value(b, leg, leg->device->pci, KERNEL_PCI_AUTOPROBE, "0",
			       pf->autoprobe ? "1" : "0",
			       "the kernel's driver would make links of VFs that are for workers");
	snprintf(count, sizeof(count), "%" PRIu32, leg->n_vfs);
	snprintf(was, sizeof(was), "%" PRIu32, pf->n_vfs);
	if (r == 0)
		r = want_value(b, leg, leg->device->pci, KERNEL_PCI_VFS, count, was,
			       "one for each worker on dpdk");
	for (uint32_t n = 0; n < leg->n_vfs && r == 0; n++)
		r = want_vf(b, leg, n, vfio);
	return r;
}
