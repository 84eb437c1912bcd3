/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the RDMA device of each link: by RDMA netlink, and by sysfs for devices that netlink does
 * not report (InfiniBand ports have no Ethernet link; old kernels lack RDMA netlink). It also
 * creates and removes soft-RoCE devices. kernel_linux uses it.
 */
#ifndef PLENUM_NETCFG_KERNEL_RDMA_H
#define PLENUM_NETCFG_KERNEL_RDMA_H

#include "netcfg/host/kernel.h"
#include <linux/netlink.h>

struct netlink;

/* Sets the `rdma` member of links and the ifindex of RDMA ports. Links must be sorted by ifindex. A
 * host without RDMA is not an error. Returns 0 or negative errno. */
int kernel_rdma_collect(int sysfs_root, struct inventory *inv);

/* Finds the device of that name by RDMA netlink. Stores its number, and the ifindex of the link of
 * its first port (0 if the port has no link). Returns 0, -ENODEV if no device has that name, or
 * another negative errno. */
int kernel_rdma_find(struct netlink *nl, const char *name, uint32_t *ret_index,
		     uint32_t *ret_ifindex);

/* Implement change and read of struct kernel_ops for soft-RoCE devices (kernel_rxe.c). */
int kernel_rxe_change(const struct kernel_change *c, struct reason *why);
int kernel_rxe_read(struct kernel_change *c);
/* Returns whether this kernel has soft-RoCE: built in, loaded, or as a module that can be
 * loaded. */
bool kernel_rxe_is_there(int sysfs_root, const char *release);

/* Parse one message of a dump of RDMA devices (number and name) or of ports (number, and the link's
 * ifindex or 0). Return false if the message is of another kind. */
bool kernel_rdma_parse_device(const struct nlmsghdr *h, uint32_t *ret_index, char *name,
			      size_t size);
bool kernel_rdma_parse_port(const struct nlmsghdr *h, uint32_t *ret_port, uint32_t *ret_ifindex);

/* Finds the RDMA port of a link, preferably one that the agent created. Returns 0, -ENODEV if the
 * link has no RDMA port, or another negative errno. */
int kernel_rdma_on_link(uint32_t ifindex, char ret_device[static INV_TEXT_MAX], uint32_t *ret_port);

#endif
