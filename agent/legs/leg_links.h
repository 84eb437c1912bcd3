/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes the legs of the plan in force if cluster.probe-legs asks for it (agent/links), publishes
 * what the probes find, and reports a leg of this host that no host answers as a problem. The
 * member `links` of struct agent has the findings.
 */
#ifndef PLENUM_AGENT_LEG_LINKS_H
#define PLENUM_AGENT_LEG_LINKS_H

#include "netcfg/base/base.h"

struct agent;
struct leg_links;

int leg_links_init(struct agent *a);
void leg_links_done(struct agent *a);
/* Call when a plan or a configuration has come into force. */
void leg_links_take_plan(struct agent *a);
/* Call when the carrier of a link has changed. */
void leg_links_carrier(struct agent *a);
/* Takes the list of other hosts' legs: fd has len bytes of JSON. The caller still owns fd. */
void leg_links_members(struct agent *a, int fd, uint64_t len);

#endif
