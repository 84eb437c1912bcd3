/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries the kernel about its own interface via ioctl(2), which a confined worker may use; it has
 * no netlink. fd: any socket. Holds no state.
 */
#ifndef PLENUM_DATAPLANE_PORT_INTERFACE_H
#define PLENUM_DATAPLANE_PORT_INTERFACE_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

/* 0; negative errno: -EPROTONOSUPPORT: not Ethernet. */
int port_interface_mac(int fd, const char *ifname, struct mac_addr *ret);
/* 1: up with a link; 0: not; negative errno: unknown. */
int port_interface_has_link(int fd, const char *ifname);

#endif
