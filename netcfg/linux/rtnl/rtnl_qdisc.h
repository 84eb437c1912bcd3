/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queueing disciplines (qdiscs) of this host's links: reads which qdiscs there are and how many
 * packets they dropped, and replaces the qdisc of a link. A link with several transmit queues keeps
 * one qdisc for each queue, below a root of the kind mq.
 */
#ifndef PLENUM_NETCFG_RTNL_QDISC_H
#define PLENUM_NETCFG_RTNL_QDISC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A queueing discipline; the counters of a root include the disciplines below it. */
struct rtnl_qdisc {
	uint32_t ifindex;
	uint32_t handle; /* handle of the discipline; 0: the kernel itself chose the discipline */
	uint32_t parent; /* TC_H_ROOT, or a class of another discipline, such as 7070:2 */
	char kind[16];	 /* kind of the discipline, such as "fq_codel"; "noqueue" has no counters */
	uint64_t packets, drops;
};

struct nlmsghdr;
struct inventory;
struct kernel_change;
struct reason;
struct rtnl;

/* Writes to ret one entry for the root qdisc of each link of the caller's network namespace, at
 * most `max`. Returns 0 and the number in *ret_n, or negative errno. */
int rtnl_qdisc_collect(struct rtnl_qdisc *ret, size_t max, size_t *ret_n);
/* Parses one message of the dump. Returns true if it is a root discipline. */
bool rtnl_qdisc_parse(struct nlmsghdr *h, struct rtnl_qdisc *ret);
/* Parses a message about any discipline. Returns false if it is about something else. */
bool rtnl_qdisc_parse_any(struct nlmsghdr *h, struct rtnl_qdisc *ret);

/* Sets `qdisc` of all links in the inventory (inventory.h describes the texts). Returns 0 or
 * negative errno. */
int rtnl_qdisc_fill(struct inventory *inv);
/* Writes the text for one link, from all disciplines of the host; returns ret. */
#define RTNL_QDISC_TEXT_MAX 20
const char *rtnl_qdisc_text(const struct rtnl_qdisc *all, size_t n, uint32_t ifindex,
			    char ret[static RTNL_QDISC_TEXT_MAX]);
/* Change and read the qdisc of a link, as in struct kernel_ops. "default" stands for the qdisc that
 * the kernel chooses. A text with "tc:" cannot be set. */
int rtnl_qdisc_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why);
int rtnl_qdisc_read(struct kernel_change *c);

#endif
