/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host as a member of its cluster: publishes the addresses and exports of its servers and a
 * summary of its state, and lets a reconcile use the addresses of other servers when they change.
 * cluster/cluster.h has the connection.
 */
#ifndef PLENUM_AGENT_MEMBERSHIP_H
#define PLENUM_AGENT_MEMBERSHIP_H

#include "agent/agent.h"

#define MEMBERSHIP_LOOK_NS (10 * NSEC_PER_SEC)	 /* a changed summary is published this often */
#define MEMBERSHIP_REPEAT_NS (60 * NSEC_PER_SEC) /* an unchanged one this often */
/* Least time between two reconciles for changed addresses of servers. */
#define MEMBERSHIP_FOLLOW_NS (10 * NSEC_PER_SEC)

int membership_init(struct agent *a);
void membership_done(struct agent *a);
/* Call when another configuration is in force. */
void membership_take_spec(struct agent *a);
/* Appends notes about peers whose addresses in the configuration differ from those in the
 * cluster. */
void membership_note_peers(const struct agent *a, json_t *notes);

#endif
