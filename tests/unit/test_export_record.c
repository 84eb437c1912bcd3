/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of exported folders: what a restart and a reboot of the host still know. */
#include "agent/supervise/handover/export_record.h"
#include "netcfg/base/file.h"
#include "netcfg/base/os/folder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#define TMPFS 0x01021994
#define XFS 0x58465342

struct rig {
	char dir[64], file[80];
	struct export_records x;
};

static int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	*state = g;
	strcpy(g->dir, "/tmp/plenum-exports-XXXXXX");
	if (!mkdtemp(g->dir))
		return -1;
	snprintf(g->file, sizeof(g->file), "%s/exports", g->dir);
	return export_records_load(&g->x, g->dir);
}

static int teardown(void **state)
{
	struct rig *g = *state;

	export_records_done(&g->x);
	folder_remove(g->dir);
	free(g);
	return 0;
}

static struct folder_id folder(uint64_t fs_type, uint64_t ino)
{
	struct folder_id id = {.dev = makedev(8, 1),
			       .ino = ino,
			       .fs_type = fs_type,
			       .handle_type = 1,
			       .handle_len = 8};

	memcpy(id.handle, &ino, sizeof(ino));
	return id;
}

static int check(struct rig *g, const char *name, const char *path, struct folder_id is)
{
	const struct folder_id *was;
	int saved, r = export_records_check(&g->x, name, path, &is, &was, &saved);

	assert_int_equal(saved, 0);
	return r;
}

/* As the next agent; reboot: of another boot. */
static void restart(struct rig *g, bool reboot)
{
	autofree char *text = NULL;
	size_t len;

	export_records_done(&g->x);
	if (reboot) {
		char *boot;

		assert_int_equal(file_read(g->file, 1 << 20, &text, &len), 0);
		boot = strstr(text, "boot ");
		assert_non_null(boot);
		boot[5] = boot[5] == '0' ? '1' : '0';
		assert_int_equal(file_write(g->file, text, len, 0600), 0);
	}
	assert_int_equal(export_records_load(&g->x, g->dir), 0);
}

static void test_another_folder_is_refused_until_it_is_recorded(void **state)
{
	struct rig *g = *state;
	struct folder_id one = folder(XFS, 77), other = folder(XFS, 78);

	assert_int_equal(check(g, "scratch", "/srv/a b", one), 0);
	assert_int_equal(check(g, "scratch", "/srv/a b", one), 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(check(g, "scratch", "/srv/a b", other), -EREMCHG);
		assert_int_equal(check(g, "scratch", "/srv/a b", one), 1);
		restart(g, i == 1);
	}
	assert_int_equal(export_records_put(&g->x, "scratch", "/srv/a b", &other), 0);
	assert_int_equal(check(g, "scratch", "/srv/a b", other), 1);
	assert_int_equal(check(g, "scratch", "/srv/a b", one), -EREMCHG);
	/* Another path in the configuration is another choice of the operator. */
	assert_int_equal(check(g, "scratch", "/srv/new", one), 0);
	assert_int_equal(check(g, "scratch", "/srv/new", other), -EREMCHG);
}

static void test_a_reboot_may_change_device_numbers_but_not_folders(void **state)
{
	struct rig *g = *state;
	struct folder_id disk = folder(XFS, 77), moved = disk, below = folder(XFS, 5);

	moved.dev = makedev(8, 17);
	assert_int_equal(check(g, "scratch", "/srv/scratch", disk), 0);
	assert_int_equal(check(g, "scratch", "/srv/scratch", moved), -EREMCHG);
	restart(g, true);
	/* The empty mount point of a disk that is not mounted yet. */
	assert_int_equal(check(g, "scratch", "/srv/scratch", below), -EREMCHG);
	assert_int_equal(check(g, "scratch", "/srv/scratch", moved), 1);
	assert_int_equal(check(g, "scratch", "/srv/scratch", disk), -EREMCHG);
	/* A file system with a UUID is known by it. */
	disk.has_uuid = moved.has_uuid = true;
	disk.uuid[0] = moved.uuid[0] = 1;
	assert_int_equal(export_records_put(&g->x, "scratch", "/srv/scratch", &disk), 0);
	assert_int_equal(check(g, "scratch", "/srv/scratch", moved), 1);
	moved.uuid[0] = 2;
	restart(g, true);
	assert_int_equal(check(g, "scratch", "/srv/scratch", moved), -EREMCHG);
}

static void test_a_folder_in_memory_is_known_until_the_reboot(void **state)
{
	struct rig *g = *state;

	assert_int_equal(check(g, "tmp", "/dev/shm/x", folder(TMPFS, 9)), 0);
	restart(g, false);
	assert_int_equal(check(g, "tmp", "/dev/shm/x", folder(TMPFS, 10)), -EREMCHG);
	restart(g, true);
	assert_int_equal(check(g, "tmp", "/dev/shm/x", folder(TMPFS, 10)), 0);
	assert_int_equal(check(g, "tmp", "/dev/shm/x", folder(TMPFS, 9)), -EREMCHG);
}

static void test_an_export_that_is_not_configured_is_forgotten(void **state)
{
	static struct launch_config c = {.n_exports = 1, .n_missing = 1};
	struct rig *g = *state;

	strcpy(c.exports[0].name, "kept");
	strcpy(c.exports[1].name, "missing");
	assert_int_equal(check(g, "kept", "/a", folder(XFS, 1)), 0);
	assert_int_equal(check(g, "gone", "/b", folder(XFS, 2)), 0);
	assert_int_equal(check(g, "missing", "/c", folder(XFS, 3)), 0);
	assert_int_equal(export_records_keep(&g->x, &c, 1), 0);
	restart(g, false);
	assert_int_equal(check(g, "kept", "/a", folder(XFS, 9)), -EREMCHG);
	assert_int_equal(check(g, "missing", "/c", folder(XFS, 9)), -EREMCHG);
	assert_int_equal(check(g, "gone", "/b", folder(XFS, 9)), 0);
}

/* Version 1 had no sum and no escapes. */
static void test_a_file_of_version_1_is_read(void **state)
{
	static const char old[] = "plenum-exports 1 boot x netns 1\n"
				  "export scratch now 2049 77 1481003842 "
				  "000102030405060708090a0b0c0d0e0f 1 4d00000001000000 /srv/a \\b\n"
				  "export home before 3 4 5 - 0 - /srv/home\n";
	struct rig *g = *state;

	export_records_done(&g->x);
	assert_int_equal(file_write(g->file, old, strlen(old), 0600), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct export_record *r;
		struct folder_id home;

		assert_int_equal(export_records_load(&g->x, g->dir), 0);
		assert_int_equal(g->x.n, 2);
		r = export_records_find(&g->x, "scratch", "/srv/a \\b");
		assert_non_null(r);
		assert_true(r->former_boot && r->id.has_uuid);
		assert_int_equal(r->id.ino, 77);
		assert_int_equal(r->id.uuid[15], 15);
		assert_int_equal(r->id.handle_type, 1);
		assert_int_equal(r->id.handle_len, 8);
		assert_int_equal(r->id.handle[0], 0x4d);
		r = export_records_find(&g->x, "home", "/srv/home");
		assert_non_null(r);
		assert_int_equal(r->id.handle_len, 0);
		home = r->id;
		assert_int_equal(export_records_put(&g->x, "home", "/srv/home", &home), 0);
		if (i == 0)
			export_records_done(&g->x);
	}
}

static void test_a_damaged_file_is_an_error_and_no_record(void **state)
{
	static const char *const bad[] = {"", "plenum-exports 2 boot x netns 1\n", "rubbish\n",
					  "plenum-exports 1 boot x netns 1\nexport a now 1 2\n",
					  "plenum-exports 1 boot x netns 1\nexport a now 1 2 3 - 1 "
					  "zz /a\n"};
	struct rig *g = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		export_records_done(&g->x);
		assert_int_equal(file_write(g->file, bad[i], strlen(bad[i]), 0600), 0);
		assert_int_equal(export_records_load(&g->x, g->dir), -EBADMSG);
		assert_int_equal(g->x.n, 0);
	}
	assert_int_equal(check(g, "a", "/a", folder(XFS, 1)), 0);
	restart(g, false);
	assert_int_equal(check(g, "a", "/a", folder(XFS, 1)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_another_folder_is_refused_until_it_is_recorded,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_reboot_may_change_device_numbers_but_not_folders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_folder_in_memory_is_known_until_the_reboot,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_export_that_is_not_configured_is_forgotten,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file_of_version_1_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_damaged_file_is_an_error_and_no_record,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
