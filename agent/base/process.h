/* SPDX-License-Identifier: BSD-3-Clause */
/* Information about other processes, by pid. Stateless. */
#ifndef PLENUM_AGENT_PROCESS_H
#define PLENUM_AGENT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads the start time of a running process, in clock ticks since boot. Returns -ESRCH if the
 * process does not exist. */
int process_start(pid_t pid, uint64_t *ret);
#define PROCESS_NAME_MAX 16
/* Reads the program's name, which the process may have changed. Characters that would break a list
 * are replaced by '?'. Returns false if the process does not exist. */
bool process_name(pid_t pid, char ret[static PROCESS_NAME_MAX]);
/* Returns whether a process of that pid exists and has not exited. */
bool process_lives(pid_t pid);

#endif
