/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool that this host wants addresses from, and the reports about it; for pool_take.c alone. */
#ifndef PLENUM_AGENT_POOL_TAKE_INTERNAL_H
#define PLENUM_AGENT_POOL_TAKE_INTERNAL_H

#include "agent/cluster/pools/pool.h"

struct pool_want {
	char name[PLENUM_NAME_MAX];
	size_t need, n_known;
	/* the addresses that the agent remembers, by index */
	struct ip_addr known[CLUSTER_POOL_ADDRS_MAX];
	struct cluster_pool pool;
	struct pool_choice choice;
	bool reported;
	/* the last report that was sent */
	struct cluster_pool_report head;
	struct ip_addr told[CLUSTER_POOL_ADDRS_MAX];
};

/* Each of these sends a report, unless it is the same as the last one. */

/* Reports the addresses of the choice. holds: etcd has lost addresses, so that no host gets new
 * ones. */
void pool_report_choice(const struct pool_take_setup *setup, struct pool_want *w, bool holds);
/* Reports why addresses cannot be read or taken. The agent keeps the addresses that it knows. */
void pool_report_failure(const struct pool_take_setup *setup, struct pool_want *w,
			 const char *text);
/* Reports that the cluster has no valid pool of that name. */
void pool_report_unknown(const struct pool_take_setup *setup, struct pool_want *w,
			 const struct reason *why);

#endif
