/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a function in a child that is killed before its nth system call. With n = 1, 2, 3 and so on,
 * a test sees every state that SIGKILL can leave behind. For data that must be complete in each of
 * them.
 */
#ifndef PLENUM_TESTS_KILL_STEPS_H
#define PLENUM_TESTS_KILL_STEPS_H

/* 1: fn ended before its nth system call; 0: it was killed there; -EPERM: tracing is not possible
 * here. */
int kill_steps_run(void (*fn)(void *), void *arg, unsigned n);

#endif
