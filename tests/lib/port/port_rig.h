/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two network namespaces joined by two veth pairs, a port at each end, and the tests that every
 * back end with its own neighbour resolution must pass. A test program defines these macros before
 * it includes this file: PORT_RIG, the prefix of interface and namespace names; PORT_RIG_NET, a
 * unique number in their addresses; PORT_RIG_DEVICE, the device that the ports open;
 * PORT_RIG_QUEUES, arguments of ip(8) for each end of the second pair; PORT_RIG_DOWN, a command
 * that restores what a link loses when it goes down. One file of the program has the line
 * PORT_RIG_DEFINE; which defines the ends.
 */
#ifndef PLENUM_TESTS_PORT_RIG_H
#define PLENUM_TESTS_PORT_RIG_H

#include "tests/lib/port/port_ends.h"

#define NS_A "plenum-" PORT_RIG "-a"
#define NS_B "plenum-" PORT_RIG "-b"
#define IP4(last) "10.99." PORT_RIG_NET "." last "/24"
#define IP4_SECOND(last) "10.99.1" PORT_RIG_NET "." last "/24"
#define IP6(last) "fd00:99:" PORT_RIG_NET "::" last "/64"
#define PORT(ns, number, ip, transport)                                      \
	{                                                                    \
		ns, PORT_RIG number, ip, LAUNCH_##transport, PORT_RIG_DEVICE \
	}

extern const struct end end_a, end_b, end_a_sleeps, end_b_sleeps, end_a6, end_b6;
/* Ends with the kernel's own addresses, for tests with sockets of the kernel. Ports do not use
 * these addresses. */
extern const struct end end_b_udp, end_b6_udp;
/* The two legs of one process. */
extern const struct end legs_a[2], legs_b[2];

/* Commands for system(3). */
struct port_rig_commands {
	const char *name;    /* PORT_RIG */
	const char *make[9]; /* the list ends at the first NULL */
	const char *remove;
	const char *after_down; /* PORT_RIG_DOWN */
};
extern const struct port_rig_commands port_rig_commands;

/* Defines the ends and commands. The commands turn segmentation offloads off, so that the kernel's
 * frames have the size that they have on a wire. */
// clang-format off
#define PORT_RIG_DEFINE \
	const struct end end_a = PORT(NS_A, "0", IP4("1"), DPDK), \
			 end_b = PORT(NS_B, "1", IP4("2"), DPDK), \
			 end_a_sleeps = PORT(NS_A, "0", IP4("1"), DPDK_INTERRUPT), \
			 end_b_sleeps = PORT(NS_B, "1", IP4("2"), DPDK_INTERRUPT), \
			 end_a6 = PORT(NS_A, "0", IP6("1"), DPDK), \
			 end_b6 = PORT(NS_B, "1", IP6("2"), DPDK); \
	const struct end end_b_udp = {NS_B, PORT_RIG "1", IP4("3"), LAUNCH_UDP, ""}, \
			 end_b6_udp = {NS_B, PORT_RIG "1", IP6("3"), LAUNCH_UDP, ""}; \
	const struct end legs_a[2] = {PORT(NS_A, "0", IP4("11"), DPDK), \
				      PORT(NS_A, "2", IP4_SECOND("11"), DPDK)}; \
	const struct end legs_b[2] = {PORT(NS_B, "1", IP4("12"), DPDK), \
				      PORT(NS_B, "3", IP4_SECOND("12"), DPDK)}; \
	const struct port_rig_commands port_rig_commands = { \
		.name = PORT_RIG, \
		.make = { \
			"ip netns add " NS_A " && ip netns add " NS_B, \
			"ip -n " NS_A " link add " PORT_RIG "0 type veth peer name " PORT_RIG "1 netns " NS_B, \
			"ip -n " NS_B " addr add " IP4("3") " dev " PORT_RIG "1", \
			"ip -n " NS_B " addr add " IP6("3") " dev " PORT_RIG "1 nodad", \
			"ip netns exec " NS_B " ethtool -K " PORT_RIG \
			"1 tso off gso off tx-udp-segmentation off >/dev/null 2>&1 || :", \
			"ip -n " NS_A " link set " PORT_RIG "0 up && ip -n " NS_B " link set " PORT_RIG "1 up", \
			"ip -n " NS_A " link add " PORT_RIG "2 " PORT_RIG_QUEUES "type veth peer name " PORT_RIG \
			"3 " PORT_RIG_QUEUES "netns " NS_B, \
			"ip -n " NS_A " link set " PORT_RIG "2 up && ip -n " NS_B " link set " PORT_RIG "3 up", \
		}, \
		.remove = "ip netns del " NS_A " 2>/dev/null; ip netns del " NS_B " 2>/dev/null", \
		.after_down = PORT_RIG_DOWN, \
	}
// clang-format on

void port_rig_remove(void);
/* Creates the rig, as the last part of a group's setup. missing: the reason why the tests cannot
 * run, or NULL. */
int port_rig_make(void **state, const char *missing);
/* Skips the test if the rig could not be created. */
void need(void **state);
/* Waits for a child process and asserts its success. */
void expect_done(pid_t pid);
/* Calls fork(2). The child ends with the test. */
pid_t child_start(void);

/* ------------------------------------------------------------------ tests for every back end */

void datagrams_are_exchanged(void **state);
void sleeping_ports_exchange_datagrams(void **state);
void datagrams_are_exchanged_with_the_kernel(void **state);
void two_legs_carry(void **state);
void a_taken_address_is_refused(void **state);

#define PORT_RIG_TESTS                                                     \
	cmocka_unit_test(datagrams_are_exchanged),                         \
		cmocka_unit_test(sleeping_ports_exchange_datagrams),       \
		cmocka_unit_test(datagrams_are_exchanged_with_the_kernel), \
		cmocka_unit_test(two_legs_carry), cmocka_unit_test(a_taken_address_is_refused)

#endif
