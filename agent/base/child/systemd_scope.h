/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves a process to a systemd scope of the process alone. So the process outlives the service that
 * started it, even if systemd stops or restarts that service, or kills all processes of the service
 * for lack of memory. Called by the applier's process before it drops its privileges.
 */
#ifndef PLENUM_AGENT_SYSTEMD_SCOPE_H
#define PLENUM_AGENT_SYSTEMD_SCOPE_H

/* Asks systemd to move the calling process to the transient unit PREFIX-PID.scope. Does nothing if
 * systemd did not start the agent. If systemd refuses, logs it, and the process stays where it is.
 * Waits a few seconds at most. */
void systemd_scope_enter(const char *prefix);

#endif
