/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An address of a link. Plenum recognizes its own addresses by their protocol number. Kernels
 * before 5.18 do not store that number, so the record of owned values lists Plenum's addresses.
 */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void addr_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	char ip[IP_ADDR_STR_MAX];

	ip_prefix_format(&s->change.addr.ip, ip, sizeof(ip));
	if (s->verb == PLAN_DEL)
		snprintf(buf, size, "remove %s from %s", ip, where);
	else
		snprintf(buf, size, "add %s to %s", ip, where);
}

static void addr_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	char ip[IP_ADDR_STR_MAX];

	ip_prefix_format(&s->change.addr.ip, ip, sizeof(ip));
	if (s->verb == PLAN_DEL)
		snprintf(buf, size, "address %s was added to %s with Plenum's protocol number", ip,
			 where);
	else
		snprintf(buf, size, "address %s was removed from %s", ip, where);
}

static int addr_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct inv_addr *a = &s->change.addr;
	char ip[IP_ADDR_STR_MAX];

	return snprintf(buf, size, "%s %u %d %d %d %d", ip_prefix_format(&a->ip, ip, sizeof(ip)),
			a->proto, a->no_prefix_route, a->optimistic, a->broadcast,
			s->change.foreign);
}

static int addr_parse(const char *text, struct plan_step *s)
{
	struct inv_addr *a = &s->change.addr;
	int no_prefix_route, optimistic, broadcast = 0, foreign = 0;
	char ip[IP_ADDR_STR_MAX];

	/* Earlier versions wrote only the first four words. */
	s->change.kind = KERNEL_ADDR;
	if (sscanf(text, "%63s %" SCNu8 " %d %d %d %d", ip, &a->proto, &no_prefix_route,
		   &optimistic, &broadcast, &foreign) < 4 ||
	    ip_prefix_parse(ip, &a->ip) < 0)
		return -EBADMSG;
	a->no_prefix_route = no_prefix_route != 0;
	a->optimistic = optimistic != 0;
	a->broadcast = broadcast != 0;
	s->change.foreign = foreign != 0;
	return 0;
}

static bool addr_matches(const struct inv_addr *have, const struct plan_step *s)
{
	return have->ifindex == s->change.ifindex && have->ip.len == s->change.addr.ip.len &&
	       ip_addr_equal(&have->ip.addr, &s->change.addr.ip.addr);
}

/* An address without its local route is unusable, so it counts as absent: adding it again adds the
 * route. If the kernel does not store owners, an address that appeared while Plenum was adding it
 * counts as added by Plenum. The same is true for an address of another program that the step
 * moves. */
static enum object_presence addr_present(const struct inventory *inv, const struct plan_step *s)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (addr_matches(&inv->addrs[i], s) && !inv->addrs[i].local_missing)
			return inv->addrs[i].proto == PLENUM_RTPROT || !inv->addr_owner_known ||
					       s->change.foreign
				       ? OBJECT_OURS
				       : OBJECT_PRESENT;
	return OBJECT_ABSENT;
}

static bool addr_same(const struct plan_step *a, const struct plan_step *b)
{
	struct inv_addr have = a->change.addr;

	have.ifindex = a->change.ifindex;
	return addr_matches(&have, b);
}

static int addr_ours(const struct object_view *v, size_t i, struct plan_step *ret)
{
	const struct inv_addr *have;
	struct reason why;

	if (i >= v->inv->n_addrs)
		return -ENOENT;
	have = &v->inv->addrs[i];
	if (!v->addr_is_ours(v, have))
		return 0;
	ret->change = (struct kernel_change){
		.kind = KERNEL_ADDR, .ifindex = have->ifindex, .addr = *have};
	if (v->addr_is_workers(v, &have->ip.addr, &why))
		(void)reason_format(&why, ret->reason, sizeof(ret->reason));
	return 1;
}

/* Returns whether `have` must be removed before `want` can be added: a link can have an IPv6
 * address only once, even with another prefix length. */
static bool addr_in_the_way(const struct plan_step *have, const struct plan_step *want)
{
	return have->change.addr.ip.addr.family == AF_INET6 &&
	       have->change.ifindex == want->change.ifindex &&
	       ip_addr_equal(&have->change.addr.ip.addr, &want->change.addr.ip.addr);
}

const struct object_kind object_addr = {
	.name = "addr",
	.verb = PLAN_ADD,
	.recorded = true,
	.phase = {[PLAN_ADD] = OBJECT_PHASE_ADDR, [PLAN_DEL] = OBJECT_PHASE_ADDR_DEL},
	.describe = addr_describe,
	.undone = addr_undone,
	.format = addr_format,
	.parse = addr_parse,
	.present = addr_present,
	.same = addr_same,
	.ours = addr_ours,
	.in_the_way = addr_in_the_way,
};
