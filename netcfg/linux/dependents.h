/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What on this host would be cut off with a link: established TCP connections, by their local
 * address, and mounted file systems whose data come over the network. Read only; used by
 * kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_DEPENDENTS_H
#define PLENUM_NETCFG_DEPENDENTS_H

#include "netcfg/host/inventory.h"
#include <linux/netlink.h>

struct netlink;

/* Adds the connections of the network namespace in which diag (a socket of NETLINK_SOCK_DIAG) was
 * opened, but for those within the host. 0; negative errno. */
int dependents_add_conns(struct netlink *diag, struct inventory *inv);
/* Adds the network mounts that the caller sees. 0; negative errno. */
int dependents_add_mounts(struct inventory *inv);

/* One message of a dump of sockets: counted in inv. 0, -EBADMSG, -ENOMEM. */
int dependents_parse_conn(struct inventory *inv, const struct nlmsghdr *h);
/* One line of mountinfo (proc(5)). false: no network file system. */
bool dependents_parse_mount(const char *line, struct inv_mount *ret);

#endif
