/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps the queueing disciplines with their counters. */
#include "netcfg/linux/rtnl/rtnl_qdisc.h"
#include "netcfg/base/base.h"
#include "netcfg/linux/netlink/netlink.h"
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

bool rtnl_qdisc_parse(struct nlmsghdr *h, struct rtnl_qdisc *ret)
{
	struct nlattr *tb[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1] = {NULL};
	const struct tcmsg *tcm = nlmsg_data(h);
	struct gnet_stats_queue queue = {0};
	struct gnet_stats_basic basic = {0};

	if (h->nlmsg_type != RTM_NEWQDISC || nlmsg_parse(h, sizeof(*tcm), tb, TCA_MAX, NULL) < 0 ||
	    tcm->tcm_parent != TC_H_ROOT)
		return false;
	*ret = (struct rtnl_qdisc){.ifindex = (uint32_t)tcm->tcm_ifindex};
	if (tb[TCA_KIND])
		nla_strlcpy(ret->kind, tb[TCA_KIND], sizeof(ret->kind));
	if (tb[TCA_STATS2] && nla_parse_nested(stats, TCA_STATS_MAX, tb[TCA_STATS2], NULL) < 0)
		return false;
	if (stats[TCA_STATS_BASIC])
		nla_memcpy(&basic, stats[TCA_STATS_BASIC], sizeof(basic));
	if (stats[TCA_STATS_QUEUE])
		nla_memcpy(&queue, stats[TCA_STATS_QUEUE], sizeof(queue));
	ret->packets = basic.packets;
	ret->drops = queue.drops;
	return true;
}

struct list {
	struct rtnl_qdisc *all;
	size_t n, max;
};

static int take(void *user, struct nlmsghdr *h)
{
	struct list *l = user;

	if (l->n < l->max && rtnl_qdisc_parse(h, &l->all[l->n]))
		l->n++;
	return 0;
}

int rtnl_qdisc_collect(struct rtnl_qdisc *ret, size_t max, size_t *ret_n)
{
	struct tcmsg tcm = {.tcm_family = AF_UNSPEC};
	struct list l = {.all = ret, .max = max};
	struct netlink *nl = NULL;
	struct nl_msg *m;
	int r = netlink_open(NETLINK_ROUTE, &nl);

	if (r < 0)
		return r;
	m = nlmsg_alloc_simple(RTM_GETQDISC, 0);
	r = m && nlmsg_append(m, &tcm, sizeof(tcm), NLMSG_ALIGNTO) == 0
		    ? netlink_talk(nl, nlmsg_hdr(m), NLM_F_DUMP, take, &l, NULL)
		    : -ENOMEM;
	nlmsg_free(m);
	netlink_close(nl);
	if (r == 0)
		*ret_n = l.n;
	return r;
}
