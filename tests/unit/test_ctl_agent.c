/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent that is off, killed, stopped, hung, without its socket or forbidden: one sentence and
 * one remedy each. */
#include "tests/lib/agent/ctl_rig.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], path[96];

static int set_up(void **state)
{
	strcpy(dir, "/tmp/plenum-ctl-agent-XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/plenumd.sock", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(path);
	return rmdir(dir);
}

static int listen_at(const struct sockaddr_un *sun, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)sun, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static int listen_at_path(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};

	strcpy(sun.sun_path, path);
	return listen_at(&sun, sizeof(sun));
}

/* The error as the request sees it, and its explanation. */
static struct ctl_silence ask(unsigned timeout_s, int *ret_error)
{
	const struct ctl_request rq = {.resource = RESOURCE_STATUS, .timeout_s = timeout_s};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	struct ctl_silence s = {.state = CTL_AGENT_OTHER};

	*ret_error = ctl_http(&(struct ctl_args){.socket = path}, &rq, &reply);
	if (*ret_error < 0)
		ctl_explain_silence(path, *ret_error, &s);
	return s;
}

/* In a new network namespace, where no other agent of the machine holds the name. */
static void in_own_network(void (*test)(void))
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWNET) < 0)
			_exit(77);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void none_runs(void)
{
	int error;
	struct ctl_silence s = ask(5, &error);

	if (error != -ENOENT || s.state != CTL_AGENT_NONE || !strstr(s.text, "none runs") ||
	    !strstr(s.remedy, "systemctl start plenumd"))
		_exit(1);
}

static void test_no_agent_runs(void **state)
{
	in_own_network(none_runs);
}

static void hold_lock(void)
{
	static const char name[] = PLENUM_HOST_LOCK;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};

	memcpy(sun.sun_path + 1, name, sizeof(name) - 1);
	listen_at(&sun, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name)));
}

static void runs_without_socket(void)
{
	struct ctl_silence s;
	char want[32];
	int error;

	hold_lock();
	s = ask(5, &error);
	snprintf(want, sizeof(want), "(process %d) runs", getpid());
	if (error != -ENOENT || s.state != CTL_AGENT_NO_SOCKET || !strstr(s.text, want) ||
	    !strstr(s.remedy, "again within a second"))
		_exit(1);
}

static void test_an_agent_runs_without_its_socket(void **state)
{
	in_own_network(runs_without_socket);
}

static void check_unknown_process(void)
{
	int error;
	struct ctl_silence s = ask(5, &error);

	if (error != -ENOENT || s.state != CTL_AGENT_NO_SOCKET || strstr(s.text, "none runs") ||
	    !strstr(s.text, "plenumd (perhaps in a container) runs"))
		_exit(1);
}

/* A process of a parent PID namespace has no number here. */
static void runs_outside(void)
{
	int status;
	pid_t pid;

	hold_lock();
	if (unshare(CLONE_NEWPID) < 0)
		_exit(77);
	pid = fork();
	if (pid == 0) {
		check_unknown_process();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		_exit(1);
}

/* A listener with a full queue does not show its credentials. */
static void runs_with_full_queue(void)
{
	static const char name[] = PLENUM_HOST_LOCK;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name));
	int fd;

	hold_lock();
	memcpy(sun.sun_path + 1, name, sizeof(name) - 1);
	do
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	while (fd >= 0 && connect(fd, (const struct sockaddr *)&sun, len) == 0);
	if (fd < 0 || errno != EAGAIN)
		_exit(1);
	check_unknown_process();
}

static void test_an_agent_with_an_unknown_process_runs(void **state)
{
	in_own_network(runs_outside);
	in_own_network(runs_with_full_queue);
}

static void test_a_killed_agent_has_left_its_socket(void **state)
{
	struct ctl_silence s;
	int error;

	close(listen_at_path());
	s = ask(5, &error);
	assert_int_equal(error, -ECONNREFUSED);
	assert_int_equal(s.state, CTL_AGENT_DEAD);
	assert_non_null(strstr(s.text, "was killed or crashed"));
	assert_non_null(strstr(s.remedy, "systemctl status plenumd"));
}

static void test_a_stopped_agent_is_told_from_a_busy_one(void **state)
{
	struct ctl_silence s;
	char want[64];
	int error, status;
	uint64_t began;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		listen_at_path();
		raise(SIGSTOP);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	began = clock_now_ns();
	s = ask(60, &error);
	assert_true(clock_now_ns() - began <
		    20 * NSEC_PER_SEC); /* without waiting for the time to pass */
	assert_int_equal(error, -ETIMEDOUT);
	assert_int_equal(s.state, CTL_AGENT_STOPPED);
	snprintf(want, sizeof(want), "kill -CONT %d", pid);
	assert_non_null(strstr(s.remedy, want));
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
	s = ask(1, &error);
	assert_int_equal(error, -ETIMEDOUT);
	assert_int_equal(s.state, CTL_AGENT_HUNG);
	assert_non_null(strstr(s.remedy, "systemctl restart plenumd"));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* The answer to a user who may not use the socket. */
static struct ctl_silence ask_forbidden(void)
{
	struct ctl_silence s;
	int error;

	listen_at_path();
	if (chmod(path, 0600) < 0 || setuid(65534) < 0)
		_exit(2);
	s = ask(5, &error);
	if (error != -EACCES)
		_exit(3);
	return s;
}

static void is_forbidden(void)
{
	struct ctl_silence s;

	hold_lock();
	s = ask_forbidden();
	if (s.state != CTL_AGENT_FORBIDDEN || !strstr(s.remedy, "group plenum"))
		_exit(1);
}

static void is_forbidden_and_dead(void)
{
	struct ctl_silence s = ask_forbidden();

	if (s.state != CTL_AGENT_DEAD || !strstr(s.text, "no agent runs"))
		_exit(1);
}

static void test_a_caller_without_permission(void **state)
{
	in_own_network(is_forbidden);
}

static void test_a_caller_without_permission_learns_that_no_agent_runs(void **state)
{
	in_own_network(is_forbidden_and_dead);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_no_agent_runs),
		TEST(test_an_agent_runs_without_its_socket),
		TEST(test_an_agent_with_an_unknown_process_runs),
		TEST(test_a_killed_agent_has_left_its_socket),
		TEST(test_a_stopped_agent_is_told_from_a_busy_one),
		TEST(test_a_caller_without_permission),
		TEST(test_a_caller_without_permission_learns_that_no_agent_runs),
	};

	return cmocka_run_group_tests_name("ctl_agent", tests, NULL, NULL);
}
