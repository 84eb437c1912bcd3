/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts in memory, for tests of the inventory and of drafts of configurations. */
#ifndef PLENUM_TESTS_INV_HOST_H
#define PLENUM_TESTS_INV_HOST_H

#include "netcfg/host/inventory_build.h"
#include <string.h>

struct ip_prefix inv_host_prefix(const char *text);
struct inv_link *inv_host_link_add(struct inventory *inv, const char *name,
				   enum inv_link_kind kind);
void inv_host_addr_add(struct inventory *inv, uint32_t ifindex, const char *text);
void inv_host_default_route_add(struct inventory *inv, uint32_t oif, uint32_t metric);

/* Returns a host whose management interface is eth0. Two ports of a NIC have addresses; of its
 * cores 0-3, core 2 is isolated. */
struct inventory *inv_host_new(void);

#endif
