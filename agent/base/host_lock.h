/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Admits one agent per network namespace: two agents that plan the same interfaces would undo each
 * other's work, even with different folders. The lock is an abstract socket (unix(7)): its name is
 * as wide as the network namespace, and it ends with the process that holds it, however that
 * process ends. An agent that may not start connects to it, and learns the holder's credentials
 * from the kernel. Called by the monitor only, before it changes anything.
 */
#ifndef PLENUM_AGENT_HOST_LOCK_H
#define PLENUM_AGENT_HOST_LOCK_H

#include "netcfg/base/base.h"
#include <sys/types.h>

#define HOST_LOCK_NAME PLENUM_HOST_LOCK

/* For a child that a killed agent has just forked: it holds the lock until it has closed the
 * descriptors that it inherited. */
#define HOST_LOCK_WAIT_NS (20 * NSEC_PER_SEC)

/*
 * Takes the lock into *ret_fd, the caller's. *ret_fd is -1 if a user who cannot be an agent holds
 * the name (this is logged): such a user must not keep the agent from starting. 0; -EBUSY if
 * another agent runs, with its pid in *ret_owner (0: it is in another pid namespace); other
 * negative errno.
 */
int host_lock_take(const char *name, uint64_t wait_ns, int *ret_fd, pid_t *ret_owner);
/* Accepts and closes the connections of agents that asked for the holder. False: there may be more
 * of them; the caller answers those later, since any user can connect without end. */
bool host_lock_answer(int fd);

#endif
