/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a NIC's duplex mode, FEC and channels by ethtool netlink. Reads the firmware version by
 * ethtool's older ioctl, because netlink does not report this version. kernel_linux uses this file.
 * The parser needs no socket, so that tests and fuzzers can call it.
 */
#ifndef PLENUM_NETCFG_ETHTOOL_H
#define PLENUM_NETCFG_ETHTOOL_H

#include "netcfg/host/inventory.h"
#include <linux/netlink.h>

/* Sets duplex, fec, channels, max_channels and firmware of the links of PCI functions; the links
 * must be sorted by ifindex. Values that the driver or the kernel does not report stay unknown.
 * Returns 0 or -ENOMEM. */
int ethtool_fill_links(struct inventory *inv);

/* Parses one answer of ethtool netlink: link modes, FEC or channels. It ignores other messages, and
 * links that are not in the inventory. Returns 0. */
int ethtool_parse(struct inventory *inv, struct nlmsghdr *h);

#endif
