/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, filters and binds packet sockets (packet(7)). No frame arrives before the socket is
 * bound, so a filter that is set before the bind applies to all frames. The caller closes the
 * descriptor.
 */
#ifndef PLENUM_NETCFG_PACKET_SOCKET_H
#define PLENUM_NETCFG_PACKET_SOCKET_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include <linux/filter.h>

/* Creates a socket without a protocol: it receives nothing until it is bound. type: SOCK_RAW or
 * SOCK_DGRAM. Returns the descriptor, or negative errno. */
int packet_socket_new(int type);
/* Sets a filter program, which returns for each frame how many bytes of it the socket receives; 0
 * drops the frame. Returns 0 or negative errno. */
int packet_socket_filter(int fd, const struct sock_filter *code, size_t n);
/* Locks the filter: no process with the socket can remove the filter any more. */
int packet_socket_filter_keep(int fd);
/* Makes the interface receive frames for this multicast group, which its NIC may filter out
 * otherwise, until the socket is closed. */
int packet_socket_group(int fd, uint32_t ifindex, const struct mac_addr *group);
/* Excludes the frames that the host itself sends. */
int packet_socket_ignore_own(int fd);
/* Binds the socket, which starts reception. ifindex 0: all interfaces. protocol: ETH_P_*. */
int packet_socket_bind(int fd, uint32_t ifindex, uint16_t protocol);

#endif
