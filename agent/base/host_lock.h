/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allows one agent per network namespace. Two agents that plan the same interfaces would undo each
 * other's changes, even if they use different folders. The lock is an abstract socket (unix(7)).
 * The socket's name is valid in the whole network namespace, and the kernel releases the name when
 * the process ends in any way. An agent that finds the lock taken connects to the socket, and the
 * kernel reports the credentials of the holder. The monitor takes the lock before it changes
 * anything; no other process uses it.
 */
#ifndef PLENUM_AGENT_HOST_LOCK_H
#define PLENUM_AGENT_HOST_LOCK_H

#include "netcfg/base/base.h"
#include <sys/types.h>

#define HOST_LOCK_NAME PLENUM_HOST_LOCK

/* How long to wait for a child that a killed agent has just forked. The child holds the lock until
 * it has closed its inherited descriptors. */
#define HOST_LOCK_WAIT_NS (20 * NSEC_PER_SEC)

/*
 * Takes the lock; *ret_fd is the caller's. If a process that cannot be an agent holds the name,
 * this is logged and *ret_fd is -1, because no unprivileged user may prevent the agent's start.
 * Returns 0; -EBUSY if another agent runs, with its pid in *ret_owner (0: it is in another pid
 * namespace); or another negative errno.
 */
int host_lock_take(const char *name, uint64_t wait_ns, int *ret_fd, pid_t *ret_owner);
/* Accepts and closes the connections of agents that want to know which process holds the lock.
 * Returns false if more connections may be waiting. The caller handles them later, because a user
 * who connects again and again would keep the caller busy. */
bool host_lock_answer(int fd);

#endif
