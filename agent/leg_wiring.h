/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the wiring watch (wiring/wiring.h) for the agent: tells it the data IPs of the plan in
 * force, opens its sockets, and reports what it finds as problems and events. struct agent's
 * `wiring` shows the findings.
 */
#ifndef PLENUM_AGENT_LEG_WIRING_H
#define PLENUM_AGENT_LEG_WIRING_H

#include "agent/base/address_claim.h"
#include "agent/wiring/wiring.h"

struct agent;
struct leg_wiring;

int leg_wiring_init(struct agent *a);
void leg_wiring_done(struct agent *a);
/* Call after a plan has come into force: watches its legs and addresses. */
void leg_wiring_take_plan(struct agent *a);
void leg_wiring_carrier(struct agent *a, uint32_t ifindex, bool carrier);
/* Looks which legs have working paths; call about once a second. */
void leg_wiring_look(struct agent *a);
/* A packet that the role `lldp` has parsed. */
void leg_wiring_hear(struct agent *a, uint32_t ifindex, const struct address_claim *c);
/* The role `lldp` has started: gives it the sockets. */
void leg_wiring_open(struct agent *a);

#endif
