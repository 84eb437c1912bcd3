/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Base for tests of struct kernel_ops on Linux. Each test has its own network namespace, with a
 * veth pair (leg0 and far0). The namespace ends with the process. Needs root.
 */
#ifndef PLENUM_TESTS_KERNEL_NETNS_H
#define PLENUM_TESTS_KERNEL_NETNS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/host/kernel.h"
#include <stdio.h>

#define LEG "leg0"

/* Runs a command. Its output goes to standard error, so that cmocka's output stays TAP. */
int netns_run(const char *command);
int netns_setup(void **state);
int netns_teardown(void **state);
struct ip_prefix netns_prefix(const char *text);
struct ip_addr netns_address(const char *text);
struct inventory *netns_collect(struct kernel *k);
uint32_t netns_leg_index(struct kernel *k);

/* Returns whether the tests can run here. If not, prints the reason in TAP form. */
bool netns_is_possible(void);

#endif
