/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the wiring watch (wiring/wiring.h) for the agent: passes it the data IPs of the plan in
 * force, opens its sockets, and reports its findings as problems and events. The member `wiring` of
 * struct agent has the findings.
 */
#ifndef PLENUM_AGENT_LEG_WIRING_H
#define PLENUM_AGENT_LEG_WIRING_H

#include "agent/base/address_claim.h"
#include "agent/wiring/wiring.h"

struct agent;
struct leg_wiring;

int leg_wiring_init(struct agent *a);
void leg_wiring_done(struct agent *a);
/* Call after a plan has come into force: watches the plan's legs and addresses. */
void leg_wiring_take_plan(struct agent *a);
void leg_wiring_carrier(struct agent *a, uint32_t ifindex, bool carrier);
/* Finds the legs whose cables a working path proves right. Call about once a second. */
void leg_wiring_look(struct agent *a);
/* Handles a packet that the role `lldp` has parsed. */
void leg_wiring_hear(struct agent *a, uint32_t ifindex, const struct address_claim *c);
/* Call when the role `lldp` has started: passes it the sockets. */
void leg_wiring_open(struct agent *a);

#endif
