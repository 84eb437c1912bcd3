/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the kernel for the route of a packet, including policy rules. The result may be a route that
 * the inventory does not list, such as a local route.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <endian.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

static struct nl_msg *request_new(const struct ip_addr *from, const struct ip_addr *to,
				  uint32_t oif, uint16_t udp_port)
{
	const uint16_t port = htobe16(udp_port);
	struct nl_msg *m = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	struct rtmsg rtm = {
		.rtm_family = to->family,
		.rtm_dst_len = (uint8_t)ip_addr_bits(to),
		.rtm_src_len = from ? (uint8_t)ip_addr_bits(from) : 0,
		/* Without this flag, IPv4 reports table main for each route. IPv6 always reports
		 * the real table, and rejects this flag. */
		.rtm_flags = to->family == AF_INET ? RTM_F_LOOKUP_TABLE : 0,
	};
	int r;

	if (!m)
		return NULL;
	r = nlmsg_append(m, &rtm, sizeof(rtm), NLMSG_ALIGNTO);
	r |= rtnl_put_addr(m, RTA_DST, to);
	if (from)
		r |= rtnl_put_addr(m, RTA_SRC, from);
	if (oif)
		r |= nla_put_u32(m, RTA_OIF, oif);
	if (udp_port) {
		r |= nla_put_u8(m, RTA_IP_PROTO, IPPROTO_UDP);
		r |= nla_put_u16(m, RTA_SPORT, port);
		r |= nla_put_u16(m, RTA_DPORT, port);
	}
	if (r < 0) {
		nlmsg_free(m);
		return NULL;
	}
	return m;
}

/* Converts a route that rejects packets, which IPv6 returns, to the error that IPv4 returns. */
static int refusal(const struct inv_route *r)
{
	switch (r->type) {
	case RTN_UNREACHABLE:
		return -EHOSTUNREACH;
	case RTN_PROHIBIT:
		return -EACCES;
	case RTN_BLACKHOLE:
		return -EINVAL;
	case RTN_THROW:
		return -ENETUNREACH;
	default:
		return 0;
	}
}

int rtnl_route_lookup(struct rtnl *rt, const struct ip_addr *from, const struct ip_addr *to,
		      uint32_t oif, uint16_t udp_port, struct inv_route *ret, struct reason *why)
{
	struct inventory answer = {0};
	struct nl_msg *m;
	int r = -EAFNOSUPPORT;

	reason_clear(why);
	if (from && from->family == 0)
		from = NULL;
	if (to->family && (!from || from->family == to->family)) {
		m = request_new(from, to, oif, udp_port);
		r = m ? rtnl_ask(rt, m, rtnl_parse_lookup, &answer, why) : -ENOMEM;
		nlmsg_free(m);
	}
	if (r == 0 && answer.n_routes == 0)
		r = -EBADMSG;
	if (r == 0)
		r = refusal(&answer.routes[0]);
	if (r == 0)
		*ret = answer.routes[0];
	else if (why && !reason_is_set(why))
		kernel_fail(why, r, "");
	inv_done(&answer);
	return r;
}
