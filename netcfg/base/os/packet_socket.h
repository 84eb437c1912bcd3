/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet sockets (packet(7)), from socket(2) to the first frame. No frame arrives before the bind,
 * so the filter applies to all of them. The caller closes the descriptor. Holds no state.
 */
#ifndef PLENUM_NETCFG_PACKET_SOCKET_H
#define PLENUM_NETCFG_PACKET_SOCKET_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include <linux/filter.h>

/* Without a protocol: receives nothing until it is bound. type: SOCK_RAW or SOCK_DGRAM. The
 * descriptor, or negative errno. */
int packet_socket_new(int type);
/* Drops frames for which the program returns 0 and truncates others to the length it returns. 0;
 * negative errno. */
int packet_socket_filter(int fd, const struct sock_filter *code, size_t n);
/* Locks the filter: no process that holds the socket can remove it. */
int packet_socket_filter_keep(int fd);
/* While the socket lives, the interface receives frames for this multicast group, which a NIC
 * may filter out otherwise. */
int packet_socket_group(int fd, uint32_t ifindex, const struct mac_addr *group);
/* Excludes frames that the host itself sends. */
int packet_socket_ignore_own(int fd);
/* Starts reception. ifindex 0: on all interfaces. protocol: ETH_P_*. */
int packet_socket_bind(int fd, uint32_t ifindex, uint16_t protocol);

#endif
