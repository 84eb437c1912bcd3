/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes a function in a child that is killed before its nth system call. With n = 1, 2, 3 and so
 * on, a test verifies every state that SIGKILL can leave. For tests of data that must be complete
 * in each of these states.
 */
#ifndef PLENUM_TESTS_KILL_STEPS_H
#define PLENUM_TESTS_KILL_STEPS_H

/* Executes fn in the child. Returns 1 if fn ended before its nth system call, 0 if the child was
 * killed there, or -EPERM if tracing is not possible here. */
int kill_steps_run(void (*fn)(void *), void *arg, unsigned n);

#endif
