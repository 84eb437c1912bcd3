/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves a process to a separate systemd scope, so that it outlives the service that started it
 * even if the service manager stops or restarts the service, or kills all of it for lack of memory.
 * Called by the applier's process before it drops its privileges.
 */
#ifndef PLENUM_AGENT_SYSTEMD_SCOPE_H
#define PLENUM_AGENT_SYSTEMD_SCOPE_H

/* Has systemd move the calling process to the transient unit PREFIX-PID.scope. Does nothing if
 * systemd did not start us; if systemd refuses, logs it and leaves the process where it is. Waits a
 * few seconds at most. */
void systemd_scope_enter(const char *prefix);

#endif
