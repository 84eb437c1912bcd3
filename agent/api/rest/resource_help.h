/* SPDX-License-Identifier: BSD-3-Clause */
/* Help texts that several commands of the table in resource.c share. */
#ifndef PLENUM_AGENT_RESOURCE_HELP_H
#define PLENUM_AGENT_RESOURCE_HELP_H

#include "agent/api/rest/resource.h"

#define NET_KEY_HELP(member, key, help) help
#define NET_OPTIONS_HELP                                                                           \
	"      --network N   network that the device is connected to\n"                            \
	"      --label L     name of the switch behind the device\n"                               \
	"      --auto-label  take the name of the switch from LLDP\n"                              \
	"      --ips LIST    data IPs: addresses and ranges, comma-separated\n" RESOURCE_NET_KEYS( \
		NET_KEY_HELP) "      --shared-ip   use the address that the host has on the "      \
			      "device\n"                                                           \
			      "      --soft-roce   use RDMA in software if the device has no "     \
			      "RDMA\n"                                                             \
			      "      --rdma-off    do not use RDMA\n"                              \
			      "      --rdma-on     use RDMA; without RDMA the leg is degraded\n"   \
			      "      --rdma-only   as --rdma-on, but bulk data of mounts wait "    \
			      "until\n"                                                            \
			      "                    RDMA works, and are not sent as packets\n"      \
			      "      --inet6       the addresses are IPv6\n\n"                     \
			      "A new network for the leg, with the name in --network or that of "  \
			      "the leg:\n"                                                         \
			      "      --netmask M   netmask of --ips: 255.255.0.0 or 16\n"          \
			      "      --gateway A   address of the network's router\n"              \
			      "      --vlan ID     VLAN tag\n"                                     \
			      "      --mtu BYTES   MTU of the network's devices\n"

#define EXPECT_LEG_HELP \
	"\n      --expect V    stage this only if 'plenum net show NAME' still shows version V\n"
#define EXPECT_HELP                                                                         \
	"\n      --expect V    do this only if 'plenum diff' or 'plenum plan' still shows " \
	"version V\n"

#endif
