/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests information about an interface from the kernel. It uses ioctl(2), because a worker in
 * its sandbox cannot use netlink. `fd` may be any socket. The functions have no state.
 */
#ifndef PLENUM_DATAPLANE_PORT_INTERFACE_H
#define PLENUM_DATAPLANE_PORT_INTERFACE_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

/* Writes the interface's MAC to *ret. Returns 0, -EPROTONOSUPPORT if the interface is not Ethernet,
 * or another negative errno. */
int port_interface_mac(int fd, const char *ifname, struct mac_addr *ret);
/* Returns 1 if the interface is up and has a link, 0 if not, or a negative errno if that is
 * unknown. */
int port_interface_has_link(int fd, const char *ifname);

#endif
