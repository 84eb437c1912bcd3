/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets values of the VFs of a PF's link. The kernel expects each value in a struct, three levels
 * deep in nested attributes.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

int rtnl_vf_read(struct rtnl *rt, struct kernel_change *c)
{
	struct inventory answer = {0};
	const struct inv_vf *v;
	int r = rtnl_link_get(rt, c->ifindex, NULL, RTEXT_FILTER_SKIP_STATS | RTEXT_FILTER_VF,
			      &answer);

	v = r == 0 ? inv_vf_find(&answer, c->ifindex, c->vf.vf) : NULL;
	if (v)
		kernel_vf_format(v, c->vf.attr, c->vf.was);
	inv_done(&answer);
	return r == 0 && !v ? -ENODEV : r;
}

static int put_setting(struct nl_msg *m, const struct kernel_vf *v)
{
	const uint32_t n = (uint32_t)strtoul(v->value, NULL, 10);
	struct ifla_vf_mac mac = {.vf = v->vf};
	struct ifla_vf_vlan vlan = {.vf = v->vf, .vlan = n};
	struct ifla_vf_rate rate = {.vf = v->vf, .max_tx_rate = n};
	struct ifla_vf_spoofchk spoof = {.vf = v->vf, .setting = n};
	struct ifla_vf_trust trust = {.vf = v->vf, .setting = n};
	struct mac_addr parsed;

	switch (v->attr) {
	case KERNEL_VF_MAC:
		if (mac_addr_parse(v->value, &parsed) < 0)
			return -EINVAL;
		memcpy(mac.mac, parsed.bytes, sizeof(parsed.bytes));
		return nla_put(m, IFLA_VF_MAC, sizeof(mac), &mac);
	case KERNEL_VF_VLAN:
		return nla_put(m, IFLA_VF_VLAN, sizeof(vlan), &vlan);
	case KERNEL_VF_RATE:
		return nla_put(m, IFLA_VF_RATE, sizeof(rate), &rate);
	case KERNEL_VF_SPOOF_CHECK:
		return nla_put(m, IFLA_VF_SPOOFCHK, sizeof(spoof), &spoof);
	default:
		return nla_put(m, IFLA_VF_TRUST, sizeof(trust), &trust);
	}
}

int rtnl_vf_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC, .ifi_index = (int)c->ifindex};
	struct nl_msg *m = nlmsg_alloc_simple(RTM_SETLINK, 0);
	struct nlattr *list = NULL, *info = NULL;
	int r = m ? nlmsg_append(m, &ifi, sizeof(ifi), NLMSG_ALIGNTO) : -1;

	if (r == 0) {
		list = nla_nest_start(m, IFLA_VFINFO_LIST);
		info = list ? nla_nest_start(m, IFLA_VF_INFO) : NULL;
		r = info ? put_setting(m, &c->vf) : -1;
	}
	if (r == 0) {
		nla_nest_end(m, info);
		nla_nest_end(m, list);
	}
	return rtnl_change_run(rt, m, r, why);
}
