/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stops a process before each of its system calls, as a disk that hangs would. While the process is
 * stopped, a test can act, and can then continue or kill the process.
 */
#ifndef PLENUM_TESTS_HELPER_TRACE_H
#define PLENUM_TESTS_HELPER_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Begins to trace the process, which runs until helper_trace_next(). Returns 0, or negative errno
 * if tracing is not possible here. */
int helper_trace_begin(pid_t pid);

/* Continues to the entry of the next system call. Returns the call's number, or -1 if the process
 * has ended. */
long helper_trace_next(pid_t pid);

/* Continues to the entry of system call number nr. Returns false if the process has ended. */
bool helper_trace_until(pid_t pid, long nr);
void helper_trace_end(pid_t pid);

#ifdef __x86_64__
#define HELPER_TRACE_INJECTS 1
#else
#define HELPER_TRACE_INJECTS 0
#endif
/*
 * Executes an additional system call in a process that is stopped before one of its own calls.
 * Returns the result of the additional call, or -ENOSYS if HELPER_TRACE_INJECTS is 0. At the next
 * helper_trace_next(), the process stops before its own call again. Pointers in the arguments must
 * be valid in the process, for example static data of a forked one.
 */
long helper_trace_inject(pid_t pid, long nr, const long args[6]);

#endif
