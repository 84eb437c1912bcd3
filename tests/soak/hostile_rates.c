/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `hostile_rates FOLDER SECONDS`: measures the rates that an honest client gets from its mount. For
 * SECONDS each, four programs read 4 KiB at a time, two programs read 1 MiB at a time, and two
 * programs create and remove files. Prints the three rates per second. FOLDER has a file `data` of
 * at least 64 MiB.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES (64U << 20)

enum what { SMALL, LARGE, NAMES };

struct program {
	pthread_t thread;
	enum what what;
	unsigned number;
	double rate;
};

static const char *folder;
static double seconds;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void one_read(int fd, void *buf, size_t bytes, unsigned *seed)
{
	off_t at = (off_t)((unsigned)rand_r(seed) % (FILE_BYTES / bytes) * bytes);

	if (pread(fd, buf, bytes, at) != (ssize_t)bytes)
		die("read");
}

static void one_name(unsigned number)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/honest-%u", folder, number);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || close(fd) < 0 || unlink(path) < 0)
		die(path);
}

static void *run(void *user)
{
	struct program *p = user;
	double from = now(), until = from + seconds, at = from;
	unsigned seed = p->number, n = 0;
	size_t bytes = p->what == SMALL ? 4096 : 1U << 20;
	char path[512];
	void *buf;
	int fd;

	snprintf(path, sizeof(path), "%s/data", folder);
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0 || posix_memalign(&buf, 4096, bytes))
		die(path);
	for (; at < until; at = now(), n++) {
		if (p->what == NAMES)
			one_name(p->number);
		else
			one_read(fd, buf, bytes, &seed);
	}
	close(fd);
	free(buf);
	p->rate = n / (at - from);
	return NULL;
}

static double rate(enum what what, unsigned n)
{
	struct program programs[4];
	double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		programs[i] = (struct program){.what = what, .number = i + 1};
		if (pthread_create(&programs[i].thread, NULL, run, &programs[i]))
			die("pthread_create");
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(programs[i].thread, NULL);
		sum += programs[i].rate;
	}
	return sum;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "hostile_rates: FOLDER SECONDS\n");
		return 2;
	}
	folder = argv[1];
	seconds = atof(argv[2]);
	printf("%.1f", rate(SMALL, 4));
	printf(" %.2f", rate(LARGE, 2));
	printf(" %.2f\n", rate(NAMES, 2));
	return 0;
}
