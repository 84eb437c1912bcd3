/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One agent a network namespace: two that plan the same interfaces would undo each other's work,
 * whatever folders they use. What is held is an abstract socket (unix(7)), whose name is as wide as
 * the network namespace and which ends with the process that holds it, however that ends. Who may
 * not start asks it by a connection, whose other end the kernel vouches for. Called by the monitor
 * only, before it changes anything.
 */
#ifndef PLENUM_AGENT_HOST_LOCK_H
#define PLENUM_AGENT_HOST_LOCK_H

#include "netcfg/base/base.h"
#include <sys/types.h>

#define HOST_LOCK_NAME "plenum/plenumd"

/* For a child that a killed agent has just forked, which has the lock until it has closed what it
 * inherited. */
#define HOST_LOCK_PATIENCE_NS (20 * NSEC_PER_SEC)

/*
 * The lock into *ret_fd, the caller's; -1 where a user who could not be an agent holds the name (it
 * is logged): nobody shall keep the agent from starting. 0; -EBUSY where another agent runs, its
 * pid in *ret_owner (0: of another pid namespace); other negative errno.
 */
int host_lock_take(const char *name, uint64_t patience_ns, int *ret_fd, pid_t *ret_owner);
/* Takes and closes the connections of those who asked. */
void host_lock_answer(int fd);

#endif
