/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements netns_kernel.h. */
#include "tests/lib/kernel/netns_kernel.h"
#include <sched.h>

int netns_run(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s >&2", command);
	return system(line);
}

int netns_setup(void **state)
{
	struct kernel *k;

	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	if (netns_run("ip link add leg0 type veth peer name far0 && ip link set lo up &&"
		      "ip link set far0 up && ip link set leg0 up") != 0)
		return -1;
	if (kernel_linux_new(&k) < 0)
		return -1;
	*state = k;
	return 0;
}

int netns_teardown(void **state)
{
	kernel_free(*state);
	return 0;
}

struct ip_prefix netns_prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, &p), 0);
	return p;
}

struct ip_addr netns_address(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, &a), 0);
	return a;
}

struct inventory *netns_collect(struct kernel *k)
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

uint32_t netns_leg_index(struct kernel *k)
{
	struct inventory *inv = netns_collect(k);
	uint32_t ifindex = inv_link_by_name(inv, LEG)->ifindex;

	inv_free(inv);
	return ifindex;
}

bool netns_is_possible(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		puts("1..0 # SKIP a network namespace takes root");
	else if (netns_run("test -n \"$(command -v ip)\"") != 0)
		puts("1..0 # SKIP iproute2 is not installed");
	else
		return true;
	return false;
}
