/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host as a member of its cluster. Publishes the addresses and exports of this host's servers,
 * and a summary of the host's state. When addresses of other servers change, requests a reconcile,
 * which uses them. cluster/cluster.h has the connection to etcd.
 */
#ifndef PLENUM_AGENT_MEMBERSHIP_H
#define PLENUM_AGENT_MEMBERSHIP_H

#include "agent/agent.h"
#include "agent/cluster/store/records.h"

/* Intervals at which a changed summary and an unchanged one are published. */
#define MEMBERSHIP_LOOK_NS (10 * NSEC_PER_SEC)
#define MEMBERSHIP_REPEAT_NS (RECORDS_REPEAT_S * NSEC_PER_SEC)
/* Shortest time between two reconciles for changed addresses of servers. The time doubles, up to
 * MEMBERSHIP_FOLLOW_MAX_NS, while the addresses keep changing, because each of these reconciles may
 * restart workers. */
#define MEMBERSHIP_FOLLOW_NS (10 * NSEC_PER_SEC)
#define MEMBERSHIP_FOLLOW_MAX_NS (160 * NSEC_PER_SEC)

struct membership_pace {
	uint64_t at_ns;	 /* time of the last or the next reconcile for changed addresses */
	uint64_t gap_ns; /* time between the reconcile at at_ns and the next one; 0: no reconcile
			    yet */
};
/* Returns the time of the reconcile for addresses that changed at now_ns. All changes before that
 * time share this reconcile. */
uint64_t membership_follow(struct membership_pace *p, uint64_t now_ns);

int membership_init(struct agent *a);
void membership_done(struct agent *a);
/* Call when another configuration has come into force. */
void membership_take_spec(struct agent *a);
/* Requests the addresses of pools for a configuration that is not in force yet. Returns whether the
 * request was sent: `then` is called when the answer has arrived, or after some seconds without an
 * answer. */
bool membership_take_pools(struct agent *a, const struct spec *s, void (*then)(struct agent *a));
/* Appends a note for each peer whose addresses in the configuration differ from its addresses in
 * the cluster. */
void membership_note_peers(const struct agent *a, json_t *notes);

#endif
