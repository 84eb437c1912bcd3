/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the kernel about an interface. It uses ioctl(2), because a confined worker cannot use
 * netlink. `fd` may be any socket. It holds no state.
 */
#ifndef PLENUM_DATAPLANE_PORT_INTERFACE_H
#define PLENUM_DATAPLANE_PORT_INTERFACE_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

/* Returns 0, -EPROTONOSUPPORT if the interface is not Ethernet, or another negative errno. */
int port_interface_mac(int fd, const char *ifname, struct mac_addr *ret);
/* Returns 1 if the interface is up and has a link, 0 if not, or a negative errno if that is
 * unknown. */
int port_interface_has_link(int fd, const char *ifname);

#endif
