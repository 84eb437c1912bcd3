/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which link belongs to which RDMA device: RDMA netlink first, sysfs for what it does not tell
 * (InfiniBand ports have no Ethernet link; old kernels have no netlink). Used by kernel_linux.
 */
#ifndef PLENUM_NETCFG_KERNEL_RDMA_H
#define PLENUM_NETCFG_KERNEL_RDMA_H

#include "netcfg/host/inventory.h"
#include <linux/netlink.h>

/* Sets the links' rdma member; they are sorted by ifindex. That a host has no RDMA is not an error.
 * 0; negative errno. */
int kernel_rdma_collect(int sysfs_root, struct inventory *inv);

/* One message of a dump of RDMA devices (its number and name) or of ports (its link's ifindex, 0:
 * none). false: it says nothing of the kind. */
bool kernel_rdma_parse_device(const struct nlmsghdr *h, uint32_t *ret_index, char *name,
			      size_t size);
bool kernel_rdma_parse_port(const struct nlmsghdr *h, uint32_t *ret_ifindex);

#endif
