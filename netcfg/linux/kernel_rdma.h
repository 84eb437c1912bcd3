/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps links to RDMA devices: by RDMA netlink, and by sysfs for what netlink does not report
 * (InfiniBand ports have no Ethernet link; old kernels lack RDMA netlink). Also creates and removes
 * soft-RoCE devices. Used by kernel_linux.
 */
#ifndef PLENUM_NETCFG_KERNEL_RDMA_H
#define PLENUM_NETCFG_KERNEL_RDMA_H

#include "netcfg/host/kernel.h"
#include <linux/netlink.h>

struct netlink;

/* Sets the links' rdma member and the RDMA ports' ifindex; links are sorted by ifindex. A host
 * without RDMA is not an error. 0; negative errno. */
int kernel_rdma_collect(int sysfs_root, struct inventory *inv);

/* Looks up the device of that name on an RDMA netlink socket: its number, and the link of its
 * first port (0: none). 0; -ENODEV; negative errno. */
int kernel_rdma_find(struct netlink *nl, const char *name, uint32_t *ret_index,
		     uint32_t *ret_ifindex);

/* The change and read operations of struct kernel_ops for a soft-RoCE device (kernel_rxe.c). */
int kernel_rxe_change(const struct kernel_change *c, struct reason *why);
int kernel_rxe_read(struct kernel_change *c);
/* Whether this kernel has soft-RoCE: built in, loaded, or as a loadable module. */
bool kernel_rxe_is_there(int sysfs_root, const char *release);

/* Parses one message of a dump of RDMA devices (number and name) or of ports (number and the
 * link's ifindex, 0: none). false: another kind of message. */
bool kernel_rdma_parse_device(const struct nlmsghdr *h, uint32_t *ret_index, char *name,
			      size_t size);
bool kernel_rdma_parse_port(const struct nlmsghdr *h, uint32_t *ret_port, uint32_t *ret_ifindex);

/* The RDMA port of a link: one that the agent created, else any. 0, -ENODEV, another negative
 * errno. */
int kernel_rdma_on_link(uint32_t ifindex, char ret_device[static INV_TEXT_MAX], uint32_t *ret_port);

#endif
