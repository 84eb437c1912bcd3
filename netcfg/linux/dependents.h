/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists what this host would lose if a link went down: established TCP connections, by their local
 * address, and mounted network file systems. Reads only; kernel_linux alone uses it.
 */
#ifndef PLENUM_NETCFG_DEPENDENTS_H
#define PLENUM_NETCFG_DEPENDENTS_H

#include "netcfg/host/inventory.h"
#include <linux/netlink.h>

struct netlink;

/* Adds to inv the TCP connections of the network namespace in which diag (a NETLINK_SOCK_DIAG
 * socket) was opened. Omits connections of the host to itself. Returns 0 or negative errno. */
int dependents_add_conns(struct netlink *diag, struct inventory *inv);
/* Adds the network mounts in the caller's mount namespace to inv. Returns 0 or negative errno. */
int dependents_add_mounts(struct inventory *inv);

/* Parses one message of a socket dump and counts the connection in inv. Returns 0, -EBADMSG if the
 * message is invalid, or -ENOMEM. */
int dependents_parse_conn(struct inventory *inv, const struct nlmsghdr *h);
/* Parses one line of mountinfo (proc(5)). Returns false if the mount in it is not a network file
 * system. */
bool dependents_parse_mount(const char *line, struct inv_mount *ret);

#endif
