/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what udev knows about links, mainly whether it will still rename them, from its database
 * and its messages. Sends nothing to udev. kernel_linux alone uses it.
 */
#ifndef PLENUM_NETCFG_UDEV_H
#define PLENUM_NETCFG_UDEV_H

#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"

/*
 * Returns whether a udev daemon manages the links of the caller's network namespace. Three
 * conditions must hold: the control socket of udev exists; the database has an entry for at least
 * one link; and a socket in this namespace listens to the kernel's device messages. The second
 * condition fails if the daemon receives no link events. The third condition fails in a container
 * that only sees the /run/udev of its host, whose ifindexes are different. run is a descriptor of
 * /run/udev, proc_net a descriptor of /proc/thread-self/net.
 */
bool udev_serves(int run, int proc_net);
/* Returns whether udev has processed a link: it is in the database and udev is not about to rename
 * it. */
bool udev_initialized(int run, uint32_t ifindex);
/* Sets the member `initialized` of all links. */
void udev_fill_links(int run, int proc_net, struct inventory *inv);

/* Opens a non-blocking socket for udev's messages about devices that it has processed. Returns the
 * descriptor or negative errno. */
int udev_watch_open(void);
/* Passes pending messages about links to cb, at most some thousand. Returns 0 or negative errno. */
int udev_watch_read(int fd, void (*cb)(void *user, const struct kernel_event *e), void *user);
/* Parses one message. Returns false if it is not about a link or not from udev. */
bool udev_parse_event(const char *bytes, size_t len, struct kernel_event *ret);

#endif
