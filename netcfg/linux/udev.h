/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What udev knows of links: whether it still has to name them. Reads its database and its messages,
 * never talks to it. Used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_UDEV_H
#define PLENUM_NETCFG_UDEV_H

#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"

/*
 * Whether a udev daemon names the links of the caller's network namespace: its control socket is
 * there, and an entry of any link (run: descriptor of udev's folder, /run/udev), and a socket
 * listens here to the kernel's messages of devices (proc_net: of /proc/thread-self/net). A
 * container that sees its host's /run/udev has no such listener, and numbers links anew; one whose
 * own daemon never hears of links has no entry, and nothing to wait for.
 */
bool udev_serves(int run, int proc_net);
/* Whether udev is done with a link: it is in the database, and not on its way to another name. */
bool udev_initialized(int run, uint32_t ifindex);
/* Sets `initialized` of all links. */
void udev_fill_links(int run, int proc_net, struct inventory *inv);

/* A socket, not blocking, on what udev says to everyone once it is done with a device. The
 * descriptor; negative errno. */
int udev_watch_open(void);
/* Hands over what came of links, at most some thousand messages. 0; negative errno. */
int udev_watch_read(int fd, void (*cb)(void *user, const struct kernel_event *e), void *user);
/* What one message means. false: it is not of a link, or not udev's. */
bool udev_parse_event(const char *bytes, size_t len, struct kernel_event *ret);

#endif
