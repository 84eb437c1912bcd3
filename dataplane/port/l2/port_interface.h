/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ports ask the kernel about an interface of its own, by ioctl(2): a worker that is confined
 * may, and has no netlink. fd: any socket. Holds no state.
 */
#ifndef PLENUM_DATAPLANE_PORT_INTERFACE_H
#define PLENUM_DATAPLANE_PORT_INTERFACE_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

/* 0; negative errno: -EPROTONOSUPPORT: it is no Ethernet. */
int port_interface_mac(int fd, const char *ifname, struct mac_addr *ret);
/* 1: it is up and has a link; 0: no; negative errno: there is no telling. */
int port_interface_has_link(int fd, const char *ifname);

#endif
