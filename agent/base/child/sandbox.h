/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drops the privileges that a role of the agent does not need when it reads bytes from untrusted
 * senders. This cannot be undone. Called only by the roles' main functions.
 */
#ifndef PLENUM_AGENT_SANDBOX_H
#define PLENUM_AGENT_SANDBOX_H

#include "netcfg/base/os/seccomp.h"

/*
 * Call first: gives the process an empty root directory, an unprivileged user, no capabilities and
 * no way to gain any. Returns 0 or negative errno. A process that was started without privileges
 * keeps its user and its root directory.
 */
int sandbox_enter(void);
/* Call when everything is open: allows only the system calls of an event loop and those in the
 * arguments. Any other call is reported to the monitor and ends the process. */
int sandbox_seal(const int *nrs, size_t n_nrs, const struct seccomp_rule *rules, size_t n_rules);

#endif
