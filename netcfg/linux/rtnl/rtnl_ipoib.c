/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes the mode of an IPoIB link, which is a number in rtnetlink. */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

static int put_mode(struct nl_msg *m, uint16_t mode)
{
	return rtnl_put_info_u16(m, "ipoib", IFLA_IPOIB_MODE, mode);
}

int rtnl_ipoib_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	for (uint16_t mode = 0; mode < RTNL_IPOIB_MODES; mode++) {
		struct nl_msg *m;

		if (strcmp(c->device.value, rtnl_ipoib_modes[mode]) != 0)
			continue;
		m = rtnl_link_message(RTM_NEWLINK, 0, c->ifindex);
		return rtnl_change_run(rt, m, m ? put_mode(m, mode) : 0, why);
	}
	reason_set_text(why, "IPoIB has no mode %s", c->device.value);
	return -EINVAL;
}

int rtnl_ipoib_read(struct rtnl *rt, struct kernel_change *c)
{
	struct inventory answer = {0};
	int r = rtnl_link_get(rt, c->ifindex, NULL, RTEXT_FILTER_SKIP_STATS, &answer);

	if (r == 0 && answer.n_links && answer.links[0].ipoib_mode[0])
		inv_text_set(c->device.was, sizeof(c->device.was), answer.links[0].ipoib_mode);
	else if (r == 0)
		r = -EOPNOTSUPP;
	inv_done(&answer);
	return r;
}
