/* SPDX-License-Identifier: BSD-3-Clause */
/* Allow-lists of system calls: each case runs in a child, because a filter is permanent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/base/os/seccomp.h"
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define REFUSED (SECCOMP_RET_ERRNO | EPERM)

/* The last two are for the sanitizers. */
static const int calls[] = {SYS_exit_group,	 SYS_exit,    SYS_getppid,     SYS_futex,
			    SYS_rt_sigprocmask,	 SYS_madvise, SYS_munmap,      SYS_rseq,
			    SYS_set_robust_list, SYS_write,   SYS_sigaltstack, SYS_mmap};

/* The exit status of the child's function; -1: it was killed. */
static int in_child(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int refused(long nr, long a, long b, long c)
{
	return syscall(nr, a, b, c) < 0 && errno == EPERM;
}

static int allow_list(const int *nrs, size_t n, uint32_t action)
{
	const struct seccomp_filter f = {.nrs = nrs, .n_nrs = n, .action = action};

	return seccomp_filter_install(&f);
}

static int listed_only(void)
{
	if (allow_list(calls, ARRAY_SIZE(calls), REFUSED) < 0)
		return 1;
	if (syscall(SYS_getppid) <= 0)
		return 2;
	return refused(SYS_getpid, 0, 0, 0) && refused(SYS_openat, -1, 0, 0) &&
			       refused(SYS_seccomp, 0, 0, 0)
		       ? 0
		       : 3;
}

static int killed(void)
{
	if (allow_list(calls, ARRAY_SIZE(calls), SECCOMP_RET_KILL_PROCESS) < 0)
		return 1;
	syscall(SYS_getpid);
	return 0;
}

static int by_argument(void)
{
	static const struct seccomp_rule rules[] = {{SYS_dup3, 2, 0xff, 0x80}};
	static const struct seccomp_rule sets[][SECCOMP_SET_MAX] = {
		{{SYS_socket, 0, UINT32_MAX, AF_INET},
		 {SYS_socket, 1, 0xf, SOCK_DGRAM},
		 {SYS_socket, 2, UINT32_MAX, 0}},
		{{SYS_socket, 0, UINT32_MAX, AF_INET6}, {SYS_socket, 1, 0xf, SOCK_DGRAM}},
	};
	const struct seccomp_filter f = {.nrs = calls,
					 .n_nrs = ARRAY_SIZE(calls),
					 .rules = rules,
					 .n_rules = ARRAY_SIZE(rules),
					 .sets = sets,
					 .n_sets = ARRAY_SIZE(sets),
					 .action = REFUSED};

	if (seccomp_filter_install(&f) < 0)
		return 1;
	if (syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0) < 0 ||
	    (syscall(SYS_socket, AF_INET6, SOCK_DGRAM, 0) < 0 && errno == EPERM))
		return 2;
	if (!refused(SYS_socket, AF_UNIX, SOCK_DGRAM, 0) ||
	    !refused(SYS_socket, AF_INET, SOCK_DGRAM, 1) ||
	    !refused(SYS_socket, AF_INET, SOCK_STREAM, 0) || !refused(SYS_dup3, 0, 1, 0x81))
		return 3;
	/* A value that one rule has loaded does not affect the comparisons after it. */
	return syscall(SYS_dup3, 0, 1, 0x180) < 0 && errno == EINVAL ? 0 : 4;
}

static int pipe_fds[2];
static pthread_barrier_t started;

static void *other_thread(void *arg)
{
	char c;

	(void)arg;
	(void)pthread_barrier_wait(&started);
	if (read(pipe_fds[0], &c, 1) != 1)
		return (void *)1L;
	return refused(SYS_getpid, 0, 0, 0) && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
		       ? NULL
		       : (void *)2L;
}

static int every_thread(void)
{
	int nrs[ARRAY_SIZE(calls) + 2];
	pthread_t t;
	void *ret;

	if (pipe(pipe_fds) < 0 || pthread_barrier_init(&started, NULL, 2) != 0 ||
	    pthread_create(&t, NULL, other_thread, NULL) != 0)
		return 3;
	(void)pthread_barrier_wait(&started);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		nrs[i] = calls[i];
	nrs[ARRAY_SIZE(calls)] = SYS_read;
	nrs[ARRAY_SIZE(calls) + 1] = SYS_prctl;
	if (allow_list(nrs, ARRAY_SIZE(nrs), REFUSED) < 0)
		return 4;
	if (write(pipe_fds[1], "x", 1) != 1 || pthread_join(t, &ret) != 0)
		return 5;
	return (int)(intptr_t)ret;
}

static int too_many(void)
{
	static int nrs[4096];

	return allow_list(nrs, ARRAY_SIZE(nrs), REFUSED) == -E2BIG &&
			       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0
		       ? 0
		       : 1;
}

static void test_only_listed_calls_are_allowed(void **state)
{
	assert_int_equal(in_child(listed_only), 0);
}

static void test_a_forbidden_call_kills(void **state)
{
	assert_int_equal(in_child(killed), -1);
}

static void test_arguments_are_compared(void **state)
{
	assert_int_equal(in_child(by_argument), 0);
}

static void test_all_threads_are_filtered(void **state)
{
	assert_int_equal(in_child(every_thread), 0);
}

static void test_a_filter_has_a_size_limit(void **state)
{
	assert_int_equal(in_child(too_many), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_listed_calls_are_allowed),
		cmocka_unit_test(test_a_forbidden_call_kills),
		cmocka_unit_test(test_arguments_are_compared),
		cmocka_unit_test(test_all_threads_are_filtered),
		cmocka_unit_test(test_a_filter_has_a_size_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
