/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet sockets (packet(7)), from birth to the first frame: nothing comes before they are bound,
 * so that what a filter is to keep out never gets in. Who has one closes it. Holds no state.
 */
#ifndef PLENUM_NETCFG_PACKET_SOCKET_H
#define PLENUM_NETCFG_PACKET_SOCKET_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include <linux/filter.h>

/* Of no protocol: it receives nothing until it is bound. type: SOCK_RAW or SOCK_DGRAM. The
 * descriptor, or negative errno. */
int packet_socket_new(int type);
/* Nothing comes that the program returns 0 for, and of the rest as many bytes as it returns. 0;
 * negative errno. */
int packet_socket_filter(int fd, const struct sock_filter *code, size_t n);
/* The filter stays, whoever has the socket. */
int packet_socket_filter_keep(int fd);
/* As long as the socket lives the interface receives what is sent to this group: a NIC may filter
 * what nobody has asked for. */
int packet_socket_group(int fd, uint32_t ifindex, const struct mac_addr *group);
/* What the host itself sends does not come. */
int packet_socket_ignore_own(int fd);
/* From here on frames come. ifindex 0: of all interfaces. protocol: ETH_P_*. */
int packet_socket_bind(int fd, uint32_t ifindex, uint16_t protocol);

#endif
