/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the command line in a child process; another child plays the agent, which answers every
 * request alike and keeps the last one.
 */
#ifndef PLENUM_TESTS_CTL_RIG_H
#define PLENUM_TESTS_CTL_RIG_H

#include "agent/ctl/ctl.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#define REQUEST_MAX 8192

/* Shared with the answering child; the test writes while no request is in progress. */
static struct fake_agent {
	char dir[64], path[128];
	int listen_fd;
	pid_t pid;
	int status;	   /* of the next reply */
	char reply[16384]; /* its body */
	char request[REQUEST_MAX];
	unsigned n_requests;
} * agent;

/* One complete request: the head, and as much body as it announces. */
static inline void fake_read(int fd, char *buf, size_t size)
{
	size_t len = 0, want = SIZE_MAX;

	while (len < want && len + 1 < size) {
		ssize_t n = read(fd, buf + len, size - 1 - len);
		const char *head, *length;

		if (n <= 0)
			break;
		len += (size_t)n;
		buf[len] = '\0';
		head = strstr(buf, "\r\n\r\n");
		length = strcasestr(buf, "Content-Length: ");
		if (head)
			want = (size_t)(head + 4 - buf) +
			       (length ? strtoul(length + 16, NULL, 10) : 0);
	}
}

static inline void fake_serve_one(int fd)
{
	autofree char *text = NULL;

	fake_read(fd, agent->request, sizeof(agent->request));
	agent->n_requests++;
	if (asprintf(&text,
		     "HTTP/1.1 %d x\r\nContent-Length: %zu\r\nETag: \"0123456789abcdef\"\r\n"
		     "Connection: close\r\n\r\n%s",
		     agent->status, strlen(agent->reply), agent->reply) < 0 ||
	    write(fd, text, strlen(text)) < 0)
		_exit(1);
}

static inline void fake_serve(void)
{
	for (;;) {
		autoclose int fd = accept4(agent->listen_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			_exit(1);
		fake_serve_one(fd);
	}
}

static inline int fake_setup(void **state)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	pid_t pid;

	unsetenv("COLUMNS"); /* tables are printed in full */
	agent = mmap(NULL, sizeof(*agent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (agent == MAP_FAILED)
		return -1;
	strcpy(agent->dir, "/tmp/plenum-test-ctl-XXXXXX");
	if (!mkdtemp(agent->dir))
		return -1;
	snprintf(agent->path, sizeof(agent->path), "%s/sock", agent->dir);
	memcpy(sun.sun_path, agent->path, strlen(agent->path) + 1);
	agent->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (agent->listen_fd < 0 ||
	    bind(agent->listen_fd, (struct sockaddr *)&sun, sizeof(sun)) < 0 ||
	    listen(agent->listen_fd, 8) < 0)
		return -1;
	pid = fork(); /* a separate variable: the child would overwrite one in the shared page */
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fake_serve();
	}
	agent->pid = pid;
	return pid < 0 ? -1 : 0;
}

static inline int fake_teardown(void **state)
{
	kill(agent->pid, SIGKILL);
	waitpid(agent->pid, NULL, 0);
	close(agent->listen_fd);
	unlink(agent->path);
	return rmdir(agent->dir);
}

struct result {
	int status;
	char out[16384], err[4096];
};

static inline void slurp(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	assert_true(n >= 0);
	buf[n] = '\0';
	close(fd);
}

/* Runs `plenum ARGS`, split at blanks, in a child. */
static inline struct result run(const char *args, int status, const char *reply)
{
	static struct result r;
	char *argv[32] = {(char *)"plenum", (char *)"--socket", agent->path};
	autofree char *copy = strdup(args);
	int argc = 3, out = memfd_create("out", MFD_CLOEXEC),
	    err = memfd_create("err", MFD_CLOEXEC);
	char *rest = copy, *word;
	int wstatus;
	pid_t pid;

	while ((word = strsep(&rest, " ")) && argc < 31)
		if (*word)
			argv[argc++] = word;
	agent->status = status;
	assert_true(strlen(reply) < sizeof(agent->reply));
	strcpy(agent->reply, reply);
	agent->request[0] = '\0';
	fflush(stdout);
	fflush(stderr);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		exit(ctl_run(argc, argv));
	}
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	assert_true(WIFEXITED(wstatus));
	r.status = WEXITSTATUS(wstatus);
	slurp(out, r.out, sizeof(r.out));
	slurp(err, r.err, sizeof(r.err));
	return r;
}

static inline void assert_asked(const char *first_line)
{
	size_t n = strlen(first_line);

	if (strncmp(agent->request, first_line, n) != 0)
		print_error("asked: %s\n", agent->request);
	assert_int_equal(strncmp(agent->request, first_line, n), 0);
	assert_int_equal(agent->request[n], ' ');
}

static inline void assert_body(const char *want)
{
	const char *body = strstr(agent->request, "\r\n\r\n");

	assert_non_null(body);
	assert_string_equal(body + 4, want);
}

#endif
