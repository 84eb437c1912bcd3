/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements kernel_do.h. */
#include "tests/lib/kernel/kernel_do.h"
#include <stdio.h>
#include <string.h>

static int change(struct kernel *k, struct kernel_change c, bool remove, struct reason *why)
{
	c.remove = remove;
	return k->ops->change(k, &c, why);
}

int kernel_do_link(struct kernel *k, uint32_t ifindex, enum kernel_link_attr attr, uint32_t value,
		   struct reason *why)
{
	return change(k,
		      (struct kernel_change){.kind = KERNEL_LINK,
					     .ifindex = ifindex,
					     .link = {.attr = attr, .value = value}},
		      false, why);
}

static struct kernel_change addr_change(const struct inv_addr *a)
{
	return (struct kernel_change){.kind = KERNEL_ADDR, .ifindex = a->ifindex, .addr = *a};
}

int kernel_do_addr_add(struct kernel *k, const struct inv_addr *a, struct reason *why)
{
	return change(k, addr_change(a), false, why);
}

int kernel_do_addr_del(struct kernel *k, const struct inv_addr *a, struct reason *why)
{
	return change(k, addr_change(a), true, why);
}

static struct kernel_change route_change(const struct inv_route *r)
{
	return (struct kernel_change){.kind = KERNEL_ROUTE, .ifindex = r->oif, .route = *r};
}

int kernel_do_route_add(struct kernel *k, const struct inv_route *r, struct reason *why)
{
	return change(k, route_change(r), false, why);
}

int kernel_do_route_del(struct kernel *k, const struct inv_route *r, struct reason *why)
{
	return change(k, route_change(r), true, why);
}

static struct kernel_change rule_change(const struct inv_rule *r)
{
	return (struct kernel_change){.kind = KERNEL_RULE, .rule = *r};
}

int kernel_do_rule_add(struct kernel *k, const struct inv_rule *r, struct reason *why)
{
	return change(k, rule_change(r), false, why);
}

int kernel_do_rule_del(struct kernel *k, const struct inv_rule *r, struct reason *why)
{
	return change(k, rule_change(r), true, why);
}

int kernel_do_sysctl(struct kernel *k, const char *key, const char *value, struct reason *why)
{
	struct kernel_change c = {.kind = KERNEL_SYSCTL};

	snprintf(c.sysctl.key, sizeof(c.sysctl.key), "%s", key);
	snprintf(c.sysctl.value, sizeof(c.sysctl.value), "%s", value);
	return change(k, c, false, why);
}

int kernel_do_read_sysctl(struct kernel *k, const char *key, char *buf, size_t size)
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
