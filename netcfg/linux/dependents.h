/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports what a link's loss would cut off on this host: established TCP connections, by their
 * local address, and mounted network file systems. Read only; used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_DEPENDENTS_H
#define PLENUM_NETCFG_DEPENDENTS_H

#include "netcfg/host/inventory.h"
#include <linux/netlink.h>

struct netlink;

/* Adds the TCP connections of the network namespace in which diag (a NETLINK_SOCK_DIAG socket)
 * was opened, except those within the host. 0; negative errno. */
int dependents_add_conns(struct netlink *diag, struct inventory *inv);
/* Adds the network mounts that the caller sees. 0; negative errno. */
int dependents_add_mounts(struct inventory *inv);

/* Parses one message of a socket dump and counts it in inv. 0, -EBADMSG, -ENOMEM. */
int dependents_parse_conn(struct inventory *inv, const struct nlmsghdr *h);
/* Parses one line of mountinfo (proc(5)). false: not a network file system. */
bool dependents_parse_mount(const char *line, struct inv_mount *ret);

#endif
