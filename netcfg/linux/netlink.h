/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One netlink socket and the conversations on it: a request, and its answer read to the end. An
 * answer is complete or an error, never a part; no call waits longer than the socket's timeout;
 * what an earlier conversation left behind (another number, a dump that was not read to its end)
 * never reaches a later one. libnl and libmnl build and take apart the messages; sending and
 * receiving is done here, because neither hands out both the extended ack and NLM_F_DUMP_INTR. Used
 * in this folder alone. One conversation at a time: not thread-safe.
 */
#ifndef PLENUM_NETCFG_NETLINK_H
#define PLENUM_NETCFG_NETLINK_H

#include "netcfg/base/base.h"
#include <linux/netlink.h>

struct netlink;

/* A socket of a protocol (NETLINK_ROUTE) in the caller's network namespace. 0 and *ret; negative
 * errno. */
int netlink_open(int protocol, struct netlink **ret);
/* The same over a descriptor that keeps the boundaries of messages, as a test's socketpair; it is
 * taken over, also on failure. */
int netlink_open_fd(int fd, struct netlink **ret);
struct netlink *netlink_close(struct netlink *nl); /* accepts NULL, returns NULL */
/* How long the next message of an answer may take; some seconds where nothing is said. */
void netlink_set_timeout(struct netlink *nl, uint64_t timeout_ns);

/* Called for each message of an answer; its first negative result becomes the conversation's. */
typedef int (*netlink_message_cb)(void *user, struct nlmsghdr *h);

/*
 * Sends h (its flags, number and port are set here) and hands the answer to cb (may be NULL).
 * flags: NLM_F_DUMP, or NLM_F_ACK for all else. why: NULL or NETLINK_WHY_MAX bytes, which get the
 * kernel's words on failure, "" for none. 0; cb's error; the kernel's; -EAGAIN: what is dumped
 * changed meanwhile or messages were lost, throw away and ask again; -ETIMEDOUT; -EBADMSG.
 */
#define NETLINK_WHY_MAX 256
int netlink_talk(struct netlink *nl, struct nlmsghdr *h, int flags, netlink_message_cb cb,
		 void *user, char *why);

/*
 * The next notification on a socket that only listens, of_kernel: others' are passed over; never
 * waits. The length of what is in buf; 0: there is none; -ENOBUFS: some were lost, or this one does
 * not fit; another error.
 */
ssize_t netlink_notification(int fd, bool of_kernel, void *buf, size_t size);

/* The error of an NLMSG_ERROR message, 0 for an ack; -EBADMSG. Its text goes to why, "" for none.
 */
int netlink_parse_ack(struct nlmsghdr *h, char *why);

#endif
