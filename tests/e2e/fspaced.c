/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a file at a steady pace, 4 KiB past the page cache each time, and prints its cost in other
 * processes:
 *
 *	fspaced FILE A_SECOND COUNT PID...
 *
 * prints a line: the reads, then for each process the microseconds of processor time that it had
 * meanwhile. A read that its predecessor made late is not made up for, so that each comes to
 * processes that had time to rest, however busy the machine is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define BYTES 4096U
#define PIDS_MAX 16

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Of all its threads. */
static long long cpu_us(pid_t pid)
{
	struct timespec t;
	clockid_t clock;
	int r = clock_getcpuclockid(pid, &clock);

	if (r != 0) {
		errno = r;
		die("clock_getcpuclockid");
	}
	if (clock_gettime(clock, &t) != 0)
		die("clock_gettime");
	return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void pace(int file, long a_second, long count)
{
	const struct timespec every = {.tv_sec = a_second == 1,
				       .tv_nsec = a_second == 1 ? 0 : 1000000000L / a_second};
	const struct itimerspec its = {.it_interval = every, .it_value = every};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	char *buf = aligned_alloc(BYTES, BYTES);
	uint64_t gone;

	if (timer < 0 || !buf || timerfd_settime(timer, 0, &its, NULL) != 0)
		die("timer");
	for (long i = 0; i < count; i++) {
		if (poll(&(struct pollfd){.fd = timer, .events = POLLIN}, 1, 0) == 1 &&
		    read(timer, &gone, sizeof(gone)) != (ssize_t)sizeof(gone))
			die("timer"); /* expired during the last read */
		if (read(timer, &gone, sizeof(gone)) != (ssize_t)sizeof(gone))
			die("timer");
		if (pread(file, buf, BYTES, (off_t)(i % 256 * BYTES)) != (ssize_t)BYTES)
			die("pread");
	}
	free(buf);
	close(timer);
}

int main(int argc, char **argv)
{
	long long before[PIDS_MAX];
	int file, n = argc - 4;

	if (n < 0 || n > PIDS_MAX || atol(argv[2]) < 1 || atol(argv[3]) < 1) {
		fputs("usage: fspaced FILE A_SECOND COUNT PID...\n", stderr);
		return 2;
	}
	file = open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (file < 0)
		die(argv[1]);
	for (int i = 0; i < n; i++)
		before[i] = cpu_us((pid_t)atol(argv[4 + i]));
	pace(file, atol(argv[2]), atol(argv[3]));
	printf("%s", argv[3]);
	for (int i = 0; i < n; i++)
		printf(" %lld", cpu_us((pid_t)atol(argv[4 + i])) - before[i]);
	putchar('\n');
	return 0;
}
