/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists PCI network functions. A function that is bound to vfio or to no driver has no link, so
 * only this list shows the state of such functions.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "bus/pci/devices"
#define PATH_BYTES 128
#define CLASS_NETWORK 0x02
#define CLASS_BRIDGE 0x06

struct walk {
	int root;
	struct inventory *inv;
	const char *self;	 /* PCI address of the function being filled in */
	struct inv_function *fn; /* the inventory's entry of that function */
};

static const char *device_path(const char *pci, const char *file, char *buf)
{
	snprintf(buf, PATH_BYTES, DEVICES "/%.32s/%s", pci, file);
	return buf;
}

/* Reads a hexadecimal number, such as a vendor number. Returns 0 if the file is absent. */
static uint32_t read_hex(int root, const char *path)
{
	char text[32];

	return sysfs_read(root, path, text, sizeof(text)) < 0 ? 0
							      : (uint32_t)strtoul(text, NULL, 16);
}

static uint32_t base_class(int root, const char *pci)
{
	char path[PATH_BYTES];

	return read_hex(root, device_path(pci, "class", path)) >> 16;
}

static void fill_iommu(struct walk *w)
{
	char path[PATH_BYTES], group[16];

	if (sysfs_read_link(w->root, device_path(w->self, "iommu_group", path), group,
			    sizeof(group)) == 0)
		w->fn->iommu_group = atoi(group);
}

/* Adds a member of an IOMMU group. Omits PCI bridges, because they do not prevent vfio from using
 * the group. */
static int add_member(void *user, const char *name)
{
	struct walk *w = user;
	char path[PATH_BYTES];
	struct inv_iommu *m;

	if (base_class(w->root, name) == CLASS_BRIDGE)
		return 0;
	m = inv_iommu_add(w->inv);
	if (!m)
		return -ENOMEM;
	m->group = w->fn->iommu_group;
	inv_text_set(m->pci, sizeof(m->pci), name);
	sysfs_read_link(w->root, device_path(name, "driver", path), m->driver, sizeof(m->driver));
	return 0;
}

static bool group_is_known(const struct inventory *inv, int group)
{
	for (size_t i = 0; i < inv->n_iommu; i++)
		if (inv->iommu[i].group == group)
			return true;
	return false;
}

static int add_groups(struct walk *w)
{
	int r = 0;

	for (size_t i = 0; i < w->inv->n_functions && r != -ENOMEM; i++) {
		char path[PATH_BYTES];

		w->fn = &w->inv->functions[i];
		if (w->fn->iommu_group == INV_IOMMU_NONE ||
		    group_is_known(w->inv, w->fn->iommu_group))
			continue;
		r = sysfs_each_entry(w->root, device_path(w->fn->pci, "iommu_group/devices", path),
				     add_member, w);
	}
	return r == -ENOMEM ? r : 0;
}

static uint32_t read_count(int root, const char *path)
{
	int64_t v;

	return sysfs_read_number(root, path, &v) == 0 && v > 0 && v <= UINT16_MAX ? (uint32_t)v : 0;
}

static void fill_pf(struct walk *w)
{
	char path[PATH_BYTES];
	int64_t autoprobe;

	w->fn->max_vfs = read_count(w->root, device_path(w->self, "sriov_totalvfs", path));
	if (w->fn->max_vfs == 0)
		return;
	w->fn->n_vfs = read_count(w->root, device_path(w->self, "sriov_numvfs", path));
	if (sysfs_read_number(w->root, device_path(w->self, "sriov_drivers_autoprobe", path),
			      &autoprobe) == 0)
		w->fn->autoprobe = autoprobe != 0;
}

/* Sets the numbers of the PF's VFs from the PF's numbered symbolic links, because a VF does not
 * report its number. */
static void number_vfs(int root, struct inventory *inv, const struct inv_function *pf)
{
	for (uint32_t n = 0; n < pf->n_vfs; n++) {
		char path[PATH_BYTES], target[16];

		snprintf(path, sizeof(path), DEVICES "/%.32s/virtfn%" PRIu32, pf->pci, n);
		if (sysfs_read_link(root, path, target, sizeof(target)) < 0)
			continue;
		for (size_t i = 0; i < inv->n_functions; i++)
			if (strcmp(inv->functions[i].pci, target) == 0)
				inv->functions[i].vf = n;
	}
}

static int add_function(void *user, const char *name)
{
	struct walk *w = user;
	char path[PATH_BYTES];
	int64_t node;

	if (base_class(w->root, name) != CLASS_NETWORK)
		return 0;
	w->fn = inv_function_add(w->inv);
	if (!w->fn)
		return -ENOMEM;
	w->self = name;
	inv_text_set(w->fn->pci, sizeof(w->fn->pci), name);
	sysfs_read_link(w->root, device_path(name, "driver", path), w->fn->driver,
			sizeof(w->fn->driver));
	w->fn->vendor = (uint16_t)read_hex(w->root, device_path(name, "vendor", path));
	w->fn->device = (uint16_t)read_hex(w->root, device_path(name, "device", path));
	if (sysfs_read_number(w->root, device_path(name, "numa_node", path), &node) == 0 &&
	    node >= 0 && node < INT_MAX)
		w->fn->numa_node = (int)node;
	fill_iommu(w);
	fill_pf(w);
	sysfs_read_link(w->root, device_path(name, "physfn", path), w->fn->physfn,
			sizeof(w->fn->physfn));
	return 0;
}

int sysfs_add_functions(int root, struct inventory *inv)
{
	struct walk w = {.root = root, .inv = inv};
	int r = sysfs_each_entry(root, DEVICES, add_function, &w);

	for (size_t i = 0; i < inv->n_functions; i++)
		number_vfs(root, inv, &inv->functions[i]);
	if (r == 0)
		r = add_groups(&w);
	return r == -ENOENT ? 0 : r; /* a missing folder means a machine without PCI, which has
					no functions */
}
