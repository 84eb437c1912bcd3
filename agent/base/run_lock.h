/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of the run directory: admits one agent per set of files. Two files of mode 0600 carry
 * it, so that only root can open them and hold their locks: `plenumd.lock`, and `plenumd.pid` with
 * the holder's pid. Agents up to 60dec88 lock plenumd.pid only and create it with mode 0644, which
 * any user can lock. So its lock counts only if an agent holds it, and the file is replaced; both
 * versions exclude each other. Called by the monitor only.
 */
#ifndef PLENUM_AGENT_RUN_LOCK_H
#define PLENUM_AGENT_RUN_LOCK_H

#include "netcfg/base/reason.h"
#include <sys/types.h>

struct run_lock {
	int fd;	       /* plenumd.lock */
	int pid_fd;    /* plenumd.pid */
	int former_fd; /* the plenumd.pid that this agent replaced, locked for agents that have
			  opened it; -1: none */
};
#define RUN_LOCK_NONE ((struct run_lock){.fd = -1, .pid_fd = -1, .former_fd = -1})

/*
 * Takes the lock of the directory dir. 0; -EBUSY if another agent holds it, with its pid in
 * *ret_owner (if it was just killed, waits until its last child has released the lock); other
 * negative errno with the path concerned in why.
 */
int run_lock_take(const char *dir, struct run_lock *ret, pid_t *ret_owner, struct reason *why);
/* Creates and locks the files that were removed or replaced since. 0: none was; 1: done; -EBUSY:
 * another agent has locked them meanwhile; other negative errno. */
int run_lock_restore(struct run_lock *l, const char *dir);
void run_lock_done(struct run_lock *l);

#endif
