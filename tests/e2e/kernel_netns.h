/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The base of the tests of the kernel seam: every test has a separate network namespace with a veth
 * pair, leg0 and far0, which ends with the process. Needs root.
 */
#ifndef PLENUM_TESTS_KERNEL_NETNS_H
#define PLENUM_TESTS_KERNEL_NETNS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/host/kernel.h"
#include <sched.h>
#include <stdio.h>

#define LEG "leg0"

/* Output of cmocka stays TAP: output of commands goes to standard error. */
static inline int run(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s >&2", command);
	return system(line);
}

static inline int setup(void **state)
{
	struct kernel *k;

	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	if (run("ip link add leg0 type veth peer name far0 && ip link set lo up &&"
		"ip link set far0 up && ip link set leg0 up") != 0)
		return -1;
	if (kernel_linux_new(&k) < 0)
		return -1;
	*state = k;
	return 0;
}

static inline int teardown(void **state)
{
	kernel_free(*state);
	return 0;
}

static inline struct ip_prefix prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, &p), 0);
	return p;
}

static inline struct ip_addr address(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, &a), 0);
	return a;
}

static inline struct inventory *collect(struct kernel *k)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv;

	assert_int_equal(inv_collect(k, &d, &inv), 0);
	if (d.n)
		diag_print(&d, stderr);
	assert_int_equal(d.n, 0);
	diag_done(&d);
	return inv;
}

static inline uint32_t leg_index(struct kernel *k)
{
	struct inventory *inv = collect(k);
	uint32_t ifindex = inv_link_by_name(inv, LEG)->ifindex;

	inv_free(inv);
	return ifindex;
}

/* Whether the tests can run here; says why not, as TAP. */
static inline bool netns_is_possible(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		puts("1..0 # SKIP a network namespace takes root");
	else if (run("test -n \"$(command -v ip)\"") != 0)
		puts("1..0 # SKIP iproute2 is not installed");
	else
		return true;
	return false;
}

#endif
