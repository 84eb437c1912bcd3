/* SPDX-License-Identifier: BSD-3-Clause */
/* The sandbox of the agent's roles: what the C library needs for their work is allowed, and a
 * socket is not. */
#include "agent/base/child/sandbox.h"
#include "netcfg/base/base.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* A list of the API may have thousands of rows. */
static int sort(void)
{
	static int numbers[4096];

	for (int i = 0; i < (int)ARRAY_SIZE(numbers); i++)
		numbers[i] = -i;
	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare);
	return numbers[0] == 1 - (int)ARRAY_SIZE(numbers) ? 0 : 1;
}

static int open_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : 1;
}

/* Runs the function in a sealed child. Returns its exit status, or 128 and the signal that ended
 * it. */
static int sealed(int (*work)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(sandbox_enter() < 0 || sandbox_seal(NULL, 0, NULL, 0) < 0 ? 99 : work());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_a_role_sorts_long_lists(void **state)
{
	assert_int_equal(sealed(sort), 0);
}

static void test_a_role_makes_no_socket_that_it_did_not_list(void **state)
{
	assert_int_equal(sealed(open_socket), 128 + SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_role_sorts_long_lists),
		cmocka_unit_test(test_a_role_makes_no_socket_that_it_did_not_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
