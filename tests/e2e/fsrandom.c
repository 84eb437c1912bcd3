/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random file operations, done alike on two folders, must have like results:
 *	fsrandom TESTED REFERENCE SEED OPERATIONS
 * Every call's result and error are compared at once, every file's content, size, mode, owner, link
 * count and attributes at intervals. Ends with 0, or with 1 and the operation that differed.
 */
#include "netcfg/base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define NAMES 12
#define DIRS 4
#define OPEN_MAX 16
#define FILE_MAX (3U << 20)
#define IO_MAX (512U << 10)

static int roots[2];
static int fds[2][OPEN_MAX];
static uint64_t state;
static unsigned op_number;
static char op_text[256];
static unsigned char *io_buf[2], *write_buf;

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13; /* xorshift64 */
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % below);
}

static void differ(const char *what, long a, long b)
{
	printf("operation %u, %s: %s: tested %ld, reference %ld\n", op_number, op_text, what, a, b);
	exit(1);
}

static void describe(const char *fmt, ...) PLENUM_PRINTF(1, 2);
static void describe(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(op_text, sizeof(op_text), fmt, args);
	va_end(args);
}

/* Results as one number: the return value, or the negative error. */
static void same(const long r[2])
{
	if (r[0] != r[1])
		differ("result", r[0], r[1]);
}

static long result(long r)
{
	return r < 0 ? -errno : r;
}

static void random_name(char *buf, size_t size)
{
	unsigned dir = rnd(DIRS + 2);

	if (dir < DIRS)
		snprintf(buf, size, "d%u/n%u", dir, rnd(NAMES));
	else
		snprintf(buf, size, "n%u", rnd(NAMES));
}

static void op_open(void)
{
	static const int flags[] = {O_RDWR,
				    O_RDWR | O_CREAT,
				    O_RDWR | O_CREAT | O_EXCL,
				    O_RDWR | O_CREAT | O_TRUNC,
				    O_RDWR | O_APPEND | O_CREAT,
				    O_RDWR | O_DIRECT};
	unsigned slot = rnd(OPEN_MAX), mode = 0600 | rnd(0200);
	int f = flags[rnd(ARRAY_SIZE(flags))] | O_CLOEXEC | O_NOFOLLOW;
	long r[2];
	char name[64];

	random_name(name, sizeof(name));
	describe("open %s %#x", name, f);
	for (unsigned i = 0; i < 2; i++) {
		if (fds[i][slot] >= 0)
			close(fds[i][slot]);
		fds[i][slot] = openat(roots[i], name, f, mode);
		r[i] = fds[i][slot] < 0 ? -errno : 0;
	}
	same(r);
}

static bool is_direct(int fd)
{
	return fcntl(fd, F_GETFL) & O_DIRECT;
}

static void op_write(void)
{
	unsigned slot = rnd(OPEN_MAX);
	uint32_t len = rnd(4) ? rnd(20000) : rnd(IO_MAX), off = rnd(FILE_MAX);
	long r[2];

	if (fds[0][slot] < 0)
		return;
	if (is_direct(fds[0][slot])) {
		len = (len + 4095) & ~4095U;
		off &= ~4095U;
	}
	for (uint32_t i = 0; i < len; i++)
		write_buf[i] = (unsigned char)(i * 7 + op_number + (i >> 8));
	describe("write slot %u off %u len %u", slot, off, len);
	for (unsigned i = 0; i < 2; i++)
		r[i] = result(pwrite(fds[i][slot], write_buf, len, off));
	same(r);
}

static void op_read(void)
{
	unsigned slot = rnd(OPEN_MAX);
	uint32_t len = rnd(3) ? rnd(30000) : rnd(IO_MAX), off = rnd(FILE_MAX);
	long r[2];

	if (fds[0][slot] < 0)
		return;
	if (is_direct(fds[0][slot])) {
		len = (len + 4095) & ~4095U;
		off &= ~4095U;
	}
	describe("read slot %u off %u len %u", slot, off, len);
	for (unsigned i = 0; i < 2; i++)
		r[i] = result(pread(fds[i][slot], io_buf[i], len, off));
	same(r);
	if (r[0] > 0 && memcmp(io_buf[0], io_buf[1], (size_t)r[0]) != 0)
		differ("data", 0, 0);
}

static void op_truncate(void)
{
	unsigned slot = rnd(OPEN_MAX);
	off_t size = rnd(FILE_MAX);
	long r[2];

	if (fds[0][slot] < 0)
		return;
	describe("ftruncate slot %u to %ld", slot, (long)size);
	for (unsigned i = 0; i < 2; i++)
		r[i] = result(ftruncate(fds[i][slot], size));
	same(r);
}

static void op_fallocate(void)
{
	static const int modes[] = {0, FALLOC_FL_KEEP_SIZE,
				    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE};
	unsigned slot = rnd(OPEN_MAX);
	int mode = modes[rnd(ARRAY_SIZE(modes))];
	off_t off = rnd(FILE_MAX), len = 1 + rnd(IO_MAX);
	long r[2];

	if (fds[0][slot] < 0)
		return;
	describe("fallocate slot %u mode %d off %ld len %ld", slot, mode, (long)off, (long)len);
	for (unsigned i = 0; i < 2; i++)
		r[i] = result(fallocate(fds[i][slot], mode, off, len));
	same(r);
}

static void op_fstat(void)
{
	unsigned slot = rnd(OPEN_MAX);
	struct stat st[2];
	long r[2];

	if (fds[0][slot] < 0)
		return;
	describe("fstat slot %u", slot);
	for (unsigned i = 0; i < 2; i++)
		r[i] = result(fstat(fds[i][slot], &st[i]));
	same(r);
	if (st[0].st_size != st[1].st_size)
		differ("size", st[0].st_size, st[1].st_size);
	if (st[0].st_nlink != st[1].st_nlink)
		differ("links", (long)st[0].st_nlink, (long)st[1].st_nlink);
	if (st[0].st_mode != st[1].st_mode)
		differ("mode", st[0].st_mode, st[1].st_mode);
}

static void op_fsync(void)
{
	unsigned slot = rnd(OPEN_MAX);
	long r[2];

	if (fds[0][slot] < 0 || rnd(8))
		return;
	describe("fsync slot %u", slot);
	for (unsigned i = 0; i < 2; i++)
		r[i] = result(fsync(fds[i][slot]));
	same(r);
}

static void op_two_names(void)
{
	unsigned which = rnd(5);
	char a[64], b[64];
	long r[2];

	random_name(a, sizeof(a));
	random_name(b, sizeof(b));
	describe("two-name operation %u on %s and %s", which, a, b);
	for (unsigned i = 0; i < 2; i++) {
		if (which == 0)
			r[i] = linkat(roots[i], a, roots[i], b, 0);
		else if (which == 1)
			r[i] = symlinkat(a, roots[i], b);
		else
			r[i] = renameat2(roots[i], a, roots[i], b,
					 which == 3   ? RENAME_NOREPLACE
					 : which == 4 ? RENAME_EXCHANGE
						      : 0);
		r[i] = result(r[i]);
	}
	same(r);
}

static void op_one_name(void)
{
	unsigned which = rnd(8), mode = rnd(0777);
	struct timespec ts[2] = {{.tv_sec = rnd(1 << 30)}, {.tv_sec = rnd(1 << 30)}};
	char a[64];
	long r[2];

	random_name(a, sizeof(a));
	describe("one-name operation %u on %s", which, a);
	for (unsigned i = 0; i < 2; i++) {
		if (which < 2)
			r[i] = unlinkat(roots[i], a, 0);
		else if (which == 2)
			r[i] = mkdirat(roots[i], a, mode);
		else if (which == 3)
			r[i] = unlinkat(roots[i], a, AT_REMOVEDIR);
		else if (which == 4)
			r[i] = fchmodat(roots[i], a, mode, 0);
		else if (which == 5)
			r[i] = fchownat(roots[i], a, mode, mode + 1, AT_SYMLINK_NOFOLLOW);
		else if (which == 6)
			r[i] = utimensat(roots[i], a, ts, AT_SYMLINK_NOFOLLOW);
		else
			r[i] = mknodat(roots[i], a, S_IFIFO | 0600, 0);
		r[i] = result(r[i]);
	}
	same(r);
}

static void op_xattr(void)
{
	unsigned slot = rnd(OPEN_MAX), which = rnd(3);
	size_t len = rnd(200);
	char name[32], value[2][256];
	long r[2];

	if (fds[0][slot] < 0)
		return;
	snprintf(name, sizeof(name), "user.x%u", rnd(4));
	describe("attribute operation %u of %s on slot %u", which, name, slot);
	memset(value, (int)op_number, sizeof(value));
	for (unsigned i = 0; i < 2; i++) {
		if (which == 0)
			r[i] = fsetxattr(fds[i][slot], name, value[i], len, 0);
		else if (which == 1)
			r[i] = fremovexattr(fds[i][slot], name);
		else
			r[i] = fgetxattr(fds[i][slot], name, value[i], sizeof(value[i]));
		r[i] = result(r[i]);
	}
	same(r);
	if (memcmp(value[0], value[1], sizeof(value[0])) != 0)
		differ("value", 0, 0);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static unsigned list(int dir, char **ret, unsigned max)
{
	DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *e;
	unsigned n = 0;

	if (!d) {
		perror("opendir");
		exit(1);
	}
	while ((e = readdir(d)) && n < max)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			ret[n++] = strdup(e->d_name);
	closedir(d);
	qsort(ret, n, sizeof(*ret), by_name);
	return n;
}

static void compare_data(int a, int b, const char *name)
{
	for (off_t off = 0;; off += IO_MAX) {
		ssize_t n = pread(a, io_buf[0], IO_MAX, off), m = pread(b, io_buf[1], IO_MAX, off);

		if (n != m)
			differ(name, n, m);
		if (n <= 0)
			return;
		if (memcmp(io_buf[0], io_buf[1], (size_t)n) != 0)
			differ(name, off, off);
	}
}

static void compare_dirs(const int dirs[2]);

static void compare_entry(const int dirs[2], const char *name)
{
	struct stat st[2];
	int fd[2];

	for (unsigned i = 0; i < 2; i++)
		if (fstatat(dirs[i], name, &st[i], AT_SYMLINK_NOFOLLOW) < 0)
			differ(name, i, errno);
	if (st[0].st_mode != st[1].st_mode || st[0].st_uid != st[1].st_uid ||
	    st[0].st_gid != st[1].st_gid)
		differ(name, st[0].st_mode, st[1].st_mode);
	if (S_ISREG(st[0].st_mode) &&
	    (st[0].st_size != st[1].st_size || st[0].st_nlink != st[1].st_nlink))
		differ(name, st[0].st_size, st[1].st_size);
	if (S_ISLNK(st[0].st_mode)) {
		ssize_t n = readlinkat(dirs[0], name, (char *)io_buf[0], IO_MAX);
		ssize_t m = readlinkat(dirs[1], name, (char *)io_buf[1], IO_MAX);

		if (n != m || memcmp(io_buf[0], io_buf[1], (size_t)n) != 0)
			differ(name, n, m);
	}
	if (!S_ISREG(st[0].st_mode) && !S_ISDIR(st[0].st_mode))
		return;
	for (unsigned i = 0; i < 2; i++) {
		fd[i] = openat(dirs[i], name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd[i] < 0)
			differ(name, i, errno);
	}
	if (S_ISDIR(st[0].st_mode))
		compare_dirs(fd);
	else
		compare_data(fd[0], fd[1], name);
	close(fd[0]);
	close(fd[1]);
}

static void compare_dirs(const int dirs[2])
{
	char *names[2][64];
	unsigned n[2];

	for (unsigned i = 0; i < 2; i++)
		n[i] = list(dirs[i], names[i], ARRAY_SIZE(names[i]));
	if (n[0] != n[1])
		differ("number of entries", n[0], n[1]);
	for (unsigned k = 0; k < n[0]; k++) {
		if (strcmp(names[0][k], names[1][k]) != 0)
			differ(names[0][k], k, k);
		compare_entry(dirs, names[0][k]);
		free(names[0][k]);
		free(names[1][k]);
	}
}

static void (*const operations[])(void) = {
	op_open,     op_open,  op_open,	 op_write,     op_write,     op_write, op_write,
	op_read,     op_read,  op_read,	 op_truncate,  op_fallocate, op_fstat, op_fsync,
	op_one_name, op_xattr, op_fstat, op_two_names, op_one_name,
};

int main(int argc, char **argv)
{
	unsigned n_ops;

	if (argc != 5) {
		fputs("usage: fsrandom TESTED REFERENCE SEED OPERATIONS\n", stderr);
		return 64;
	}
	umask(0);
	state = strtoull(argv[3], NULL, 0) * 2654435769U + 88172645463325252ULL;
	n_ops = (unsigned)strtoul(argv[4], NULL, 0);
	write_buf = aligned_alloc(4096, IO_MAX + 4096);
	for (unsigned i = 0; i < 2; i++) {
		io_buf[i] = aligned_alloc(4096, IO_MAX + 4096);
		roots[i] = open(argv[1 + i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (roots[i] < 0 || !io_buf[i] || !write_buf) {
			perror(argv[1 + i]);
			return 1;
		}
		for (unsigned d = 0; d < DIRS; d++) {
			char name[16];

			snprintf(name, sizeof(name), "d%u", d);
			mkdirat(roots[i], name, 0755);
		}
		memset(fds[i], -1, sizeof(fds[i]));
	}
	for (op_number = 1; op_number <= n_ops; op_number++) {
		operations[rnd(ARRAY_SIZE(operations))]();
		if (op_number % 1000 == 0 || op_number == n_ops) {
			describe("comparison");
			compare_dirs(roots);
		}
	}
	printf("%u operations, no difference\n", n_ops);
	return 0;
}
