/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that add entries to an inventory, for the collectors, the JSON reader and kernel_fake
 * only. The capacity of an array is the next power of two of its count (vec.h), so only these
 * functions may extend it.
 */
#ifndef PLENUM_NETCFG_INVENTORY_BUILD_H
#define PLENUM_NETCFG_INVENTORY_BUILD_H

#include "netcfg/host/inventory.h"

/* Returns an empty inventory with addr_owner_known set, or NULL if out of memory. */
struct inventory *inv_new(void);
/* Frees the contents. The inventory is empty afterwards. */
void inv_done(struct inventory *inv);

/* Add an element whose members are zero, except numa_node (INV_NUMA_NONE), iommu_group
 * (INV_IOMMU_NONE), initialized and autoprobe (true). Return the element, which is valid until the
 * next one is added, or NULL if out of memory. */
struct inv_link *inv_link_add(struct inventory *inv);
struct inv_function *inv_function_add(struct inventory *inv);
struct inv_iommu *inv_iommu_add(struct inventory *inv);
struct inv_vf *inv_vf_add(struct inventory *inv);
struct inv_bond *inv_bond_add(struct inventory *inv);
struct inv_bond_port *inv_bond_port_add(struct inventory *inv);
struct inv_dcb *inv_dcb_add(struct inventory *inv);
struct inv_devlink *inv_devlink_add(struct inventory *inv);
struct inv_devlink_version *inv_devlink_version_add(struct inventory *inv);
struct inv_devlink_param *inv_devlink_param_add(struct inventory *inv);
struct inv_devlink_port *inv_devlink_port_add(struct inventory *inv);
/* Appends all devlink entries of src. Returns 0 or -ENOMEM. */
int inv_devlink_append(struct inventory *dst, const struct inventory *src);
struct inv_addr *inv_addr_add(struct inventory *inv);
struct inv_route *inv_route_add(struct inventory *inv);
struct inv_rule *inv_rule_add(struct inventory *inv);
struct inv_rdma *inv_rdma_add(struct inventory *inv);
struct inv_gid *inv_gid_add(struct inventory *inv);
struct inv_core *inv_core_add(struct inventory *inv);
struct inv_hugepages *inv_hugepages_add(struct inventory *inv);
struct inv_conns *inv_conns_add(struct inventory *inv);
struct inv_mount *inv_mount_add(struct inventory *inv);
/* Copies both strings. Returns 0 or -ENOMEM. */
int inv_sysctl_add(struct inventory *inv, const char *key, const char *value);

/* Appends copies of all entries of src, and replaces host, kernel_release, number, addr_owner_known
 * and soft_roce. */
int inv_append(struct inventory *dst, const struct inventory *src);
/* Sorts links by ifindex, and other entries by the members that identify them. Sysctls and mounts
 * keep their order. */
void inv_sort(struct inventory *inv);

/* Copies text into a field of `size` bytes; it is truncated if it does not fit. The remaining bytes
 * become zero. */
void inv_text_set(char *field, size_t size, const char *text);

#endif
