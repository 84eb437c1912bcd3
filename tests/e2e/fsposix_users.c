/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners, permissions, attributes and access lists. */
#include "tests/e2e/fsposix.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

void check_umask(void)
{
	mode_t old = umask(027);
	int fd = open("f", O_CREAT | O_RDWR | O_CLOEXEC, 0666);

	CHECK(mkdir("d", 0777) == 0 && mkfifo("p", 0666) == 0);
	umask(old);
	CHECK(fd >= 0);
	close(fd);
	CHECK((st_of("f").st_mode & 07777) == 0640);
	CHECK((st_of("d").st_mode & 07777) == 0750);
	CHECK((st_of("p").st_mode & 07777) == 0640);
}

void check_chmod_chown(void)
{
	int fd = make_file("f", "x");

	CHECK(chmod("f", 04751) == 0 && (st_of("f").st_mode & 07777) == 04751);
	CHECK(chown("f", OTHER_UID, OTHER_GID) == 0);
	CHECK(st_of("f").st_uid == OTHER_UID && st_of("f").st_gid == OTHER_GID);
	CHECK((st_of("f").st_mode & 07777) == 0751); /* a change of owner removes the set-id bits */
	CHECK(fchmod(fd, 0600) == 0 && fchown(fd, 0, (gid_t)-1) == 0);
	CHECK(st_of("f").st_uid == 0 && st_of("f").st_gid == OTHER_GID);
	close(fd);
}

static void other_is_kept_out(void)
{
	CHECK_ERRNO(open("secret", O_RDONLY | O_CLOEXEC), EACCES);
	CHECK_ERRNO(open("readable", O_WRONLY | O_CLOEXEC), EACCES);
	CHECK(open("readable", O_RDONLY | O_CLOEXEC) >= 0);
	CHECK_ERRNO(open("closed/f", O_RDONLY | O_CLOEXEC), EACCES);
	CHECK_ERRNO(unlink("readable"), EACCES);
	CHECK_ERRNO(open("new", O_CREAT | O_RDWR | O_CLOEXEC, 0644), EACCES);
	CHECK_ERRNO(chmod("readable", 0777), EPERM);
	CHECK_ERRNO(chown("readable", OTHER_UID, OTHER_GID), EPERM);
	CHECK_ERRNO(access("secret", R_OK), EACCES);
	CHECK_ERRNO(truncate("readable", 0), EACCES);
	CHECK_ERRNO(setxattr("readable", "user.x", "1", 1, 0), EACCES);
}

void check_permissions(void)
{
	close(make_file("secret", "x"));
	close(make_file("readable", "x"));
	CHECK(chmod("secret", 0600) == 0 && mkdir("closed", 0700) == 0);
	close(make_file("closed/f", "x"));
	as_other(other_is_kept_out);
}

static void other_makes_files(void)
{
	int fd = open("open/f", O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	CHECK(st_of("open/f").st_uid == OTHER_UID && st_of("open/f").st_gid == OTHER_GID);
	CHECK(mkdir("open/d", 0755) == 0 && st_of("open/d").st_uid == OTHER_UID);
	CHECK(symlink("x", "open/l") == 0 && st_of("open/l").st_uid == OTHER_UID);
	CHECK(mkfifo("open/p", 0600) == 0 && st_of("open/p").st_uid == OTHER_UID);
	CHECK_ERRNO(unlink("open/roots"), EPERM); /* sticky */
	CHECK_ERRNO(rename("open/roots", "open/f"), EPERM);
	CHECK(chmod("open/f", 0640) == 0 && unlink("open/f") == 0);
	CHECK_ERRNO(mknod("open/dev", S_IFCHR | 0600, makedev(1, 3)), EPERM);
	close(fd);
}

void check_other_users_files(void)
{
	CHECK(mkdir("open", 0777) == 0 && chmod("open", 01777) == 0);
	close(make_file("open/roots", "x"));
	as_other(other_makes_files);
	/* A file that its owner may not write is writable while it is being created. */
	CHECK(st_of("open/d").st_gid == OTHER_GID);
}

static void other_creates_read_only(void)
{
	int fd = open("open/ro", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0444);

	CHECK(fd >= 0 && write(fd, "text", 4) == 4 && fsync(fd) == 0);
	CHECK_ERRNO(open("open/ro", O_RDWR | O_CLOEXEC), EACCES);
	close(fd);
}

void check_create_read_only(void)
{
	CHECK(mkdir("open", 0777) == 0 && chmod("open", 0777) == 0);
	as_other(other_creates_read_only); /* git does this */
	expect_text("open/ro", "text");
}

void check_setgid_dir(void)
{
	CHECK(mkdir("d", 0755) == 0 && chown("d", 0, OTHER_GID) == 0 && chmod("d", 02775) == 0);
	close(make_file("d/f", "x"));
	CHECK(mkdir("d/e", 0755) == 0);
	CHECK(st_of("d/f").st_gid == OTHER_GID && st_of("d/e").st_gid == OTHER_GID);
	CHECK(st_of("d/e").st_mode & S_ISGID);
}

static void other_writes_suid(void)
{
	int fd = open("suid", O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && pwrite(fd, "y", 1, 0) == 1);
	close(fd);
}

void check_write_clears_suid(void)
{
	close(make_file("suid", "x"));
	CHECK(chmod("suid", 06777) == 0);
	as_other(other_writes_suid);
	CHECK((st_of("suid").st_mode & 07777) == 0777);
	CHECK(chmod("suid", 06777) == 0);
	expect_text("suid", "y");
	CHECK((st_of("suid").st_mode & 07777) == 06777);
}

void check_xattrs(void)
{
	char list[256], value[64];
	ssize_t n;

	close(make_file("f", "x"));
	CHECK(setxattr("f", "user.one", "1", 1, XATTR_CREATE) == 0);
	CHECK_ERRNO(setxattr("f", "user.one", "2", 1, XATTR_CREATE), EEXIST);
	CHECK_ERRNO(setxattr("f", "user.two", "2", 1, XATTR_REPLACE), ENODATA);
	CHECK(setxattr("f", "user.one", "longer", 6, XATTR_REPLACE) == 0);
	CHECK(getxattr("f", "user.one", value, sizeof(value)) == 6);
	CHECK(getxattr("f", "user.one", NULL, 0) == 6);
	CHECK_ERRNO(getxattr("f", "user.one", value, 3), ERANGE);
	CHECK_ERRNO(getxattr("f", "user.none", value, 3), ENODATA);
	n = listxattr("f", list, sizeof(list));
	CHECK(n >= 9 && memmem(list, (size_t)n, "user.one", 9));
	CHECK(removexattr("f", "user.one") == 0);
	CHECK_ERRNO(removexattr("f", "user.one"), ENODATA);
}

void check_large_xattr(void)
{
	static char in[32768], out[32768];

	close(make_file("f", "x"));
	memset(in, 'v', sizeof(in));
	CHECK(setxattr("f", "user.large", in, sizeof(in), 0) == 0);
	CHECK(getxattr("f", "user.large", out, sizeof(out)) == (ssize_t)sizeof(out));
	CHECK(memcmp(in, out, sizeof(in)) == 0);
	/* The server's worker lacks the privilege that these need (plenum-worker(8)). */
	CHECK_ERRNO(setxattr("f", "trusted.large", in, 8, 0), EPERM);
}

/* Version 2 of the ACL attribute: user::rw- user:OTHER:r-- group::--- mask::r-- other::--- */
static void other_reads_by_acl(void)
{
	int fd = open("f", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_ERRNO(open("f", O_WRONLY | O_CLOEXEC), EACCES);
	close(fd);
}

void check_acl(void)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} e[5];
	} acl = {2, {{1, 6, ~0U}, {2, 4, OTHER_UID}, {4, 0, ~0U}, {16, 4, ~0U}, {32, 0, ~0U}}};

	close(make_file("f", "x"));
	CHECK(chmod("f", 0600) == 0);
	CHECK(setxattr("f", "system.posix_acl_access", &acl, sizeof(acl), 0) == 0);
	CHECK((st_of("f").st_mode & 0777) == 0640); /* the mask shows as group bits */
	as_other(other_reads_by_acl);
	CHECK(mkdir("d", 0755) == 0);
	CHECK(setxattr("d", "system.posix_acl_default", &acl, sizeof(acl), 0) == 0);
	umask(0);
	close(open("d/f", O_CREAT | O_RDWR | O_CLOEXEC, 0666));
	umask(022);
	CHECK((st_of("d/f").st_mode & 0777) == 0640);
	CHECK(getxattr("d/f", "system.posix_acl_access", NULL, 0) == (ssize_t)sizeof(acl));
}
