/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The share of packets that the kernel's queue of each leg drops. legs/leg_queues.c measures it;
 * the status shows it. Part of the monitor.
 */
#ifndef PLENUM_AGENT_QUEUE_SHARES_H
#define PLENUM_AGENT_QUEUE_SHARES_H

#include "netcfg/base/base.h"
#include "netcfg/plan/plan.h"
#include <string.h>

#define LEG_QUEUES_CURRENT_NS (10 * NSEC_PER_SEC)

struct leg_queues_share { /* drops of one leg of the plan */
	char leg[PLENUM_NAME_MAX];
	uint32_t ppm; /* packets per million that the leg's queue dropped in the last window */
	uint64_t read_ns;
};

/* Returns the packets per million that the leg's queue dropped, or 0 if its counters were not read
 * recently. */
static inline uint32_t leg_queues_ppm(const struct leg_queues_share *shares, const char *leg)
{
	for (size_t i = 0; i <= PLAN_PORTS_MAX; i++)
		if (strcmp(shares[i].leg, leg) == 0 &&
		    clock_now_ns() < shares[i].read_ns + LEG_QUEUES_CURRENT_NS)
			return shares[i].ppm;
	return 0;
}

#endif
