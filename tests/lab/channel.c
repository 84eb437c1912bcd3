/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lab's control channel: runs commands in a virtual host over a virtio-serial port. One port
 * carries one command at a time; several ports make several commands possible.
 *
 *	channel serve PORT...                      in the virtual host; one process a port
 *	channel run [--tty] [--timeout SECONDS] SOCKET -- CMD ARG...
 *
 * `run` passes standard input in, output and errors out as they come, and exits as the command did;
 * 124 after the time limit (the command is killed), 125 when the channel itself fails. Frames carry
 * the session's random number, so that what a dead session left in the port is never taken for an
 * answer: a reader that finds anything else skips forward byte by byte.
 */
#include "netcfg/base.h"
#include <endian.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>

#define FRAME_MAGIC 0x4c41424348414e31ULL
#define FRAME_DATA_MAX 16384
#define EXIT_TIMEOUT 124
#define EXIT_CHANNEL 125
#define SEND_TIMEOUT_MS 30000

enum frame_type {
	FRAME_RUN = 1, /* data: flags byte, then the NUL-terminated arguments */
	FRAME_INPUT,   /* no data: end of input */
	FRAME_KILL,
	FRAME_OUTPUT,
	FRAME_ERRORS,
	FRAME_EXIT, /* data: one byte, the exit status */
};

#define RUN_TTY 1

struct frame {
	uint64_t magic, session;
	uint32_t type, len;
	char data[FRAME_DATA_MAX];
};
#define FRAME_HEADER offsetof(struct frame, data)

struct channel {
	int fd;
	uint64_t session; /* reader: only this one; 0: any */
	char in[2 * sizeof(struct frame)];
	size_t n_in;
};

static int channel_write(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		struct pollfd pfd = {.fd = fd, .events = POLLOUT};
		ssize_t n = write(fd, p, len);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			if (poll(&pfd, 1, SEND_TIMEOUT_MS) <= 0 ||
			    (pfd.revents & (POLLERR | POLLHUP)))
				return -EPIPE;
		} else if (n == 0 || errno != EINTR) {
			return n == 0 ? -EPIPE : -errno;
		}
	}
	return 0;
}

static int channel_send(struct channel *c, enum frame_type type, const void *data, size_t len)
{
	struct frame f = {
		.magic = FRAME_MAGIC, .session = c->session, .type = type, .len = (uint32_t)len};

	if (len)
		memcpy(f.data, data, len);
	return channel_write(c->fd, &f, FRAME_HEADER + len);
}

/* Takes the next whole frame out of what was read. 1: *ret is filled, 0: more is needed. */
static int channel_next(struct channel *c, struct frame *ret)
{
	while (c->n_in >= FRAME_HEADER) {
		size_t skip = 1;

		memcpy(ret, c->in, FRAME_HEADER);
		if (ret->magic == FRAME_MAGIC && ret->len <= FRAME_DATA_MAX) {
			if (c->n_in < FRAME_HEADER + ret->len)
				return 0;
			skip = FRAME_HEADER + ret->len;
			memcpy(ret->data, c->in + FRAME_HEADER, ret->len);
		}
		c->n_in -= skip;
		memmove(c->in, c->in + skip, c->n_in);
		if (skip > 1 &&
		    (!c->session || ret->session == c->session || ret->type == FRAME_RUN))
			return 1;
	}
	return 0;
}

/* Reads what is there. >0; 0: nothing now; -EPIPE: the other end is gone. */
static int channel_fill(struct channel *c)
{
	ssize_t n = read(c->fd, c->in + c->n_in, sizeof(c->in) - c->n_in);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	c->n_in += (size_t)n;
	return (int)n;
}

/* --- in the virtual host ---------------------------------------------------------------------- */

struct command {
	pid_t pid; /* 0: none */
	int in, out, err;
};

static void command_child(const struct frame *f, const int in[2], const int out[2],
			  const int err[2])
{
	char *argv[256] = {0};
	size_t n = 0;

	for (const char *p = f->data + 1; p < f->data + f->len && n + 1 < ARRAY_SIZE(argv);
	     p += strlen(p) + 1)
		argv[n++] = (char *)p;
	if (in) {
		setsid();
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
	}
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int command_start(const struct frame *f, struct command *ret)
{
	int in[2], out[2], err[2], master;
	struct command c = {.in = -1, .out = -1, .err = -1};

	if (f->len < 2 || f->data[f->len - 1] != '\0')
		return -EINVAL;
	if (f->data[0] & RUN_TTY) {
		c.pid = forkpty(&master, NULL, NULL, NULL);
		if (c.pid == 0)
			command_child(f, NULL, NULL, NULL);
		if (c.pid < 0)
			return -errno;
		fcntl(master, F_SETFD, FD_CLOEXEC);
		c.in = master;
		c.out = dup(master);
		*ret = c;
		return 0;
	}
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -errno;
	c.pid = fork();
	if (c.pid == 0)
		command_child(f, in, out, err);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	if (c.pid < 0)
		return -errno;
	c.in = in[1];
	c.out = out[0];
	c.err = err[0];
	*ret = c;
	return 0;
}

static void command_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void command_kill(struct command *c)
{
	if (c->pid > 0)
		kill(-c->pid, SIGKILL);
	command_close(&c->in);
}

/* Passes one piece of output on; closes the descriptor at its end. */
static int command_pass(struct channel *ch, int *fd, enum frame_type type)
{
	char buf[FRAME_DATA_MAX];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0)
		return channel_send(ch, type, buf, (size_t)n);
	if (n == 0 || errno != EINTR)
		command_close(fd);
	return 0;
}

static void command_input(struct command *c, const struct frame *f)
{
	if (f->len == 0)
		command_close(&c->in);
	else if (c->in >= 0 && channel_write(c->in, f->data, f->len) < 0)
		command_close(&c->in);
}

/* A command ends when it has exited: a daemon that it left behind may hold its output open. */
static void command_reap(struct channel *ch, struct command *c)
{
	int status;
	char code;

	if (c->pid <= 0 || waitpid(c->pid, &status, WNOHANG) != c->pid)
		return;
	for (int *fd = &c->out; fd; fd = fd == &c->out ? &c->err : NULL) {
		while (*fd >= 0) {
			struct pollfd p = {.fd = *fd, .events = POLLIN};

			if (poll(&p, 1, 0) <= 0 ||
			    command_pass(ch, fd, fd == &c->out ? FRAME_OUTPUT : FRAME_ERRORS))
				break;
		}
		command_close(fd);
	}
	command_close(&c->in);
	c->pid = 0;
	code = (char)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	channel_send(ch, FRAME_EXIT, &code, 1);
}

static void serve_frame(struct channel *ch, struct command *c, const struct frame *f)
{
	char code = (char)EXIT_CHANNEL;

	if (f->type == FRAME_RUN) {
		command_kill(c); /* a client that vanished left it */
		if (c->pid > 0)
			waitpid(c->pid, NULL, 0);
		command_close(&c->out);
		command_close(&c->err);
		*c = (struct command){.in = -1, .out = -1, .err = -1};
		ch->session = f->session;
		if (command_start(f, c))
			channel_send(ch, FRAME_EXIT, &code, 1);
	} else if (f->type == FRAME_INPUT) {
		command_input(c, f);
	} else if (f->type == FRAME_KILL) {
		command_kill(c);
	}
}

static int serve_port(const char *path)
{
	struct channel ch = {.fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)};
	struct command c = {.in = -1, .out = -1, .err = -1};
	static struct frame f;

	if (ch.fd < 0) {
		fprintf(stderr, "channel: %s: %s\n", path, strerror(errno));
		return EXIT_CHANNEL;
	}
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		struct pollfd p[] = {{.fd = ch.fd, .events = POLLIN},
				     {.fd = c.out, .events = POLLIN},
				     {.fd = c.err, .events = POLLIN}};

		/* While nobody is connected the port always polls as hung up: look less often. */
		poll(p, ARRAY_SIZE(p), c.pid > 0 ? 20 : 1000);
		if (p[0].revents & POLLHUP) {
			command_kill(&c);
			poll(NULL, 0, 5);
		}
		if (p[0].revents & POLLIN)
			channel_fill(&ch);
		while (channel_next(&ch, &f))
			serve_frame(&ch, &c, &f);
		if (c.out >= 0 && p[1].fd == c.out && p[1].revents)
			command_pass(&ch, &c.out, FRAME_OUTPUT);
		if (c.err >= 0 && p[2].fd == c.err && p[2].revents)
			command_pass(&ch, &c.err, FRAME_ERRORS);
		command_reap(&ch, &c);
	}
}

static pid_t serve_start(const char *path)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(serve_port(path));
	return pid;
}

/* One process a port. As process 1 of a virtual host it also reaps whatever is left to it. */
static int serve(int n, char **paths)
{
	pid_t pids[64] = {0};

	if (n > (int)ARRAY_SIZE(pids))
		return 2;
	for (int i = 0; i < n; i++)
		pids[i] = serve_start(paths[i]);
	for (;;) {
		pid_t pid = wait(NULL);

		if (pid < 0 && errno != EINTR)
			return EXIT_CHANNEL;
		for (int i = 0; pid > 0 && i < n; i++)
			if (pids[i] == pid)
				pids[i] = serve_start(paths[i]);
	}
}

/* --- on the running machine ------------------------------------------------------------------- */

static int run_connect(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) || fcntl(fd, F_SETFL, O_NONBLOCK)) {
		close(fd);
		return -errno;
	}
	return fd;
}

static int run_begin(struct channel *ch, bool tty, int n, char **argv)
{
	char data[FRAME_DATA_MAX] = {tty ? RUN_TTY : 0};
	size_t len = 1;

	for (int i = 0; i < n; i++) {
		size_t l = strlen(argv[i]) + 1;

		if (len + l > sizeof(data))
			return -E2BIG;
		memcpy(data + len, argv[i], l);
		len += l;
	}
	if (getrandom(&ch->session, sizeof(ch->session), 0) != sizeof(ch->session))
		return -EIO;
	return channel_send(ch, FRAME_RUN, data, len);
}

/* Returns the exit status, or -1 to go on. */
static int run_frame(const struct frame *f)
{
	if (f->type == FRAME_EXIT && f->len == 1)
		return (unsigned char)f->data[0];
	if (f->type == FRAME_OUTPUT || f->type == FRAME_ERRORS)
		channel_write(f->type == FRAME_OUTPUT ? STDOUT_FILENO : STDERR_FILENO, f->data,
			      f->len);
	return -1;
}

static int run_loop(struct channel *ch, uint64_t deadline_ns)
{
	static struct frame f;
	char buf[FRAME_DATA_MAX];
	bool input = true;
	int status;

	for (;;) {
		struct pollfd p[] = {{.fd = ch->fd, .events = POLLIN},
				     {.fd = input ? STDIN_FILENO : -1, .events = POLLIN}};

		poll(p, 2, deadline_ns == UINT64_MAX ? -1 : 200);
		if (clock_now_ns() > deadline_ns) {
			channel_send(ch, FRAME_KILL, NULL, 0);
			return EXIT_TIMEOUT;
		}
		if (p[1].revents) {
			ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));

			input = n > 0;
			if (channel_send(ch, FRAME_INPUT, buf, n > 0 ? (size_t)n : 0))
				return EXIT_CHANNEL;
		}
		if (p[0].revents && channel_fill(ch) < 0)
			return EXIT_CHANNEL;
		while (channel_next(ch, &f))
			if ((status = run_frame(&f)) >= 0)
				return status;
	}
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"tty", no_argument, NULL, 't'}, {"timeout", required_argument, NULL, 'l'}, {0}};
	struct channel ch = {.fd = -1};
	uint64_t deadline_ns = UINT64_MAX;
	struct termios saved, raw;
	bool tty = false;
	int c, status;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (c == 't')
			tty = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &saved) == 0;
		else if (c == 'l')
			deadline_ns = clock_now_ns() + strtoull(optarg, NULL, 10) * NSEC_PER_SEC;
		else
			return 2;
	}
	if (argc - optind < 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	ch.fd = run_connect(argv[optind]);
	optind += strcmp(argv[optind + 1], "--") == 0 ? 2 : 1;
	if (ch.fd < 0 || run_begin(&ch, tty, argc - optind, argv + optind)) {
		fprintf(stderr, "channel: the virtual host cannot be reached\n");
		return EXIT_CHANNEL;
	}
	if (tty) {
		raw = saved;
		cfmakeraw(&raw);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	status = run_loop(&ch, deadline_ns);
	if (tty)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	return status;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "serve") == 0)
		return serve(argc - 2, argv + 2);
	if (argc > 2 && strcmp(argv[1], "run") == 0)
		return run(argc - 1, argv + 1);
	fprintf(stderr, "usage: channel serve PORT... | channel run [--tty] [--timeout SECONDS] "
			"SOCKET -- CMD ARG...\n");
	return 2;
}
