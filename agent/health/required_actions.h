/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists what the running plan needs from the operator, mostly a reboot, with the commands of this
 * distribution. The plan says what is needed; only this module knows how to edit a kernel command
 * line. Reads a few files of the host, changes nothing.
 */
#ifndef PLENUM_AGENT_REQUIRED_ACTIONS_H
#define PLENUM_AGENT_REQUIRED_ACTIONS_H

#include "agent/base/events.h"
#include "netcfg/plan/plan.h"
#include <jansson.h>

/* [{"code", "why", "commands": [...], "firmware", "reboot"}]; root: "" for this host, a folder in
 * tests; p may be NULL. A new reference; NULL: out of memory. */
json_t *required_actions_to_json(const struct plan *p, const char *root);
/* One entry of that list, for an account that is missing. */
json_t *required_actions_account_to_json(const char *user);
/* After a reconcile: adds an event for each need of p that is not in *reported, then replaces that
 * list. */
void required_actions_note(const struct plan *p, struct events *events, json_t **reported);

#endif
