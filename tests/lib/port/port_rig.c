/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements port_rig.h. */
#include "tests/lib/port/port_rig.h"
#include <sys/prctl.h>

void port_rig_remove(void)
{
	(void)sh(port_rig_commands.remove);
}

int port_rig_make(void **state, const char *missing)
{
	port_rig_remove();
	for (unsigned i = 0; !missing && port_rig_commands.make[i]; i++)
		if (sh(port_rig_commands.make[i]) != 0)
			missing = "network namespaces cannot be made";
	*state = missing ? NULL : (void *)&end_a;
	if (missing)
		print_message("port of %s: %s\n", port_rig_commands.name, missing);
	return 0;
}

void need(void **state)
{
	if (!*state)
		skip();
}

void expect_done(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

pid_t child_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* ------------------------------------------------------------------ tests for every back end */

void datagrams_are_exchanged(void **state)
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

void sleeping_ports_exchange_datagrams(void **state)
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
	assert_int_equal(sh(port_rig_commands.after_down), 0);
}

void datagrams_are_exchanged_with_the_kernel(void **state)
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

void two_legs_carry(void **state)
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

/* Tries an address that the kernel in the other namespace uses, and one that another port uses. */
void a_taken_address_is_refused(void **state)
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
