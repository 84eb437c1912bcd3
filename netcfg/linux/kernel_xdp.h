/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether queues of a link reach user space by AF_XDP sockets, as the kernel has it of its driver
 * (the netlink family 'netdev', Linux 6.3 and later). Used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_KERNEL_XDP_H
#define PLENUM_NETCFG_KERNEL_XDP_H

#include "netcfg/host/inventory.h"

struct nlmsghdr;

/* Of the links with a PCI function. proc_net: of /proc/thread-self/net, or negative. What the
 * kernel does not tell stays unknown. */
void kernel_xdp_fill(int proc_net, struct inventory *inv);
/* What /proc/net/protocols says: without such sockets it is "none", whatever drivers can do. */
void kernel_xdp_take_protocols(struct inventory *inv, const char *protocols);
/* One answer. 0. */
int kernel_xdp_parse(struct inventory *inv, const struct nlmsghdr *h);

#endif
