/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives notifications on a separate socket. On the socket for queries, notifications would
 * arrive between the parts of an answer, and many notifications would interrupt dumps.
 */
#include "netcfg/linux/netlink/netlink.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <string.h>
#include <sys/socket.h>

#define WATCH_BYTES 32768
/* Socket buffer for a burst of some thousand notifications. When it overflows, rtnl_watch_read
 * passes an event that asks for a new inventory. */
#define WATCH_SOCKET_BYTES (2 << 20)
/* Maximum number of datagrams per call, so that a flood does not block the caller; the descriptor
 * stays readable. */
#define WATCH_READ_MAX 4096

struct rtnl_watch {
	struct nl_sock *sock;
	char buf[WATCH_BYTES];
};

int rtnl_watch_open(struct rtnl_watch **ret)
{
	struct rtnl_watch *w = calloc(1, sizeof(*w));
	const int bytes = WATCH_SOCKET_BYTES;
	int r;

	if (!w)
		return -ENOMEM;
	w->sock = nl_socket_alloc();
	if (!w->sock) {
		rtnl_watch_close(w);
		return -ENOMEM;
	}
	errno = 0;
	if (nl_connect(w->sock, NETLINK_ROUTE) < 0 || nl_socket_set_nonblocking(w->sock) < 0 ||
	    nl_socket_add_memberships(w->sock, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
				      RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
				      RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, 0) < 0) {
		r = errno ? -errno : -EIO;
		rtnl_watch_close(w);
		return r;
	}
	if (setsockopt(rtnl_watch_fd(w), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(rtnl_watch_fd(w), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	*ret = w;
	return 0;
}

struct rtnl_watch *rtnl_watch_close(struct rtnl_watch *w)
{
	if (w) {
		if (w->sock)
			nl_socket_free(w->sock);
		free(w);
	}
	return NULL;
}

int rtnl_watch_fd(const struct rtnl_watch *w)
{
	return nl_socket_get_fd(w->sock);
}

static bool parse_link_event(struct nlmsghdr *h, struct kernel_event *e)
{
	const struct ifinfomsg *ifi = nlmsg_data(h);
	struct nlattr *name;

	/* A bridge reports its ports as messages of family AF_BRIDGE, in which RTM_DELLINK means
	 * that a port left the bridge, not that the link disappeared. */
	if (nlmsg_datalen(h) < (int)sizeof(*ifi) || ifi->ifi_family != AF_UNSPEC)
		return false;
	e->type = KERNEL_EVENT_LINK;
	e->removed = h->nlmsg_type == RTM_DELLINK;
	e->ifindex = (uint32_t)ifi->ifi_index;
	e->up = !e->removed && (ifi->ifi_flags & IFF_UP);
	e->carrier = !e->removed && (ifi->ifi_flags & IFF_LOWER_UP);
	name = nlmsg_find_attr(h, sizeof(*ifi), IFLA_IFNAME);
	if (name)
		nla_strlcpy(e->ifname, name, sizeof(e->ifname));
	return true;
}

static bool parse_route_event(struct nlmsghdr *h, struct kernel_event *e)
{
	const struct rtmsg *rtm = nlmsg_data(h);
	struct nlattr *oif;

	if (nlmsg_datalen(h) < (int)sizeof(*rtm) || (rtm->rtm_flags & RTM_F_CLONED))
		return false;
	/* In the local table, the agent needs to know only when an address's route is removed. */
	if (rtm->rtm_table == RT_TABLE_LOCAL &&
	    (h->nlmsg_type != RTM_DELROUTE || rtm->rtm_type != RTN_LOCAL))
		return false;
	e->type = KERNEL_EVENT_ROUTE;
	e->removed = h->nlmsg_type == RTM_DELROUTE;
	oif = nlmsg_find_attr(h, sizeof(*rtm), RTA_OIF);
	if (oif && nla_len(oif) >= (int)sizeof(uint32_t))
		e->ifindex = nla_get_u32(oif);
	return true;
}

bool rtnl_parse_event(struct nlmsghdr *h, struct kernel_event *ret)
{
	struct kernel_event e = {0};
	const struct ifaddrmsg *ifa = nlmsg_data(h);

	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		if (!parse_link_event(h, &e))
			return false;
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		if (nlmsg_datalen(h) < (int)sizeof(*ifa))
			return false;
		e.type = KERNEL_EVENT_ADDR;
		e.removed = h->nlmsg_type == RTM_DELADDR;
		e.ifindex = ifa->ifa_index;
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		if (!parse_route_event(h, &e))
			return false;
		break;
	case RTM_NEWRULE:
	case RTM_DELRULE:
		e.type = KERNEL_EVENT_RULE;
		e.removed = h->nlmsg_type == RTM_DELRULE;
		break;
	default:
		return false;
	}
	*ret = e;
	return true;
}

int rtnl_watch_read(struct rtnl_watch *w, void (*cb)(void *user, const struct kernel_event *e),
		    void *user)
{
	for (int i = 0; i < WATCH_READ_MAX; i++) {
		ssize_t n = netlink_notification(rtnl_watch_fd(w), true, w->buf, sizeof(w->buf));
		struct kernel_event e = {.type = KERNEL_EVENT_LOST};
		int len = (int)n;

		if (n == 0)
			return 0;
		if (n < 0 && n != -ENOBUFS)
			return (int)n;
		if (n < 0) {
			cb(user, &e);
			continue;
		}
		for (struct nlmsghdr *h = (struct nlmsghdr *)w->buf; nlmsg_ok(h, len);
		     h = nlmsg_next(h, &len))
			if (rtnl_parse_event(h, &e))
				cb(user, &e);
	}
	return 0;
}
