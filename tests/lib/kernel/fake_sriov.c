/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates how Linux and a NIC driver create, configure, bind and remove VFs. */
#include "tests/lib/kernel/fake_sriov.h"
#include "netcfg/host/inventory_build.h"
#include "tests/lib/kernel/kernel_fake.h"
#include <stdio.h>
#include <string.h>

#define REMOVE_AT(inv, member, n_member, i)                 \
	memmove(&(inv)->member[i], &(inv)->member[(i) + 1], \
		(--(inv)->n_member - (i)) * sizeof((inv)->member[0]))

static struct inv_function *function_get(struct inventory *inv, const char *pci)
{
	for (size_t i = 0; i < inv->n_functions; i++)
		if (strcmp(inv->functions[i].pci, pci) == 0)
			return &inv->functions[i];
	return NULL;
}

static struct inv_link *link_of_function(struct inventory *inv, const char *pci)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (strcmp(inv->links[i].pci, pci) == 0)
			return &inv->links[i];
	return NULL;
}

static int function_link_remove(struct kernel *k, struct inventory *inv, const char *pci)
{
	const struct inv_link *l = link_of_function(inv, pci);

	return l ? kernel_fake_remove_link(k, l->ifindex) : 0;
}

/* Creates the link of a VF, as its kernel driver does. */
static int function_link_add(struct kernel *k, struct inventory *inv, const struct inv_function *fn)
{
	const struct inv_link *pf = link_of_function(inv, fn->physfn);
	struct inv_link l = {.kind = INV_LINK_VF,
			     .numa_node = fn->numa_node,
			     .initialized = true,
			     .mtu = 1500,
			     .mtu_min = 68,
			     .mtu_max = 9000};

	for (size_t i = 0; i < inv->n_links; i++)
		l.ifindex = MAX_OF(l.ifindex, inv->links[i].ifindex);
	l.ifindex++;
	snprintf(l.name, sizeof(l.name), "%.8sv%u", pf ? pf->name : "vf", fn->vf);
	inv_text_set(l.pci, sizeof(l.pci), fn->pci);
	inv_text_set(l.physfn, sizeof(l.physfn), fn->physfn);
	inv_text_set(l.driver, sizeof(l.driver), fn->driver);
	return kernel_fake_add_link(k, &l);
}

static int vfs_remove(struct kernel *k, struct inventory *inv, const char *pf)
{
	const struct inv_link *l = link_of_function(inv, pf);
	int r = 0;

	for (size_t i = inv->n_functions; i-- > 0 && r == 0;) {
		if (strcmp(inv->functions[i].physfn, pf) != 0)
			continue;
		r = function_link_remove(k, inv, inv->functions[i].pci);
		REMOVE_AT(inv, functions, n_functions, i);
	}
	l = link_of_function(inv, pf);
	for (size_t i = inv->n_vfs; i-- > 0;)
		if (l && inv->vfs[i].ifindex == l->ifindex)
			REMOVE_AT(inv, vfs, n_vfs, i);
	return r;
}

static int vf_add(struct kernel *k, struct inventory *inv, const char *pf, uint32_t n)
{
	const struct inv_link *l = link_of_function(inv, pf);
	const struct inv_function *parent = function_get(inv, pf);
	const bool autoprobe = parent->autoprobe;
	const int node = parent->numa_node;
	struct inv_function *fn = inv_function_add(inv);
	struct inv_vf *v = l ? inv_vf_add(inv) : NULL;

	if (!fn || (l && !v))
		return -ENOMEM;
	snprintf(fn->pci, sizeof(fn->pci), "%.8s%02x.%x", pf,
		 (uint8_t)((2 + n / 8 + 8 * (uint32_t)(pf[strlen(pf) - 1] - '0')) & 0x1f), n % 8);
	inv_text_set(fn->physfn, sizeof(fn->physfn), pf);
	fn->vf = n;
	fn->numa_node = node;
	fn->iommu_group = 100 + (int)n;
	if (v)
		*v = (struct inv_vf){.ifindex = l->ifindex, .vf = n, .spoof_check = true};
	if (!autoprobe)
		return 0;
	inv_text_set(fn->driver, sizeof(fn->driver), KERNEL_FAKE_VF_DRIVER);
	return function_link_add(k, inv, fn);
}

static int vfs_change(struct kernel *k, struct inventory *inv, const char *pf, const char *value)
{
	struct inv_function *fn = function_get(inv, pf);
	uint32_t n = (uint32_t)strtoul(value, NULL, 10);
	struct inv_link *l;
	int r;

	if (n > fn->max_vfs)
		return -ERANGE;
	if (n == fn->n_vfs)
		return 0;
	r = vfs_remove(k, inv, pf);
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = vf_add(k, inv, pf, i);
	function_get(inv, pf)->n_vfs = n;
	l = link_of_function(inv, pf);
	if (l)
		l->n_vfs = n;
	return r;
}

static int driver_change(struct kernel *k, struct inventory *inv, struct inv_function *fn,
			 const char *driver)
{
	int r = function_link_remove(k, inv, fn->pci);

	inv_text_set(fn->driver, sizeof(fn->driver), driver);
	return r == 0 && strcmp(driver, KERNEL_FAKE_VF_DRIVER) == 0 ? function_link_add(k, inv, fn)
								    : r;
}

int fake_sriov_pci_change(struct kernel *k, struct inventory *inv, const struct kernel_change *c)
{
	struct inv_function *fn = function_get(inv, c->pci);

	if (!fn)
		return -ENODEV;
	switch (c->pci_value.attr) {
	case KERNEL_PCI_VFS:
		return vfs_change(k, inv, c->pci, c->pci_value.value);
	case KERNEL_PCI_AUTOPROBE:
		fn->autoprobe = c->pci_value.value[0] == '1';
		return 0;
	default:
		return driver_change(k, inv, fn, c->pci_value.value);
	}
}

int fake_sriov_pci_read(const struct inventory *inv, struct kernel_change *c)
{
	const struct inv_function *fn = inv_function_find(inv, c->pci);
	struct kernel_pci *v = &c->pci_value;

	if (!fn)
		return -ENODEV;
	if (v->attr == KERNEL_PCI_DRIVER)
		snprintf(v->was, sizeof(v->was), "%.31s", fn->driver);
	else
		snprintf(v->was, sizeof(v->was), "%u",
			 v->attr == KERNEL_PCI_VFS ? fn->n_vfs : (unsigned)fn->autoprobe);
	return 0;
}

int fake_sriov_vf_change(struct inventory *inv, const struct kernel_change *c)
{
	const uint32_t n = (uint32_t)strtoul(c->vf.value, NULL, 10);
	struct inv_vf *v = NULL;

	for (size_t i = 0; i < inv->n_vfs; i++)
		if (inv->vfs[i].ifindex == c->ifindex && inv->vfs[i].vf == c->vf.vf)
			v = &inv->vfs[i];
	if (!v)
		return -EINVAL;
	switch (c->vf.attr) {
	case KERNEL_VF_MAC:
		return mac_addr_parse(c->vf.value, &v->mac);
	case KERNEL_VF_VLAN:
		v->vlan = (uint16_t)n;
		return 0;
	case KERNEL_VF_RATE:
		v->max_rate_mbps = n;
		return 0;
	case KERNEL_VF_SPOOF_CHECK:
		v->spoof_check = n;
		return 0;
	default:
		v->trust = n;
		return 0;
	}
}

int fake_sriov_vf_read(const struct inventory *inv, struct kernel_change *c)
{
	const struct inv_vf *v = inv_vf_find(inv, c->ifindex, c->vf.vf);

	if (v)
		kernel_vf_format(v, c->vf.attr, c->vf.was);
	return v ? 0 : -ENODEV;
}
