/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the running plan needs of the machine's operator, most of it a reboot: one list, with the
 * commands of this distribution. The plan says what is needed; how a kernel's command line is
 * edited is known here only. Reads a few files of the host, changes nothing.
 */
#ifndef PLENUM_AGENT_REQUIRED_ACTIONS_H
#define PLENUM_AGENT_REQUIRED_ACTIONS_H

#include "netcfg/plan/plan.h"
#include <jansson.h>

struct agent;

/* [{"code", "why", "commands": [...], "firmware", "reboot"}]; root: "" for the host, a folder for
 * tests; p may be NULL. A new reference, NULL: out of memory. */
json_t *required_actions_to_json(const struct plan *p, const char *root);
/* After a walk: each need that the one before did not have is an event. */
void required_actions_note(struct agent *a);

#endif
