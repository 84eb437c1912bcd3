/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the longest time an application waits. Writes and reads 4 KiB blocks of one file past
 * the page cache, one at a time, or sends them to an echo server and back by TCP over several paths
 * (MPTCP, RFC 8684), and reports the longest time between two completions as JSON. Exits with
 * status 1 on an error or wrong content.
 *
 *	pause [--seconds N] [--until-eof] FILE
 *	pause [--seconds N] [--until-eof] --mptcp ADDRESS PORT
 *	pause --echo ADDRESS PORT
 */
#include "netcfg/base/base.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define ECHO_WAIT_S 20 /* a connection silent for so long is closed */
#define BLOCK_BYTES 4096
#define BLOCKS 256

static int block_check(const uint64_t *words, uint64_t stamp)
{
	for (size_t i = 0; i < BLOCK_BYTES / sizeof(*words); i++)
		if (words[i] != stamp)
			return -EIO;
	return 0;
}

/* Writes block n and reads it back. */
static int block_turn(int fd, uint64_t *words, uint64_t n)
{
	off_t off = (off_t)(n % BLOCKS) * BLOCK_BYTES;

	if (pwrite(fd, words, BLOCK_BYTES, off) != BLOCK_BYTES)
		return -errno;
	memset(words, 0, BLOCK_BYTES);
	return pread(fd, words, BLOCK_BYTES, off) == BLOCK_BYTES ? 0 : -errno;
}

/* The same with an echo server. */
static int echo_turn(int fd, uint64_t *words, uint64_t n)
{
	(void)n;
	if (send(fd, words, BLOCK_BYTES, MSG_NOSIGNAL) != BLOCK_BYTES)
		return -EIO;
	memset(words, 0, BLOCK_BYTES);
	return recv(fd, words, BLOCK_BYTES, MSG_WAITALL) == BLOCK_BYTES ? 0 : -ETIMEDOUT;
}

/* A socket; negative errno. */
static int echo_socket(const char *address, const char *port, struct sockaddr_in *ret)
{
	const struct timeval wait = {.tv_sec = ECHO_WAIT_S};
	const int on = 1;
	int fd;

	*ret = (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
	if (inet_pton(AF_INET, address, &ret->sin_addr) != 1)
		return -EINVAL;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static int echo_connect(const char *address, const char *port)
{
	struct sockaddr_in to;
	int fd = echo_socket(address, port, &to);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to))) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

/* Serves one connection after the other; returns only on an error. */
static int echo_serve(const char *address, const char *port)
{
	char block[BLOCK_BYTES];
	struct sockaddr_in at;
	autoclose int fd = echo_socket(address, port, &at);

	if (fd < 0)
		return fd;
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) || listen(fd, 8))
		return -errno;
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		autoclose int with =
			poll(&p, 1, -1) > 0 ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;

		while (with >= 0 && recv(with, block, sizeof(block), MSG_WAITALL) == BLOCK_BYTES &&
		       send(with, block, sizeof(block), MSG_NOSIGNAL) == BLOCK_BYTES)
			;
	}
}

static bool stdin_ended(void)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

struct pause_result {
	uint64_t turns, longest_ns, at_ns;
};

static int pause_measure(int fd, int (*turn)(int fd, uint64_t *words, uint64_t n),
			 uint64_t duration_ns, bool until_eof, struct pause_result *ret)
{
	uint64_t start = clock_now_ns(), last = start, now;
	uint64_t *words = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
	int r = words ? 0 : -ENOMEM;

	while (!r) {
		for (size_t i = 0; i < BLOCK_BYTES / sizeof(*words); i++)
			words[i] = ret->turns;
		r = turn(fd, words, ret->turns);
		r = r ? r : block_check(words, ret->turns);
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
						{"mptcp", no_argument, NULL, 'm'},
						{"echo", no_argument, NULL, 'x'},
						{0}};
	struct pause_result result = {0};
	uint64_t duration_ns = 5 * NSEC_PER_SEC;
	bool until_eof = false, mptcp = false, echo = false;
	autoclose int fd = -1;
	int c, r;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return 2;
		if (c == 's')
			duration_ns = strtoull(optarg, NULL, 10) * NSEC_PER_SEC;
		until_eof |= c == 'e';
		mptcp |= c == 'm';
		echo |= c == 'x';
	}
	if (optind + (mptcp || echo ? 2 : 1) != argc) {
		fprintf(stderr, "usage: pause [--seconds N] [--until-eof] FILE | --mptcp ADDRESS "
				"PORT | --echo ADDRESS PORT\n");
		return 2;
	}
	if (!echo && !mptcp) {
		fd = open(argv[optind], O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
		r = fd < 0 ? -errno : 0;
	} else {
		fd = echo ? echo_serve(argv[optind], argv[optind + 1])
			  : echo_connect(argv[optind], argv[optind + 1]);
		r = MIN_OF(fd, 0);
	}
	r = r ? r
	      : pause_measure(fd, mptcp ? echo_turn : block_turn, duration_ns, until_eof, &result);
	if (r) {
		fprintf(stderr, "pause: %s: %s\n", argv[optind], strerror(-r));
		return 1;
	}
	printf("{\"turns\": %llu, \"longest_ms\": %.2f, \"at_ms\": %.2f}\n",
	       (unsigned long long)result.turns, (double)result.longest_ns / NSEC_PER_MSEC,
	       (double)result.at_ns / NSEC_PER_MSEC);
	return 0;
}
