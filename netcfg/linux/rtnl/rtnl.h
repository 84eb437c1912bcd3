/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtnetlink: complete dumps, queries, and changes whose refusal carries the kernel's error text.
 * libnl builds and parses the messages, netlink.h transports them. Used by kernel_linux alone; the
 * parsers need no socket, so that tests and fuzzers can feed them.
 */
#ifndef PLENUM_NETCFG_RTNL_H
#define PLENUM_NETCFG_RTNL_H

#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"
#include <linux/netlink.h>

struct nl_msg;
struct nlattr;
struct rtnl;

/* Opens a socket in the caller's network namespace. 0 and *ret; negative errno. */
int rtnl_open(struct rtnl **ret);
struct rtnl *rtnl_close(struct rtnl *rt); /* accepts NULL, returns NULL */

/*
 * Sends a dump request and calls cb for each message of the answer. 0; cb's first negative result;
 * the kernel's error; -EAGAIN: the dumped objects changed meanwhile, discard and ask again.
 */
typedef int (*rtnl_message_cb)(struct inventory *inv, struct nlmsghdr *h);
int rtnl_dump(struct rtnl *rt, struct nl_msg *request, rtnl_message_cb cb, struct inventory *inv);
/* Queries one object: cb gets the answer. 0; cb's error; negative errno with the reason in why. */
int rtnl_ask(struct rtnl *rt, struct nl_msg *request, rtnl_message_cb cb, struct inventory *inv,
	     struct reason *why);
/* Sends a change and waits for its ack. 0; negative errno with the reason in why (may be NULL). */
int rtnl_change(struct rtnl *rt, struct nl_msg *request, struct reason *why);

/* Appends an address as an attribute. 0; libnl's error. */
int rtnl_put_addr(struct nl_msg *m, int type, const struct ip_addr *a);

/* Append all objects of one kind; start again when they changed during the dump. 0; negative
 * errno, -EBUSY: they changed in every attempt. */
int rtnl_collect_links(struct rtnl *rt, struct inventory *inv);
int rtnl_collect_addrs(struct rtnl *rt, struct inventory *inv);
int rtnl_collect_routes(struct rtnl *rt, struct inventory *inv);
int rtnl_collect_rules(struct rtnl *rt, struct inventory *inv);

/* Append the object of one message of a dump; other messages are ignored. 0, -EBADMSG, -ENOMEM. */
int rtnl_parse_link(struct inventory *inv, struct nlmsghdr *h);
int rtnl_parse_addr(struct inventory *inv, struct nlmsghdr *h);
int rtnl_parse_route(struct inventory *inv, struct nlmsghdr *h);
int rtnl_parse_rule(struct inventory *inv, struct nlmsghdr *h);
/* The same for the answer to a route lookup, which may be a route of the local table. */
int rtnl_parse_lookup(struct inventory *inv, struct nlmsghdr *h);

/* Appends the VFs of an IFLA_VFINFO_LIST to the PF with that ifindex (rtnl_parse.c). 0, -ENOMEM. */
int rtnl_parse_vfs(struct inventory *inv, uint32_t ifindex, struct nlattr *list);

/* Appends what a link's IFLA_LINKINFO reports of it as a bond, or as a port of the bond `master`
 * (rtnl_parse.c). 0, -ENOMEM. */
int rtnl_parse_bond(struct inventory *inv, uint32_t ifindex, uint32_t master, struct nlattr *info);

/* The mode of an IPoIB link, from its IFLA_INFO_DATA (rtnl_parse.c). */
void rtnl_parse_ipoib(struct inv_link *l, struct nlattr *data);
/* The names of the modes, by their number in rtnetlink. */
#define RTNL_IPOIB_MODES 2
extern const char *const rtnl_ipoib_modes[RTNL_IPOIB_MODES];
/* The change and read operations of struct kernel_ops for that mode. -EOPNOTSUPP: not an IPoIB
 * link. */
int rtnl_ipoib_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_ipoib_read(struct rtnl *rt, struct kernel_change *c);

/* Resolves the names of the bonds' primary ports, once all links are in the inventory. */
void rtnl_name_primaries(struct inventory *inv);

/* struct kernel_ops' route_lookup. */
int rtnl_route_lookup(struct rtnl *rt, const struct ip_addr *from, const struct ip_addr *to,
		      uint32_t oif, uint16_t udp_port, struct inv_route *ret, struct reason *why);

/* The change operations of struct kernel_ops, one for each kind; c's kind is ignored. */
int rtnl_link_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_addr_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_route_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_rule_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_vf_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_vlan_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_bond_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_bond_value_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_master_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
/* struct kernel_ops' read for bond settings and for masters. -ENODEV: there is no such bond. */
int rtnl_bond_value_read(struct rtnl *rt, struct kernel_change *c);
int rtnl_master_read(struct rtnl *rt, struct kernel_change *c);
/* struct kernel_ops' read for VFs. -ENODEV: the link has no such VF. */
int rtnl_vf_read(struct rtnl *rt, struct kernel_change *c);
/* Queries a link with its VFs, by index or (index 0) by name, into an empty inventory. 0;
 * -ENODEV. */
int rtnl_link_get(struct rtnl *rt, uint32_t ifindex, const char *name, uint32_t ext_mask,
		  struct inventory *ret);
/* Sends and frees m; put_error < 0: it could not be built. Errors as rtnl_change. */
int rtnl_change_run(struct rtnl *rt, struct nl_msg *m, int put_error, struct reason *why);
/* A message about the link with that index; 0: about a new one. NULL: out of memory. */
struct nl_msg *rtnl_link_message(int type, int flags, uint32_t ifindex);
/* Appends the only attribute of a link kind's data. Negative: no room. */
int rtnl_put_info_u16(struct nl_msg *m, const char *kind, int type, uint16_t value);
/* For the agent's links: removes one; sets the alias that marks a new one as the agent's, and
 * removes it again where that fails. */
int rtnl_link_unmake(struct rtnl *rt, uint32_t ifindex, struct reason *why);
int rtnl_link_mark(struct rtnl *rt, uint32_t ifindex, struct reason *why);
/* struct kernel_ops' read for links, and link_find by name. */
int rtnl_link_read(struct rtnl *rt, struct kernel_change *c);
int rtnl_link_find(struct rtnl *rt, const char *name, uint32_t *ret_ifindex);

/* A second socket for notifications. */
struct rtnl_watch;
int rtnl_watch_open(struct rtnl_watch **ret);
struct rtnl_watch *rtnl_watch_close(struct rtnl_watch *w); /* accepts NULL, returns NULL */
int rtnl_watch_fd(const struct rtnl_watch *w);
/* Passes pending notifications to cb, at most some thousand messages; never blocks. 0; negative
 * errno. */
int rtnl_watch_read(struct rtnl_watch *w, void (*cb)(void *user, const struct kernel_event *e),
		    void *user);
/* Converts one notification. false: it is irrelevant here. */
bool rtnl_parse_event(struct nlmsghdr *h, struct kernel_event *ret);

#endif
