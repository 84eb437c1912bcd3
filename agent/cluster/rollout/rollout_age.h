/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ages of turns by this host's own clock. A turn ages only while this host reads the record
 * regularly: after a store that did not answer, all ages begin again, because the hosts in flight
 * could not report either. Owns nothing.
 */
#ifndef PLENUM_AGENT_ROLLOUT_AGE_H
#define PLENUM_AGENT_ROLLOUT_AGE_H

#include "agent/cluster/rollout/rollout.h"

#define ROLLOUT_AGE_GAP_NS (20 * NSEC_PER_SEC) /* longest time between two reads that count */

struct rollout_ages {
	struct {
		uint64_t turn, since_ns;
	} of[ROLLOUT_SLOTS_MAX];
	size_t n;
	uint64_t read_ns; /* time of the last read */
};

/* Call after a failed read of the record. */
void rollout_ages_restart(struct rollout_ages *a);
/* Call after each read of the record. Returns a slot whose host did not report in time, or NULL.
 * This host's own turn counts too, because its agent may hang. */
const struct rollout_slot *rollout_ages_read(struct rollout_ages *a, const struct rollout *r,
					     uint64_t now_ns);

#endif
