/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of a host by one call each, for tests that play the others on it. The object says by its
 * own ifindex which link is meant.
 */
#ifndef PLENUM_TESTS_KERNEL_DO_H
#define PLENUM_TESTS_KERNEL_DO_H

#include "netcfg/host/kernel.h"
#include <stdio.h>
#include <string.h>

static inline int kernel_do(struct kernel *k, struct kernel_change c, bool remove,
			    struct reason *why)
{
	c.remove = remove;
	return k->ops->change(k, &c, why);
}

static inline int kernel_do_link(struct kernel *k, uint32_t ifindex, enum kernel_link_attr attr,
				 uint32_t value, struct reason *why)
{
	return kernel_do(k,
			 (struct kernel_change){.kind = KERNEL_LINK,
						.ifindex = ifindex,
						.link = {.attr = attr, .value = value}},
			 false, why);
}

static inline struct kernel_change change_of_addr(const struct inv_addr *a)
{
	return (struct kernel_change){.kind = KERNEL_ADDR, .ifindex = a->ifindex, .addr = *a};
}

static inline struct kernel_change change_of_route(const struct inv_route *r)
{
	return (struct kernel_change){.kind = KERNEL_ROUTE, .ifindex = r->oif, .route = *r};
}

static inline struct kernel_change change_of_rule(const struct inv_rule *r)
{
	return (struct kernel_change){.kind = KERNEL_RULE, .rule = *r};
}

#define KERNEL_DO(name, type)                                                            \
	static inline int kernel_do_##name##_add(struct kernel *k, const struct type *o, \
						 struct reason *why)                     \
	{                                                                                \
		return kernel_do(k, change_of_##name(o), false, why);                    \
	}                                                                                \
	static inline int kernel_do_##name##_del(struct kernel *k, const struct type *o, \
						 struct reason *why)                     \
	{                                                                                \
		return kernel_do(k, change_of_##name(o), true, why);                     \
	}
KERNEL_DO(addr, inv_addr)
KERNEL_DO(route, inv_route)
KERNEL_DO(rule, inv_rule)
#undef KERNEL_DO

static inline int kernel_do_sysctl(struct kernel *k, const char *key, const char *value,
				   struct reason *why)
{
	struct kernel_change c = {.kind = KERNEL_SYSCTL};

	snprintf(c.sysctl.key, sizeof(c.sysctl.key), "%s", key);
	snprintf(c.sysctl.value, sizeof(c.sysctl.value), "%s", value);
	return kernel_do(k, c, false, why);
}

static inline int kernel_read_sysctl(struct kernel *k, const char *key, char *buf, size_t size)
{
	struct kernel_change c = {.kind = KERNEL_SYSCTL};
	int r;

	snprintf(c.sysctl.key, sizeof(c.sysctl.key), "%s", key);
	r = k->ops->read(k, &c);
	if (r == 0 && strlen(c.sysctl.was) >= size)
		return -ENOSPC;
	if (r == 0)
		strcpy(buf, c.sysctl.was);
	return r;
}

#endif
