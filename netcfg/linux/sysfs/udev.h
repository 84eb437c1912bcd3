/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what udev knows of links, mainly whether it will still rename them, from its database and
 * its messages. Sends nothing to udev. Used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_UDEV_H
#define PLENUM_NETCFG_UDEV_H

#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"

/*
 * Whether a udev daemon manages the links of the caller's network namespace: its control socket
 * exists, the database has an entry of any link (run: descriptor of udev's folder, /run/udev), and
 * a socket here listens to the kernel's device messages (proc_net: descriptor of /proc/thread-
 * self/net). A container that sees its host's /run/udev has no such listener, and its ifindexes
 * differ from the host's; one whose daemon receives no link events has no entry, so there is
 * nothing to wait for.
 */
bool udev_serves(int run, int proc_net);
/* Whether udev has finished with a link: it is in the database and not about to be renamed. */
bool udev_initialized(int run, uint32_t ifindex);
/* Sets `initialized` of all links. */
void udev_fill_links(int run, int proc_net, struct inventory *inv);

/* Opens a non-blocking socket for udev's messages about devices that it has finished with. The
 * descriptor; negative errno. */
int udev_watch_open(void);
/* Passes pending messages about links to cb, at most some thousand. 0; negative errno. */
int udev_watch_read(int fd, void (*cb)(void *user, const struct kernel_event *e), void *user);
/* Parses one message. false: it is not about a link, or not from udev. */
bool udev_parse_event(const char *bytes, size_t len, struct kernel_event *ret);

#endif
