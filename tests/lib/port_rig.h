/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two network namespaces joined by two veth pairs, a port at each end, and the tests that every
 * back end with its own neighbour resolution must pass. Define before including it: PORT_RIG, the
 * prefix of interface and namespace names; PORT_RIG_NET, a unique number in their addresses;
 * PORT_RIG_DEVICE, the device the ports open; PORT_RIG_QUEUES, arguments of ip(8) for each end of
 * the second pair; PORT_RIG_DOWN, a command that restores what a link loses when it goes down.
 * Included by one file of a program.
 */
#ifndef PLENUM_TESTS_PORT_RIG_H
#define PLENUM_TESTS_PORT_RIG_H

#include "tests/lib/port_ends.h"

#define NS_A "plenum-" PORT_RIG "-a"
#define NS_B "plenum-" PORT_RIG "-b"
#define IP4(last) "10.99." PORT_RIG_NET "." last "/24"
#define IP4_SECOND(last) "10.99.1" PORT_RIG_NET "." last "/24"
#define IP6(last) "fd00:99:" PORT_RIG_NET "::" last "/64"
#define PORT(ns, number, ip, transport)                                      \
	{                                                                    \
		ns, PORT_RIG number, ip, LAUNCH_##transport, PORT_RIG_DEVICE \
	}

static const struct end end_a = PORT(NS_A, "0", IP4("1"), DPDK),
			end_b = PORT(NS_B, "1", IP4("2"), DPDK),
			end_a_sleeps = PORT(NS_A, "0", IP4("1"), DPDK_INTERRUPT),
			end_b_sleeps = PORT(NS_B, "1", IP4("2"), DPDK_INTERRUPT),
			end_a6 = PORT(NS_A, "0", IP6("1"), DPDK),
			end_b6 = PORT(NS_B, "1", IP6("2"), DPDK);
/* The kernel's own addresses, for tests with its sockets; not used by ports. */
static const struct end end_b_udp = {NS_B, PORT_RIG "1", IP4("3"), LAUNCH_UDP, ""},
			end_b6_udp = {NS_B, PORT_RIG "1", IP6("3"), LAUNCH_UDP, ""};

/* Two legs of one process. */
static const struct end legs_a[2] = {PORT(NS_A, "0", IP4("11"), DPDK),
				     PORT(NS_A, "2", IP4_SECOND("11"), DPDK)};
static const struct end legs_b[2] = {PORT(NS_B, "1", IP4("12"), DPDK),
				     PORT(NS_B, "3", IP4_SECOND("12"), DPDK)};

static const char *const port_rig_commands[] = {
	"ip netns add " NS_A " && ip netns add " NS_B,
	"ip -n " NS_A " link add " PORT_RIG "0 type veth peer name " PORT_RIG "1 netns " NS_B,
	"ip -n " NS_B " addr add " IP4("3") " dev " PORT_RIG "1",
	"ip -n " NS_B " addr add " IP6("3") " dev " PORT_RIG "1 nodad",
	/* Frames that leave the kernel's stack must be complete, as on a wire. */
	"ip netns exec " NS_B " ethtool -K " PORT_RIG
	"1 tso off gso off tx-udp-segmentation off >/dev/null 2>&1 || :",
	"ip -n " NS_A " link set " PORT_RIG "0 up && ip -n " NS_B " link set " PORT_RIG "1 up",
	"ip -n " NS_A " link add " PORT_RIG "2 " PORT_RIG_QUEUES "type veth peer name " PORT_RIG
	"3 " PORT_RIG_QUEUES "netns " NS_B,
	"ip -n " NS_A " link set " PORT_RIG "2 up && ip -n " NS_B " link set " PORT_RIG "3 up",
};

static void port_rig_remove(void)
{
	(void)sh("ip netns del " NS_A " 2>/dev/null; ip netns del " NS_B " 2>/dev/null");
}

/* The rest of a group's setup. missing: why the tests cannot run; NULL: they may be able to. */
static int port_rig_make(void **state, const char *missing)
{
	port_rig_remove();
	for (unsigned i = 0; !missing && i < ARRAY_SIZE(port_rig_commands); i++)
		if (sh(port_rig_commands[i]) != 0)
			missing = "network namespaces cannot be made";
	*state = missing ? NULL : (void *)&end_a;
	if (missing)
		print_message("port of " PORT_RIG ": %s\n", missing);
	return 0;
}

static void need(void **state)
{
	if (!*state)
		skip();
}

/* Waits for a child that must succeed. */
static void expect_done(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* fork(2) with a child that dies with the test. */
static pid_t child_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* ------------------------------------------------------------------ tests for every back end */

static void datagrams_are_exchanged(void **state)
{
	pid_t echo;

	need(state);
	echo = echo_start(&end_b);
	assert_int_equal(client_run(&end_a, &end_b, 2000), 0);
	echo_kill(echo);
	echo = echo_start(&end_b6);
	assert_int_equal(client_run(&end_a6, &end_b6, 200), 0);
	echo_kill(echo);
}

static void sleeping_ports_exchange_datagrams(void **state)
{
	pid_t pid;

	need(state);
	pid = echo_start(&end_b_sleeps);
	assert_int_equal(client_run(&end_a_sleeps, &end_b_sleeps, 200), 0);
	assert_int_equal(client_run(&end_a, &end_b_sleeps, 200), 0);
	echo_kill(pid);
	pid = child_start();
	if (pid == 0)
		child_sleeper(&end_a_sleeps);
	expect_done(pid);
	assert_int_equal(sh(PORT_RIG_DOWN), 0);
}

static void datagrams_are_exchanged_with_the_kernel(void **state)
{
	pid_t echo;

	need(state);
	echo = echo_start(&end_b_udp);
	assert_int_equal(client_run(&end_a, &end_b_udp, 200), 0);
	echo_kill(echo);
	echo = echo_start(&end_b6_udp);
	assert_int_equal(client_run(&end_a6, &end_b6_udp, 200), 0);
	echo_kill(echo);
}

static void two_legs_carry(void **state)
{
	pid_t echo, pid;

	need(state);
	echo = echoes_start(legs_b, 2);
	pid = child_start();
	if (pid == 0)
		child_two_legs(legs_a, legs_b);
	expect_done(pid);
	echo_kill(echo);
}

/* Taken by the kernel of the other namespace, and by another port. */
static void a_taken_address_is_refused(void **state)
{
	struct end taken = end_a;
	pid_t echo;

	need(state);
	taken.ip = end_b_udp.ip;
	assert_int_equal(client_run(&taken, &end_b, 1), EXIT_OPEN + EADDRINUSE);
	taken.ip = end_b6_udp.ip;
	assert_int_equal(client_run(&taken, &end_b6, 1), EXIT_OPEN + EADDRINUSE);
	echo = echo_start(&end_b);
	taken.ip = end_b.ip;
	assert_int_equal(client_run(&taken, &end_b, 1), EXIT_OPEN + EADDRINUSE);
	echo_kill(echo);
}

#define PORT_RIG_TESTS                                                     \
	cmocka_unit_test(datagrams_are_exchanged),                         \
		cmocka_unit_test(sleeping_ports_exchange_datagrams),       \
		cmocka_unit_test(datagrams_are_exchanged_with_the_kernel), \
		cmocka_unit_test(two_legs_carry), cmocka_unit_test(a_taken_address_is_refused)

#endif
