/* SPDX-License-Identifier: BSD-3-Clause */
/* The route lookup of the host in memory, for any inventory. Changes nothing. */
#ifndef PLENUM_TESTS_FAKE_LOOKUP_H
#define PLENUM_TESTS_FAKE_LOOKUP_H

#include "netcfg/host/inventory.h"

/* Implements route_lookup of struct kernel_ops. The links of inv must be sorted by ifindex. */
int fake_lookup(const struct inventory *inv, const struct ip_addr *from, const struct ip_addr *to,
		uint32_t oif, struct inv_route *ret);

#endif
