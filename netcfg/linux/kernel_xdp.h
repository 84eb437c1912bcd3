/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads how AF_XDP sockets can access a link's queues, as the kernel reports for its driver
 * (netlink family 'netdev', Linux 6.3 and later). kernel_linux alone uses it.
 */
#ifndef PLENUM_NETCFG_KERNEL_XDP_H
#define PLENUM_NETCFG_KERNEL_XDP_H

#include "netcfg/host/inventory.h"

struct nlmsghdr;

/* Sets the member af_xdp of links of PCI functions. proc_net is a descriptor of
 * /proc/thread-self/net, or negative if it could not be opened. Values that the kernel does not
 * report stay unknown. */
void kernel_xdp_fill(int proc_net, struct inventory *inv);
/* Parses /proc/net/protocols. If the kernel has no AF_XDP sockets, all links get "none", whatever
 * their drivers support. */
void kernel_xdp_take_protocols(struct inventory *inv, const char *protocols);
/* Parses one message of the kernel's answer. Returns 0. */
int kernel_xdp_parse(struct inventory *inv, const struct nlmsghdr *h);

#endif
