/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a role of the agent that reads what strangers sent gives up all that it does not need. For
 * good: nothing here can be taken back. Called by the roles' main functions only.
 */
#ifndef PLENUM_AGENT_SANDBOX_H
#define PLENUM_AGENT_SANDBOX_H

#include "netcfg/base/seccomp.h"

/* First: an empty root, no user's identity, no capabilities, no way to gain any. 0 or negative
 * errno; a process without privileges to begin with keeps its user and root. */
int sandbox_enter(void);
/* Last, when all is open: only a loop's system calls, and those named here. Another one is told to
 * the monitor and ends the process. */
int sandbox_seal(const int *nrs, size_t n_nrs, const struct seccomp_rule *rules, size_t n_rules);

#endif
