/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stops a process before its system calls, as a disk that hangs would. At each of these points a
 * test can act, and then let the process continue or kill it.
 */
#ifndef PLENUM_TESTS_HELPER_TRACE_H
#define PLENUM_TESTS_HELPER_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Begins the trace. The process runs until helper_trace_next(). 0; negative errno: tracing is not
 * possible here. */
int helper_trace_begin(pid_t pid);

/* Continues to the entry of the next system call. Returns its number; -1: the process has ended. */
long helper_trace_next(pid_t pid);

/* Continues to the entry of this system call. False: the process has ended. */
bool helper_trace_until(pid_t pid, long nr);
void helper_trace_end(pid_t pid);

#ifdef __x86_64__
#define HELPER_TRACE_INJECTS 1
#else
#define HELPER_TRACE_INJECTS 0
#endif
/* Makes another system call in a process that is stopped before its own, and returns its result. At
 * the next helper_trace_next() the process stops before its own call again. Pointers in the
 * arguments must be valid in the process, for example static data of a forked one. -ENOSYS if
 * HELPER_TRACE_INJECTS is 0. */
long helper_trace_inject(pid_t pid, long nr, const long args[6]);

#endif
