/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost on this machine of waking up for a request and for its answer: the minimum for a worker
 * that sleeps. A program sends requests through a pipe at a steady rate; a relay on one core
 * forwards them by datagram and returns the answers through a pipe; a server on another core
 * answers with as many bytes as a read has. Each sleeps in epoll_wait(2) in between, as workers do;
 * nothing is encrypted, acknowledged, retransmitted or read from a file.
 *
 *	relay A_SECOND COUNT
 *
 * prints the microseconds of processor time per request for relay and server.
 */
#include "netcfg/base/base.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES 4096U

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void core_take(unsigned core)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(core, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		die("sched_setaffinity");
}

/* Sleeps until a descriptor is readable and returns it. */
static int ready_wait(int epoll_fd)
{
	struct epoll_event ev;

	while (epoll_wait(epoll_fd, &ev, 1, -1) != 1)
		if (errno != EINTR)
			die("epoll_wait");
	return ev.data.fd;
}

static int watch(int epoll_fd, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static void serve(int socket_fd)
{
	static uint8_t answer[ANSWER_BYTES];
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0 || watch(epoll_fd, socket_fd) < 0)
		die("epoll");
	core_take(1);
	for (;;) {
		ssize_t n;

		(void)ready_wait(epoll_fd);
		n = recv(socket_fd, answer, sizeof(answer), MSG_DONTWAIT);
		if (n == 0)
			_exit(0);
		if (n > 0 && send(socket_fd, answer, sizeof(answer), 0) < 0)
			die("send");
	}
}

static void relay(int questions, int answers, int socket_fd)
{
	static uint8_t buf[ANSWER_BYTES];
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0 || watch(epoll_fd, socket_fd) < 0 || watch(epoll_fd, questions) < 0)
		die("epoll");
	core_take(0);
	for (;;) {
		ssize_t n;

		if (ready_wait(epoll_fd) == questions) {
			n = read(questions, buf, 64);
			if (n <= 0)
				_exit(0);
			if (send(socket_fd, buf, (size_t)n, 0) < 0)
				die("send");
			continue;
		}
		n = recv(socket_fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n > 0 && write(answers, buf, (size_t)n) != n)
			die("write");
	}
}

/* Two connected UDP sockets on the loopback interface. */
static void sockets_make(int fds[2])
{
	struct sockaddr_in a[2];

	for (unsigned i = 0; i < 2; i++) {
		socklen_t len = sizeof(a[i]);

		a[i] = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fds[i] < 0 || bind(fds[i], (struct sockaddr *)&a[i], sizeof(a[i])) < 0 ||
		    getsockname(fds[i], (struct sockaddr *)&a[i], &len) < 0)
			die("socket");
	}
	for (unsigned i = 0; i < 2; i++)
		if (connect(fds[i], (struct sockaddr *)&a[!i], sizeof(a[i])) < 0)
			die("connect");
}

static double cpu_us(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		die("clock_getcpuclockid");
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void ask(int questions, int answers, long a_second, long count)
{
	const struct timespec every = {.tv_sec = a_second == 1,
				       .tv_nsec = a_second == 1 ? 0 : 1000000000L / a_second};
	const struct itimerspec its = {.it_interval = every, .it_value = every};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	static uint8_t buf[ANSWER_BYTES];
	uint64_t gone;

	if (timer < 0 || timerfd_settime(timer, 0, &its, NULL) != 0)
		die("timer");
	for (long i = 0; i < count; i++) {
		if (read(timer, &gone, sizeof(gone)) != (ssize_t)sizeof(gone) ||
		    write(questions, buf, 64) != 64)
			die("question");
		for (size_t got = 0; got < sizeof(buf);) {
			ssize_t n = read(answers, buf, sizeof(buf) - got);

			if (n <= 0)
				die("answer");
			got += (size_t)n;
		}
	}
	close(timer);
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

int main(int argc, char **argv)
{
	int questions[2], answers[2], sockets[2];
	long a_second = argc == 3 ? atol(argv[1]) : 0, count = argc == 3 ? atol(argv[2]) : 0;
	double before[2];
	pid_t pids[2];

	if (a_second < 1 || count < 1) {
		fputs("usage: relay A_SECOND COUNT\n", stderr);
		return 2;
	}
	if (pipe2(questions, O_CLOEXEC) < 0 || pipe2(answers, O_CLOEXEC) < 0)
		die("pipe");
	sockets_make(sockets);
	pids[0] = child();
	if (pids[0] == 0)
		relay(questions[0], answers[1], sockets[0]);
	pids[1] = child();
	if (pids[1] == 0)
		serve(sockets[1]);
	ask(questions[1], answers[0], a_second, 100);
	for (unsigned i = 0; i < 2; i++)
		before[i] = cpu_us(pids[i]);
	ask(questions[1], answers[0], a_second, count);
	printf("%.1f %.1f\n", (cpu_us(pids[0]) - before[0]) / (double)count,
	       (cpu_us(pids[1]) - before[1]) / (double)count);
	for (unsigned i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return 0;
}
