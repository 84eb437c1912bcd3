/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of VFs and RDMA devices, which workers use without the kernel. */
#include "agent/ctl/doctor/doctor.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>

/* ---- VFs ---- */

static void run_usable(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	static const char *const codes[] = {"vfs-foreign", "vfs-busy",	"vf-limit", "vfs-refused",
					    "vfs-taken",   "switchdev", "no-iommu", "iommu-group"};

	for (size_t i = 0; i < p->plan->n_workers; i++) {
		const struct reason *why = &p->plan->workers[i].reason;

		for (size_t j = 0; j < ARRAY_SIZE(codes); j++) {
			if (strcmp(why->code, codes[j]) != 0)
				continue;
			doctor_report(r, DOCTOR_WARN, "workers have no VFs: %s", why->text);
			doctor_advise(r, "plenum plan; plenum config generate");
		}
	}
	doctor_report(r, DOCTOR_PASS, "nothing prevents the use of VFs");
}

/* vfio gives a PCI function to a process only together with all other functions of its IOMMU
 * group. */
static void run_group(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	for (size_t i = 0; i < p->inv->n_functions; i++) {
		const struct inv_function *f = &p->inv->functions[i];
		char with[160];

		if (strcmp(f->driver, "vfio-pci") != 0 || !inv_iommu_other(p->inv, f, 0))
			continue;
		doctor_report(r, DOCTOR_FAIL, "VF %s shares IOMMU group %d with %s", f->pci,
			      f->iommu_group, inv_iommu_format(p->inv, f, with, sizeof(with)));
		doctor_advise(r, "turn on ACS in the firmware, or move the NIC to another slot");
	}
	doctor_report(r, DOCTOR_PASS,
		      "no VF of a worker shares its IOMMU group with another device");
}

/* ---- RDMA ---- */

/* Loops over the RDMA ports of the legs that are to use RDMA. */
#define EACH_RDMA(p, at)                                                                           \
	for (size_t k = 0; k < (p)->inv->n_rdma; k++)                                              \
		for (const struct inv_rdma *at = &(p)->inv->rdma[k]; at && link_of(p, at->device); \
		     at = NULL)

static const struct inv_link *link_of(const struct doctor_host *p, const char *device)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);

		if (l && l->rdma[0] && strcmp(l->rdma, device) == 0)
			return l;
	}
	return NULL;
}

static void run_rdma_state(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	EACH_RDMA(p, at)
	{
		if (strcmp(at->state, "ACTIVE") == 0)
			continue;
		doctor_report(r, DOCTOR_WARN, "port %u of %s is %s", at->port, at->device,
			      at->state);
		doctor_advise(r, "rdma link show; ip link set %s up", link_of(p, at->device)->name);
	}
	doctor_report(r, DOCTOR_PASS, "no RDMA port of a leg is down");
}

static void run_rdma_gid(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	EACH_RDMA(p, at)
	{
		bool found = strcmp(at->kind, "roce") != 0;

		for (size_t i = 0; i < p->inv->n_gids; i++) {
			const struct inv_gid *g = &p->inv->gids[i];

			found = found || (strcmp(g->device, at->device) == 0 &&
					  g->port == at->port && strcmp(g->type, "RoCE v2") == 0);
		}
		if (found)
			continue;
		doctor_report(r, DOCTOR_WARN, "port %u of %s has no RoCE v2 GID", at->port,
			      at->device);
		doctor_advise(r, "give %s an address (plenum apply); the link must be up",
			      link_of(p, at->device)->name);
	}
	doctor_report(r, DOCTOR_PASS, "all RDMA ports of legs have the GIDs that they need");
}

static void run_rdma_mixed(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	const char *first = NULL;

	EACH_RDMA(p, at)
	{
		if (first && strcmp(first, at->kind) != 0) {
			doctor_report(r, DOCTOR_FAIL, "legs have two kinds of RDMA: %s and %s",
				      first, at->kind);
			doctor_advise(r, "plenum net set LEG --rdma-off, on the legs of one kind");
		}
		first = at->kind;
	}
	doctor_report(r, DOCTOR_PASS, first ? "all legs with RDMA use %s" : "no leg has RDMA%s",
		      first ? first : "");
}

static void run_uverbs(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	char path[PATH_MAX];
	bool any = false, there = false;
	const struct dirent *e;
	DIR *dir;

	EACH_RDMA(p, at)
	{
		any = true;
	}
	snprintf(path, sizeof(path), "%s/dev/infiniband", p->root);
	dir = any ? opendir(path) : NULL;
	while (dir && (e = readdir(dir)))
		there = there || strncmp(e->d_name, "uverbs", strlen("uverbs")) == 0;
	if (dir)
		closedir(dir);
	if (!any || there) {
		doctor_report(r, DOCTOR_PASS,
			      any ? "/dev/infiniband/uverbs* exists" : "no leg has RDMA");
		return;
	}
	doctor_report(r, DOCTOR_WARN, "legs have RDMA, but /dev/infiniband/uverbs* does not exist");
	doctor_advise(r, "modprobe ib_uverbs");
}

/* ---- drivers of RDMA devices ---- */

static const struct spec_net *net_of(const struct doctor_host *p, const struct plan_leg_info *leg)
{
	for (size_t i = 0; i < p->spec->n_nets; i++)
		if (strcmp(p->spec->nets[i].name, leg->name) == 0)
			return &p->spec->nets[i];
	return NULL;
}

/* Returns whether the leg's interface, or the parent of its VLAN, has an RDMA device. */
static bool has_rdma(const struct doctor_host *p, const struct inv_link *l)
{
	const struct inv_link *lower = l->lower ? inv_link_by_index(p->inv, l->lower) : NULL;

	return l->rdma[0] || (lower && lower->rdma[0]);
}

static void run_rdma_present(const struct doctor_host *p, const struct doctor_check *c,
			     struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct plan_leg_info *leg = &p->plan->legs[i];
		const struct inv_link *l = doctor_leg_link(p, leg);
		const struct spec_net *net = net_of(p, leg);

		if (!net || net->rdma < SPEC_RDMA_ON || !l || leg->bond[0] || has_rdma(p, l))
			continue;
		doctor_report(r, DOCTOR_FAIL, "leg %s should use RDMA, but %s has no RDMA device",
			      leg->name, l->name);
		if (net->soft_roce)
			doctor_advise(r, "modprobe rdma_rxe; plenum apply");
		else
			doctor_advise(r,
				      "plenum rdma devices; plenum net set %s --rdma-off, or "
				      "soft-roce: true; plenum apply",
				      leg->name);
	}
	doctor_report(r, DOCTOR_PASS, "every leg that asks for RDMA has an RDMA device");
}

/* Returns the module that adds RDMA to the function's driver. Drivers that support only iWARP,
 * which this file system does not use, are not in the table: cxgb4, and i40e. Most NICs of i40e do
 * not even support iWARP. */
static const char *module_of(const char *driver)
{
	static const char *const pairs[][2] = {
		{"mlx5_core", "mlx5_ib"}, {"mlx4_core", "mlx4_ib"}, {"ice", "irdma"},
		{"bnxt_en", "bnxt_re"},	  {"qede", "qedr"},	    {"mana", "mana_ib"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (strcmp(pairs[i][0], driver) == 0)
			return pairs[i][1];
	return NULL;
}

static void run_rdma_modules(const struct doctor_host *p, const struct doctor_check *c,
			     struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);
		const struct spec_net *net = net_of(p, &p->plan->legs[i]);
		const char *module = l ? module_of(l->driver) : NULL;

		if (!module || !net || net->rdma == SPEC_RDMA_OFF || has_rdma(p, l) ||
		    doctor_exists(p, "/sys/module/%s", module))
			continue;
		doctor_report(r, DOCTOR_WARN, "%s (%s) supports RDMA, but module %s is not loaded",
			      l->name, l->driver, module);
		doctor_advise(
			r,
			"modprobe %s; write the module's name to /etc/modules-load.d/plenum.conf",
			module);
	}
	doctor_report(r, DOCTOR_PASS, "no leg lacks a kernel module for RDMA");
}

static const struct doctor_check checks[] = {
	{"vfs-made", "VFs exist and have their drivers", DOCTOR_NEEDS_PLAN, doctor_run_steps,
	 "pci"},
	{"vfs-set", "VFs have their MAC addresses and settings", DOCTOR_NEEDS_PLAN,
	 doctor_run_steps, "vf"},
	{"vfs-usable", "Nothing prevents the use of VFs", DOCTOR_NEEDS_PLAN, run_usable, NULL},
	{"vfs-group", "No VF of a worker shares its IOMMU group with another device",
	 DOCTOR_NEEDS_INVENTORY, run_group, NULL},
	{"rdma-modules", "The kernel modules for RDMA on the legs' NICs are loaded",
	 DOCTOR_NEEDS_PLAN, run_rdma_modules, NULL},
	{"rdma-present", "Legs that ask for RDMA have an RDMA device", DOCTOR_NEEDS_PLAN,
	 run_rdma_present, NULL},
	{"rdma-active", "The RDMA ports of legs are active", DOCTOR_NEEDS_PLAN, run_rdma_state,
	 NULL},
	{"rdma-gids", "RoCE ports have routable GIDs", DOCTOR_NEEDS_PLAN, run_rdma_gid, NULL},
	{"rdma-kinds", "All legs with RDMA use the same kind", DOCTOR_NEEDS_PLAN, run_rdma_mixed,
	 NULL},
	{"rdma-access", "RDMA devices can be used from user space", DOCTOR_NEEDS_PLAN, run_uverbs,
	 NULL},
};

const struct doctor_subject doctor_vfs = DOCTOR_SUBJECT("VFs and RDMA", checks);
