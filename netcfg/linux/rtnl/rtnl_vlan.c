/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and removes VLAN links. Both take several messages: the kernel accepts an alias only for
 * an existing link, and a link must be checked before it is removed.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

static int link_make(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct nl_msg *m = rtnl_link_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	int r = 0;

	if (m) {
		r |= nla_put_string(m, IFLA_IFNAME, c->vlan.name);
		r |= nla_put_u32(m, IFLA_LINK, c->ifindex);
		r |= rtnl_put_info_u16(m, "vlan", IFLA_VLAN_ID, c->vlan.id);
	}
	return rtnl_change_run(rt, m, r, why);
}

/* Reads the link of that name if it is the VLAN that c describes. Returns 0 or -ENOENT. */
static int vlan_get(struct rtnl *rt, const struct kernel_change *c, struct inv_link *ret)
{
	struct inventory answer = {0};
	const struct inv_link *l;
	int r = rtnl_link_get(rt, 0, c->vlan.name, RTEXT_FILTER_SKIP_STATS, &answer);

	l = r == 0 ? kernel_vlan_find(&answer, c->ifindex, c->vlan.id) : NULL;
	if (l)
		*ret = *l;
	inv_done(&answer);
	return l ? 0 : r == -ENODEV || r == 0 ? -ENOENT : r;
}

static int vlan_add(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct inv_link made;
	int r = link_make(rt, c, why);

	if (r < 0)
		return r;
	r = vlan_get(rt, c, &made);
	if (r < 0) {
		reason_set_text(why, "%s disappeared while it was created", c->vlan.name);
		return r;
	}
	return rtnl_link_mark(rt, made.ifindex, why);
}

static int vlan_remove(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct inv_link have;
	int r = vlan_get(rt, c, &have);

	if (r < 0) {
		reason_set_text(why, "there is no VLAN %s", c->vlan.name);
		return r;
	}
	/* A VLAN link of this name without an alias is left from an agent that was killed before it
	 * set the alias. */
	if (have.alias[0] && !kernel_link_is_ours(&have)) {
		reason_set_text(why, "%s was not created by plenum", c->vlan.name);
		return -EPERM;
	}
	return rtnl_link_unmake(rt, have.ifindex, why);
}

int rtnl_vlan_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	return c->remove ? vlan_remove(rt, c, why) : vlan_add(rt, c, why);
}
