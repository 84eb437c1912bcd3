/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out what a device can be used for, without a configuration. */
#include "netcfg/plan/nic_use.h"
#include "netcfg/base/hash.h"
#include "netcfg/plan/nic.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t hugepages_free(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_hugepages; i++)
		if (inv->hugepages[i].size_kib == PLAN_HUGEPAGE_KIB &&
		    inv->hugepages[i].numa_node == INV_NUMA_NONE)
			return inv->hugepages[i].free;
	return 0;
}

/* Returns the number of VFs for workers; if it is 0, sets why. */
static uint32_t vfs_of(const struct inventory *inv, const struct inv_link *l,
		       const struct nic_family *family, struct reason *why)
{
	const struct inv_function *pf = inv_function_find(inv, l->pci);
	const char *driver = l->driver[0] ? l->driver : inv_link_kind_to_string(l->kind);

	if (family->reach == NIC_BY_FLOW_RULES)
		reason_set(why, "shared-ip",
			   "%.31s shares the device with the kernel; VFs are created only if 'vfs' "
			   "gives a number",
			   driver);
	else if ((!pf || !pf->max_vfs) && family->sriov_tool)
		reason_set(why, "no-vf", "SR-IOV of %.31s is disabled in firmware", driver);
	else if (!pf || !pf->max_vfs)
		reason_set(why, "no-vf", "%.31s offers no SR-IOV", driver);
	else if (pf->iommu_group == INV_IOMMU_NONE)
		reason_set(why, "no-iommu",
			   "the IOMMU is off, so no VF can be assigned to a worker");
	else
		return family->vf_limit ? MIN_OF(family->vf_limit, pf->max_vfs) : pf->max_vfs;
	return 0;
}

const char *nic_af_xdp(const struct inventory *inv, const struct inv_link *l)
{
	const struct nic_family *family = nic_family_find(l->driver);
	unsigned major, minor;

	if (strcmp(l->af_xdp, "none") == 0)
		return "";
	if (l->af_xdp[0] || !family->af_xdp_since ||
	    sscanf(inv->kernel_release, "%u.%u", &major, &minor) != 2)
		return l->af_xdp;
	return NIC_LINUX(major, minor) >= family->af_xdp_since ? "zero-copy" : "";
}

static void queues_find(const struct inventory *inv, const struct inv_link *l, struct nic_use *use)
{
	const char *af_xdp = nic_af_xdp(inv, l);
	const char *first = use->vfs ? "vfio" : use->shared_ip ? "bifurcated" : "";

	snprintf(use->queues, sizeof(use->queues), "%s%s%s%s", first, *first && *af_xdp ? ", " : "",
		 *af_xdp ? "AF_XDP" : "", strcmp(af_xdp, "copy") == 0 ? " by copies" : "");
}

bool nic_use_find(const struct inventory *inv, const struct inv_link *l, struct nic_use *ret)
{
	const struct nic_family *family = nic_family_find(l->driver);
	const uint64_t pages = hugepages_free(inv);

	if (l->kind != INV_LINK_PHYSICAL && l->kind != INV_LINK_BOND && l->kind != INV_LINK_IPOIB)
		return false;
	*ret = (struct nic_use){.vfs = 0};
	if (l->kind == INV_LINK_IPOIB) {
		reason_set(&ret->why, "infiniband",
			   "DPDK supports Ethernet only; workers use IPoIB with UDP");
		return true;
	}
	ret->shared_ip = family->reach == NIC_BY_FLOW_RULES;
	ret->vfs = vfs_of(inv, l, family, &ret->why);
	queues_find(inv, l, ret);
	ret->dpdk = pages >= PLAN_HUGEPAGES_PER_WORKER;
	if (ret->dpdk)
		return true;
	ret->vfs = 0;
	reason_set(&ret->why, "no-hugepages",
		   "%" PRIu64 " hugepages of 2 MiB are free, but a worker needs %u", pages,
		   PLAN_HUGEPAGES_PER_WORKER);
	return true;
}

/* The MAC address of a VF is a locally administered address that is computed from the PF's
 * permanent MAC address. So it is the same after every boot, and different for every VF. */
struct mac_addr nic_vf_mac(const struct inv_link *pf, uint32_t vf)
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
