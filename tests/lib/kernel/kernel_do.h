/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of a host by other programs. Each function makes one change. The ifindex in the object
 * selects the link.
 */
#ifndef PLENUM_TESTS_KERNEL_DO_H
#define PLENUM_TESTS_KERNEL_DO_H

#include "netcfg/host/kernel.h"

int kernel_do_link(struct kernel *k, uint32_t ifindex, enum kernel_link_attr attr, uint32_t value,
		   struct reason *why);
int kernel_do_addr_add(struct kernel *k, const struct inv_addr *a, struct reason *why);
int kernel_do_addr_del(struct kernel *k, const struct inv_addr *a, struct reason *why);
int kernel_do_route_add(struct kernel *k, const struct inv_route *r, struct reason *why);
int kernel_do_route_del(struct kernel *k, const struct inv_route *r, struct reason *why);
int kernel_do_rule_add(struct kernel *k, const struct inv_rule *r, struct reason *why);
int kernel_do_rule_del(struct kernel *k, const struct inv_rule *r, struct reason *why);
int kernel_do_sysctl(struct kernel *k, const char *key, const char *value, struct reason *why);
/* Returns 0, -ENOSPC if buf is too small, or another negative errno. */
int kernel_do_read_sysctl(struct kernel *k, const char *key, char *buf, size_t size);

#endif
