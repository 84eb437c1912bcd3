/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements ctl_rig.h. */
#include "tests/lib/agent/ctl_rig.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

struct fake_agent *agent;

/* Reads a complete request: its head, and the body, whose length is in the head. */
static void fake_read(int fd, char *buf, size_t size)
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

static void fake_serve_one(int fd)
{
	autofree char *text = NULL;
	int status = agent->status;

	fake_read(fd, agent->request, sizeof(agent->request));
	agent->n_requests++;
	if (agent->n_conflicts && strncmp(agent->request, "PATCH ", 6) == 0) {
		agent->n_conflicts--;
		status = 412;
	}
	if (asprintf(&text,
		     "HTTP/1.1 %d x\r\nContent-Length: %zu\r\nETag: \"0123456789abcdef\"\r\n"
		     "Connection: close\r\n\r\n%s",
		     status, strlen(agent->reply), agent->reply) < 0)
		_exit(1);
	poll(NULL, 0, (int)agent->late_ms);
	agent->late_ms = 0;
	/* A client that has ended must not end the fake agent. */
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return;
}

static void fake_serve(void)
{
	for (;;) {
		autoclose int fd = accept4(agent->listen_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			_exit(1);
		fake_serve_one(fd);
	}
}

int fake_listen(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(sun.sun_path, path, strlen(path) + 1);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0 && listen(fd, 8) == 0)
		return fd;
	close(fd);
	return -1;
}

void fake_answer(int listen_fd, const char *want, const char *text)
{
	autoclose int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	char request[REQUEST_MAX] = "";
	autofree char *reply = NULL;

	assert_true(fd >= 0);
	fake_read(fd, request, sizeof(request));
	if (strncmp(request, want, strlen(want)) != 0)
		print_error("asked: %s\n", request);
	assert_int_equal(strncmp(request, want, strlen(want)), 0);
	assert_true(asprintf(&reply,
			     "HTTP/1.1 200 x\r\nContent-Length: %zu\r\nConnection: "
			     "close\r\n\r\n%s",
			     strlen(text), text) > 0);
	assert_int_equal(write(fd, reply, strlen(reply)), strlen(reply));
}

int fake_setup(void **state)
{
	pid_t pid;

	unsetenv("COLUMNS"); /* print tables in full width */
	agent = mmap(NULL, sizeof(*agent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (agent == MAP_FAILED)
		return -1;
	strcpy(agent->dir, "/tmp/plenum-test-ctl-XXXXXX");
	if (!mkdtemp(agent->dir))
		return -1;
	snprintf(agent->path, sizeof(agent->path), "%s/sock", agent->dir);
	agent->listen_fd = fake_listen(agent->path);
	if (agent->listen_fd < 0)
		return -1;
	pid = fork(); /* do not store the pid in the shared page first, because the child would
			 overwrite it with 0 */
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fake_serve();
	}
	agent->pid = pid;
	return pid < 0 ? -1 : 0;
}

int fake_teardown(void **state)
{
	kill(agent->pid, SIGKILL);
	waitpid(agent->pid, NULL, 0);
	close(agent->listen_fd);
	unlink(agent->path);
	return rmdir(agent->dir);
}

static void slurp(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	assert_true(n >= 0);
	buf[n] = '\0';
	close(fd);
}

struct result run(const char *args, int status, const char *reply)
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

void assert_asked(const char *first_line)
{
	size_t n = strlen(first_line);

	if (strncmp(agent->request, first_line, n) != 0)
		print_error("asked: %s\n", agent->request);
	assert_int_equal(strncmp(agent->request, first_line, n), 0);
	assert_int_equal(agent->request[n], ' ');
}

void assert_body(const char *want)
{
	const char *body = strstr(agent->request, "\r\n\r\n");

	assert_non_null(body);
	assert_string_equal(body + 4, want);
}
