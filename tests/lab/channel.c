/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lab's control channel: runs commands in a virtual host over a virtio-serial port. One port
 * carries one command at a time; several ports make several commands possible.
 *
 *	channel serve PORT...                      in the virtual host; one process a port
 *	channel run [--tty] [--timeout SECONDS] HOST -- CMD ARG...
 *
 * HOST is the path that its ports' sockets begin with: HOST.chan.0, HOST.chan.1 and so on. `run`
 * takes the first that no other `run` holds, by the lock HOST.lock.N. It passes standard input in,
 * output and errors out as they come, and exits as the command did; 124 after the time limit (the
 * command is killed), 125 when the channel itself fails. A command dies with its `run`. Frames
 * carry the session's random number, so that remains of a dead session in the port are never taken
 * for an answer: a reader that finds anything else skips forward byte by byte. Of input no more is
 * under way than the command was said to take, so the virtual host always reads its port.
 */
#include "netcfg/base/base.h"
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>

#define FRAME_MAGIC 0x4c41424348414e31ULL
#define FRAME_DATA_MAX 8192
#define INPUT_WINDOW 65536
#define EXIT_TIMEOUT 124
#define EXIT_CHANNEL 125
/* The host's "connected" reaches the driver apart from the data: for a moment a live port looks
 * hung up. */
#define HANGUP_MS 1000
#define KILL_MS 2000

enum frame_type {
	FRAME_RUN = 1, /* data: flags byte, then the NUL-terminated arguments */
	FRAME_INPUT,   /* no data: end of input */
	FRAME_KILL,
	FRAME_OUTPUT,
	FRAME_ERRORS,
	FRAME_EXIT,  /* data: one byte, the exit status */
	FRAME_SIZE,  /* data: struct winsize of the terminal */
	FRAME_TAKEN, /* data: uint32_t, bytes of input that the command took */
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
	uint64_t session; /* only frames of this one are taken; FRAME_RUN begins another */
	char in[2 * sizeof(struct frame)];
	size_t n_in;
};

/* Takes the next whole frame out of the received bytes. 1: *ret is filled, 0: more is needed. */
static int channel_next(struct channel *c, struct frame *ret)
{
	size_t at = 0;
	int found = 0;

	while (!found && c->n_in - at >= FRAME_HEADER) {
		memcpy(ret, c->in + at, FRAME_HEADER);
		if (ret->magic != FRAME_MAGIC || ret->len > FRAME_DATA_MAX) {
			at++;
			continue;
		}
		if (c->n_in - at < FRAME_HEADER + ret->len)
			break;
		memcpy(ret->data, c->in + at + FRAME_HEADER, ret->len);
		at += FRAME_HEADER + ret->len;
		found = ret->session == c->session || ret->type == FRAME_RUN;
	}
	c->n_in -= at;
	memmove(c->in, c->in + at, c->n_in);
	return found;
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

static size_t frame_build(const struct channel *c, enum frame_type type, const void *data,
			  size_t len, struct frame *ret)
{
	*ret = (struct frame){
		.magic = FRAME_MAGIC, .session = c->session, .type = type, .len = (uint32_t)len};
	if (len)
		memcpy(ret->data, data, len);
	return FRAME_HEADER + len;
}

/* --- in the virtual host ---------------------------------------------------------------------- */

struct command {
	pid_t pid; /* 0: none */
	int pidfd; /* readable once it has exited */
	int in, out, err;
	char input[INPUT_WINDOW]; /* what it has not taken yet */
	uint32_t n_input;
	bool input_ended;
};

struct server {
	struct channel ch;
	/* Edge-triggered around the port, which polls as hung up whenever it has no client.
	 */
	int events;
	struct command command;
	uint64_t hung_up_ns; /* since when, with a command running; 0: not */
};

/* Waits while the other end is slow, not when it is gone. */
static int server_send(struct server *s, enum frame_type type, const void *data, size_t len)
{
	static struct frame f;
	const char *p = (const char *)&f;
	size_t left = frame_build(&s->ch, type, data, len, &f);
	uint64_t hung_up_ns = 0;

	while (left > 0) {
		struct pollfd pfd = {.fd = s->ch.fd, .events = POLLOUT};
		ssize_t n = write(s->ch.fd, p, left);

		if (n > 0) {
			p += n;
			left -= (size_t)n;
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return -EPIPE;
		poll(&pfd, 1, -1);
		if (!(pfd.revents & POLLHUP)) {
			hung_up_ns = 0;
			continue;
		}
		hung_up_ns = hung_up_ns ? hung_up_ns : clock_now_ns();
		if (clock_now_ns() - hung_up_ns > HANGUP_MS * NSEC_PER_MSEC)
			return -EPIPE;
		poll(NULL, 0, 5);
	}
	return 0;
}

static void command_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void command_clear(struct command *c)
{
	if (c->pid > 0) {
		kill(-c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	command_close(&c->pidfd);
	command_close(&c->in);
	command_close(&c->out);
	command_close(&c->err);
	c->pid = 0;
	c->n_input = 0;
	c->input_ended = false;
}

static void command_child(const struct frame *f, const int *in, const int *out, const int *err)
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

static int command_start_tty(struct command *c, const struct frame *f)
{
	int master;

	c->pid = forkpty(&master, NULL, NULL, NULL);
	if (c->pid == 0)
		command_child(f, NULL, NULL, NULL);
	if (c->pid < 0)
		return -errno;
	c->in = fcntl(master, F_DUPFD_CLOEXEC, 0);
	c->out = master;
	return fcntl(master, F_SETFD, FD_CLOEXEC) || c->in < 0 ? -errno : 0;
}

static int command_start_pipes(struct command *c, const struct frame *f)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -errno;
	c->pid = fork();
	if (c->pid == 0)
		command_child(f, in, out, err);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
	return c->pid < 0 ? -errno : 0;
}

static int command_start(struct command *c, const struct frame *f)
{
	int e;

	if (f->len < 2 || f->data[f->len - 1] != '\0')
		return -EINVAL;
	e = f->data[0] & RUN_TTY ? command_start_tty(c, f) : command_start_pipes(c, f);
	if (e)
		return e;
	c->pidfd = pidfd_open(c->pid, 0);
	return c->pidfd < 0 || fcntl(c->in, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

/* Passes one piece of output on; closes the descriptor at its end. */
static void server_pass(struct server *s, int *fd, enum frame_type type)
{
	char buf[FRAME_DATA_MAX];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0)
		server_send(s, type, buf, (size_t)n);
	else if (n == 0 || errno != EINTR)
		command_close(fd);
}

static void server_drain(struct server *s, int *fd, enum frame_type type)
{
	struct pollfd p = {.fd = *fd, .events = POLLIN};

	while (*fd >= 0 && poll(&p, 1, 0) > 0)
		server_pass(s, fd, type);
}

/* A command ends when it has exited: a daemon that it left behind may hold its output open. */
static void server_reap(struct server *s)
{
	struct command *c = &s->command;
	int status;
	char code;

	if (waitpid(c->pid, &status, WNOHANG) != c->pid)
		return;
	c->pid = 0;
	server_drain(s, &c->out, FRAME_OUTPUT);
	server_drain(s, &c->err, FRAME_ERRORS);
	command_clear(c);
	code = (char)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	server_send(s, FRAME_EXIT, &code, 1);
}

static void server_input(struct server *s)
{
	struct command *c = &s->command;
	ssize_t n = (ssize_t)c->n_input;
	uint32_t taken;

	if (c->n_input && c->in >= 0)
		n = write(c->in, c->input, c->n_input);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		command_close(&c->in); /* it reads no more: the rest goes nowhere */
		n = (ssize_t)c->n_input;
	}
	taken = (uint32_t)n;
	c->n_input -= taken;
	memmove(c->input, c->input + taken, c->n_input);
	if (taken)
		server_send(s, FRAME_TAKEN, &taken, sizeof(taken));
	if (!c->n_input && c->input_ended)
		command_close(&c->in);
}

static void server_frame(struct server *s, const struct frame *f)
{
	struct command *c = &s->command;
	char code = (char)EXIT_CHANNEL;

	if (f->type == FRAME_RUN) {
		command_clear(c); /* a client that vanished left it */
		s->ch.session = f->session;
		if (command_start(c, f)) {
			command_clear(c);
			server_send(s, FRAME_EXIT, &code, 1);
		}
	} else if (f->type == FRAME_INPUT && f->len <= sizeof(c->input) - c->n_input) {
		memcpy(c->input + c->n_input, f->data, f->len);
		c->n_input += f->len;
		c->input_ended = f->len == 0;
		server_input(s);
	} else if (f->type == FRAME_KILL && c->pid > 0) {
		kill(-c->pid, SIGKILL);
	} else if (f->type == FRAME_SIZE && c->in >= 0 && f->len == sizeof(struct winsize)) {
		ioctl(c->in, TIOCSWINSZ, f->data);
	}
}

static void server_read(struct server *s)
{
	static struct frame f;

	do {
		while (channel_next(&s->ch, &f))
			server_frame(s, &f);
	} while (channel_fill(&s->ch) > 0);
}

/* Kills the command of a client that is gone. Returns for how long to wait for events, in ms. To
 * look at the port takes what has come out of the driver's queue: an interrupt that follows finds
 * nothing new there and wakes no reader, so the pending data are read now. */
static int server_watch(struct server *s)
{
	struct pollfd p = {.fd = s->ch.fd, .events = POLLIN};

	if (s->command.pid <= 0 || poll(&p, 1, 0) <= 0 || !(p.revents & POLLHUP)) {
		s->hung_up_ns = 0;
		return s->command.pid > 0 && p.revents & POLLIN ? 0 : -1;
	}
	s->hung_up_ns = s->hung_up_ns ? s->hung_up_ns : clock_now_ns();
	if (clock_now_ns() - s->hung_up_ns < HANGUP_MS * NSEC_PER_MSEC)
		return HANGUP_MS / 4;
	command_clear(&s->command);
	return -1;
}

static int server_open(struct server *s, const char *path)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET};

	signal(SIGPIPE, SIG_IGN);
	s->ch.fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	s->events = epoll_create1(EPOLL_CLOEXEC);
	if (s->ch.fd < 0 || s->events < 0 || epoll_ctl(s->events, EPOLL_CTL_ADD, s->ch.fd, &e)) {
		fprintf(stderr, "channel: %s: %s\n", path, strerror(errno));
		return -errno;
	}
	return 0;
}

static int serve_port(const char *path)
{
	static struct server s = {.command = {.pidfd = -1, .in = -1, .out = -1, .err = -1}};
	struct command *c = &s.command;
	struct epoll_event e;

	if (server_open(&s, path))
		return EXIT_CHANNEL;
	for (;;) {
		struct pollfd p[] = {{.fd = s.events, .events = POLLIN},
				     {.fd = c->out, .events = POLLIN},
				     {.fd = c->err, .events = POLLIN},
				     {.fd = c->pidfd, .events = POLLIN},
				     {.fd = c->n_input ? c->in : -1, .events = POLLOUT}};

		poll(p, ARRAY_SIZE(p), server_watch(&s));
		epoll_wait(s.events, &e, 1, 0);
		if (p[1].revents)
			server_pass(&s, &c->out, FRAME_OUTPUT);
		if (p[2].revents)
			server_pass(&s, &c->err, FRAME_ERRORS);
		if (p[4].revents)
			server_input(&s);
		if (c->pidfd >= 0 && p[3].revents)
			server_reap(&s);
		server_read(&s);
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

struct client {
	struct channel ch;
	struct frame out; /* what the port has not taken yet; input is read when it is empty */
	size_t n_out, n_sent;
	size_t window; /* bytes of input that may be sent */
	bool tty, input_ended, size_changed;
	int resized; /* signalfd for SIGWINCH, -1 without a terminal */
	uint64_t deadline_ns;
	bool killed;
};

static int write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -errno;
		else if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int client_connect(const char *path)
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

/* Connects to the first free port of the host; the lock ends with this process. */
static int client_take_port(const char *host)
{
	char path[PATH_MAX], lock[PATH_MAX];

	for (unsigned int port = 0;; port++) {
		int fd;

		snprintf(path, sizeof(path), "%s.chan.%u", host, port);
		if (access(path, F_OK))
			return port ? -EBUSY : -ENOENT;
		snprintf(lock, sizeof(lock), "%s.lock.%u", host, port);
		fd = open(lock, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return client_connect(path);
		close(fd);
	}
}

static void client_queue(struct client *c, enum frame_type type, const void *data, size_t len)
{
	c->n_out = frame_build(&c->ch, type, data, len, &c->out);
	c->n_sent = 0;
}

static int client_begin(struct client *c, int n, char **argv)
{
	char data[FRAME_DATA_MAX] = {c->tty ? RUN_TTY : 0};
	size_t len = 1;

	for (int i = 0; i < n; i++) {
		size_t l = strlen(argv[i]) + 1;

		if (len + l > sizeof(data))
			return -E2BIG;
		memcpy(data + len, argv[i], l);
		len += l;
	}
	if (getrandom(&c->ch.session, sizeof(c->ch.session), 0) != sizeof(c->ch.session))
		return -EIO;
	client_queue(c, FRAME_RUN, data, len);
	return 0;
}

/* A client that was killed may have left a frame begun: fills it up, so that ours is not taken for
 * its rest. */
static int client_resync(struct client *c)
{
	static const char zeros[sizeof(struct frame)];

	return write_all(c->ch.fd, zeros, sizeof(zeros));
}

static int client_send(struct client *c)
{
	ssize_t n = write(c->ch.fd, (const char *)&c->out + c->n_sent, c->n_out - c->n_sent);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	c->n_sent += (size_t)n;
	if (c->n_sent == c->n_out)
		c->n_sent = c->n_out = 0;
	return 0;
}

/* Returns the exit status, or -1 to go on. */
static int client_frame(struct client *c, const struct frame *f)
{
	uint32_t taken;

	if (f->type == FRAME_TAKEN && f->len == sizeof(taken)) {
		memcpy(&taken, f->data, sizeof(taken));
		c->window += taken;
	}
	if (f->type == FRAME_EXIT && f->len == 1)
		return c->killed ? EXIT_TIMEOUT : (unsigned char)f->data[0];
	if ((f->type == FRAME_OUTPUT && write_all(STDOUT_FILENO, f->data, f->len)) ||
	    (f->type == FRAME_ERRORS && write_all(STDERR_FILENO, f->data, f->len)))
		return EXIT_CHANNEL; /* the reader is gone: the command dies with this process */
	return -1;
}

/* Fills the empty out frame with what is to be sent next, if anything. */
static void client_next(struct client *c, bool input_ready)
{
	struct signalfd_siginfo si;
	char buf[FRAME_DATA_MAX];
	struct winsize size;

	if (c->resized >= 0 && read(c->resized, &si, sizeof(si)) == sizeof(si))
		c->size_changed = true;
	if (c->killed || c->n_out)
		return;
	if (c->size_changed && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
		client_queue(c, FRAME_SIZE, &size, sizeof(size));
	} else if (input_ready) {
		ssize_t n = read(STDIN_FILENO, buf, MIN(sizeof(buf), c->window));

		c->window -= n > 0 ? (size_t)n : 0;
		c->input_ended = n <= 0;
		client_queue(c, FRAME_INPUT, buf, n > 0 ? (size_t)n : 0);
	}
	c->size_changed = false;
}

/* Returns EXIT_TIMEOUT when the command does not even die; else -1. */
static int client_overdue(struct client *c)
{
	if (clock_now_ns() < c->deadline_ns)
		return -1;
	if (c->killed)
		return EXIT_TIMEOUT;
	/* A frame that the port has half taken is finished first. */
	if (c->n_sent == 0)
		client_queue(c, FRAME_KILL, NULL, 0);
	c->killed = true;
	c->deadline_ns = clock_now_ns() + KILL_MS * NSEC_PER_MSEC;
	return -1;
}

static int client_loop(struct client *c)
{
	static struct frame f;
	int status;

	for (;;) {
		bool want_input = !c->n_out && !c->input_ended && !c->killed && c->window > 0;
		struct pollfd p[] = {
			{.fd = c->ch.fd, .events = (short)(POLLIN | (c->n_out ? POLLOUT : 0))},
			{.fd = want_input ? STDIN_FILENO : -1, .events = POLLIN},
			{.fd = c->resized, .events = POLLIN}};

		poll(p, ARRAY_SIZE(p), c->deadline_ns == UINT64_MAX ? -1 : 100);
		if ((status = client_overdue(c)) >= 0)
			return status;
		client_next(c, p[1].revents != 0);
		if (c->n_out && client_send(c))
			return EXIT_CHANNEL;
		if ((p[0].revents & ~POLLOUT) && channel_fill(&c->ch) < 0)
			return c->killed ? EXIT_TIMEOUT : EXIT_CHANNEL;
		while (channel_next(&c->ch, &f))
			if ((status = client_frame(c, &f)) >= 0)
				return status;
	}
}

/* The terminal's own handling of keys is the virtual host's while the command runs. */
static int client_loop_tty(struct client *c)
{
	struct termios saved, raw;
	sigset_t winch;
	int status;

	if (tcgetattr(STDIN_FILENO, &saved))
		return EXIT_CHANNEL;
	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	sigprocmask(SIG_BLOCK, &winch, NULL);
	c->resized = signalfd(-1, &winch, SFD_CLOEXEC | SFD_NONBLOCK);
	c->size_changed = true;
	raw = saved;
	cfmakeraw(&raw);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	status = client_loop(c);
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"tty", no_argument, NULL, 't'}, {"timeout", required_argument, NULL, 'l'}, {0}};
	static struct client client = {
		.resized = -1, .deadline_ns = UINT64_MAX, .window = INPUT_WINDOW};
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (c == 't')
			client.tty = isatty(STDIN_FILENO);
		else if (c == 'l')
			client.deadline_ns =
				clock_now_ns() + strtoull(optarg, NULL, 10) * NSEC_PER_SEC;
		else
			return 2;
	}
	if (argc - optind < 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	client.ch.fd = client_take_port(argv[optind]);
	if (client.ch.fd < 0) {
		fprintf(stderr, client.ch.fd == -EBUSY
					? "channel: all channels into the virtual host are busy\n"
					: "channel: the virtual host cannot be reached\n");
		return EXIT_CHANNEL;
	}
	optind += strcmp(argv[optind + 1], "--") == 0 ? 2 : 1;
	if (client_begin(&client, argc - optind, argv + optind)) {
		fprintf(stderr, "channel: the arguments are longer than %d bytes\n",
			FRAME_DATA_MAX);
		return EXIT_CHANNEL;
	}
	if (client_resync(&client))
		return EXIT_CHANNEL;
	return client.tty ? client_loop_tty(&client) : client_loop(&client);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "serve") == 0)
		return serve(argc - 2, argv + 2);
	if (argc > 2 && strcmp(argv[1], "run") == 0)
		return run(argc - 1, argv + 1);
	fprintf(stderr, "usage: channel serve PORT... | channel run [--tty] [--timeout SECONDS] "
			"HOST -- CMD ARG...\n");
	return 2;
}
