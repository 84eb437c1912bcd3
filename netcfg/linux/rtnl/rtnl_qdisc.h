/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what the queueing disciplines of this host's links dropped. Changes nothing. */
#ifndef PLENUM_NETCFG_RTNL_QDISC_H
#define PLENUM_NETCFG_RTNL_QDISC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A link's root queueing discipline, with all below it. */
struct rtnl_qdisc {
	uint32_t ifindex;
	char kind[16]; /* "fq_codel"; "noqueue" has no counters */
	uint64_t packets, drops;
};

struct nlmsghdr;

/* One for each link of the caller's network namespace. 0 and the number in *ret_n, max at most;
 * negative errno. */
int rtnl_qdisc_collect(struct rtnl_qdisc *ret, size_t max, size_t *ret_n);
/* One message of the dump. True: it is a root discipline. */
bool rtnl_qdisc_parse(struct nlmsghdr *h, struct rtnl_qdisc *ret);

#endif
