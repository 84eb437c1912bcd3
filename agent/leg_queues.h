/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects packets that the kernel's queues (qdiscs) of the legs' NICs drop, so that such a loss on
 * this host is not blamed on the network. Reports drops as problems and events. The queues'
 * counters are read only while packets from this host are lost. A child process reads them, because
 * the kernel may hold the required lock for seconds.
 */
#ifndef PLENUM_AGENT_LEG_QUEUES_H
#define PLENUM_AGENT_LEG_QUEUES_H

#include "netcfg/base/base.h"
#include "netcfg/plan/plan.h"
#include <string.h>

#define LEG_QUEUES_CURRENT_NS (10 * NSEC_PER_SEC)

struct agent;
struct leg_queues;

struct leg_queues_share { /* drops of one leg of the plan */
	char leg[PLENUM_NAME_MAX];
	uint32_t ppm; /* packets per million that the leg's queue dropped in the last window */
	uint64_t read_ns;
};

int leg_queues_init(struct agent *a);
void leg_queues_done(struct agent *a);
/* Reads the counters if packets are being lost. Call about once a second. */
void leg_queues_look(struct agent *a);
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
