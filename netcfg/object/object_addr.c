/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An address of a link. Ours have our protocol number; kernels before 5.18 do not keep it, so
 * there the record says which are ours.
 */
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/planner.h"
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
		snprintf(buf, size, "address %s was added to %s, marked as ours", ip, where);
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

static bool is(const struct inv_addr *have, const struct plan_step *s)
{
	return have->ifindex == s->change.ifindex && have->ip.len == s->change.addr.ip.len &&
	       ip_addr_equal(&have->ip.addr, &s->change.addr.ip.addr);
}

/* On kernels that do not keep the owner, an address that appears while we add it is ours; so is a
 * foreign one that we move. */
static enum object_presence addr_present(const struct inventory *inv, const struct plan_step *s)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (is(&inv->addrs[i], s))
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
	return is(&have, b);
}

bool plan_addr_is_ours(const struct plan_builder *b, const struct inv_addr *have)
{
	const struct plan_owned *owned = b->ctx->owned;

	if (have->proto == PLENUM_RTPROT)
		return true;
	if (b->inv->addr_owner_known || have->proto != 0 || !owned)
		return false;
	for (size_t i = 0; i < owned->n; i++)
		if (owned->steps[i].kind == &object_addr && is(have, &owned->steps[i]))
			return true;
	return false;
}

/* The worker that answers for this address itself, or NULL. */
static const struct plan_worker *worker_of(const struct plan *p, const struct ip_addr *ip)
{
	for (size_t i = 0; i < p->n_workers; i++)
		for (size_t k = 0; k < p->workers[i].n_ports; k++)
			if (ip_addr_equal(&p->workers[i].ports[k].ip.addr, ip))
				return &p->workers[i];
	return NULL;
}

static int addr_ours(const struct plan_builder *b, size_t i, struct plan_step *ret)
{
	const struct plan_worker *w;
	const struct inv_addr *have;

	if (i >= b->inv->n_addrs)
		return -ENOENT;
	have = &b->inv->addrs[i];
	if (!plan_addr_is_ours(b, have))
		return 0;
	ret->change = (struct kernel_change){
		.kind = KERNEL_ADDR, .ifindex = have->ifindex, .addr = *have};
	w = worker_of(b->plan, &have->ip.addr);
	if (w && w->effective != SPEC_TRANSPORT_UDP)
		snprintf(ret->reason, sizeof(ret->reason),
			 "worker %u (%s) now answers for this IP, so the kernel must not", w->id,
			 spec_transport_to_string(w->effective));
	return 1;
}

/* A link can have an IPv6 address only once, whatever its prefix. */
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
