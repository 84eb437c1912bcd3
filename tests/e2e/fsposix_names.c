/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, folders, links and special files. */
#include "tests/e2e/fsposix.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

void check_create_exclusive(void)
{
	int fd = open("f", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0640);

	CHECK(fd >= 0);
	CHECK_ERRNO(open("f", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0640), EEXIST);
	CHECK((st_of("f").st_mode & 07777) == 0640);
	CHECK_ERRNO(open("missing", O_RDONLY | O_CLOEXEC), ENOENT);
	CHECK_ERRNO(open("f/x", O_RDONLY | O_CLOEXEC), ENOTDIR);
	close(fd);
}

void check_rename_over_open(void)
{
	char buf[8] = "";
	int old;

	old = make_file("old", "old");
	close(make_file("new", "new"));
	CHECK(rename("new", "old") == 0);
	expect_text("old", "new");
	CHECK(pread(old, buf, 8, 0) == 3 && strcmp(buf, "old") == 0);
	CHECK_ERRNO(access("new", F_OK), ENOENT);
	close(old);
}

void check_rename_rules(void)
{
	CHECK(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0 && mkdir("c", 0755) == 0);
	close(make_file("f", "x"));
	CHECK_ERRNO(rename("a", "a/b/z"), EINVAL);
	CHECK_ERRNO(rename("f", "a"), EISDIR);
	CHECK_ERRNO(rename("a", "f"), ENOTDIR);
	CHECK_ERRNO(rename("c", "a"), ENOTEMPTY);
	CHECK_ERRNO(rename("none", "x"), ENOENT);
	CHECK(rename("a", "c") == 0); /* over an empty folder */
	CHECK(access("c/b", F_OK) == 0);
	CHECK(rename("f", "c/b/f") == 0);
	expect_text("c/b/f", "x");
	CHECK(rename("c/b", "b2") == 0);
	expect_text("b2/f", "x");
	CHECK(st_of("c").st_nlink <= 2);
}

void check_rename_flags(void)
{
	close(make_file("a", "a"));
	close(make_file("b", "b"));
	CHECK_ERRNO(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE), EEXIST);
	CHECK(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE) == 0);
	expect_text("a", "b");
	expect_text("b", "a");
	CHECK(renameat2(AT_FDCWD, "a", AT_FDCWD, "c", RENAME_NOREPLACE) == 0);
	expect_text("c", "b");
}

void check_links(void)
{
	int fd = make_file("f", "x");

	CHECK(link("f", "g") == 0 && mkdir("d", 0755) == 0 && link("f", "d/h") == 0);
	CHECK(st_of("f").st_nlink == 3 && st_of("g").st_ino == st_of("f").st_ino);
	CHECK(pwrite(fd, "y", 1, 0) == 1);
	expect_text("d/h", "y");
	CHECK(unlink("f") == 0 && st_of("g").st_nlink == 2);
	CHECK_ERRNO(link("g", "d/h"), EEXIST);
	CHECK_ERRNO(link("d", "e"), EPERM);
	close(fd);
}

void check_symlinks(void)
{
	char buf[300], longest[4096];
	struct stat st;

	close(make_file("f", "target"));
	CHECK(symlink("f", "l") == 0);
	expect_text("l", "target");
	CHECK(readlink("l", buf, sizeof(buf)) == 1 && buf[0] == 'f');
	CHECK(S_ISLNK(st_of("l").st_mode) && st_of("l").st_size == 1);
	CHECK(symlink("loop", "loop") == 0);
	CHECK_ERRNO(open("loop", O_RDONLY | O_CLOEXEC), ELOOP);
	CHECK(symlink("nowhere", "dangling") == 0);
	CHECK_ERRNO(stat("dangling", &st), ENOENT);
	CHECK_ERRNO(open("l", O_RDONLY | O_NOFOLLOW | O_CLOEXEC), ELOOP);
	memset(longest, 'x', sizeof(longest));
	longest[4095] = 0;
	CHECK(symlink(longest, "long") == 0);
	CHECK(st_of("long").st_size == 4095);
	CHECK(lchown("l", OTHER_UID, OTHER_GID) == 0);
	CHECK(st_of("l").st_uid == OTHER_UID && st_of("f").st_uid == 0);
	CHECK(link("l", "l2") == 0 && S_ISLNK(st_of("l2").st_mode));
}

void check_names(void)
{
	char name[300];

	memset(name, 'n', sizeof(name));
	name[255] = 0;
	close(make_file(name, "x"));
	CHECK(unlink(name) == 0);
	name[255] = 'n';
	name[256] = 0;
	CHECK_ERRNO(open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0644), ENAMETOOLONG);
	close(make_file("sp ace\nnew\tline\x01\xff", "x"));
	CHECK(access("sp ace\nnew\tline\x01\xff", F_OK) == 0);
	CHECK_ERRNO(mkdir(".", 0755), EEXIST);
	CHECK_ERRNO(rmdir("."), EINVAL);
}

void check_dirs(void)
{
	struct stat st = st_of(".");
	nlink_t links = st.st_nlink;

	CHECK(mkdir("d", 0755) == 0 && mkdir("d/e", 0755) == 0);
	CHECK(stat(".", &st) == 0 && (links < 2 || st.st_nlink == links + 1));
	CHECK_ERRNO(mkdir("d", 0755), EEXIST);
	CHECK_ERRNO(rmdir("d"), ENOTEMPTY);
	CHECK_ERRNO(unlink("d"), EISDIR);
	CHECK_ERRNO(rmdir("none"), ENOENT);
	CHECK(stat("d/e/..", &st) == 0 && st.st_ino == st_of("d").st_ino);
	CHECK(rmdir("d/e") == 0 && rmdir("d") == 0);
}

void check_big_dir(void)
{
	enum { N = 2000 };
	static unsigned char seen[N];
	unsigned count = 0;
	struct dirent *e;
	char name[32];
	DIR *d;

	CHECK(mkdir("d", 0755) == 0 && chdir("d") == 0);
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "entry-%u", i);
		CHECK(mknod(name, S_IFREG | 0600, 0) == 0);
	}
	d = opendir(".");
	CHECK(d != NULL);
	while ((e = readdir(d))) {
		unsigned i;

		if (sscanf(e->d_name, "entry-%u", &i) != 1)
			continue;
		CHECK(i < N && !seen[i]);
		seen[i] = 1;
		count++;
	}
	CHECK(count == N);
	rewinddir(d);
	for (count = 0; count < 100; count++)
		CHECK(readdir(d) != NULL);
	closedir(d);
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "entry-%u", i);
		CHECK(unlink(name) == 0);
	}
	CHECK(chdir("..") == 0 && rmdir("d") == 0);
}

void check_seekdir(void)
{
	char name[32], want[256] = "";
	struct dirent *e;
	long where = -1;
	DIR *d;

	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		close(make_file(name, ""));
	}
	d = opendir(".");
	CHECK(d != NULL);
	for (unsigned i = 0; (e = readdir(d)); i++) {
		if (i == 250)
			where = telldir(d);
		if (i == 251)
			snprintf(want, sizeof(want), "%s", e->d_name);
	}
	seekdir(d, where);
	e = readdir(d);
	CHECK(e && strcmp(e->d_name, want) == 0);
	closedir(d);
}

/* Removing entries while reading a folder skips none of the others (rm -r does this). */
void check_remove_while_reading(void)
{
	char name[32];
	struct dirent *e;
	unsigned removed = 0;
	DIR *d;

	CHECK(mkdir("d", 0755) == 0 && chdir("d") == 0);
	for (unsigned i = 0; i < 1500; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		CHECK(mknod(name, S_IFREG | 0600, 0) == 0);
	}
	d = opendir(".");
	CHECK(d != NULL);
	while ((e = readdir(d)))
		if (e->d_name[0] == 'r') {
			CHECK(unlink(e->d_name) == 0);
			removed++;
		}
	closedir(d);
	CHECK(removed == 1500);
	CHECK(chdir("..") == 0 && rmdir("d") == 0);
}

void check_special_files(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX, .sun_path = "s"};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, w;
	char c = 0;

	CHECK(mkfifo("p", 0600) == 0 && S_ISFIFO(st_of("p").st_mode));
	fd = open("p", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	w = open("p", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK(fd >= 0 && w >= 0 && write(w, "x", 1) == 1 && read(fd, &c, 1) == 1 && c == 'x');
	close(fd);
	close(w);
	CHECK(bind(s, (struct sockaddr *)&sa, sizeof(sa)) == 0 && S_ISSOCK(st_of("s").st_mode));
	close(s);
	CHECK(mknod("null", S_IFCHR | 0666, makedev(1, 3)) == 0);
	CHECK(S_ISCHR(st_of("null").st_mode) && st_of("null").st_rdev == makedev(1, 3));
	CHECK(mknod("reg", S_IFREG | 0600, 0) == 0 && S_ISREG(st_of("reg").st_mode));
}

void check_deep_path(void)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat a, b;

	for (unsigned i = 0; i < 100; i++)
		CHECK(mkdir("deep", 0755) == 0 && chdir("deep") == 0);
	close(make_file("leaf", "bottom"));
	expect_text("leaf", "bottom");
	for (unsigned i = 0; i < 100; i++)
		CHECK(chdir("..") == 0);
	CHECK(fstat(here, &a) == 0 && stat(".", &b) == 0 && a.st_ino == b.st_ino);
	close(here);
}

void check_cwd_moves(void)
{
	char cwd[4096];

	CHECK(mkdir("a", 0755) == 0 && mkdir("b", 0755) == 0 && chdir("a") == 0);
	CHECK(rename("../a", "../b/a2") == 0);
	close(make_file("here", "x"));
	CHECK(getcwd(cwd, sizeof(cwd)) && strstr(cwd, "/b/a2"));
	CHECK(chdir("../..") == 0);
	expect_text("b/a2/here", "x");
}
