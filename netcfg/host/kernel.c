/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of routes, rules, VFs, VLANs and RDMA devices as the kernel sees them: equality,
 * defaults of omitted values, text forms. The Linux implementation, the simulated host and the plan
 * share them.
 */
#include "netcfg/host/kernel.h"
#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

/* The default metric of IPv6 routes in Linux (IP6_RT_PRIO_USER). */
#define ROUTE6_METRIC_DEFAULT 1024

struct kernel *kernel_free(struct kernel *k)
{
	if (k)
		k->ops->free(k);
	return NULL;
}

void kernel_forget(struct kernel *k)
{
	if (k->ops->forget)
		k->ops->forget(k);
}

int kernel_fail(struct reason *why, int r, const char *text)
{
	reason_set_text(why, "%s", text[0] ? text : strerror(-r));
	return r;
}

void kernel_route_normalize(struct inv_route *r)
{
	if (r->type == RTN_UNSPEC)
		r->type = RTN_UNICAST;
	if (r->table == RT_TABLE_UNSPEC)
		r->table = RT_TABLE_MAIN;
	if (r->proto == RTPROT_UNSPEC)
		r->proto = PLENUM_RTPROT;
	if (r->family == 0)
		r->family = r->dst.addr.family ? r->dst.addr.family : r->gateway.family;
	if (r->family == AF_INET6 && r->metric == 0)
		r->metric = ROUTE6_METRIC_DEFAULT;
	if (r->family == AF_INET && r->type == RTN_UNICAST && !r->gateway.family &&
	    r->scope == RT_SCOPE_UNIVERSE)
		r->scope = RT_SCOPE_LINK;
	/* The kernel reports a default route without a destination: give both spellings the same
	 * form. */
	r->dst.addr.family = r->family;
	r->dst.addr = ip_addr_network(&r->dst.addr, r->dst.len);
}

bool kernel_route_equal(const struct inv_route *a, const struct inv_route *b)
{
	return a->table == b->table && a->metric == b->metric && a->family == b->family &&
	       a->proto == b->proto && a->scope == b->scope && a->type == b->type &&
	       a->oif == b->oif && a->dst.len == b->dst.len &&
	       ip_addr_equal(&a->dst.addr, &b->dst.addr) &&
	       ip_addr_equal(&a->gateway, &b->gateway) && ip_addr_equal(&a->src, &b->src);
}

bool kernel_rule_equal(const struct inv_rule *a, const struct inv_rule *b)
{
	bool from_all_a = a->from.len == 0, from_all_b = b->from.len == 0;

	if (a->priority != b->priority || a->table != b->table || a->family != b->family ||
	    a->proto != b->proto || a->more != b->more || from_all_a != from_all_b)
		return false;
	return from_all_a ||
	       (a->from.len == b->from.len && ip_addr_equal(&a->from.addr, &b->from.addr));
}

bool kernel_link_is_ours(const struct inv_link *l)
{
	return strcmp(l->alias, PLENUM_LINK_ALIAS) == 0;
}

bool kernel_rdma_is_ours(const char *device)
{
	return strncmp(device, PLENUM_RDMA_PREFIX, strlen(PLENUM_RDMA_PREFIX)) == 0;
}

const struct inv_link *kernel_vlan_find(const struct inventory *inv, uint32_t lower, uint16_t id)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].kind == INV_LINK_VLAN && inv->links[i].lower == lower &&
		    inv->links[i].vlan == id)
			return &inv->links[i];
	return NULL;
}

const char *kernel_vf_format(const struct inv_vf *v, enum kernel_vf_attr attr, char buf[static 24])
{
	switch (attr) {
	case KERNEL_VF_MAC:
		return mac_addr_format(&v->mac, buf, 24);
	case KERNEL_VF_VLAN:
		snprintf(buf, 24, "%u", v->vlan);
		break;
	case KERNEL_VF_RATE:
		snprintf(buf, 24, "%" PRIu32, v->max_rate_mbps);
		break;
	default:
		snprintf(buf, 24, "%d", attr == KERNEL_VF_TRUST ? v->trust : v->spoof_check);
	}
	return buf;
}
