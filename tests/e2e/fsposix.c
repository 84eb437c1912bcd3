/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks what POSIX programs expect of a file system, one small check each, in a fresh folder below
 * DIR:
 *	fsposix DIR
 * Prints TAP. On a local folder it shows what that machine's file systems support; on the mount the
 * result must be the same. Needs root (checks become other users).
 */
#include "tests/e2e/fsposix.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>

jmp_buf fsposix_failed;
char fsposix_message[256];

int make_file(const char *name, const char *text)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

struct stat st_of(const char *name)
{
	struct stat st;

	CHECK(lstat(name, &st) == 0);
	return st;
}

void expect_text(const char *name, const char *text)
{
	char buf[256] = "";
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(read(fd, buf, sizeof(buf) - 1) == (ssize_t)strlen(text));
	CHECK(strcmp(buf, text) == 0);
	close(fd);
}

void as_other(void (*fn)(void))
{
	int p[2], status;
	pid_t pid;

	CHECK(pipe2(p, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) || setresgid(OTHER_GID, OTHER_GID, OTHER_GID) ||
		    setresuid(OTHER_UID, OTHER_UID, OTHER_UID))
			_exit(2);
		if (setjmp(fsposix_failed) == 0) {
			fn();
			_exit(0);
		}
		if (write(p[1], fsposix_message, sizeof(fsposix_message)) < 0)
			_exit(3);
		_exit(1);
	}
	close(p[1]);
	if (read(p[0], fsposix_message, sizeof(fsposix_message)) < 0)
		fsposix_message[0] = 0;
	close(p[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status != 0)
		longjmp(fsposix_failed, 1);
}

#define TEST(x) {#x, check_##x},
static const struct {
	const char *name;
	void (*fn)(void);
} tests[] = {FSPOSIX_CHECKS(TEST)};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: fsposix DIR\n", stderr);
		return 64;
	}
	umask(022);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%zu\n", ARRAY_SIZE(tests));
	for (volatile unsigned i = 0; i < ARRAY_SIZE(tests); i++) {
		if (chdir(argv[1]) || mkdir(tests[i].name, 0755) || chdir(tests[i].name)) {
			perror(tests[i].name);
			return 1;
		}
		if (setjmp(fsposix_failed) == 0) {
			tests[i].fn();
			printf("ok %u - %s\n", i + 1, tests[i].name);
		} else {
			printf("not ok %u - %s\n# %s\n", i + 1, tests[i].name, fsposix_message);
		}
	}
	return 0;
}
