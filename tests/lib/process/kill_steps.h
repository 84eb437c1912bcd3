/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a function in a child that is killed before its n-th system call: with n from 1 up, every
 * state that a SIGKILL can leave behind is met once. For what must be whole whenever that happens.
 */
#ifndef PLENUM_TESTS_KILL_STEPS_H
#define PLENUM_TESTS_KILL_STEPS_H

/* 1: fn ended before its n-th system call; 0: it was killed there; -EPERM: nothing can be traced
 * here. */
int kill_steps_run(void (*fn)(void *), void *arg, unsigned n);

#endif
