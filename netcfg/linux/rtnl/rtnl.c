/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rtnetlink socket for the dumps, changes and queries of this folder. It passes libnl's
 * messages to netlink.c, which sends and receives them.
 */
#include "netcfg/linux/rtnl/rtnl.h"
#include "netcfg/linux/netlink/netlink.h"
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

struct rtnl {
	struct netlink *nl;
};

/* The callback for the messages of an answer, and the inventory that it adds to. */
struct taker {
	rtnl_message_cb cb;
	struct inventory *inv;
};

int rtnl_open(struct rtnl **ret)
{
	struct rtnl *rt = calloc(1, sizeof(*rt));
	int r = rt ? netlink_open(NETLINK_ROUTE, &rt->nl) : -ENOMEM;

	if (r < 0) {
		free(rt);
		return r;
	}
	*ret = rt;
	return 0;
}

struct rtnl *rtnl_close(struct rtnl *rt)
{
	if (rt) {
		netlink_close(rt->nl);
		free(rt);
	}
	return NULL;
}

static int take(void *user, struct nlmsghdr *h)
{
	const struct taker *t = user;

	return t->cb(t->inv, h);
}

int rtnl_dump(struct rtnl *rt, struct nl_msg *request, rtnl_message_cb cb, struct inventory *inv)
{
	struct taker t = {cb, inv};

	return netlink_talk(rt->nl, nlmsg_hdr(request), NLM_F_DUMP, take, &t, NULL);
}

int rtnl_ask(struct rtnl *rt, struct nl_msg *request, rtnl_message_cb cb, struct inventory *inv,
	     struct reason *why)
{
	struct reason said;
	struct taker t = {cb, inv};
	int r = netlink_talk(rt->nl, nlmsg_hdr(request), NLM_F_ACK, take, &t, &said);

	return r < 0 ? kernel_fail(why, r, said.text) : r;
}

int rtnl_change(struct rtnl *rt, struct nl_msg *request, struct reason *why)
{
	struct reason said;
	int r = netlink_talk(rt->nl, nlmsg_hdr(request), NLM_F_ACK, NULL, NULL, &said);

	return r < 0 ? kernel_fail(why, r, said.text) : r;
}

int rtnl_put_addr(struct nl_msg *m, int type, const struct ip_addr *a)
{
	return nla_put(m, type, (int)ip_addr_bits(a) / 8, a->bytes);
}
