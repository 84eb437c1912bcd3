/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests how lists are printed: all columns, colours on a terminal only, and again every second. */
#include "agent/ctl/ctl.h"

#include "tests/lib/agent/ctl_rig.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
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

/* Starts `plenum ARGS` with `out` as its output. The agent answers with the text. */
static pid_t start_with(int out, char *const args[], size_t n, const char *reply)
{
	char *argv[16] = {(char *)"plenum", (char *)"--socket", agent->path};
	pid_t pid;

	for (size_t i = 0; i < n; i++)
		argv[3 + i] = args[i];
	agent->status = 200;
	strcpy(agent->reply, reply);
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

static pid_t start_on(int out, char *const args[], size_t n)
{
	return start_with(out, args, n, processes);
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

/* Reads the output of a command that is stopped in its second round. */
static void watch(const char *command, const char *option, const char *reply, char *buf,
		  size_t size)
{
	char *args[] = {(char *)command, (char *)option, (char *)"--watch", (char *)"1"};
	const unsigned before = agent->n_requests;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = start_with(fds[1], args, ARRAY_SIZE(args), reply);
	close(fds[1]);
	assert_true(read_until(fds[0], "host-a", buf, size));
	while (agent->n_requests < before + 2)
		poll(NULL, 0, 20);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fds[0]);
}

static void test_watch_prints_no_title_into_json_and_csv(void **state)
{
	char out[8192];

	watch("processes", "--csv", processes, out, sizeof(out));
	assert_memory_equal(out, "ID,", 3);
	watch("status", "-j", "{\"host\":\"host-a\",\"state\":\"running\"}", out, sizeof(out));
	assert_int_equal(out[0], '{');
}

#define HOSTILE "\\u001b]0;x\\u0007\\u009b31m\\u202e"

static void assert_clean(const struct result *r)
{
	assert_null(strpbrk(r->out, "\033\007"));
	assert_null(strstr(r->out, "\xc2\x9b"));
	assert_null(strstr(r->out, "\xe2\x80\xae"));
	assert_null(strpbrk(r->err, "\033\007"));
}

static void test_no_text_of_an_answer_controls_the_terminal(void **state)
{
	static const char cluster[] =
		"{\"cluster\":\"a" HOSTILE "\",\"host\":\"b" HOSTILE "\",\"id\":\"c" HOSTILE
		"\",\"start\":1,\"state\":\"d" HOSTILE "\",\"reason\":\"e" HOSTILE
		"\",\"endpoint\":\"f" HOSTILE "\",\"servers\":[]}";
	static const char plan[] =
		"{\"version\":\"g" HOSTILE "\",\"steps\":[{\"text\":\"x\"}],\"actions\":[]}";
	struct result r = run("cluster status", 200, cluster);

	assert_clean(&r);
	assert_non_null(strstr(r.out, "Cluster   a?]0;x?"));
	assert_non_null(strstr(r.out, "\nHost      b?"));
	assert_non_null(strstr(r.out, ", id c?"));
	assert_non_null(strstr(r.out, ", start 1\nState     d?"));
	assert_non_null(strstr(r.out, "\nReason    e?"));
	assert_non_null(strstr(r.out, "\nEndpoint  f?"));
	r = run("plan", 200, plan);
	assert_clean(&r);
	assert_non_null(strstr(r.out, "Version g?]0;x?"));
}

static void test_metrics_control_no_terminal_and_stay_whole_in_a_pipe(void **state)
{
	static const char metrics[] = "a 1\nb{c=\"\033]0;x\007\"} 2\n";
	char *args[] = {(char *)"metrics"}, out[4096];
	int terminal, fd = open_terminal(&terminal);
	struct result r;
	pid_t pid;

	pid = start_with(terminal, args, ARRAY_SIZE(args), metrics);
	close(terminal);
	assert_true(read_until(fd, "} 2", out, sizeof(out)));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd);
	assert_null(strpbrk(out, "\033\007"));
	assert_non_null(strstr(out, "a 1\r\nb{c=\"?]0;x?\"} 2"));
	r = run("metrics", 200, metrics);
	assert_string_equal(r.out, metrics);
}

/* Returns a TCP socket that listens on 127.0.0.1, and its port. */
static int listen_tcp(unsigned *ret_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void test_a_program_with_a_token_leaves_no_core_file(void **state)
{
	char host[32], token[160];
	char *argv[] = {(char *)"plenum", (char *)"--host", host, (char *)"--token-file", token,
			(char *)"status"};
	struct rlimit core;
	unsigned port;
	int fd = listen_tcp(&port), peer, file;
	pid_t pid;

	assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
	core.rlim_cur = core.rlim_max;
	if (core.rlim_max == 0)
		skip();
	snprintf(host, sizeof(host), "127.0.0.1:%u", port);
	snprintf(token, sizeof(token), "%s/token", agent->dir);
	file = open(token, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(file, "plenum-x\n", 9), 9);
	close(file);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setrlimit(RLIMIT_CORE, &core);
		exit(ctl_run(ARRAY_SIZE(argv), argv));
	}
	peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC); /* it has the token, and asks */
	assert_true(peer >= 0);
	assert_int_equal(prlimit(pid, RLIMIT_CORE, NULL, &core), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(core.rlim_cur, 0);
	assert_int_equal(core.rlim_max, 0);
	close(peer);
	close(fd);
	unlink(token);
}

/* Answers the next request with `n` bytes. */
static void answer_with(int fd, size_t n)
{
	static const char head[] = "HTTP/1.1 200 x\r\n\r\n";
	autofree char *body = calloc(n, 1);
	const int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	if (!body || peer < 0 || send(peer, head, sizeof(head) - 1, MSG_NOSIGNAL) < 0)
		_exit(1);
	for (size_t at = 0; at < n;) {
		const ssize_t sent = send(peer, body + at, n - at, MSG_NOSIGNAL);

		if (sent <= 0)
			break;
		at += (size_t)sent;
	}
	_exit(0);
}

static void test_an_answer_above_the_limit_is_refused_with_its_reason(void **state)
{
	char path[160], out[4096];
	char *argv[] = {(char *)"plenum", (char *)"--socket", path, (char *)"status"};
	int fd, fds[2], status;
	pid_t pid, other;

	snprintf(path, sizeof(path), "%s/large", agent->dir);
	fd = fake_listen(path);
	assert_true(fd >= 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	other = fork();
	assert_true(other >= 0);
	if (other == 0)
		answer_with(fd, 65 << 20);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		exit(ctl_run(ARRAY_SIZE(argv), argv));
	}
	close(fds[1]);
	assert_true(read_until(fds[0], "larger than 64 MiB", out, sizeof(out)));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), CTL_SOFTWARE);
	assert_int_equal(waitpid(other, NULL, 0), other);
	close(fds[0]);
	close(fd);
	unlink(path);
}

static void workers_are_the_processes_without_the_agent(void **state)
{
	struct result r = run("workers -o id,role", 200, processes);

	assert_asked("GET /v1/processes");
	assert_string_equal(r.out, "ID        ROLE\nhost-a/1  FRONTEND\n");
	r = run("processes -o id,role", 200, processes);
	assert_non_null(strstr(r.out, "MANAGEMENT"));
	r = run("workers -j", 200, processes);
	assert_non_null(strstr(r.out, "host-a/1"));
	assert_null(strstr(r.out, "host-a/0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_are_the_processes_without_the_agent),
		cmocka_unit_test(test_wide_shows_all_columns),
		cmocka_unit_test(test_states_have_colours_on_a_terminal_only),
		cmocka_unit_test(test_a_long_change_shows_how_long_it_waits),
		cmocka_unit_test(test_watch_prints_again),
		cmocka_unit_test(test_watch_takes_seconds),
		cmocka_unit_test(test_watch_prints_no_title_into_json_and_csv),
		cmocka_unit_test(test_no_text_of_an_answer_controls_the_terminal),
		cmocka_unit_test(test_metrics_control_no_terminal_and_stay_whole_in_a_pipe),
		cmocka_unit_test(test_a_program_with_a_token_leaves_no_core_file),
		cmocka_unit_test(test_an_answer_above_the_limit_is_refused_with_its_reason),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
