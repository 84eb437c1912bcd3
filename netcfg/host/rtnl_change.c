/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/host/rtnl.h"
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

static int put_addr(struct nl_msg *m, int type, const struct ip_addr *a)
{
	return nla_put(m, type, (int)ip_addr_bits(a) / 8, a->bytes);
}

static struct nl_msg *change_new(int type, bool add, void *header, size_t bytes)
{
	struct nl_msg *m = nlmsg_alloc_simple(type, add ? NLM_F_CREATE | NLM_F_EXCL : 0);

	if (m && nlmsg_append(m, header, bytes, NLMSG_ALIGNTO) < 0) {
		nlmsg_free(m);
		m = NULL;
	}
	return m;
}

/* Sends and frees m; put_error < 0: it could not be built. */
static int change_run(struct rtnl *rt, struct nl_msg *m, int put_error, char *why)
{
	int r = !m || put_error < 0 ? -ENOMEM : rtnl_change(rt, m, why);

	if ((!m || put_error < 0) && why)
		snprintf(why, KERNEL_WHY_MAX, "%s", strerror(ENOMEM));
	nlmsg_free(m);
	return r;
}

int rtnl_link_set(struct rtnl *rt, const struct kernel_link_change *c, char *why)
{
	struct ifinfomsg ifi = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = (int)c->ifindex,
		.ifi_flags = c->set_up && c->up ? IFF_UP : 0,
		.ifi_change = c->set_up ? IFF_UP : 0,
	};
	struct nl_msg *m = change_new(RTM_NEWLINK, false, &ifi, sizeof(ifi));
	int r = 0;

	if (m && c->set_mtu)
		r = nla_put_u32(m, IFLA_MTU, c->mtu);
	return change_run(rt, m, r, why);
}

int rtnl_addr_change(struct rtnl *rt, bool add, const struct inv_addr *a, char *why)
{
	struct ifaddrmsg ifa = {
		.ifa_family = a->ip.addr.family,
		.ifa_prefixlen = a->ip.len,
		.ifa_scope = RT_SCOPE_UNIVERSE,
		.ifa_index = a->ifindex,
	};
	struct nl_msg *m = change_new(add ? RTM_NEWADDR : RTM_DELADDR, add, &ifa, sizeof(ifa));
	uint32_t flags = (a->no_prefix_route ? IFA_F_NOPREFIXROUTE : 0) |
			 (a->optimistic ? IFA_F_OPTIMISTIC : 0);
	int r = 0;

	if (m) {
		r |= put_addr(m, IFA_LOCAL, &a->ip.addr);
		r |= put_addr(m, IFA_ADDRESS, &a->ip.addr);
		if (add && flags)
			r |= nla_put_u32(m, IFA_FLAGS, flags);
		if (add) /* kernels before 5.18 pass over it */
			r |= nla_put_u8(m, IFA_PROTO, a->proto ? a->proto : PLENUM_RTPROT);
	}
	return change_run(rt, m, r, why);
}

int rtnl_route_change(struct rtnl *rt, bool add, const struct inv_route *route, char *why)
{
	struct inv_route want = *route;
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
	m = change_new(add ? RTM_NEWROUTE : RTM_DELROUTE, add, &rtm, sizeof(rtm));
	if (m) {
		r |= nla_put_u32(m, RTA_TABLE, want.table);
		if (want.dst.len)
			r |= put_addr(m, RTA_DST, &want.dst.addr);
		if (want.metric)
			r |= nla_put_u32(m, RTA_PRIORITY, want.metric);
		if (want.gateway.family)
			r |= put_addr(m, RTA_GATEWAY, &want.gateway);
		if (want.src.family)
			r |= put_addr(m, RTA_PREFSRC, &want.src);
		if (want.oif)
			r |= nla_put_u32(m, RTA_OIF, want.oif);
	}
	return change_run(rt, m, r, why);
}

int rtnl_rule_change(struct rtnl *rt, bool add, const struct inv_rule *rule, char *why)
{
	struct ip_addr from = ip_addr_network(&rule->from.addr, rule->from.len);
	struct fib_rule_hdr frh = {
		.family = rule->family ? rule->family : rule->from.addr.family,
		.src_len = rule->from.addr.family ? rule->from.len : 0,
		.table = rule->table < 256 ? (uint8_t)rule->table : RT_TABLE_UNSPEC,
		.action = FR_ACT_TO_TBL,
	};
	struct nl_msg *m = change_new(add ? RTM_NEWRULE : RTM_DELRULE, add, &frh, sizeof(frh));
	int r = 0;

	if (m) {
		r |= nla_put_u32(m, FRA_TABLE, rule->table);
		r |= nla_put_u32(m, FRA_PRIORITY, rule->priority);
		r |= nla_put_u8(m, FRA_PROTOCOL, rule->proto ? rule->proto : PLENUM_RTPROT);
		if (frh.src_len)
			r |= put_addr(m, FRA_SRC, &from);
	}
	return change_run(rt, m, r, why);
}
