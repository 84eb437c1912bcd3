/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a NIC's duplex, FEC and channels by ethtool netlink, and its firmware version by the older
 * ioctl, the only interface that has it. Used by kernel_linux; the parser needs no socket, so that
 * tests and fuzzers can feed it.
 */
#ifndef PLENUM_NETCFG_ETHTOOL_H
#define PLENUM_NETCFG_ETHTOOL_H

#include "netcfg/host/inventory.h"
#include <linux/netlink.h>

/* Completes the links of PCI functions; links are sorted by ifindex. Values that the driver or
 * the kernel does not report stay unknown: 0; -ENOMEM. */
int ethtool_fill_links(struct inventory *inv);

/* Parses one answer of ethtool netlink: link modes, FEC or channels. Other answers, and those
 * about a link that is not in the inventory, are ignored. Returns 0. */
int ethtool_parse(struct inventory *inv, struct nlmsghdr *h);

#endif
