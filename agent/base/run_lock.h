/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of the run directory: it allows one agent per set of files. The lock is on two files of
 * mode 0600, which only root can open and lock: `plenumd.lock`, and `plenumd.pid`, which has the
 * pid of the agent that holds the lock. Agents up to commit 60dec88 lock only plenumd.pid and
 * create it with mode 0644, so that any user can lock it. A lock of plenumd.pid therefore counts
 * only if an agent holds it, and this version replaces the file. Old and new agents exclude each
 * other. Called by the monitor only.
 */
#ifndef PLENUM_AGENT_RUN_LOCK_H
#define PLENUM_AGENT_RUN_LOCK_H

#include "netcfg/base/reason.h"
#include <sys/types.h>

struct run_lock {
	int fd;	    /* descriptor of plenumd.lock */
	int pid_fd; /* descriptor of plenumd.pid */
	/* Descriptor of the plenumd.pid that this agent replaced; -1: none. It stays locked,
	 * because another agent may have opened that file. */
	int former_fd;
};
#define RUN_LOCK_NONE ((struct run_lock){.fd = -1, .pid_fd = -1, .former_fd = -1})

/*
 * Takes the lock of the directory `dir`. Returns 0; -EBUSY if another agent holds it, with its pid
 * in *ret_owner; or another negative errno, with the path in why. If the agent that held it was
 * just killed, waits until the last child of that agent has released the lock.
 */
int run_lock_take(const char *dir, struct run_lock *ret, pid_t *ret_owner, struct reason *why);
/* Creates and locks the lock files again if they were removed or replaced. Returns 0 if they are in
 * place, 1 if they were created, -EBUSY if another agent has locked them meanwhile, or another
 * negative errno. */
int run_lock_restore(struct run_lock *l, const char *dir);
void run_lock_done(struct run_lock *l);

#endif
