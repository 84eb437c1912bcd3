/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a NIC's driver tells of its port and of itself: duplex, FEC and channels by ethtool netlink,
 * the firmware by the older ioctl, which alone has it. Used by kernel_linux; the parser is apart
 * from the socket so that tests and fuzzers can feed it.
 */
#ifndef PLENUM_NETCFG_ETHTOOL_H
#define PLENUM_NETCFG_ETHTOOL_H

#include "netcfg/host/inventory.h"
#include <linux/netlink.h>

/* Completes the links that are a PCI function's; they are sorted by ifindex. What a driver does not
 * tell, or a kernel does not know, stays unknown: 0; -ENOMEM. */
int ethtool_fill_links(struct inventory *inv);

/* Takes one answer of ethtool's: of link modes, FEC or channels; another, or one about no link of
 * the inventory, is passed over. 0. */
int ethtool_parse(struct inventory *inv, struct nlmsghdr *h);

#endif
