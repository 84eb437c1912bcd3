/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One netlink socket and its conversations: a request, and its answer read to the end. An answer is
 * complete or an error, never a part; no call waits longer than the socket's timeout; leftovers of
 * an earlier conversation (another sequence number, an unfinished dump) never reach a later one.
 * libnl and libmnl build and parse the messages; sending and receiving is done here, because
 * neither passes on both the extended ack and NLM_F_DUMP_INTR. Used in this folder alone. One
 * conversation at a time: not thread-safe.
 */
#ifndef PLENUM_NETCFG_NETLINK_H
#define PLENUM_NETCFG_NETLINK_H

#include "netcfg/base/reason.h"
#include <linux/netlink.h>

struct netlink;

/* Opens a socket of a protocol (such as NETLINK_ROUTE) in the caller's network namespace. 0 and
 * *ret; negative errno. */
int netlink_open(int protocol, struct netlink **ret);
/* The same with an existing descriptor that keeps message boundaries, such as a test's
 * socketpair. Takes ownership of it, also on failure. */
int netlink_open_fd(int fd, struct netlink **ret);
struct netlink *netlink_close(struct netlink *nl); /* accepts NULL, returns NULL */
/* Sets how long the next message of an answer may take; default: some seconds. */
void netlink_set_timeout(struct netlink *nl, uint64_t timeout_ns);

/* Called for each message of an answer; its first negative result becomes the conversation's. */
typedef int (*netlink_message_cb)(void *user, struct nlmsghdr *h);

/*
 * Sends h (its flags, sequence number and port are set here) and passes the answer's messages to cb
 * (may be NULL). flags: NLM_F_DUMP, or NLM_F_ACK for other requests. why (may be
 * NULL): the kernel's error text, unset if there is none. 0; cb's error; the kernel's; -EAGAIN: the
 * dumped objects changed meanwhile or messages were lost, discard and ask again; -ETIMEDOUT;
 * -EBADMSG.
 */
int netlink_talk(struct netlink *nl, struct nlmsghdr *h, int flags, netlink_message_cb cb,
		 void *user, struct reason *why);

/*
 * Reads the next notification on a listening socket without blocking; of_kernel: skips messages of
 * other senders. The length of the message in buf; 0: none pending; -ENOBUFS: some were lost, or
 * this one does not fit; another error.
 */
ssize_t netlink_notification(int fd, bool of_kernel, void *buf, size_t size);

/* The error of an NLMSG_ERROR message, 0 for an ack; -EBADMSG. Its text goes to why, unset if it
 * has none. */
int netlink_parse_ack(struct nlmsghdr *h, struct reason *why);

#endif
