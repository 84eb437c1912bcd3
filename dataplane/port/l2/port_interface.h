/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the kernel about an interface via ioctl(2), which a confined worker may use although it has
 * no netlink. fd: any socket. It holds no state.
 */
#ifndef PLENUM_DATAPLANE_PORT_INTERFACE_H
#define PLENUM_DATAPLANE_PORT_INTERFACE_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

/* Returns 0, or a negative errno; -EPROTONOSUPPORT: not Ethernet. */
int port_interface_mac(int fd, const char *ifname, struct mac_addr *ret);
/* Returns 1: the interface is up and has a link; 0: it has not; negative errno: unknown. */
int port_interface_has_link(int fd, const char *ifname);

#endif
