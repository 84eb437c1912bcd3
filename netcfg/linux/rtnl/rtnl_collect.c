/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dumps links, addresses, routes and rules into an inventory. Each parser handles one message and
 * validates all lengths in it, so that fuzzers can call it.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/link_setting.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

/* Maximum number of attempts to get a consistent dump while other programs change the
 * configuration. */
#define DUMP_ATTEMPTS_MAX 20

_Static_assert((int)INV_TABLE_MAIN == RT_TABLE_MAIN && (int)INV_TABLE_LOCAL == RT_TABLE_LOCAL &&
		       (int)INV_TABLE_DEFAULT == RT_TABLE_DEFAULT,
	       "table numbers equal the kernel's");
_Static_assert((int)INV_ROUTE_UNICAST == RTN_UNICAST && (int)INV_ROUTE_BLACKHOLE == RTN_BLACKHOLE &&
		       (int)INV_ROUTE_UNREACHABLE == RTN_UNREACHABLE &&
		       (int)INV_ROUTE_PROHIBIT == RTN_PROHIBIT && (int)INV_ROUTE_THROW == RTN_THROW,
	       "route types equal the kernel's");
_Static_assert((int)INV_PROTO_KERNEL == RTPROT_KERNEL && (int)INV_PROTO_BOOT == RTPROT_BOOT &&
		       (int)INV_PROTO_STATIC == RTPROT_STATIC && (int)INV_PROTO_RA == RTPROT_RA &&
		       (int)INV_PROTO_DHCP == RTPROT_DHCP,
	       "protocol numbers equal the kernel's");

static int parse_attrs(struct nlmsghdr *h, int header_bytes, struct nlattr **tb, int max,
		       const struct nla_policy *policy)
{
	return nlmsg_parse(h, header_bytes, tb, max, (struct nla_policy *)policy) < 0 ? -EBADMSG
										      : 0;
}

static uint32_t attr_u32(const struct nlattr *a)
{
	return a && nla_len(a) >= (int)sizeof(uint32_t) ? nla_get_u32(a) : 0;
}

static uint8_t attr_u8(const struct nlattr *a)
{
	return a && nla_len(a) >= 1 ? nla_get_u8(a) : 0;
}

static void attr_text(const struct nlattr *a, char *buf, size_t size)
{
	if (a)
		nla_strlcpy(buf, a, size);
}

/* Reads an address. Returns false if the attribute is absent or its length does not match the
 * family. */
static bool attr_addr(const struct nlattr *a, uint8_t family, struct ip_addr *ret)
{
	int want = family == AF_INET ? 4 : 16;

	if (!a || (family != AF_INET && family != AF_INET6) || nla_len(a) != want)
		return false;
	*ret = (struct ip_addr){.family = family};
	memcpy(ret->bytes, nla_data(a), (size_t)want);
	return true;
}

static void attr_mac(const struct nlattr *a, struct mac_addr *ret)
{
	if (a && nla_len(a) == sizeof(ret->bytes))
		memcpy(ret->bytes, nla_data(a), sizeof(ret->bytes));
}

/* Prints bytes as hexadecimal digits, as sysfs does. */
static void attr_hex(const struct nlattr *a, char *buf, size_t size)
{
	const uint8_t *bytes = a ? nla_data(a) : NULL;

	for (int i = 0; a && i < nla_len(a) && 2 * (size_t)i + 2 < size; i++)
		snprintf(buf + 2 * i, 3, "%02x", bytes[i]);
}

static enum inv_link_kind link_kind(unsigned short arp_type, const char *kind_text)
{
	static const struct {
		const char *text;
		enum inv_link_kind kind;
	} kinds[] = {
		{"veth", INV_LINK_VETH}, {"bridge", INV_LINK_BRIDGE}, {"bond", INV_LINK_BOND},
		{"vlan", INV_LINK_VLAN}, {"tun", INV_LINK_TUN},	      {"ipoib", INV_LINK_IPOIB},
	};

	if (arp_type == ARPHRD_LOOPBACK)
		return INV_LINK_LOOPBACK;
	if (arp_type == ARPHRD_INFINIBAND)
		return INV_LINK_IPOIB;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kind_text, kinds[i].text) == 0)
			return kinds[i].kind;
	/* a virtual link for now: sysfs_fill_link() changes the kind if the link has a device */
	return INV_LINK_VIRTUAL;
}

static void parse_linkinfo(struct inv_link *l, struct nlattr *info)
{
	struct nlattr *tb[IFLA_INFO_MAX + 1], *data;

	if (!info || nla_parse_nested(tb, IFLA_INFO_MAX, info, NULL) < 0)
		return;
	attr_text(tb[IFLA_INFO_KIND], l->kind_text, sizeof(l->kind_text));
	if (!tb[IFLA_INFO_DATA])
		return;
	data = tb[IFLA_INFO_DATA];
	if (strcmp(l->kind_text, "vlan") == 0) {
		const struct nlattr *id = nla_find(nla_data(data), nla_len(data), IFLA_VLAN_ID);

		if (id && nla_len(id) >= (int)sizeof(uint16_t))
			l->vlan = nla_get_u16(id);
	}
	if (strcmp(l->kind_text, "ipoib") == 0)
		rtnl_parse_ipoib(l, data);
	if (strcmp(l->kind_text, "vrf") == 0)
		l->vrf_table = attr_u32(nla_find(nla_data(data), nla_len(data), IFLA_VRF_TABLE));
}

/* Stores only names that fit completely. */
static void parse_altnames(struct inv_link *l, struct nlattr *list)
{
	struct nlattr *a;
	int left;

	if (!list)
		return;
	nla_for_each_nested(a, list, left)
	{
		const size_t have = strlen(l->altnames);
		char name[ALTIFNAMSIZ] = "";
		size_t len;

		if (nla_type(a) != IFLA_ALT_IFNAME)
			continue;
		attr_text(a, name, sizeof(name));
		len = strlen(name);
		if (have + len + 1 >= sizeof(l->altnames))
			continue;
		memcpy(l->altnames + have, name, len);
		memcpy(l->altnames + have + len, " ", 2);
	}
}

/* Stores a link's kernel settings from its RTM_NEWLINK message, so that the agent need not read a
 * file for each link and setting. */
static int add_settings(struct inventory *inv, const char *ifname, const char *family,
			struct nlattr *conf)
{
	for (enum link_setting i = 0; conf && i < LINK_SETTING_MAX; i++) {
		const struct link_setting_entry *e = &link_settings[i];
		char key[LINK_SETTING_KEY_MAX], value[16];
		int32_t v;
		int r;

		if (strcmp(e->family, family) != 0 ||
		    (e->devconf + 1) * sizeof(v) > (size_t)nla_len(conf))
			continue;
		memcpy(&v, (char *)nla_data(conf) + e->devconf * sizeof(v), sizeof(v));
		snprintf(value, sizeof(value), "%d", v);
		r = inv_sysctl_add(inv, link_setting_key(i, ifname, key), value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_af_spec(struct inventory *inv, const char *ifname, struct nlattr *spec)
{
	struct nlattr *af;
	int left, r = 0;

	nla_for_each_nested(af, spec, left)
	{
		bool v4 = nla_type(af) == AF_INET;
		struct nlattr *conf;

		if (!v4 && nla_type(af) != AF_INET6)
			continue;
		conf = nla_find(nla_data(af), nla_len(af), v4 ? IFLA_INET_CONF : IFLA_INET6_CONF);
		r = add_settings(inv, ifname, v4 ? "ipv4" : "ipv6", conf);
		if (r < 0)
			return r;
	}
	return 0;
}

static void parse_link_attrs(struct inv_link *l, struct nlattr **tb, const struct ifinfomsg *ifi)
{
	attr_text(tb[IFLA_IFNAME], l->name, sizeof(l->name));
	attr_text(tb[IFLA_IFALIAS], l->alias, sizeof(l->alias));
	attr_text(tb[IFLA_PHYS_PORT_NAME], l->port_name, sizeof(l->port_name));
	attr_hex(tb[IFLA_PHYS_SWITCH_ID], l->switch_id, sizeof(l->switch_id));
	parse_linkinfo(l, tb[IFLA_LINKINFO]);
	parse_altnames(l, tb[IFLA_PROP_LIST]);
	l->kind = link_kind(ifi->ifi_type, l->kind_text);
	attr_mac(tb[IFLA_ADDRESS], &l->mac);
	attr_mac(tb[IFLA_PERM_ADDRESS], &l->permanent_mac);
	l->mtu = attr_u32(tb[IFLA_MTU]);
	l->mtu_min = attr_u32(tb[IFLA_MIN_MTU]);
	l->mtu_max = attr_u32(tb[IFLA_MAX_MTU]);
	l->up = (ifi->ifi_flags & IFF_UP) != 0;
	l->carrier = (ifi->ifi_flags & IFF_LOWER_UP) != 0;
	l->master = attr_u32(tb[IFLA_MASTER]);
	/* IFLA_LINK is not a parent link in two cases: for a veth it is the peer link, and with a
	 * namespace id it is an index in another namespace. */
	if (l->kind != INV_LINK_VETH && !tb[IFLA_LINK_NETNSID] &&
	    attr_u32(tb[IFLA_LINK]) != l->ifindex)
		l->lower = attr_u32(tb[IFLA_LINK]);
}

int rtnl_parse_link(struct inventory *inv, struct nlmsghdr *h)
{
	struct nlattr *tb[IFLA_MAX + 1];
	const struct ifinfomsg *ifi = nlmsg_data(h);
	struct inv_link *l;
	int r = 0;

	if (h->nlmsg_type != RTM_NEWLINK)
		return 0;
	if (parse_attrs(h, sizeof(*ifi), tb, IFLA_MAX, NULL) < 0 || !tb[IFLA_IFNAME])
		return -EBADMSG;
	if (ifi->ifi_family != AF_UNSPEC)
		return 0;
	l = inv_link_add(inv);
	if (!l)
		return -ENOMEM;
	l->ifindex = (uint32_t)ifi->ifi_index;
	parse_link_attrs(l, tb, ifi);
	if (tb[IFLA_LINKINFO])
		r = rtnl_parse_bond(inv, (uint32_t)ifi->ifi_index, attr_u32(tb[IFLA_MASTER]),
				    tb[IFLA_LINKINFO]);
	if (r == 0 && tb[IFLA_VFINFO_LIST])
		r = rtnl_parse_vfs(inv, (uint32_t)ifi->ifi_index, tb[IFLA_VFINFO_LIST]);
	return r == 0 && tb[IFLA_AF_SPEC] ? parse_af_spec(inv, l->name, tb[IFLA_AF_SPEC]) : r;
}

/* Returns whether the address has attributes that the inventory does not store, so that it could
 * not be restored exactly. */
static bool addr_has_more(const struct inv_addr *a, const struct ifaddrmsg *ifa, uint32_t flags,
			  struct nlattr **tb)
{
	const uint32_t more = IFA_F_NODAD | IFA_F_HOMEADDRESS | IFA_F_MANAGETEMPADDR |
			      IFA_F_MCAUTOJOIN | IFA_F_STABLE_PRIVACY;
	const struct ip_addr last = ip_prefix_last(&a->ip);
	struct ip_addr other;

	if (attr_addr(tb[IFA_ADDRESS], ifa->ifa_family, &other) &&
	    !ip_addr_equal(&other, &a->ip.addr))
		return true;
	if (attr_addr(tb[IFA_BROADCAST], ifa->ifa_family, &other) && !ip_addr_equal(&other, &last))
		return true;
	return ifa->ifa_scope != RT_SCOPE_UNIVERSE || !(flags & IFA_F_PERMANENT) ||
	       (flags & more) || attr_u32(tb[IFA_RT_PRIORITY]) ||
	       (tb[IFA_LABEL] && memchr(nla_data(tb[IFA_LABEL]), ':', nla_len(tb[IFA_LABEL])));
}

int rtnl_parse_addr(struct inventory *inv, struct nlmsghdr *h)
{
	struct nlattr *tb[IFA_MAX + 1];
	const struct ifaddrmsg *ifa = nlmsg_data(h);
	uint32_t flags;
	struct inv_addr a = {0};
	struct inv_addr *slot;

	if (h->nlmsg_type != RTM_NEWADDR)
		return 0;
	if (parse_attrs(h, sizeof(*ifa), tb, IFA_MAX, NULL) < 0)
		return -EBADMSG;
	/* On a point-to-point link, IFA_ADDRESS is the remote address and IFA_LOCAL the link's
	 * own. */
	if (!attr_addr(tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS], ifa->ifa_family,
		       &a.ip.addr))
		return ifa->ifa_family == AF_INET || ifa->ifa_family == AF_INET6 ? -EBADMSG : 0;
	if (ifa->ifa_prefixlen > ip_addr_bits(&a.ip.addr))
		return -EBADMSG;
	flags = tb[IFA_FLAGS] ? attr_u32(tb[IFA_FLAGS]) : ifa->ifa_flags;
	a.ifindex = ifa->ifa_index;
	a.ip.len = ifa->ifa_prefixlen;
	a.proto = attr_u8(tb[IFA_PROTO]);
	a.tentative = (flags & IFA_F_TENTATIVE) != 0;
	a.dad_failed = (flags & IFA_F_DADFAILED) != 0;
	a.optimistic = ifa->ifa_family == AF_INET6 && (flags & IFA_F_OPTIMISTIC) != 0;
	a.no_prefix_route = (flags & IFA_F_NOPREFIXROUTE) != 0;
	/* With IPv6 the same bit marks temporary addresses, which do not depend on another
	 * address. */
	a.secondary = ifa->ifa_family == AF_INET && (flags & IFA_F_SECONDARY) != 0;
	a.broadcast = tb[IFA_BROADCAST] != NULL;
	a.more = addr_has_more(&a, ifa, flags, tb);
	slot = inv_addr_add(inv);
	if (!slot)
		return -ENOMEM;
	*slot = a;
	return 0;
}

static int route_append(struct inventory *inv, const struct inv_route *r)
{
	struct inv_route *slot = inv_route_add(inv);

	if (!slot)
		return -ENOMEM;
	*slot = *r;
	return 0;
}

static void parse_gateway(struct inv_route *r, const struct nlattr *gateway,
			  const struct nlattr *via)
{
	const struct rtvia *v;

	if (attr_addr(gateway, r->family, &r->gateway) || !via ||
	    nla_len(via) < (int)(sizeof(v->rtvia_family) + 4))
		return;
	v = nla_data(via); /* the gateway's family differs from the route's */
	if (v->rtvia_family == AF_INET6 && nla_len(via) >= (int)sizeof(v->rtvia_family) + 16) {
		r->gateway = (struct ip_addr){.family = AF_INET6};
		memcpy(r->gateway.bytes, v->rtvia_addr, 16);
	} else if (v->rtvia_family == AF_INET) {
		r->gateway = (struct ip_addr){.family = AF_INET};
		memcpy(r->gateway.bytes, v->rtvia_addr, 4);
	}
}

/* Stores a route with several next hops as one entry for each hop. */
static int parse_multipath(struct inventory *inv, const struct inv_route *base,
			   struct nlattr *multipath)
{
	struct rtnexthop *hop = nla_data(multipath);
	size_t left = (size_t)nla_len(multipath);
	int r = 0;

	while (r == 0 && left >= sizeof(*hop) && hop->rtnh_len >= sizeof(*hop) &&
	       hop->rtnh_len <= left) {
		struct nlattr *attrs = (struct nlattr *)RTNH_DATA(hop);
		int attrs_len = hop->rtnh_len - (int)RTNH_SPACE(0);
		size_t step = RTNH_ALIGN(hop->rtnh_len);
		struct inv_route one = *base;

		one.oif = (uint32_t)hop->rtnh_ifindex;
		one.linkdown = (hop->rtnh_flags & RTNH_F_LINKDOWN) != 0;
		if (attrs_len > 0)
			parse_gateway(&one, nla_find(attrs, attrs_len, RTA_GATEWAY),
				      nla_find(attrs, attrs_len, RTA_VIA));
		r = route_append(inv, &one);
		if (step >= left)
			break;
		left -= step;
		hop = (struct rtnexthop *)((char *)hop + step);
	}
	return r;
}

static bool route_is_relevant(const struct rtmsg *rtm, const struct inv_route *r)
{
	static const uint8_t link_local[2] = {0xfe, 0x80};

	if (r->table == RT_TABLE_LOCAL || (rtm->rtm_flags & RTM_F_CLONED) ||
	    (rtm->rtm_family != AF_INET && rtm->rtm_family != AF_INET6))
		return false;
	if (r->type == RTN_LOCAL || r->type == RTN_BROADCAST || r->type == RTN_ANYCAST ||
	    r->type == RTN_MULTICAST)
		return false;
	/* Omits the kernel's link-local routes: each IPv6 link has one, so they would only make the
	 * inventory longer. */
	return !(r->proto == RTPROT_KERNEL && r->dst.addr.family == AF_INET6 && r->dst.len == 64 &&
		 memcmp(r->dst.addr.bytes, link_local, sizeof(link_local)) == 0);
}

/* Returns whether the route has attributes that the inventory does not store. Routes with a
 * lifetime (from router advertisements) are among them, because the program that added them renews
 * them. */
static bool route_has_more(const struct rtmsg *rtm, const struct inv_route *r, struct nlattr **tb)
{
	const struct rta_cacheinfo *cache = NULL;

	if (tb[RTA_CACHEINFO] && nla_len(tb[RTA_CACHEINFO]) >= (int)sizeof(*cache))
		cache = nla_data(tb[RTA_CACHEINFO]);
	return rtm->rtm_tos || rtm->rtm_src_len || (rtm->rtm_flags & RTNH_F_ONLINK) ||
	       tb[RTA_METRICS] || tb[RTA_MULTIPATH] || tb[RTA_ENCAP] || tb[RTA_NH_ID] ||
	       tb[RTA_VIA] || attr_u8(tb[RTA_PREF]) || (cache && cache->rta_expires) ||
	       r->proto == RTPROT_UNSPEC;
}

/* Marks the address of a local route as usable. For links of a VRF, local routes are in the table
 * of the VRF. */
static void note_local_route(struct inventory *inv, const struct inv_route *r)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (ip_addr_equal(&inv->addrs[i].ip.addr, &r->dst.addr))
			inv->addrs[i].local_missing = false;
}

static int parse_route(struct inventory *inv, struct nlmsghdr *h, bool all)
{
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *rtm = nlmsg_data(h);
	struct inv_route r = {0};

	if (h->nlmsg_type != RTM_NEWROUTE)
		return 0;
	if (parse_attrs(h, sizeof(*rtm), tb, RTA_MAX, NULL) < 0)
		return -EBADMSG;
	r.table = tb[RTA_TABLE] ? attr_u32(tb[RTA_TABLE]) : rtm->rtm_table;
	r.metric = attr_u32(tb[RTA_PRIORITY]);
	r.family = rtm->rtm_family;
	r.proto = rtm->rtm_protocol;
	r.scope = rtm->rtm_scope;
	r.type = rtm->rtm_type;
	r.dst.addr.family = rtm->rtm_family;
	if (tb[RTA_DST] && attr_addr(tb[RTA_DST], r.family, &r.dst.addr))
		r.dst.len = rtm->rtm_dst_len;
	if (!all && r.type == RTN_LOCAL)
		note_local_route(inv, &r);
	if (!all && !route_is_relevant(rtm, &r))
		return 0;
	if (r.dst.len > ip_addr_bits(&r.dst.addr))
		return -EBADMSG;
	attr_addr(tb[RTA_PREFSRC], r.family, &r.src);
	r.more = route_has_more(rtm, &r, tb);
	if (tb[RTA_MULTIPATH])
		return parse_multipath(inv, &r, tb[RTA_MULTIPATH]);
	parse_gateway(&r, tb[RTA_GATEWAY], tb[RTA_VIA]);
	r.oif = attr_u32(tb[RTA_OIF]);
	r.linkdown = (rtm->rtm_flags & RTNH_F_LINKDOWN) != 0;
	return route_append(inv, &r);
}

int rtnl_parse_route(struct inventory *inv, struct nlmsghdr *h)
{
	return parse_route(inv, h, false);
}

int rtnl_parse_lookup(struct inventory *inv, struct nlmsghdr *h)
{
	return parse_route(inv, h, true);
}

/* Returns whether an attribute restricts the rule to a part of the packets from its source. */
static bool rule_attr_selects(const struct nlattr *a)
{
	switch (nla_type(a)) {
	case FRA_SRC:
	case FRA_PRIORITY:
	case FRA_TABLE:
	case FRA_PROTOCOL:
	case FRA_PAD:
	case FRA_UNSPEC:
		return false;
	case FRA_SUPPRESS_PREFIXLEN:
	case FRA_SUPPRESS_IFGROUP:
		return attr_u32(a) != UINT32_MAX;
	default: /* any other attribute, including those that only newer kernels have */
		return true;
	}
}

int rtnl_parse_rule(struct inventory *inv, struct nlmsghdr *h)
{
	const struct fib_rule_hdr *frh = nlmsg_data(h);
	struct nlattr *tb[FRA_MAX + 1], *a;
	struct inv_rule r = {0}, *slot;
	int left;

	if (h->nlmsg_type != RTM_NEWRULE)
		return 0;
	if (parse_attrs(h, sizeof(*frh), tb, FRA_MAX, NULL) < 0)
		return -EBADMSG;
	if (frh->family != AF_INET && frh->family != AF_INET6)
		return 0;
	r.family = frh->family;
	r.priority = attr_u32(tb[FRA_PRIORITY]);
	r.table = tb[FRA_TABLE] ? attr_u32(tb[FRA_TABLE]) : frh->table;
	r.proto = attr_u8(tb[FRA_PROTOCOL]);
	if (tb[FRA_SRC] && attr_addr(tb[FRA_SRC], r.family, &r.from.addr))
		r.from.len = frh->src_len;
	if (r.from.addr.family && r.from.len > ip_addr_bits(&r.from.addr))
		return -EBADMSG;
	/* Do not store the mark of an inverted rule, which applies to packets without the mark. */
	r.mark = frh->flags & FIB_RULE_INVERT ? 0 : attr_u32(tb[FRA_FWMARK]);
	r.more = frh->action != FR_ACT_TO_TBL || frh->tos || (frh->flags & FIB_RULE_INVERT);
	nlmsg_for_each_attr(a, h, sizeof(*frh), left) r.more |= rule_attr_selects(a);
	slot = inv_rule_add(inv);
	if (!slot)
		return -ENOMEM;
	*slot = r;
	return 0;
}

/* Drops the entries that were added after the counts in `kept`. */
static void truncate_to(struct inventory *inv, const struct inventory *kept)
{
	while (inv->n_sysctls > kept->n_sysctls) {
		inv->n_sysctls--;
		free(inv->sysctls[inv->n_sysctls].key);
		free(inv->sysctls[inv->n_sysctls].value);
	}
	inv->n_links = kept->n_links;
	inv->n_vfs = kept->n_vfs;
	inv->n_bonds = kept->n_bonds;
	inv->n_bond_ports = kept->n_bond_ports;
	inv->n_addrs = kept->n_addrs;
	inv->n_routes = kept->n_routes;
	inv->n_rules = kept->n_rules;
}

/* Runs one dump and repeats it if it was interrupted. `header` is the request header of the family;
 * an IFLA_EXT_MASK attribute follows it if ext_mask is not 0. */
static int collect(struct rtnl *rt, struct inventory *inv, int type, void *header, size_t bytes,
		   uint32_t ext_mask, rtnl_message_cb cb)
{
	const struct inventory kept = *inv;
	int r = -EAGAIN;

	for (int attempt = 0; attempt < DUMP_ATTEMPTS_MAX && r == -EAGAIN; attempt++) {
		struct nl_msg *request = nlmsg_alloc_simple(type, 0);

		if (!request)
			return -ENOMEM;
		truncate_to(inv, &kept);
		if (nlmsg_append(request, header, bytes, NLMSG_ALIGNTO) < 0 ||
		    (ext_mask && nla_put_u32(request, IFLA_EXT_MASK, ext_mask) < 0))
			r = -ENOMEM;
		else
			r = rtnl_dump(rt, request, cb, inv);
		nlmsg_free(request);
	}
	if (r < 0)
		truncate_to(inv, &kept);
	return r == -EAGAIN ? -EBUSY : r;
}

/* Treats "not supported" as an empty list, because a kernel that lacks an address family or policy
 * rules has no such objects. */
static int ignore_unsupported(int r)
{
	return r == -EOPNOTSUPP || r == -EAFNOSUPPORT ? 0 : r;
}

int rtnl_collect_links(struct rtnl *rt, struct inventory *inv)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};

	int r = collect(rt, inv, RTM_GETLINK, &ifi, sizeof(ifi),
			RTEXT_FILTER_SKIP_STATS | RTEXT_FILTER_VF, rtnl_parse_link);

	if (r == 0)
		rtnl_name_primaries(inv);
	return r;
}

int rtnl_collect_addrs(struct rtnl *rt, struct inventory *inv)
{
	struct ifaddrmsg ifa = {.ifa_family = AF_UNSPEC};

	return collect(rt, inv, RTM_GETADDR, &ifa, sizeof(ifa), 0, rtnl_parse_addr);
}

/* Marks all addresses that should have a local route; the dump of routes then removes the mark
 * where the route exists. The kernel removes these routes while the link is down, and adds them
 * after duplicate address detection. */
static void expect_local_routes(struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_addrs; i++) {
		struct inv_addr *a = &inv->addrs[i];

		for (size_t j = 0; j < inv->n_links; j++)
			if (inv->links[j].ifindex == a->ifindex)
				a->local_missing =
					inv->links[j].up && !a->tentative && !a->dad_failed;
	}
}

int rtnl_collect_routes(struct rtnl *rt, struct inventory *inv)
{
	struct rtmsg v4 = {.rtm_family = AF_INET}, v6 = {.rtm_family = AF_INET6};
	int r;

	expect_local_routes(inv);
	r = collect(rt, inv, RTM_GETROUTE, &v4, sizeof(v4), 0, rtnl_parse_route);

	if (ignore_unsupported(r) < 0)
		return r;
	return ignore_unsupported(
		collect(rt, inv, RTM_GETROUTE, &v6, sizeof(v6), 0, rtnl_parse_route));
}

int rtnl_collect_rules(struct rtnl *rt, struct inventory *inv)
{
	struct fib_rule_hdr v4 = {.family = AF_INET}, v6 = {.family = AF_INET6};
	int r = collect(rt, inv, RTM_GETRULE, &v4, sizeof(v4), 0, rtnl_parse_rule);

	if (ignore_unsupported(r) < 0)
		return r;
	return ignore_unsupported(
		collect(rt, inv, RTM_GETRULE, &v6, sizeof(v6), 0, rtnl_parse_rule));
}
