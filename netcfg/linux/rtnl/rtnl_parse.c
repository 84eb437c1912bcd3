/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the nested attributes of link messages about bonds and their ports, IPoIB links and
 * VFs. */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <string.h>

/* Value, with all bits set, by which a driver reports that it lacks a setting. */
#define SETTING_UNKNOWN UINT32_MAX

static uint32_t attr_number(const struct nlattr *a)
{
	if (a && nla_len(a) >= (int)sizeof(uint32_t))
		return nla_get_u32(a);
	if (a && nla_len(a) >= (int)sizeof(uint16_t))
		return nla_get_u16(a);
	return a && nla_len(a) >= 1 ? nla_get_u8(a) : 0;
}

static void attr_mac(const struct nlattr *a, struct mac_addr *ret)
{
	if (a && nla_len(a) >= (int)sizeof(ret->bytes))
		memcpy(ret->bytes, nla_data(a), sizeof(ret->bytes));
}

static void parse_ad_info(struct inv_bond *b, struct nlattr *info)
{
	struct nlattr *tb[IFLA_BOND_AD_INFO_MAX + 1];

	if (!info || nla_parse_nested(tb, IFLA_BOND_AD_INFO_MAX, info, NULL) < 0)
		return;
	b->aggregator = (uint16_t)attr_number(tb[IFLA_BOND_AD_INFO_AGGREGATOR]);
	b->n_ports = (uint16_t)attr_number(tb[IFLA_BOND_AD_INFO_NUM_PORTS]);
	attr_mac(tb[IFLA_BOND_AD_INFO_PARTNER_MAC], &b->partner);
}

static int parse_bond(struct inventory *inv, uint32_t ifindex, struct nlattr *data)
{
	struct nlattr *tb[IFLA_BOND_MAX + 1];
	struct inv_bond *b;

	if (!data || nla_parse_nested(tb, IFLA_BOND_MAX, data, NULL) < 0)
		return 0;
	b = inv_bond_add(inv);
	if (!b)
		return -ENOMEM;
	b->ifindex = ifindex;
	b->setting.mode = (uint8_t)attr_number(tb[IFLA_BOND_MODE]);
	b->setting.hash = (uint8_t)attr_number(tb[IFLA_BOND_XMIT_HASH_POLICY]);
	b->setting.rate = (uint8_t)attr_number(tb[IFLA_BOND_AD_LACP_RATE]);
	b->setting.select = (uint8_t)attr_number(tb[IFLA_BOND_AD_SELECT]);
	b->setting.reselect = (uint8_t)attr_number(tb[IFLA_BOND_PRIMARY_RESELECT]);
	b->setting.min_links = attr_number(tb[IFLA_BOND_MIN_LINKS]);
	b->setting.miimon_ms = attr_number(tb[IFLA_BOND_MIIMON]);
	b->primary = attr_number(tb[IFLA_BOND_PRIMARY]);
	b->active = attr_number(tb[IFLA_BOND_ACTIVE_SLAVE]);
	parse_ad_info(b, tb[IFLA_BOND_AD_INFO]);
	return 0;
}

static int parse_port(struct inventory *inv, uint32_t ifindex, uint32_t master, struct nlattr *data)
{
	struct nlattr *tb[IFLA_BOND_SLAVE_MAX + 1];
	struct inv_bond_port *p;

	if (!data || nla_parse_nested(tb, IFLA_BOND_SLAVE_MAX, data, NULL) < 0)
		return 0;
	p = inv_bond_port_add(inv);
	if (!p)
		return -ENOMEM;
	p->ifindex = ifindex;
	p->bond = master;
	p->active = attr_number(tb[IFLA_BOND_SLAVE_STATE]) == 0;
	p->link_up = attr_number(tb[IFLA_BOND_SLAVE_MII_STATUS]) == 0;
	p->failures = attr_number(tb[IFLA_BOND_SLAVE_LINK_FAILURE_COUNT]);
	p->aggregator = (uint16_t)attr_number(tb[IFLA_BOND_SLAVE_AD_AGGREGATOR_ID]);
	p->actor = (uint8_t)attr_number(tb[IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE]);
	p->partner = (uint16_t)attr_number(tb[IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE]);
	return 0;
}

static bool is_bond(const struct nlattr *kind)
{
	return kind && nla_len(kind) >= 5 && memcmp(nla_data(kind), "bond", 5) == 0;
}

int rtnl_parse_bond(struct inventory *inv, uint32_t ifindex, uint32_t master, struct nlattr *info)
{
	struct nlattr *tb[IFLA_INFO_MAX + 1];
	int r = 0;

	if (nla_parse_nested(tb, IFLA_INFO_MAX, info, NULL) < 0)
		return 0;
	if (is_bond(tb[IFLA_INFO_KIND]))
		r = parse_bond(inv, ifindex, tb[IFLA_INFO_DATA]);
	if (r == 0 && is_bond(tb[IFLA_INFO_SLAVE_KIND]))
		r = parse_port(inv, ifindex, master, tb[IFLA_INFO_SLAVE_DATA]);
	return r;
}

void rtnl_name_primaries(struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_bonds; i++)
		for (size_t j = 0; inv->bonds[i].primary && j < inv->n_links; j++)
			if (inv->links[j].ifindex == inv->bonds[i].primary)
				memcpy(inv->bonds[i].setting.primary, inv->links[j].name, IFNAMSIZ);
}

const char *const rtnl_ipoib_modes[RTNL_IPOIB_MODES] = {
	[IPOIB_MODE_DATAGRAM] = "datagram",
	[IPOIB_MODE_CONNECTED] = "connected",
};

void rtnl_parse_ipoib(struct inv_link *l, struct nlattr *data)
{
	const struct nlattr *a = nla_find(nla_data(data), nla_len(data), IFLA_IPOIB_MODE);
	const uint16_t mode = a && nla_len(a) >= (int)sizeof(mode) ? nla_get_u16(a) : UINT16_MAX;

	if (mode < RTNL_IPOIB_MODES)
		inv_text_set(l->ipoib_mode, sizeof(l->ipoib_mode), rtnl_ipoib_modes[mode]);
}

/* Copies an attribute's value to ret. Returns false if the attribute is absent or too short. */
static bool attr_copy(const struct nlattr *a, void *ret, size_t bytes)
{
	if (!a || nla_len(a) < (int)bytes)
		return false;
	memcpy(ret, nla_data(a), bytes);
	return true;
}

static int parse_vf(struct inventory *inv, uint32_t ifindex, struct nlattr *info)
{
	struct nlattr *tb[IFLA_VF_MAX + 1];
	struct ifla_vf_mac mac;
	struct ifla_vf_vlan vlan;
	struct ifla_vf_spoofchk spoof;
	struct ifla_vf_trust trust;
	struct ifla_vf_rate rate;
	struct inv_vf *v;

	if (nla_parse_nested(tb, IFLA_VF_MAX, info, NULL) < 0 ||
	    !attr_copy(tb[IFLA_VF_MAC], &mac, sizeof(mac)))
		return 0;
	v = inv_vf_add(inv);
	if (!v)
		return -ENOMEM;
	v->ifindex = ifindex;
	v->vf = mac.vf;
	memcpy(v->mac.bytes, mac.mac, sizeof(v->mac.bytes));
	if (attr_copy(tb[IFLA_VF_VLAN], &vlan, sizeof(vlan)))
		v->vlan = (uint16_t)vlan.vlan;
	if (attr_copy(tb[IFLA_VF_SPOOFCHK], &spoof, sizeof(spoof)))
		v->spoof_check = spoof.setting && spoof.setting != SETTING_UNKNOWN;
	if (attr_copy(tb[IFLA_VF_TRUST], &trust, sizeof(trust)))
		v->trust = trust.setting && trust.setting != SETTING_UNKNOWN;
	if (attr_copy(tb[IFLA_VF_RATE], &rate, sizeof(rate))) {
		v->min_rate_mbps = rate.min_tx_rate;
		v->max_rate_mbps = rate.max_tx_rate;
	}
	return 0;
}

int rtnl_parse_vfs(struct inventory *inv, uint32_t ifindex, struct nlattr *list)
{
	struct nlattr *info;
	int left, r = 0;

	nla_for_each_nested(info, list, left)
	{
		if (nla_type(info) == IFLA_VF_INFO)
			r = parse_vf(inv, ifindex, info);
		if (r < 0)
			return r;
	}
	return 0;
}
