/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drops the privileges that a role of the agent does not need once it reads hostile bytes.
 * Permanent: none of it can be taken back. Called by the roles' main functions only.
 */
#ifndef PLENUM_AGENT_SANDBOX_H
#define PLENUM_AGENT_SANDBOX_H

#include "netcfg/base/os/seccomp.h"

/*
 * Call first: gives the process an empty root, an unprivileged user, no capabilities and no way to
 * gain any. 0 or negative errno; a process that starts without privileges keeps its user and root.
 */
int sandbox_enter(void);
/* Call last, when everything is open: leaves only an event loop's system calls and those named
 * here. Any other call is reported to the monitor and ends the process. */
int sandbox_seal(const int *nrs, size_t n_nrs, const struct seccomp_rule *rules, size_t n_rules);

#endif
