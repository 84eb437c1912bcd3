/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens folders by paths with symbolic links of root and of users, tells folders apart, and removes
 * them. */
#include "netcfg/base/os/folder.h"
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

#define USER 12345

static char root[64], link_seen[FOLDER_LINK_MAX];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* Below /run, where only root may write. */
static int setup(void **state)
{
	strcpy(root, "/run/plenum-folder-XXXXXX");
	return mkdtemp(root) ? chmod(root, 0755) : -1;
}

static int teardown(void **state)
{
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *at(const char *name)
{
	static char paths[4][128];
	static unsigned i;

	i = (i + 1) % ARRAY_SIZE(paths);
	snprintf(paths[i], sizeof(paths[i]), "%s/%s", root, name);
	return paths[i];
}

static void folder(const char *name, mode_t mode, uid_t uid)
{
	assert_int_equal(mkdir(at(name), 0755), 0);
	assert_int_equal(chown(at(name), uid, uid), 0);
	assert_int_equal(chmod(at(name), mode), 0);
}

/* The error; 0: it leads to the folder. */
static int leads(const char *path, const char *to)
{
	struct stat is, wanted;
	autoclose int fd = folder_open(at(path), link_seen);

	if (fd < 0)
		return fd;
	assert_int_equal(fstat(fd, &is), 0);
	assert_int_equal(stat(at(to), &wanted), 0);
	return is.st_dev == wanted.st_dev && is.st_ino == wanted.st_ino ? 0 : -EXDEV;
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("# needs root\n");
	skip();
}

static void test_links_that_only_root_can_make_are_followed(void **state)
{
	need_root();
	folder("disk", 0755, 0);
	folder("disk/data", 0755, 0);
	assert_int_equal(leads("disk/data", "disk/data"), 0);
	assert_int_equal(symlink("disk", at("relative")), 0);
	assert_int_equal(symlink(at("relative"), at("absolute")), 0);
	assert_int_equal(symlink("../absolute/data", at("disk/last")), 0);
	assert_int_equal(leads("relative/data", "disk/data"), 0);
	assert_int_equal(leads("absolute//data", "disk/data"), 0);
	assert_int_equal(leads("absolute/last", "disk/data"), 0);
	/* A user's folder at the end of the way does not matter. */
	folder("disk/home", 0700, USER);
	assert_int_equal(leads("absolute/home", "disk/home"), 0);

	assert_int_equal(leads("relative/none", "disk"), -ENOENT);
	close(open(at("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(leads("file", "disk"), -ENOTDIR);
	assert_int_equal(symlink("loop", at("loop")), 0);
	assert_int_equal(leads("loop", "disk"), -ELOOP);
}

static void test_links_that_users_can_make_are_refused(void **state)
{
	static const char *const writable[] = {"user", "group", "sticky"};

	need_root();
	folder("secret", 0700, 0);
	folder("user", 0755, USER);
	folder("group", 0775, 0);
	folder("sticky", 01777, 0);
	for (size_t i = 0; i < ARRAY_SIZE(writable); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/export", writable[i]);
		assert_int_equal(symlink(at("secret"), at(path)), 0);
		assert_int_equal(leads(path, "secret"), -ELOOP);
		assert_string_equal(link_seen, at(path));
	}
	/* A user's own link in root's folder, and a link of root below a user's folder, which the
	 * user can replace as a whole. */
	assert_int_equal(symlink("secret", at("owned")), 0);
	assert_int_equal(lchown(at("owned"), USER, USER), 0);
	assert_int_equal(leads("owned", "secret"), -ELOOP);
	folder("user/roots", 0755, 0);
	assert_int_equal(symlink(at("secret"), at("user/roots/export")), 0);
	assert_int_equal(leads("user/roots/export", "secret"), -ELOOP);
	/* Others cannot rename root's folder in a sticky one. */
	folder("sticky/roots", 0755, 0);
	assert_int_equal(symlink(at("secret"), at("sticky/roots/export")), 0);
	assert_int_equal(leads("sticky/roots/export", "secret"), 0);
}

static struct folder_id identity(const char *name)
{
	struct folder_id id;
	autoclose int fd = open(at(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(folder_identify(fd, &id), 0);
	return id;
}

static void test_a_folder_is_told_from_one_at_the_same_path(void **state)
{
	struct folder_id was, is;
	uint64_t dev, ino;

	need_root();
	folder("export", 0755, 0);
	was = identity("export");
	is = identity("export");
	assert_true(folder_is_same(&was, &is, true));
	assert_int_equal(folder_look(at("export"), &dev, &ino), 0);
	assert_true(dev == was.dev && ino == was.ino);

	assert_int_equal(rename(at("export"), at("aside")), 0);
	folder("export", 0755, 0);
	is = identity("export");
	assert_false(folder_is_same(&was, &is, true));
	assert_int_equal(folder_look(at("export"), &dev, &ino), 0);
	assert_true(ino != was.ino);
	assert_int_equal(rmdir(at("export")), 0);
	assert_int_equal(folder_look(at("export"), &dev, &ino), -ENOENT);
	/* Moved back, it is the same one, under whatever device number a boot gives its disk. */
	assert_int_equal(rename(at("aside"), at("export")), 0);
	is = identity("export");
	assert_true(folder_is_same(&was, &is, true));
	is.dev++;
	assert_true(folder_is_same(&was, &is, false));
	is.ino++;
	assert_false(folder_is_same(&was, &is, false));
}

static void test_a_file_system_mounted_over_a_folder_is_another_folder(void **state)
{
	struct folder_id was, is, again;
	uint64_t dev, ino;

	need_root();
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		print_message("# cannot create a mount namespace here: %s\n", strerror(errno));
		skip();
	}
	folder("export", 0755, 0);
	was = identity("export");
	assert_int_equal(mount("one", at("export"), "tmpfs", 0, NULL), 0);
	is = identity("export");
	assert_true(folder_is_in_memory(&is));
	assert_false(folder_is_same(&was, &is, true));
	assert_int_equal(folder_look(at("export"), &dev, &ino), 0);
	assert_true(dev != was.dev);
	/* The roots of two file systems of a kind have the same inode number. */
	assert_int_equal(mount("two", at("export"), "tmpfs", 0, NULL), 0);
	again = identity("export");
	assert_int_equal(again.ino, is.ino);
	assert_false(folder_is_same(&is, &again, true));
	assert_int_equal(umount2(at("export"), 0), 0);
	again = identity("export");
	assert_true(folder_is_same(&is, &again, true));
	assert_int_equal(umount2(at("export"), 0), 0);
	again = identity("export");
	assert_true(folder_is_same(&was, &again, true));
}

static void file(const char *name)
{
	autoclose int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

	assert_true(fd >= 0);
}

static void test_a_folder_is_removed_with_all_that_is_below_it(void **state)
{
	folder("kept", 0755, geteuid());
	file("kept/file");
	folder("gone", 0755, geteuid());
	folder("gone/a", 0755, geteuid());
	folder("gone/a/b", 0755, geteuid());
	file("gone/a/b/file");
	file("gone/file");
	assert_int_equal(symlink("../../kept", at("gone/a/link")), 0);
	assert_int_equal(symlink("nowhere", at("gone/dangling")), 0);
	assert_int_equal(folder_remove(at("gone")), 0);
	assert_int_equal(access(at("gone"), F_OK), -1);
	assert_int_equal(access(at("kept/file"), F_OK), 0);
	assert_int_equal(folder_remove(at("gone")), 0);
	assert_int_equal(folder_remove(at("kept/file/below")), -ENOTDIR);
}

static void test_what_is_mounted_below_a_removed_folder_is_kept(void **state)
{
	need_root();
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		print_message("# cannot create a mount namespace here: %s\n", strerror(errno));
		skip();
	}
	folder("gone", 0755, 0);
	folder("gone/disk", 0755, 0);
	assert_int_equal(mount("one", at("gone/disk"), "tmpfs", 0, NULL), 0);
	file("gone/disk/file");
	assert_true(folder_remove(at("gone")) < 0);
	assert_int_equal(access(at("gone/disk/file"), F_OK), 0);
	assert_int_equal(umount2(at("gone/disk"), 0), 0);
	assert_int_equal(folder_remove(at("gone")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_links_that_only_root_can_make_are_followed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_that_users_can_make_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_folder_is_told_from_one_at_the_same_path,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_file_system_mounted_over_a_folder_is_another_folder, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_a_folder_is_removed_with_all_that_is_below_it,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_mounted_below_a_removed_folder_is_kept,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
