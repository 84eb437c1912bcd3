/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads how many packets the queueing disciplines of this host's links dropped. Changes nothing. */
#ifndef PLENUM_NETCFG_RTNL_QDISC_H
#define PLENUM_NETCFG_RTNL_QDISC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The root queueing discipline of a link; its counters include the disciplines below it. */
struct rtnl_qdisc {
	uint32_t ifindex;
	char kind[16]; /* such as "fq_codel"; "noqueue" has no counters */
	uint64_t packets, drops;
};

struct nlmsghdr;

/* Fills in one entry for each link of the caller's network namespace, at most `max`. Returns 0 and
 * the number in *ret_n, or negative errno. */
int rtnl_qdisc_collect(struct rtnl_qdisc *ret, size_t max, size_t *ret_n);
/* Parses one message of the dump. Returns true if it is a root discipline. */
bool rtnl_qdisc_parse(struct nlmsghdr *h, struct rtnl_qdisc *ret);

#endif
