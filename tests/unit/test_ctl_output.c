/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests how lists are printed: all columns, colours on a terminal only, and again every second. */
#include "agent/ctl/ctl.h"

#include "tests/lib/agent/ctl_rig.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char processes[] =
	"{\"host\":\"host-a\",\"processes\":["
	"{\"id\":\"host-a/0\",\"host\":\"host-a\",\"role\":\"MANAGEMENT\",\"ips\":[],"
	"\"status\":\"UP\",\"network\":\"\",\"core\":null,\"memory_bytes\":1,\"uptime_s\":1,"
	"\"pid\":10,\"restarts\":0,\"reason\":\"\",\"log_level\":\"debug\"},"
	"{\"id\":\"host-a/1\",\"host\":\"host-a\",\"role\":\"FRONTEND\",\"ips\":[],"
	"\"status\":\"FAILED\",\"network\":\"UDP\",\"core\":1,\"memory_bytes\":1,\"uptime_s\":1,"
	"\"pid\":11,\"restarts\":2,\"reason\":\"no-core\",\"log_level\":null}]}";

static void test_wide_shows_all_columns(void **state)
{
	struct result r = run("processes", 200, processes);

	assert_null(strstr(r.out, "LOG LEVEL"));
	r = run("processes -o wide", 200, processes);
	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "LOG LEVEL"));
	assert_non_null(strstr(r.out, "LAST DEATH"));
	assert_non_null(strstr(r.out, "debug"));
	assert_int_equal(run("processes -o id,wide", 200, processes).status, CTL_USAGE);
}

/* Starts `plenum ARGS` with `out` as its output. */
static pid_t start_on(int out, char *const args[], size_t n)
{
	char *argv[16] = {(char *)"plenum", (char *)"--socket", agent->path};
	pid_t pid;

	for (size_t i = 0; i < n; i++)
		argv[3 + i] = args[i];
	agent->status = 200;
	strcpy(agent->reply, processes);
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
		exit(ctl_run(3 + (int)n, argv));
	}
	return pid;
}

/* Opens a terminal. Returns our end; *ret_terminal is the program's. */
static int open_terminal(int *ret_terminal)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(grantpt(fd), 0);
	assert_int_equal(unlockpt(fd), 0);
	*ret_terminal = open(ptsname(fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*ret_terminal >= 0);
	return fd;
}

/* Reads until the output has the text, at most 20 s. Returns whether it has. */
static bool read_until(int fd, const char *text, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	while (!strstr(buf, text) && len + 1 < size) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (poll(&p, 1, 20000) <= 0)
			return false;
		n = read(fd, buf + len, size - 1 - len);
		if (n <= 0)
			return strstr(buf, text) != NULL;
		len += (size_t)n;
		buf[len] = '\0';
	}
	return strstr(buf, text) != NULL;
}

static void on_terminal(const char *term, const char *no_color, char *buf, size_t size)
{
	char *args[] = {(char *)"processes", (char *)"-o", (char *)"status,id"};
	int terminal, fd = open_terminal(&terminal);
	pid_t pid;

	setenv("TERM", term, 1);
	setenv("NO_COLOR", no_color, 1);
	pid = start_on(terminal, args, ARRAY_SIZE(args));
	close(terminal);
	assert_true(read_until(fd, "host-a/1", buf, size));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd);
}

static void test_states_have_colours_on_a_terminal_only(void **state)
{
	char out[4096];
	struct result r;

	on_terminal("xterm", "", out, sizeof(out));
	assert_non_null(strstr(out, "\033[32mUP\033[0m"));
	assert_non_null(strstr(out, "\033[31mFAILED\033[0m"));
	assert_non_null(strstr(out, "\033[1mSTATUS\033[0m"));
	on_terminal("xterm", "1", out, sizeof(out));
	assert_null(strchr(out, '\033'));
	on_terminal("dumb", "", out, sizeof(out));
	assert_null(strchr(out, '\033'));
	setenv("TERM", "xterm", 1);
	r = run("processes", 200, processes);
	assert_null(strchr(r.out, '\033'));
}

static void test_a_long_change_shows_how_long_it_waits(void **state)
{
	char *args[] = {(char *)"restore"};
	char out[4096];
	int terminal, fd = open_terminal(&terminal);
	pid_t pid;

	setenv("TERM", "xterm", 1);
	agent->late_ms = 2500;
	pid = start_on(terminal, args, ARRAY_SIZE(args));
	close(terminal);
	assert_true(read_until(fd, "waiting for the agent: ", out, sizeof(out)));
	assert_true(read_until(fd, "\r\033[K", out, sizeof(out)));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd);
}

static void test_watch_prints_again(void **state)
{
	char *args[] = {(char *)"processes", (char *)"--watch", (char *)"1"};
	char out[8192];
	unsigned before = agent->n_requests;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = start_on(fds[1], args, ARRAY_SIZE(args));
	close(fds[1]);
	assert_true(read_until(fds[0], "plenum processes, every 1 s", out, sizeof(out)));
	assert_true(read_until(fds[0], "plenum processes, every 1 s", out, sizeof(out)));
	assert_true(agent->n_requests > before);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fds[0]);
}

static void test_watch_takes_seconds(void **state)
{
	assert_int_equal(run("processes --watch 0", 200, processes).status, CTL_USAGE);
	assert_int_equal(run("processes --watch 3601", 200, processes).status, CTL_USAGE);
	assert_int_equal(run("processes --watch 1 -j", 200, processes).status, CTL_USAGE);
	assert_int_equal(run("apply --watch 1", 200, "{}").status, CTL_USAGE);
	/* An error in the arguments is not repeated. */
	assert_int_equal(run("processes --watch 1 -o none", 200, processes).status, CTL_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wide_shows_all_columns),
		cmocka_unit_test(test_states_have_colours_on_a_terminal_only),
		cmocka_unit_test(test_a_long_change_shows_how_long_it_waits),
		cmocka_unit_test(test_watch_prints_again),
		cmocka_unit_test(test_watch_takes_seconds),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
