/* SPDX-License-Identifier: BSD-3-Clause */
/* What keeps the agent from its own files, and programs from a mount: on file systems of the test.
 */
#include "agent/health/own_files.h"
#include "agent/supervise/mounts/mountinfo.h"
#include "netcfg/base/base.h"
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

static char dir[64];
static const char *missing;

static int setup(void **state)
{
	strcpy(dir, "/tmp/plenum-own.XXXXXX");
	if (unshare(CLONE_NEWNS) < 0) {
		print_message("# cannot create a mount namespace here: %s\n", strerror(errno));
		exit(77);
	}
	return mkdtemp(dir) ? mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) : -1;
}

static int teardown(void **state)
{
	while (umount2(dir, MNT_DETACH) == 0)
		;
	return rmdir(dir);
}

/* The reason for `dir` begins with this code; "": there is none. */
static void expect(const char *code)
{
	const char *const folders[] = {"/proc", dir};
	json_t *list = own_files_to_json(folders, ARRAY_SIZE(folders), missing);

	assert_int_equal(json_array_size(list), *code ? 1 : 0);
	if (*code)
		assert_memory_equal(json_string_value(json_array_get(list, 0)), code, strlen(code));
	json_decref(list);
}

static void take_room(const char *name, size_t bytes)
{
	static const char zeros[4096];
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	for (size_t at = 0; at < bytes && write(fd, zeros, sizeof(zeros)) > 0;)
		at += sizeof(zeros);
	close(fd);
}

static void a_full_file_system_is_named(void **state)
{
	assert_int_equal(mount("own", dir, "tmpfs", 0, "size=1M"), 0);
	expect("");
	take_room("half", 512 << 10);
	expect("");
	take_room("rest", 1 << 20);
	expect("folder-full: ");
}

static void a_file_system_without_inodes_is_named(void **state)
{
	assert_int_equal(mount("own", dir, "tmpfs", 0, "size=1M,nr_inodes=2"), 0);
	expect("");
	take_room("last", 0);
	expect("folder-full: ");
}

static void a_file_system_that_became_read_only_is_named(void **state)
{
	assert_int_equal(mount("own", dir, "tmpfs", 0, "size=1M"), 0);
	expect("");
	assert_int_equal(mount("own", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	expect("folder-read-only: ");
	assert_int_equal(mount("own", dir, NULL, MS_REMOUNT, NULL), 0);
	expect("");
}

static void a_removed_folder_is_named(void **state)
{
	assert_int_equal(rmdir(dir), 0);
	expect("folder-missing: ");
	assert_int_equal(mkdir(dir, 0700), 0);
	expect("");
}

static void a_missing_worker_program_is_named(void **state)
{
	expect("");
	missing = "/opt/worker";
	expect("worker-missing: the worker program /opt/worker is missing");
	missing = NULL;
}

/* ---- where a path leads ---- */

static struct mountinfo own;

static void mount_own(const char *at)
{
	assert_int_equal(mount("own", at, "tmpfs", 0, NULL), 0);
	assert_int_equal(mountinfo_top(at, &own), 1);
}

static void expect_by(const char *at, const char *fstype)
{
	struct mountinfo by;

	assert_int_equal(mountinfo_leads_elsewhere(at, &own, &by), *fstype ? 1 : 0);
	if (*fstype)
		assert_string_equal(by.fstype, fstype);
}

static void a_mount_over_a_mount_covers_it(void **state)
{
	mount_own(dir);
	expect_by(dir, "");
	assert_int_equal(mount("over", dir, "proc", 0, NULL), 0);
	expect_by(dir, "proc");
	assert_int_equal(umount2(dir, 0), 0);
	expect_by(dir, "");
}

static void a_mount_over_a_parent_covers_a_mount(void **state)
{
	char inner[80], beside[80];

	assert_int_equal(mount("outer", dir, "tmpfs", 0, NULL), 0);
	snprintf(inner, sizeof(inner), "%s/in", dir);
	snprintf(beside, sizeof(beside), "%s/inner", dir);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(mkdir(beside, 0700), 0);
	mount_own(inner);
	expect_by(inner, "");
	assert_int_equal(mount("beside", beside, "proc", 0, NULL), 0);
	expect_by(inner, "");
	assert_int_equal(mount("over", dir, "proc", 0, NULL), 0);
	expect_by(inner, "proc");
	assert_int_equal(umount2(dir, 0), 0);
	expect_by(inner, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_full_file_system_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_system_without_inodes_is_named, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_file_system_that_became_read_only_is_named, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_removed_folder_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(a_missing_worker_program_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(a_mount_over_a_mount_covers_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_mount_over_a_parent_covers_a_mount, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("own_files", tests, NULL, NULL);
}
