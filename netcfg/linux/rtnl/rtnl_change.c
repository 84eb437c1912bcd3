/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends changes as rtnetlink messages, and reads the current values of single links.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

static struct nl_msg *change_new(int type, bool add, void *header, size_t bytes)
{
	struct nl_msg *m = nlmsg_alloc_simple(type, add ? NLM_F_CREATE | NLM_F_EXCL : 0);

	if (m && nlmsg_append(m, header, bytes, NLMSG_ALIGNTO) < 0) {
		nlmsg_free(m);
		m = NULL;
	}
	return m;
}

int rtnl_change_run(struct rtnl *rt, struct nl_msg *m, int put_error, struct reason *why)
{
	int r = !m || put_error < 0 ? -ENOMEM : rtnl_change(rt, m, why);

	if (!m || put_error < 0)
		kernel_fail(why, r, "");
	nlmsg_free(m);
	return r;
}

struct nl_msg *rtnl_link_message(int type, int flags, uint32_t ifindex)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex};
	struct nl_msg *m = nlmsg_alloc_simple(type, flags);

	if (m && nlmsg_append(m, &ifi, sizeof(ifi), NLMSG_ALIGNTO) < 0) {
		nlmsg_free(m);
		m = NULL;
	}
	return m;
}

int rtnl_link_unmake(struct rtnl *rt, uint32_t ifindex, struct reason *why)
{
	return rtnl_change_run(rt, rtnl_link_message(RTM_DELLINK, 0, ifindex), 0, why);
}

int rtnl_link_mark(struct rtnl *rt, uint32_t ifindex, struct reason *why)
{
	struct nl_msg *m = rtnl_link_message(RTM_SETLINK, 0, ifindex);
	int r = m ? nla_put_string(m, IFLA_IFALIAS, PLENUM_LINK_ALIAS) : 0;

	r = rtnl_change_run(rt, m, r, why);
	if (r < 0) /* remove the link, which a later agent would not recognize without the alias */
		(void)rtnl_link_unmake(rt, ifindex, NULL);
	return r;
}

int rtnl_put_info_u16(struct nl_msg *m, const char *kind, int type, uint16_t value)
{
	struct nlattr *info = nla_nest_start(m, IFLA_LINKINFO), *data;

	if (!info || nla_put_string(m, IFLA_INFO_KIND, kind) < 0)
		return -1;
	data = nla_nest_start(m, IFLA_INFO_DATA);
	if (!data || nla_put_u16(m, type, value) < 0)
		return -1;
	nla_nest_end(m, data);
	nla_nest_end(m, info);
	return 0;
}

int rtnl_link_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	const struct kernel_link_value *v = &c->link;
	struct ifinfomsg ifi = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = (int)c->ifindex,
		.ifi_flags = v->attr == KERNEL_LINK_UP && v->value ? IFF_UP : 0,
		.ifi_change = v->attr == KERNEL_LINK_UP ? IFF_UP : 0,
	};
	struct nl_msg *m = change_new(RTM_NEWLINK, false, &ifi, sizeof(ifi));
	int r = 0;

	if (m && v->attr == KERNEL_LINK_MTU)
		r = nla_put_u32(m, IFLA_MTU, v->value);
	return rtnl_change_run(rt, m, r, why);
}

int rtnl_link_get(struct rtnl *rt, uint32_t ifindex, const char *name, uint32_t ext_mask,
		  struct inventory *ret)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex};
	struct nl_msg *m = nlmsg_alloc_simple(RTM_GETLINK, 0);
	int r = m ? nlmsg_append(m, &ifi, sizeof(ifi), NLMSG_ALIGNTO) : -1;

	if (r == 0 && !ifindex)
		r = nla_put_string(m, IFLA_IFNAME, name);
	if (r == 0)
		r = nla_put_u32(m, IFLA_EXT_MASK, ext_mask);
	r = r < 0 ? -ENOMEM : rtnl_ask(rt, m, rtnl_parse_link, ret, NULL);
	if (r == 0 && ret->n_links == 0)
		r = -ENODEV;
	nlmsg_free(m);
	return r;
}

static int link_get(struct rtnl *rt, uint32_t ifindex, const char *name, struct inv_link *ret)
{
	struct inventory answer = {0};
	int r = rtnl_link_get(rt, ifindex, name, RTEXT_FILTER_SKIP_STATS, &answer);

	if (r == 0)
		*ret = answer.links[0];
	inv_done(&answer);
	return r;
}

int rtnl_link_find(struct rtnl *rt, const char *name, uint32_t *ret_ifindex)
{
	struct inv_link link;
	int r = link_get(rt, 0, name, &link);

	if (r == 0)
		*ret_ifindex = link.ifindex;
	return r;
}

int rtnl_link_read(struct rtnl *rt, struct kernel_change *c)
{
	struct inv_link link;
	int r = link_get(rt, c->ifindex, NULL, &link);

	if (r == 0)
		c->link.was = c->link.attr == KERNEL_LINK_MTU ? link.mtu : link.up;
	return r;
}

/* Adds the route of type local that the kernel normally adds with an address. Returns -EEXIST if
 * the route exists. */
static int local_route_add(struct rtnl *rt, const struct kernel_change *c)
{
	const struct ip_addr *ip = &c->addr.ip.addr;
	const struct kernel_change route = {
		.kind = KERNEL_ROUTE,
		.ifindex = c->ifindex,
		.route = {.table = RT_TABLE_LOCAL,
			  .family = ip->family,
			  .proto = RTPROT_KERNEL,
			  .scope = ip->family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
			  .type = RTN_LOCAL,
			  .dst = {.addr = *ip, .len = (uint8_t)ip_addr_bits(ip)},
			  .src = ip->family == AF_INET ? *ip : (struct ip_addr){0}}};

	return rtnl_route_change(rt, &route, NULL);
}

int rtnl_addr_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	const struct inv_addr *a = &c->addr;
	const bool add = !c->remove;
	struct ifaddrmsg ifa = {
		.ifa_family = a->ip.addr.family,
		.ifa_prefixlen = a->ip.len,
		.ifa_scope = RT_SCOPE_UNIVERSE,
		.ifa_index = c->ifindex,
	};
	struct nl_msg *m = change_new(add ? RTM_NEWADDR : RTM_DELADDR, add, &ifa, sizeof(ifa));
	uint32_t flags = (a->no_prefix_route ? IFA_F_NOPREFIXROUTE : 0) |
			 (a->optimistic ? IFA_F_OPTIMISTIC : 0);
	int r = 0;

	if (m) {
		r |= rtnl_put_addr(m, IFA_LOCAL, &a->ip.addr);
		r |= rtnl_put_addr(m, IFA_ADDRESS, &a->ip.addr);
		if (add && flags)
			r |= nla_put_u32(m, IFA_FLAGS, flags);
		if (add && a->broadcast) {
			const struct ip_addr last = ip_prefix_last(&a->ip);

			r |= rtnl_put_addr(m, IFA_BROADCAST, &last);
		}
		/* Set the protocol number, which kernels before 5.18 ignore. */
		if (add && (a->proto || !c->foreign))
			r |= nla_put_u8(m, IFA_PROTO, a->proto ? a->proto : PLENUM_RTPROT);
	}
	r = rtnl_change_run(rt, m, r, why);
	if (r == -EEXIST && add && local_route_add(rt, c) == 0) {
		reason_clear(why);
		r = 0;
	}
	return r;
}

int rtnl_route_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct inv_route want = c->route;
	struct rtmsg rtm;
	struct nl_msg *m;
	int r = 0;

	kernel_route_normalize(&want);
	rtm = (struct rtmsg){
		.rtm_family = want.family,
		.rtm_dst_len = want.dst.len,
		.rtm_table = want.table < 256 ? (uint8_t)want.table : RT_TABLE_UNSPEC,
		.rtm_protocol = want.proto,
		.rtm_scope = want.scope,
		.rtm_type = want.type,
	};
	m = change_new(c->remove ? RTM_DELROUTE : RTM_NEWROUTE, !c->remove, &rtm, sizeof(rtm));
	if (m) {
		r |= nla_put_u32(m, RTA_TABLE, want.table);
		if (want.dst.len)
			r |= rtnl_put_addr(m, RTA_DST, &want.dst.addr);
		if (want.metric)
			r |= nla_put_u32(m, RTA_PRIORITY, want.metric);
		if (want.gateway.family)
			r |= rtnl_put_addr(m, RTA_GATEWAY, &want.gateway);
		if (want.src.family)
			r |= rtnl_put_addr(m, RTA_PREFSRC, &want.src);
		if (c->ifindex)
			r |= nla_put_u32(m, RTA_OIF, c->ifindex);
	}
	return rtnl_change_run(rt, m, r, why);
}

int rtnl_rule_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	const struct inv_rule *rule = &c->rule;
	struct ip_addr from = ip_addr_network(&rule->from.addr, rule->from.len);
	struct fib_rule_hdr frh = {
		.family = rule->family ? rule->family : rule->from.addr.family,
		.src_len = rule->from.addr.family ? rule->from.len : 0,
		.table = rule->table < 256 ? (uint8_t)rule->table : RT_TABLE_UNSPEC,
		.action = FR_ACT_TO_TBL,
	};
	struct nl_msg *m =
		change_new(c->remove ? RTM_DELRULE : RTM_NEWRULE, !c->remove, &frh, sizeof(frh));
	int r = 0;

	if (m) {
		r |= nla_put_u32(m, FRA_TABLE, rule->table);
		r |= nla_put_u32(m, FRA_PRIORITY, rule->priority);
		r |= nla_put_u8(m, FRA_PROTOCOL, rule->proto ? rule->proto : PLENUM_RTPROT);
		if (frh.src_len)
			r |= rtnl_put_addr(m, FRA_SRC, &from);
	}
	return rtnl_change_run(rt, m, r, why);
}
