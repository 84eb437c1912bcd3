/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads whether a link's queues reach user space by AF_XDP sockets, as the kernel reports of the
 * driver (netlink family 'netdev', Linux 6.3 and later). Used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_KERNEL_XDP_H
#define PLENUM_NETCFG_KERNEL_XDP_H

#include "netcfg/host/inventory.h"

struct nlmsghdr;

/* Fills in the links with a PCI function. proc_net: descriptor of /proc/thread-self/net, or
 * negative. Values that the kernel does not report stay unknown. */
void kernel_xdp_fill(int proc_net, struct inventory *inv);
/* Parses /proc/net/protocols: without AF_XDP sockets in the kernel all links get "none",
 * whatever their drivers can do. */
void kernel_xdp_take_protocols(struct inventory *inv, const char *protocols);
/* Parses one answer. Returns 0. */
int kernel_xdp_parse(struct inventory *inv, const struct nlmsghdr *h);

#endif
