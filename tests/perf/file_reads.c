/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of reading a file by each of the kernel's interfaces: preadv, or io_uring with a plain
 * descriptor and buffer, with a registered file, a registered buffer, or both; and with an
 * O_NONBLOCK file, which io_uring reads synchronously from memory. Each with a warm page cache, as
 * for a file server, and with O_DIRECT. A bare loop without Plenum's code; the ring is configured
 * as in the server.
 *
 * Rounds of all variants are interleaved; the output is medians of processor time, and their ratio
 * to the plain ring. Time of kernel worker threads is excluded, except for the hand-over. Also
 * measures registration, which pins memory.
 *
 *	file_reads FILE [--rounds N] [--ms N]		FILE: is made, and removed
 */
#include "netcfg/base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define FILE_BYTES (64U << 20)
#define FILES 64U /* descriptors of the file: each read uses the next one */
#define DEPTH_MAX 16U
#define ROUNDS_MAX 64U
#define SLOT_BYTES (1U << 20)
#define REGISTER_AT_A_TIME 1024U

enum { AT_ONCE = 1, FIXED_FILE = 2, FIXED_BUFFER = 4, NONBLOCK = 8 };

static const struct {
	const char *name;
	unsigned flags;
} ways[] = {
	{"ring", 0},
	{"preadv", AT_ONCE},
	{"ring, O_NONBLOCK", NONBLOCK},
	{"ring, file registered", FIXED_FILE},
	{"ring, buffer registered", FIXED_BUFFER},
	{"ring, both", FIXED_FILE | FIXED_BUFFER},
};

static const struct {
	const char *name;
	size_t bytes;
	unsigned depth; /* reads submitted together */
	bool direct;
} loads[] = {
	{"4 KiB x 1", 4096, 1, false},		{"4 KiB x 16", 4096, 16, false},
	{"1 MiB x 1", 1 << 20, 1, false},	{"4 KiB x 1, direct", 4096, 1, true},
	{"4 KiB x 16, direct", 4096, 16, true},
};

static struct io_uring ring;
static uint8_t *memory;	  /* DEPTH_MAX slots */
static int fds[3][FILES]; /* [1]: O_DIRECT; [2]: O_NONBLOCK */
static uint32_t at;	  /* position of the next read */

static void die(const char *what)
{
	fprintf(stderr, "file_reads: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long ring_register(unsigned op, const void *arg, unsigned n)
{
	return syscall(SYS_io_uring_register, ring.ring_fd, op, arg, n);
}

/* ------------------------------------------------------------------ what there is */

static void file_make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memset(memory, 'x', SLOT_BYTES);
	for (size_t n = 0; fd >= 0 && n < FILE_BYTES; n += SLOT_BYTES)
		if (pwrite(fd, memory, SLOT_BYTES, (off_t)n) != (ssize_t)SLOT_BYTES)
			die(path);
	if (fd < 0 || fsync(fd) < 0)
		die(path);
	close(fd);
	for (unsigned i = 0; i < FILES; i++) {
		fds[0][i] = open(path, O_RDONLY | O_CLOEXEC);
		fds[1][i] =
			open(path, O_RDONLY | O_DIRECT | O_CLOEXEC); /* tmpfs may not support it */
		fds[2][i] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fds[0][i] < 0 || fds[2][i] < 0)
			die(path);
	}
	unlink(path);
}

static void ring_make(void)
{
	struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER |
					     IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
					     IORING_SETUP_R_DISABLED};
	struct io_uring_restriction allowed[] = {
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_READ},
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_READ_FIXED},
		{.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED, .sqe_flags = IOSQE_FIXED_FILE},
		{.opcode = IORING_RESTRICTION_REGISTER_OP,
		 .register_op = IORING_REGISTER_FILES_UPDATE},
		{.opcode = IORING_RESTRICTION_REGISTER_OP,
		 .register_op = IORING_UNREGISTER_BUFFERS},
		{.opcode = IORING_RESTRICTION_REGISTER_OP, .register_op = IORING_REGISTER_BUFFERS},
	};
	struct iovec slots[DEPTH_MAX];
	int all[3 * FILES];

	for (unsigned i = 0; i < DEPTH_MAX; i++)
		slots[i] = (struct iovec){memory + (size_t)i * SLOT_BYTES, SLOT_BYTES};
	memcpy(all, fds, sizeof(all));
	errno = -io_uring_queue_init_params(64, &ring, &p);
	if (errno || ring_register(IORING_REGISTER_FILES, all, 3 * FILES) < 0 ||
	    ring_register(IORING_REGISTER_BUFFERS, slots, DEPTH_MAX) < 0 ||
	    ring_register(IORING_REGISTER_RESTRICTIONS, allowed, ARRAY_SIZE(allowed)) < 0 ||
	    ring_register(IORING_REGISTER_ENABLE_RINGS, NULL, 0) < 0)
		die("io_uring");
}

/* ------------------------------------------------------------------ reading */

static void read_at_once(unsigned load, unsigned i, off_t offset)
{
	struct iovec iov = {memory + (size_t)i * SLOT_BYTES, loads[load].bytes};

	if (preadv(fds[loads[load].direct][at % FILES], &iov, 1, offset) != (ssize_t)iov.iov_len)
		die("preadv");
}

static void read_start(unsigned load, unsigned way, unsigned i, off_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	unsigned flags = ways[way].flags, file = at % FILES,
		 which = flags & NONBLOCK ? 2 : loads[load].direct;
	int fd = flags & FIXED_FILE ? (int)(which * FILES + file) : fds[which][file];
	uint8_t *to = memory + (size_t)i * SLOT_BYTES;
	unsigned n = (unsigned)loads[load].bytes;

	if (flags & FIXED_BUFFER)
		io_uring_prep_read_fixed(sqe, fd, to, n, (uint64_t)offset, (int)i);
	else
		io_uring_prep_read(sqe, fd, to, n, (uint64_t)offset);
	sqe->flags |= flags & FIXED_FILE ? IOSQE_FIXED_FILE : 0;
}

static void reads_do(unsigned load, unsigned way)
{
	struct io_uring_cqe *cqe;
	unsigned depth = loads[load].depth;
	int n = (int)loads[load].bytes;

	for (unsigned i = 0; i < depth; i++, at += 7919U) {
		off_t offset = (off_t)(at % (FILE_BYTES / loads[load].bytes) * loads[load].bytes);

		if (ways[way].flags & AT_ONCE)
			read_at_once(load, i, offset);
		else
			read_start(load, way, i, offset);
	}
	if (ways[way].flags & AT_ONCE)
		return;
	if (io_uring_submit_and_wait(&ring, depth) != (int)depth)
		die("submit");
	for (unsigned i = 0; i < depth; i++) {
		if (io_uring_wait_cqe(&ring, &cqe) < 0 || cqe->res != n)
			die("a read");
		io_uring_cqe_seen(&ring, cqe);
	}
}

/* Processor time, which other processes on a busy machine do not affect. */
static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds of processor time per read. */
static double measure(unsigned load, unsigned way, uint64_t ms)
{
	uint64_t start = clock_now_ns(), spent = spent_ns(), n = 0;

	while (clock_now_ns() - start < ms * NSEC_PER_MSEC)
		for (unsigned i = 0; i < 16; i++, n += loads[load].depth)
			reads_do(load, way);
	return (double)(spent_ns() - spent) / (double)n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(v[0]), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void load_run(unsigned load, unsigned rounds, unsigned ms)
{
	double ns[ARRAY_SIZE(ways)][ROUNDS_MAX], more[ARRAY_SIZE(ways)][ROUNDS_MAX];

	for (unsigned way = 0; way < ARRAY_SIZE(ways); way++)
		(void)measure(load, way, 50); /* warm up */
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned way = 0; way < ARRAY_SIZE(ways); way++) {
			ns[way][r] = measure(load, way, ms);
			more[way][r] = ns[way][r] / ns[0][r];
		}
	for (unsigned way = 0; way < ARRAY_SIZE(ways); way++)
		printf("%-20s %-24s %10.0f %8.3f x\n", loads[load].name, ways[way].name,
		       median(ns[way], rounds), median(more[way], rounds));
}

/* ------------------------------------------------------------------ registering */

/* The cost of registering and unregistering a file in the ring's table. */
static void slots_run(void)
{
	struct io_uring_files_update u = {.offset = 0};
	uint64_t start = spent_ns();
	unsigned n = 20000;

	for (unsigned i = 0; i < n; i++) {
		int fd = i & 1 ? -1 : fds[0][i % FILES];

		u.fds = (uintptr_t)&fd;
		if (ring_register(IORING_REGISTER_FILES_UPDATE, &u, 1) != 1)
			die("a file's place");
	}
	printf("%-45s %10.0f ns\n", "a file's place taken and given back",
	       (double)(spent_ns() - start) / n * 2);
}

/* Memory of this process in MiB, by the kernel's field name. */
static double status_mib(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			kib = strtoul(line + strlen(name), NULL, 10);
	if (!f)
		die("/proc/self/status");
	fclose(f);
	return (double)kib / 1024;
}

/* Untouched memory as in the server's pools, released as they do. */
static void memory_run(void)
{
	size_t bytes = 400U << 20, each = bytes / REGISTER_AT_A_TIME;
	uint8_t *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct iovec slots[REGISTER_AT_A_TIME];
	struct io_uring_cqe *cqe;
	uint64_t start;

	if (arena == MAP_FAILED)
		die("mmap");
	for (unsigned i = 0; i < REGISTER_AT_A_TIME; i++)
		slots[i] = (struct iovec){arena + i * each, each};
	start = spent_ns();
	if (ring_register(IORING_UNREGISTER_BUFFERS, NULL, 0) < 0 ||
	    ring_register(IORING_REGISTER_BUFFERS, slots, REGISTER_AT_A_TIME) < 0)
		die("registering the memory");
	printf("%-45s %10.0f MiB pinned, after %.0f ms\n",
	       "400 MiB registered, none touched:", status_mib("VmPin:"),
	       (double)(spent_ns() - start) / (double)NSEC_PER_MSEC);
	if (madvise(arena, bytes, MADV_REMOVE) < 0)
		die("madvise");
	io_uring_prep_read_fixed(io_uring_get_sqe(&ring), fds[0][0], arena, 4096, 0, 0);
	if (io_uring_submit_and_wait(&ring, 1) != 1 || io_uring_wait_cqe(&ring, &cqe) < 0 ||
	    cqe->res != 4096)
		die("a read");
	printf("%-45s %10.0f MiB pinned; its page %s\n",
	       "the same, given back:", status_mib("VmPin:"),
	       arena[0] == 'x' ? "is present" : "is not present");
}

int main(int argc, char **argv)
{
	unsigned rounds = 11, ms = 100;

	for (int i = 2; i + 1 < argc; i += 2)
		*(strcmp(argv[i], "--rounds") == 0 ? &rounds : &ms) =
			(unsigned)strtoul(argv[i + 1], NULL, 10);
	if (argc < 2 || argc % 2 || rounds < 1 || rounds > ROUNDS_MAX || ms < 1) {
		fprintf(stderr, "file_reads FILE [--rounds N, up to 64] [--ms N]\n");
		return 2;
	}
	memory = mmap(NULL, (size_t)DEPTH_MAX * SLOT_BYTES, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	file_make(argv[1]);
	ring_make();
	printf("%-20s %-24s %10s %10s\n", "reads", "by", "ns a read", "as long");
	for (unsigned load = 0; load < ARRAY_SIZE(loads); load++)
		if (!loads[load].direct || fds[1][0] >= 0)
			load_run(load, rounds, ms);
	slots_run();
	memory_run();
	return 0;
}
