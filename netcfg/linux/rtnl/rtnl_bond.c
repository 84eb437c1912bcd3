/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes bonds and their ports by rtnetlink. A change may need several messages.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

/* The netlink attribute of each setting. */
static const struct {
	int type;
	bool is_byte;
} attrs[BOND_ATTR_MAX] = {
	[BOND_HASH] = {IFLA_BOND_XMIT_HASH_POLICY, true},
	[BOND_RATE] = {IFLA_BOND_AD_LACP_RATE, true},
	[BOND_SELECT] = {IFLA_BOND_AD_SELECT, true},
	[BOND_RESELECT] = {IFLA_BOND_PRIMARY_RESELECT, true},
	[BOND_MIN_LINKS] = {IFLA_BOND_MIN_LINKS, false},
	[BOND_MIIMON] = {IFLA_BOND_MIIMON, false},
	/* the attribute contains the ifindex of the port */
	[BOND_PRIMARY] = {IFLA_BOND_PRIMARY, false},
};

static int name_of(struct rtnl *rt, uint32_t ifindex, char ret[static IFNAMSIZ])
{
	struct inventory answer = {0};
	int r = rtnl_link_get(rt, ifindex, NULL, RTEXT_FILTER_SKIP_STATS, &answer);

	if (r == 0)
		memcpy(ret, answer.links[0].name, IFNAMSIZ);
	inv_done(&answer);
	return r;
}

static int put_value(struct rtnl *rt, struct nl_msg *m, enum bond_attr a, const char *value)
{
	struct inv_bond_setting s = {0};
	uint32_t number = 0;
	char text[IFNAMSIZ];
	int r = bond_value_parse(&s, a, value);

	if (r == 0 && a == BOND_PRIMARY && value[0])
		r = rtnl_link_find(rt, value, &number);
	if (r < 0)
		return r;
	if (a == BOND_MIN_LINKS)
		number = s.min_links;
	if (a == BOND_MIIMON)
		number = s.miimon_ms;
	if (!attrs[a].is_byte)
		return nla_put_u32(m, attrs[a].type, number) < 0 ? -ENOMEM : 0;
	for (uint8_t word = 0; word < UINT8_MAX; word++) {
		s.hash = s.rate = s.select = s.reselect = word;
		if (strcmp(bond_value_format(&s, a, text), value) == 0)
			return nla_put_u8(m, attrs[a].type, word) < 0 ? -ENOMEM : 0;
	}
	return -EINVAL;
}

static int put_settings(struct rtnl *rt, struct nl_msg *m, const struct inv_bond_setting *s)
{
	char value[IFNAMSIZ];
	int r = nla_put_u8(m, IFLA_BOND_MODE, s->mode) < 0 ? -ENOMEM : 0;

	for (enum bond_attr a = 0; a < BOND_ATTR_MAX && r == 0; a++)
		if (bond_attr_applies(a, s->mode) && bond_value_format(s, a, value)[0])
			r = put_value(rt, m, a, value);
	return r;
}

/* Appends all settings of s or, if v is not NULL, only the setting that v describes. */
static int put_info(struct rtnl *rt, struct nl_msg *m, const struct inv_bond_setting *s,
		    const struct kernel_bond_value *v)
{
	struct nlattr *info = nla_nest_start(m, IFLA_LINKINFO), *data;
	int r;

	if (!info || nla_put_string(m, IFLA_INFO_KIND, "bond") < 0)
		return -ENOMEM;
	data = nla_nest_start(m, IFLA_INFO_DATA);
	if (!data)
		return -ENOMEM;
	r = v ? put_value(rt, m, v->attr, v->value) : put_settings(rt, m, s);
	nla_nest_end(m, data);
	nla_nest_end(m, info);
	return r;
}

static int bond_make(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC,
				.ifi_flags = c->bond.up ? IFF_UP : 0,
				.ifi_change = c->bond.up ? IFF_UP : 0};
	struct nl_msg *m = nlmsg_alloc_simple(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	int r = m && nlmsg_append(m, &ifi, sizeof(ifi), NLMSG_ALIGNTO) < 0 ? -ENOMEM
		: m ? nla_put_string(m, IFLA_IFNAME, c->bond.name)
		    : 0;

	if (m && r == 0)
		r = nla_put(m, IFLA_ADDRESS, sizeof(c->bond.mac.bytes), c->bond.mac.bytes);
	if (m && r == 0 && c->bond.mtu)
		r = nla_put_u32(m, IFLA_MTU, c->bond.mtu);
	if (m && r == 0)
		r = put_info(rt, m, &c->bond.setting, NULL);
	return rtnl_change_run(rt, m, r, why);
}

static int say(struct reason *why, int error, const char *name, const char *text)
{
	reason_set_text(why, "%s %s", name, text);
	return error;
}

/* Reads the bond of that name. Returns 0, or -ENOENT if it does not exist. */
static int bond_get(struct rtnl *rt, const char *name, struct inv_link *ret,
		    struct inv_bond *ret_bond)
{
	struct inventory answer = {0};
	int r = rtnl_link_get(rt, 0, name, RTEXT_FILTER_SKIP_STATS, &answer);

	if (r == -ENODEV || (r == 0 && answer.n_bonds == 0))
		r = -ENOENT;
	if (r == 0) {
		*ret = answer.links[0];
		*ret_bond = answer.bonds[0];
	}
	inv_done(&answer);
	return r;
}

static int bond_add(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct inv_link made;
	struct inv_bond bond;
	int r = bond_make(rt, c, why);

	if (r < 0)
		return r;
	r = bond_get(rt, c->bond.name, &made, &bond);
	if (r < 0)
		return say(why, r, c->bond.name, "disappeared while it was created");
	return rtnl_link_mark(rt, made.ifindex, why);
}

static int bond_remove(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct inv_link have;
	struct inv_bond bond;
	int r = bond_get(rt, c->bond.name, &have, &bond);

	if (r < 0)
		return say(why, r, c->bond.name, "is not a bond");
	/* A bond of this name and mode without an alias may be removed: an agent made the bond and
	 * was killed before it set the alias. */
	if (bond.setting.mode != c->bond.setting.mode ||
	    (have.alias[0] && !kernel_link_is_ours(&have)))
		return say(why, -EPERM, c->bond.name, "was not created by plenum");
	return rtnl_link_unmake(rt, have.ifindex, why);
}

int rtnl_bond_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	return c->remove ? bond_remove(rt, c, why) : bond_add(rt, c, why);
}

int rtnl_bond_value_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct nl_msg *m = rtnl_link_message(RTM_NEWLINK, 0, c->ifindex);
	int r = m ? put_info(rt, m, NULL, &c->bond_value) : 0;

	if (r == -ENODEV || r == -EINVAL) {
		nlmsg_free(m);
		return say(why, r, c->bond_value.value,
			   "is not a valid port or value for the bond");
	}
	return rtnl_change_run(rt, m, r, why);
}

int rtnl_bond_value_read(struct rtnl *rt, struct kernel_change *c)
{
	struct inventory answer = {0};
	struct inv_bond *b;
	int r = rtnl_link_get(rt, c->ifindex, NULL, RTEXT_FILTER_SKIP_STATS, &answer);

	if (r == 0 && answer.n_bonds == 0)
		r = -ENODEV;
	b = r == 0 ? &answer.bonds[0] : NULL;
	if (b && b->primary)
		(void)name_of(rt, b->primary,
			      /* the primary port has disappeared, so the bond has no primary
			       * port */
			      b->setting.primary);
	if (b)
		bond_value_format(&b->setting, c->bond_value.attr, c->bond_value.was);
	inv_done(&answer);
	return r;
}

/* ---- ports ---- */

static int link_set(struct rtnl *rt, uint32_t ifindex, enum kernel_link_attr attr, uint32_t value,
		    struct reason *why)
{
	const struct kernel_change c = {
		.kind = KERNEL_LINK, .ifindex = ifindex, .link = {attr, value, 0}};

	return rtnl_link_change(rt, &c, why);
}

static int set_master(struct rtnl *rt, uint32_t ifindex, uint32_t master, struct reason *why)
{
	struct nl_msg *m = rtnl_link_message(RTM_SETLINK, 0, ifindex);
	int r = m ? nla_put_u32(m, IFLA_MASTER, master) : 0;

	return rtnl_change_run(rt, m, r, why);
}

int rtnl_master_read(struct rtnl *rt, struct kernel_change *c)
{
	struct kernel_master *v = &c->master;
	struct inventory answer = {0};
	uint32_t master = 0;
	int r = rtnl_link_get(rt, c->ifindex, NULL, RTEXT_FILTER_SKIP_STATS, &answer);

	if (r == 0) {
		master = answer.links[0].master;
		v->was_up = answer.links[0].up;
		v->was_mtu = answer.links[0].mtu;
		v->was_lacp = answer.n_bond_ports ? inv_bond_port_lacp(&answer.bond_ports[0]) : 0;
	}
	inv_done(&answer);
	memset(v->was, 0, sizeof(v->was));
	return r == 0 && master ? name_of(rt, master, v->was) : r;
}

/* Sets the MTU and the state that a link has after it has left its bond. */
static int port_settle(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	int r = c->master.mtu ? link_set(rt, c->ifindex, KERNEL_LINK_MTU, c->master.mtu, why) : 0;

	return r == 0 ? link_set(rt, c->ifindex, KERNEL_LINK_UP, c->master.up, why) : r;
}

/* Makes a link a port, or removes it from its bond. The kernel accepts a link as a port only while
 * it is down, and a removed port is down afterwards. */
int rtnl_master_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	const struct kernel_master *v = &c->master;
	struct kernel_change now = *c;
	uint32_t master = 0;
	int r = rtnl_master_read(rt, &now);

	if (r == 0 && v->value[0] && strcmp(now.master.was, v->value) == 0)
		/* Do nothing if the link already has the wanted bond: joining it again would
		 * interrupt the link's traffic. */
		return 0;
	if (v->value[0]) {
		r = rtnl_link_find(rt, v->value, &master);
		if (r < 0)
			return say(why, r, v->value, "does not exist");
	}
	r = set_master(rt, c->ifindex, 0, why);
	if (!master)
		return r == 0 ? port_settle(rt, c, why) : r;
	if (r == 0)
		r = link_set(rt, c->ifindex, KERNEL_LINK_UP, 0, why);
	if (r == 0)
		r = set_master(rt, c->ifindex, master, why);
	if (r < 0 &&
	    /* set the link up again here, because a rollback does not include a failed change */
	    now.master.was_up)
		(void)link_set(rt, c->ifindex, KERNEL_LINK_UP, 1, NULL);
	return r;
}
