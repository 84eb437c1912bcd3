/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A unit of its own for a process that must outlive the service it was started by, whatever the
 * service manager does with that: stops it, restarts it, or ends all of it for want of memory.
 * Called by the applier's process before it gives up its privileges.
 */
#ifndef PLENUM_AGENT_SCOPE_H
#define PLENUM_AGENT_SCOPE_H

/* Has systemd move the calling process to the transient unit PREFIX-PID.scope. Where no systemd
 * started us nothing happens; where it refuses, the log says so and the process stays where it is.
 * Waits for a few seconds at most. */
void systemd_scope_enter(const char *prefix);

#endif
