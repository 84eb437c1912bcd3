/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists the actions that the running plan requires from the operator, mostly a reboot, with the
 * commands for this distribution. The plan has the requirements; only this module knows how a
 * kernel command line is edited. Reads a few files of the host, changes nothing.
 */
#ifndef PLENUM_AGENT_REQUIRED_ACTIONS_H
#define PLENUM_AGENT_REQUIRED_ACTIONS_H

#include "agent/base/events.h"
#include "netcfg/plan/plan.h"
#include <jansson.h>

/* Returns [{"code", "why", "commands": [...], "firmware", "reboot"}], a new reference, or NULL if
 * memory is short. root: "" for this host; a folder in tests. p may be NULL. */
json_t *required_actions_to_json(const struct plan *p, const char *root);
/* Returns the entry of that list for the missing account `user`, a new reference. */
json_t *required_actions_account_to_json(const char *user);
/* Call after a reconcile: adds an event for each requirement of p that *reported does not have,
 * then replaces *reported. */
void required_actions_note(const struct plan *p, struct events *events, json_t **reported);

#endif
