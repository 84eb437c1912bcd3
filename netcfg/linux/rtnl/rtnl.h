/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rtnetlink: complete dumps, queries, and changes that report the kernel's error text. libnl builds
 * and parses the messages, netlink.h sends and receives them. kernel_linux alone uses it; the
 * parsers need no socket, so that tests and fuzzers can call them.
 */
#ifndef PLENUM_NETCFG_RTNL_H
#define PLENUM_NETCFG_RTNL_H

#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"
#include <linux/netlink.h>

struct nl_msg;
struct nlattr;
struct rtnl;

/* Opens a socket in the caller's network namespace. Returns 0 and *ret, or negative errno. */
int rtnl_open(struct rtnl **ret);
struct rtnl *rtnl_close(struct rtnl *rt); /* accepts NULL, returns NULL */

/*
 * Sends a dump request and calls cb for each message of the answer. Returns 0, the first negative
 * result of cb, or the kernel's error. Returns -EAGAIN if objects changed during the dump; the
 * caller then discards the data and repeats the request.
 */
typedef int (*rtnl_message_cb)(struct inventory *inv, struct nlmsghdr *h);
int rtnl_dump(struct rtnl *rt, struct nl_msg *request, rtnl_message_cb cb, struct inventory *inv);
/* Queries one object and calls cb with the answer. Returns 0, the error of cb, or another negative
 * errno with the reason in `why`. */
int rtnl_ask(struct rtnl *rt, struct nl_msg *request, rtnl_message_cb cb, struct inventory *inv,
	     struct reason *why);
/* Sends a change and waits for its ack. Returns 0, or negative errno with the reason in `why` (may
 * be NULL). */
int rtnl_change(struct rtnl *rt, struct nl_msg *request, struct reason *why);

/* Appends an address as an attribute. Returns 0 or a negative error number of libnl. */
int rtnl_put_addr(struct nl_msg *m, int type, const struct ip_addr *a);

/* Append all objects of one kind to the inventory, and start again if objects changed during the
 * dump. Return 0, -EBUSY if the objects changed in every attempt, or another negative errno. */
int rtnl_collect_links(struct rtnl *rt, struct inventory *inv);
int rtnl_collect_addrs(struct rtnl *rt, struct inventory *inv);
int rtnl_collect_routes(struct rtnl *rt, struct inventory *inv);
int rtnl_collect_rules(struct rtnl *rt, struct inventory *inv);

/* Append the object that one message of a dump describes, and ignore other messages. Return 0,
 * -EBADMSG if the message is invalid, or -ENOMEM. */
int rtnl_parse_link(struct inventory *inv, struct nlmsghdr *h);
int rtnl_parse_addr(struct inventory *inv, struct nlmsghdr *h);
int rtnl_parse_route(struct inventory *inv, struct nlmsghdr *h);
int rtnl_parse_rule(struct inventory *inv, struct nlmsghdr *h);
/* Like rtnl_parse_route, but for the answer to a route lookup: also appends routes of table
 * local. */
int rtnl_parse_lookup(struct inventory *inv, struct nlmsghdr *h);

/* Appends the VFs of an IFLA_VFINFO_LIST to the PF with that ifindex (rtnl_parse.c). Returns 0 or
 * -ENOMEM. */
int rtnl_parse_vfs(struct inventory *inv, uint32_t ifindex, struct nlattr *list);

/* Appends the data in a link's IFLA_LINKINFO about the link as a bond, or as a port of the bond
 * `master` (rtnl_parse.c). Returns 0 or -ENOMEM. */
int rtnl_parse_bond(struct inventory *inv, uint32_t ifindex, uint32_t master, struct nlattr *info);

/* Stores the mode of an IPoIB link, which it reads from the link's IFLA_INFO_DATA
 * (rtnl_parse.c). */
void rtnl_parse_ipoib(struct inv_link *l, struct nlattr *data);
/* Names of the IPoIB modes, by their numbers in rtnetlink. */
#define RTNL_IPOIB_MODES 2
extern const char *const rtnl_ipoib_modes[RTNL_IPOIB_MODES];
/* Implement change and read of struct kernel_ops for this mode. Return -EOPNOTSUPP if the link is
 * not an IPoIB link. */
int rtnl_ipoib_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_ipoib_read(struct rtnl *rt, struct kernel_change *c);

/* Sets the names of the bonds' primary ports from their ifindexes, once all links are in the
 * inventory. */
void rtnl_name_primaries(struct inventory *inv);

/* Implements route_lookup of struct kernel_ops. */
int rtnl_route_lookup(struct rtnl *rt, const struct ip_addr *from, const struct ip_addr *to,
		      uint32_t oif, uint16_t udp_port, struct inv_route *ret, struct reason *why);

/* Implement change of struct kernel_ops, one function for each kind of change. They ignore
 * c->kind. */
int rtnl_link_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_addr_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_route_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_rule_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_vf_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_vlan_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_bond_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_bond_value_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_master_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
/* Implement read of struct kernel_ops for bond settings and for the bond of a port. Return -ENODEV
 * if the bond or the link does not exist. */
int rtnl_bond_value_read(struct rtnl *rt, struct kernel_change *c);
int rtnl_master_read(struct rtnl *rt, struct kernel_change *c);
/* Implements read of struct kernel_ops for VFs. Returns -ENODEV if the link has no such VF. */
int rtnl_vf_read(struct rtnl *rt, struct kernel_change *c);
/* Queries the link with the given index or, if that is 0, with the given name. Adds the link, its
 * VFs and its bond to the empty inventory *ret. Returns 0, -ENODEV if the link does not exist, or
 * another negative errno. */
int rtnl_link_get(struct rtnl *rt, uint32_t ifindex, const char *name, uint32_t ext_mask,
		  struct inventory *ret);
/* Sends and frees m. If put_error is negative, m is incomplete: the function only frees it and
 * returns -ENOMEM. Otherwise returns the result of rtnl_change. */
int rtnl_change_run(struct rtnl *rt, struct nl_msg *m, int put_error, struct reason *why);
/* Creates a message about the link with that index, or about a new link if the index is 0. Returns
 * NULL if out of memory. */
struct nl_msg *rtnl_link_message(int type, int flags, uint32_t ifindex);
/* Appends a link's kind, and its kind's data with one attribute. Returns a negative value if the
 * message has no room for them. */
int rtnl_put_info_u16(struct nl_msg *m, const char *kind, int type, uint16_t value);
/* rtnl_link_unmake removes a link that the agent created. rtnl_link_mark sets the alias of a new
 * link, by which the agent recognizes the link later; if that fails, it removes the link again. */
int rtnl_link_unmake(struct rtnl *rt, uint32_t ifindex, struct reason *why);
int rtnl_link_mark(struct rtnl *rt, uint32_t ifindex, struct reason *why);
/* Implement read of struct kernel_ops for links, and link_find by name. */
int rtnl_link_read(struct rtnl *rt, struct kernel_change *c);
int rtnl_link_find(struct rtnl *rt, const char *name, uint32_t *ret_ifindex);

/* A socket that receives only notifications. */
struct rtnl_watch;
int rtnl_watch_open(struct rtnl_watch **ret);
struct rtnl_watch *rtnl_watch_close(struct rtnl_watch *w); /* accepts NULL, returns NULL */
int rtnl_watch_fd(const struct rtnl_watch *w);
/* Passes pending notifications to cb, at most some thousand; never blocks. Returns 0 or negative
 * errno. */
int rtnl_watch_read(struct rtnl_watch *w, void (*cb)(void *user, const struct kernel_event *e),
		    void *user);
/* Converts one notification to an event. Returns false if the agent does not need it. */
bool rtnl_parse_event(struct nlmsghdr *h, struct kernel_event *ret);

#endif
