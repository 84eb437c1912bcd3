/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how old turns are, by this host's own clock, because the clocks of hosts may differ.
 * Ages grow only while this host can read the record. If the store did not answer for a while, all
 * ages start again at 0, because the hosts with turns could not report either. Owns nothing.
 */
#ifndef PLENUM_AGENT_ROLLOUT_AGE_H
#define PLENUM_AGENT_ROLLOUT_AGE_H

#include "agent/cluster/rollout/rollout.h"

/* After a longer time than this between two reads, all ages start again. */
#define ROLLOUT_AGE_GAP_NS (20 * NSEC_PER_SEC)

struct rollout_ages {
	struct {
		uint64_t turn, since_ns;
	} of[ROLLOUT_SLOTS_MAX];
	size_t n;
	uint64_t read_ns; /* time of the last read */
};

/* Call after a failed read of the record. */
void rollout_ages_restart(struct rollout_ages *a);
/* Call after each read of the record. Returns the slot of a host that has not reported in time, or
 * NULL. Also returns this host's own slot, because this host's agent may hang. */
const struct rollout_slot *rollout_ages_read(struct rollout_ages *a, const struct rollout *r,
					     uint64_t now_ns);

#endif
