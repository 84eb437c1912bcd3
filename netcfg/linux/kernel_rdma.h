/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which link belongs to which RDMA device: RDMA netlink first, sysfs for what it does not tell
 * (InfiniBand ports have no Ethernet link; old kernels have no netlink). And soft-RoCE devices,
 * made and removed. Used by kernel_linux.
 */
#ifndef PLENUM_NETCFG_KERNEL_RDMA_H
#define PLENUM_NETCFG_KERNEL_RDMA_H

#include "netcfg/host/kernel.h"
#include <linux/netlink.h>

struct netlink;

/* Sets the links' rdma member and the RDMA ports' ifindex; the links are sorted by ifindex. That a
 * host has no RDMA is not an error. 0; negative errno. */
int kernel_rdma_collect(int sysfs_root, struct inventory *inv);

/* The device of that name, on a socket of RDMA netlink: its number, and the link that its first
 * port is on (0: none). 0; -ENODEV: there is none; negative errno. */
int kernel_rdma_find(struct netlink *nl, const char *name, uint32_t *ret_index,
		     uint32_t *ret_ifindex);

/* A soft-RoCE device (kernel_rxe.c) as struct kernel_ops has change and read. */
int kernel_rxe_change(const struct kernel_change *c, char *why);
int kernel_rxe_read(struct kernel_change *c);
/* Whether this kernel has soft-RoCE, built in, loaded, or as a module that it can load. */
bool kernel_rxe_is_there(int sysfs_root, const char *release);

/* One message of a dump of RDMA devices (its number and name) or of ports (its number and its
 * link's ifindex, 0: none). false: it says nothing of the kind. */
bool kernel_rdma_parse_device(const struct nlmsghdr *h, uint32_t *ret_index, char *name,
			      size_t size);
bool kernel_rdma_parse_port(const struct nlmsghdr *h, uint32_t *ret_port, uint32_t *ret_ifindex);

/* The RDMA port that a link has: one of ours, else any. 0, -ENODEV, another negative errno. */
int kernel_rdma_on_link(uint32_t ifindex, char ret_device[static INV_TEXT_MAX], uint32_t *ret_port);

#endif
