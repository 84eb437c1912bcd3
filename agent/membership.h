/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host as a member of its cluster: publishes the addresses and exports of its servers and a
 * summary of its state, and lets a reconcile use the addresses of other servers when they change.
 * cluster/cluster.h has the connection.
 */
#ifndef PLENUM_AGENT_MEMBERSHIP_H
#define PLENUM_AGENT_MEMBERSHIP_H

#include "agent/agent.h"
#include "agent/cluster/records.h"

#define MEMBERSHIP_LOOK_NS (10 * NSEC_PER_SEC) /* a changed summary is published this often */
#define MEMBERSHIP_REPEAT_NS (RECORDS_REPEAT_S * NSEC_PER_SEC) /* an unchanged one this often */
/* Least time between two reconciles for changed addresses of servers. It doubles, up to the
 * maximum, while servers keep changing, because each of them may restart workers. */
#define MEMBERSHIP_FOLLOW_NS (10 * NSEC_PER_SEC)
#define MEMBERSHIP_FOLLOW_MAX_NS (160 * NSEC_PER_SEC)

struct membership_pace {
	uint64_t at_ns;	 /* time of the last reconcile for changed addresses, or of the next one */
	uint64_t gap_ns; /* from at_ns to the one after it; 0: there was none yet */
};
/* Returns the time of the reconcile for addresses that have changed now. Changes until that time
 * share it. */
uint64_t membership_follow(struct membership_pace *p, uint64_t now_ns);

int membership_init(struct agent *a);
void membership_done(struct agent *a);
/* Call when another configuration is in force. */
void membership_take_spec(struct agent *a);
/* Takes the addresses of pools for a configuration that is not in force yet. Returns whether the
 * store was asked: `then` is called when it has answered, or after some seconds. */
bool membership_take_pools(struct agent *a, const struct spec *s, void (*then)(struct agent *a));
/* Appends notes about peers whose addresses in the configuration differ from those in the
 * cluster. */
void membership_note_peers(const struct agent *a, json_t *notes);

#endif
