/* SPDX-License-Identifier: BSD-3-Clause */
/* One agent per network namespace: a second agent is refused, an exiting one is waited for, and
 * other users are ignored. */
#include "agent/base/host_lock.h"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Used by this test run alone, as others may run at the same time in the same network namespace. */
static const char *lock_name(void)
{
	static char name[64];

	snprintf(name, sizeof(name), "plenum-test/%d", getpid());
	return name;
}

static void test_a_second_agent_of_a_host_is_refused(void **state)
{
	autoclose int fd = -1;
	int second = -1;
	pid_t owner = 0;

	assert_int_equal(host_lock_take(lock_name(), 0, &fd, &owner), 0);
	assert_true(fd >= 0);
	/* Requests leave no entry in the backlog. */
	for (int i = 0; i < 2 * SOMAXCONN; i++) {
		assert_int_equal(host_lock_take(lock_name(), NSEC_PER_SEC, &second, &owner),
				 -EBUSY);
		assert_int_equal(owner, getpid());
		host_lock_answer(fd);
	}
	cleanup_close(&fd);
	fd = -1;
	assert_int_equal(host_lock_take(lock_name(), 0, &fd, &owner), 0);
	assert_true(fd >= 0);
}

/* Like the lock of the run directory it ends with the process and leaves nothing. */
static void test_a_killed_agent_releases_the_host(void **state)
{
	char name[64];
	int told[2], status, fd = -1;
	pid_t owner = 0, agent, heir = 0;

	strcpy(name, lock_name());
	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	agent = fork();
	if (agent == 0) {
		if (host_lock_take(name, 0, &fd, &owner) < 0)
			_exit(1);
		heir = fork();
		if (heir == 0) {
			pause();
			_exit(0);
		}
		if (write(told[1], &heir, sizeof(heir)) == sizeof(heir))
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(read(told[0], &heir, sizeof(heir)), sizeof(heir));
	assert_int_equal(host_lock_take(name, 0, &fd, &owner), -EBUSY);
	if (fork() == 0) {
		poll(NULL, 0, 200);
		_exit(kill(heir, SIGKILL) < 0);
	}
	assert_int_equal(host_lock_take(name, HOST_LOCK_WAIT_NS, &fd, &owner), 0);
	assert_true(fd >= 0);
	close(fd);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	close(told[0]);
	close(told[1]);
}

/* A user who cannot be an agent cannot keep one from starting. */
static void test_another_user_cannot_keep_the_host(void **state)
{
	int told[2], status, fd = -1, own = -1;
	pid_t owner = 0, stranger;
	char name[64], c;

	if (geteuid() != 0)
		skip();
	strcpy(name, lock_name());
	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	stranger = fork();
	if (stranger == 0) {
		if (setuid(65534) < 0 || host_lock_take(name, 0, &own, &owner) < 0 ||
		    write(told[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(told[1]);
	assert_int_equal(read(told[0], &c, 1), 1);
	assert_int_equal(host_lock_take(name, HOST_LOCK_WAIT_NS, &fd, &owner), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(kill(stranger, SIGKILL), 0);
	assert_int_equal(waitpid(stranger, &status, 0), stranger);
	close(told[0]);
}

/* The holder has the name and does not listen: a start must not wait for that as for a child of a
 * killed agent. */
static void test_a_silent_holder_delays_the_start_by_a_second_at_most(void **state)
{
	const char *name = lock_name();
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	autoclose int silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t began = clock_now_ns();
	pid_t owner = 0;
	int fd = -1;

	memcpy(sun.sun_path + 1, name, strlen(name));
	assert_int_equal(
		bind(silent, (struct sockaddr *)&sun,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))),
		0);
	assert_int_equal(host_lock_take(name, HOST_LOCK_WAIT_NS, &fd, &owner), 0);
	assert_int_equal(fd, -1);
	assert_true(clock_now_ns() - began < HOST_LOCK_WAIT_NS / 2);
}

/* A user who connects without end costs the holder a bounded number of answers at a time. */
static void test_the_holder_answers_a_bounded_number_at_a_time(void **state)
{
	autoclose int fd = -1;
	pid_t owner = 0;
	unsigned n = 0;
	int second;

	assert_int_equal(host_lock_take(lock_name(), 0, &fd, &owner), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(host_lock_take(lock_name(), 0, &second, &owner), -EBUSY);
	while (!host_lock_answer(fd))
		n++;
	assert_in_range(n, 2, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_second_agent_of_a_host_is_refused),
		cmocka_unit_test(test_a_killed_agent_releases_the_host),
		cmocka_unit_test(test_another_user_cannot_keep_the_host),
		cmocka_unit_test(test_a_silent_holder_delays_the_start_by_a_second_at_most),
		cmocka_unit_test(test_the_holder_answers_a_bounded_number_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
