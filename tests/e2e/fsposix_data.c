/* SPDX-License-Identifier: BSD-3-Clause */
/* Data, times, locks and mappings. */
#include "tests/e2e/fsposix.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

void check_read_write(void)
{
	char buf[16] = "";
	int fd = make_file("f", "hello world");

	CHECK(pread(fd, buf, 5, 6) == 5 && memcmp(buf, "world", 5) == 0);
	CHECK(pread(fd, buf, 5, 11) == 0);
	CHECK(pwrite(fd, "X", 1, 20) == 1);
	CHECK(st_of("f").st_size == 21);
	CHECK(pread(fd, buf, 10, 11) == 10 && memcmp(buf, "\0\0\0\0\0\0\0\0\0X", 10) == 0);
	close(fd);
	fd = open("f", O_WRONLY | O_CLOEXEC);
	CHECK_ERRNO(read(fd, buf, 1), EBADF);
	close(fd);
}

void check_large_write(void)
{
	size_t size = 5 * 1024 * 1024 + 333;
	unsigned char *a = malloc(size), *b = malloc(size);
	int fd = make_file("f", "");

	CHECK(a && b);
	for (size_t i = 0; i < size; i++)
		a[i] = (unsigned char)(i * 2654435761U >> 13);
	CHECK(pwrite(fd, a, size, 7) == (ssize_t)size);
	CHECK(fsync(fd) == 0);
	CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	CHECK(pread(fd, b, size, 7) == (ssize_t)size);
	CHECK(memcmp(a, b, size) == 0);
	close(fd);
	free(a);
	free(b);
}

void check_direct_io(void)
{
	size_t size = 2 * 1024 * 1024;
	unsigned char *a = aligned_alloc(4096, size), *b = aligned_alloc(4096, size);
	int fd = open("f", O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0644);

	CHECK(a && b && fd >= 0);
	for (size_t i = 0; i < size; i++)
		a[i] = (unsigned char)(i * 40503U >> 5);
	CHECK(pwrite(fd, a, size, 4096) == (ssize_t)size);
	CHECK(pread(fd, b, size, 4096) == (ssize_t)size);
	CHECK(memcmp(a, b, size) == 0);
	CHECK(pread(fd, b, 4096, 4096 + (off_t)size) == 0);
	close(fd);
	free(a);
	free(b);
}

/* One file that is open by O_DIRECT and without, in either order: each reads, and has mapped,
 * the other's writes. */
static void direct_beside(int first, int second)
{
	const size_t size = 16 * 4096;
	uint8_t *a = aligned_alloc(4096, size), *b = aligned_alloc(4096, size), *map[2];
	int fds[] = {open("f", O_RDWR | O_CREAT | O_CLOEXEC | first, 0644),
		     open("f", O_RDWR | O_CLOEXEC | second)};

	CHECK(a && b && fds[0] >= 0 && fds[1] >= 0);
	CHECK(ftruncate(fds[0], (off_t)size) == 0);
	for (unsigned i = 0; i < 2; i++) {
		map[i] = mmap(NULL, size, PROT_READ, MAP_SHARED, fds[i], 0);
		CHECK(map[i] != MAP_FAILED && map[i][0] == 0);
	}
	for (unsigned turn = 1; turn < 9; turn++) {
		memset(a, (int)turn, size);
		CHECK(pwrite(fds[turn % 2], a, size / 2, (off_t)(turn % 3) * 4096) ==
		      (ssize_t)size / 2);
		for (unsigned i = 0; i < 2; i++) {
			CHECK(pread(fds[i], b, size / 2, (off_t)(turn % 3) * 4096) ==
			      (ssize_t)size / 2);
			CHECK(memcmp(a, b, size / 2) == 0);
			CHECK(memcmp(a, map[i] + turn % 3 * 4096, size / 2) == 0);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		munmap(map[i], size);
		close(fds[i]);
	}
	free(a);
	free(b);
	CHECK(unlink("f") == 0);
}

void check_direct_and_cached(void)
{
	direct_beside(O_DIRECT, 0);
	direct_beside(0, O_DIRECT);
	direct_beside(O_DIRECT, O_DIRECT);
}

void check_append(void)
{
	int a = open("f", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
	int b = open("f", O_WRONLY | O_APPEND | O_CLOEXEC);

	CHECK(a >= 0 && b >= 0);
	for (int i = 0; i < 4; i++) {
		CHECK(write(a, "a", 1) == 1);
		CHECK(write(b, "b", 1) == 1);
	}
	CHECK(lseek(a, 0, SEEK_SET) == 0 && write(a, "c", 1) == 1);
	expect_text("f", "ababababc");
	close(a);
	close(b);
}

void check_truncate(void)
{
	int fd = make_file("f", "0123456789");
	char buf[8];

	CHECK(truncate("f", 4) == 0);
	expect_text("f", "0123");
	CHECK(ftruncate(fd, 6) == 0);
	CHECK(pread(fd, buf, 8, 0) == 6 && memcmp(buf, "0123\0\0", 6) == 0);
	CHECK(ftruncate(fd, 0) == 0 && st_of("f").st_size == 0);
	CHECK_ERRNO(ftruncate(fd, -1), EINVAL);
	close(fd);
	make_file("g", "text");
	fd = open("g", O_WRONLY | O_TRUNC | O_CLOEXEC);
	CHECK(fd >= 0 && st_of("g").st_size == 0);
	close(fd);
	CHECK_ERRNO(truncate(".", 0), EISDIR);
}

void check_open_unlinked(void)
{
	struct stat st;
	char buf[8] = "", path[32];
	int fd = make_file("f", "alive"), again;

	CHECK(unlink("f") == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	CHECK(again >= 0);
	close(again);
	CHECK(pread(fd, buf, 8, 0) == 5 && strcmp(buf, "alive") == 0);
	CHECK(pwrite(fd, "ALIVE!", 6, 0) == 6);
	CHECK(fstat(fd, &st) == 0 && st.st_nlink == 0 && st.st_size == 6);
	CHECK(fchmod(fd, 0600) == 0 && ftruncate(fd, 2) == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 2 && (st.st_mode & 07777) == 0600);
	close(fd);
	CHECK_ERRNO(lstat("f", &st), ENOENT);
}

void check_times(void)
{
	struct timespec ts[2] = {{.tv_sec = 1000000000, .tv_nsec = 123456789},
				 {.tv_sec = 1200000000, .tv_nsec = 987654321}};
	struct stat st;
	int fd = make_file("f", "x");

	CHECK(utimensat(AT_FDCWD, "f", ts, 0) == 0);
	st = st_of("f");
	CHECK(st.st_atim.tv_sec == 1000000000 && st.st_atim.tv_nsec == 123456789);
	CHECK(st.st_mtim.tv_sec == 1200000000 && st.st_mtim.tv_nsec == 987654321);
	ts[0].tv_nsec = UTIME_OMIT;
	ts[1].tv_nsec = UTIME_NOW;
	CHECK(futimens(fd, ts) == 0);
	st = st_of("f");
	CHECK(st.st_atim.tv_sec == 1000000000 && st.st_mtim.tv_sec > 1600000000);
	ts[1] = (struct timespec){.tv_sec = 5};
	CHECK(futimens(fd, ts) == 0 && st_of("f").st_mtim.tv_sec == 5);
	CHECK(pwrite(fd, "y", 1, 0) == 1);
	CHECK(st_of("f").st_mtim.tv_sec > 1600000000);
	CHECK(symlink("f", "l") == 0);
	ts[0] = (struct timespec){.tv_sec = 7};
	ts[1] = (struct timespec){.tv_sec = 8};
	CHECK(utimensat(AT_FDCWD, "l", ts, AT_SYMLINK_NOFOLLOW) == 0);
	CHECK(st_of("l").st_mtim.tv_sec == 8 && st_of("f").st_mtim.tv_sec != 8);
	close(fd);
}

void check_sparse(void)
{
	struct stat st;
	char c;
	int fd = make_file("f", "");

	CHECK(pwrite(fd, "x", 1, 100 << 20) == 1);
	CHECK(fsync(fd) == 0 && fstat(fd, &st) == 0);
	CHECK(st.st_size == (100 << 20) + 1 && st.st_blocks < 1024);
	CHECK(lseek(fd, 0, SEEK_DATA) > 0 && lseek(fd, 0, SEEK_DATA) <= 100 << 20);
	CHECK(lseek(fd, 0, SEEK_HOLE) == 0);
	CHECK_ERRNO(lseek(fd, 200 << 20, SEEK_DATA), ENXIO);
	CHECK(pread(fd, &c, 1, 50 << 20) == 1 && c == 0);
	close(fd);
}

void check_fallocate(void)
{
	struct stat st;
	char buf[4];
	int fd = make_file("f", "abcdefgh");

	CHECK(fallocate(fd, 0, 0, 1 << 20) == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 1 << 20 && st.st_blocks >= 2048);
	CHECK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 1 << 20, 1 << 20) == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 1 << 20);
	CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 4) == 0);
	CHECK(pread(fd, buf, 4, 0) == 4 && memcmp(buf, "ab\0\0", 4) == 0);
	close(fd);
}

void check_mmap(void)
{
	int fd = make_file("f", "");
	char *m, buf[8] = "";

	CHECK(ftruncate(fd, 3 * 4096) == 0);
	m = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	memcpy(m + 4094, "span", 4);
	CHECK(msync(m, 3 * 4096, MS_SYNC) == 0);
	CHECK(pread(fd, buf, 4, 4094) == 4 && memcmp(buf, "span", 4) == 0);
	CHECK(pwrite(fd, "back", 4, 8192) == 4);
	CHECK(memcmp(m + 8192, "back", 4) == 0);
	CHECK(munmap(m, 3 * 4096) == 0);
	close(fd);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	m = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
	CHECK(m != MAP_FAILED && memcmp(m, "an", 2) == 0);
	munmap(m, 4096);
	close(fd);
}

void check_locks(void)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 10};
	int a = make_file("f", "x"), b = open("f", O_RDWR | O_CLOEXEC), status;
	pid_t pid;

	CHECK(flock(a, LOCK_EX) == 0);
	CHECK_ERRNO(flock(b, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	CHECK(flock(a, LOCK_UN) == 0 && flock(b, LOCK_SH | LOCK_NB) == 0);
	CHECK(flock(a, LOCK_SH | LOCK_NB) == 0);
	CHECK(fcntl(a, F_SETLK, &fl) == 0);
	pid = fork();
	if (pid == 0) {
		struct flock try = fl;

		if (fcntl(b, F_SETLK, &try) != -1 || (errno != EAGAIN && errno != EACCES))
			_exit(1);
		if (fcntl(b, F_GETLK, &try) != 0 || try.l_type != F_WRLCK || try.l_pid != getppid())
			_exit(2);
		try = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
		_exit(fcntl(b, F_SETLK, &try) == 0 ? 0 : 3);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	close(a);
	close(b);
}

static void expect_bytes(int fd, const char *map, char want)
{
	char buf[3] = "";

	CHECK(pread(fd, buf, 2, 4095) == 2 && buf[0] == want && buf[1] == want);
	CHECK(!map || (map[4095] == want && map[4096] == want));
}

/* A write-only user may go past the pages of readers, who were there before or come later. */
void check_readers_and_writers(void)
{
	static char old[8192], text[2];
	int early, late, w, was;
	char *map;

	memset(old, 'o', sizeof(old));
	was = open("f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(was >= 0 && write(was, old, sizeof(old)) == sizeof(old) && close(was) == 0);
	early = open("f", O_RDONLY | O_CLOEXEC);
	CHECK(early >= 0);
	map = mmap(NULL, sizeof(old), PROT_READ, MAP_SHARED, early, 0);
	CHECK(map != MAP_FAILED);
	expect_bytes(early, map, 'o');
	w = open("f", O_WRONLY | O_CLOEXEC);
	for (char c = 'a'; c < 'z'; c++) {
		text[0] = text[1] = c;
		CHECK(pwrite(w, text, 2, 4095) == 2);
		expect_bytes(early, map, c);
	}
	CHECK(munmap(map, sizeof(old)) == 0 && close(early) == 0 && close(w) == 0);
	w = open("f", O_WRONLY | O_CLOEXEC);
	late = open("f", O_RDONLY | O_CLOEXEC);
	CHECK(w >= 0 && late >= 0);
	for (char c = 'a'; c < 'z'; c++) {
		text[0] = text[1] = c;
		CHECK(pwrite(w, text, 2, 4095) == 2);
		expect_bytes(late, NULL, c);
	}
	early = open("f", O_RDWR | O_CLOEXEC);
	CHECK(early >= 0 && close(w) == 0);
	CHECK(pwrite(early, "!!", 2, 4095) == 2);
	expect_bytes(late, NULL, '!');
	close(early);
	close(late);
}

void check_tmpfile(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[64];

	CHECK(fd >= 0 && write(fd, "tmp", 3) == 3);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0);
	expect_text("named", "tmp");
	close(fd);
}

void check_copy_file_range(void)
{
	char buf[8] = "";
	int a = make_file("a", "0123456789"), b = make_file("b", "");
	off_t from = 2, to = 0;

	CHECK(copy_file_range(a, &from, b, &to, 5, 0) == 5);
	CHECK(pread(b, buf, 8, 0) == 5 && strcmp(buf, "23456") == 0);
	close(a);
	close(b);
}

void check_statfs(void)
{
	struct statvfs v;

	CHECK(statvfs(".", &v) == 0);
	CHECK(v.f_bsize > 0 && v.f_blocks > 0 && v.f_namemax == 255);
	CHECK(v.f_bavail <= v.f_blocks);
}

void check_sync(void)
{
	int fd = make_file("f", "x"), d = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(fsync(fd) == 0 && fdatasync(fd) == 0);
	CHECK(d >= 0 && fsync(d) == 0 && syncfs(d) == 0);
	close(fd);
	close(d);
}

void check_exec(void)
{
	int status, fd = make_file("run", "#!/bin/sh\nexit 7\n");
	pid_t pid;

	CHECK(fchmod(fd, 0755) == 0);
	close(fd);
	pid = fork();
	if (pid == 0) {
		execl("./run", "./run", (char *)NULL);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
}
