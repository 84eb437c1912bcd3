/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends requests on a netlink socket and reads the answers to their end. The result is the complete
 * answer or an error, never a part of an answer. No call waits longer than the socket's timeout.
 * The rest of an earlier answer (another sequence number, an unfinished dump) is never taken for a
 * part of a later one. libnl and libmnl build and parse the messages; this file sends and receives
 * them, because neither library passes on both the extended ack and NLM_F_DUMP_INTR. Only this
 * folder uses it. One request at a time: not thread-safe.
 */
#ifndef PLENUM_NETCFG_NETLINK_H
#define PLENUM_NETCFG_NETLINK_H

#include "netcfg/base/reason.h"
#include <linux/netlink.h>

struct netlink;

/* Opens a socket of a protocol (such as NETLINK_ROUTE) in the caller's network namespace. Returns 0
 * and *ret, or negative errno. */
int netlink_open(int protocol, struct netlink **ret);
/* Like netlink_open, but uses the descriptor fd, which must keep message boundaries (a test passes
 * one side of a socketpair). Takes ownership of fd, and closes it on failure too. */
int netlink_open_fd(int fd, struct netlink **ret);
struct netlink *netlink_close(struct netlink *nl); /* accepts NULL, returns NULL */
/* Sets the timeout for the next message of an answer; the default is some seconds. */
void netlink_set_timeout(struct netlink *nl, uint64_t timeout_ns);

/* netlink_talk() calls this function for each message of an answer, and returns its first negative
 * result. */
typedef int (*netlink_message_cb)(void *user, struct nlmsghdr *h);

/*
 * Sends h (its flags, sequence number and port are set here) and passes the messages of the answer
 * to cb (may be NULL). flags is NLM_F_DUMP for a dump, NLM_F_ACK for other requests. `why` (may be
 * NULL) gets the kernel's error text, if it sends one. Returns 0, -ETIMEDOUT, -EBADMSG, or the
 * error of cb or of the kernel. Returns -EAGAIN if objects changed during the dump or messages were
 * lost; the caller then discards the data and repeats the request.
 */
int netlink_talk(struct netlink *nl, struct nlmsghdr *h, int flags, netlink_message_cb cb,
		 void *user, struct reason *why);

/*
 * Reads the next notification on a listening socket without blocking. If of_kernel is set, it skips
 * messages of other senders. Returns the length of the message in buf, or 0 if none is pending.
 * Returns -ENOBUFS if messages were lost or this one is longer than buf, or another negative errno.
 */
ssize_t netlink_notification(int fd, bool of_kernel, void *buf, size_t size);

/* Returns the error of an NLMSG_ERROR message, 0 if it is an ack, or -EBADMSG if it is invalid. If
 * the message has an error text, `why` gets it. */
int netlink_parse_ack(struct nlmsghdr *h, struct reason *why);

#endif
