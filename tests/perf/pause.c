/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long does an application wait at worst? Writes and reads 4 KiB blocks of one file past the
 *page cache, one at a time, and reports the longest time between two completions as JSON. Any error
 *or wrong content ends it with status 1.
 *
 *	pause [--seconds N] [--until-eof] FILE
 */
#include "netcfg/base/base.h"
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 4096
#define BLOCKS 256

static int block_check(const uint64_t *words, uint64_t stamp)
{
	for (size_t i = 0; i < BLOCK_BYTES / sizeof(*words); i++)
		if (words[i] != stamp)
			return -EIO;
	return 0;
}

/* One write and one read back of block n. */
static int block_turn(int fd, uint64_t *words, uint64_t n)
{
	off_t off = (off_t)(n % BLOCKS) * BLOCK_BYTES;

	for (size_t i = 0; i < BLOCK_BYTES / sizeof(*words); i++)
		words[i] = n;
	if (pwrite(fd, words, BLOCK_BYTES, off) != BLOCK_BYTES)
		return -errno;
	memset(words, 0, BLOCK_BYTES);
	if (pread(fd, words, BLOCK_BYTES, off) != BLOCK_BYTES)
		return -errno;
	return block_check(words, n);
}

static bool stdin_ended(void)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

struct pause_result {
	uint64_t turns, longest_ns, at_ns;
};

static int pause_measure(int fd, uint64_t duration_ns, bool until_eof, struct pause_result *ret)
{
	uint64_t start = clock_now_ns(), last = start, now;
	uint64_t *words = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
	int r = words ? 0 : -ENOMEM;

	while (!r) {
		r = block_turn(fd, words, ret->turns);
		now = clock_now_ns();
		if (now - last > ret->longest_ns) {
			ret->longest_ns = now - last;
			ret->at_ns = last - start;
		}
		last = now;
		ret->turns++;
		if (now - start >= duration_ns || (until_eof && stdin_ended()))
			break;
	}
	free(words);
	return r;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"seconds", required_argument, NULL, 's'},
						{"until-eof", no_argument, NULL, 'e'},
						{0}};
	struct pause_result result = {0};
	uint64_t duration_ns = 5 * NSEC_PER_SEC;
	bool until_eof = false;
	autoclose int fd = -1;
	int c, r;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			duration_ns = strtoull(optarg, NULL, 10) * NSEC_PER_SEC;
		else if (c == 'e')
			until_eof = true;
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: pause [--seconds N] [--until-eof] FILE\n");
		return 2;
	}
	fd = open(argv[optind], O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : pause_measure(fd, duration_ns, until_eof, &result);
	if (r) {
		fprintf(stderr, "pause: %s: %s\n", argv[optind], strerror(-r));
		return 1;
	}
	printf("{\"turns\": %llu, \"longest_ms\": %.2f, \"at_ms\": %.2f}\n",
	       (unsigned long long)result.turns, (double)result.longest_ns / NSEC_PER_MSEC,
	       (double)result.at_ns / NSEC_PER_MSEC);
	return 0;
}
