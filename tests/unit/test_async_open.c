/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens directories of file systems that may hang, among them a FUSE mount without a server. */
#include "agent/base/child/async_open.h"
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

struct rig {
	struct async_open dirs;
	char dir[64];
	int silent; /* of the FUSE mount on dir, or -1 */
};

static int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	*state = g;
	g->silent = -1;
	strcpy(g->dir, "/tmp/plenum-dirs.XXXXXX");
	return mkdtemp(g->dir) ? loop_new(&g->dirs.loop) : -1;
}

static int teardown(void **state)
{
	struct rig *g = *state;

	async_open_done(&g->dirs);
	cleanup_close(&g->silent);
	(void)umount2(g->dir, MNT_DETACH);
	loop_free(g->dirs.loop);
	rmdir(g->dir);
	free(g);
	return 0;
}

static void own_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0) {
		print_message("# cannot create a mount namespace here: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

static void hang(struct rig *g)
{
	char options[96];

	own_mounts();
	g->silent = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (g->silent < 0) {
		print_message("# FUSE is not available here: %s\n", strerror(errno));
		skip();
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0", g->silent);
	assert_int_equal(mount("silent", g->dir, "fuse", 0, options), 0);
}

static int open_dir(struct rig *g, const char *path)
{
	struct async_folder found;

	return async_open_open(&g->dirs, path, &found);
}

static bool is_there(struct rig *g)
{
	struct async_folder found;

	return async_open_look(&g->dirs, g->dir, &found) == 0;
}

/* Turns the loop until the directory is seen; false: not within ten seconds. */
static bool comes(struct rig *g)
{
	uint64_t end_ns = clock_now_ns() + 10 * NSEC_PER_SEC;

	while (!is_there(g)) {
		if (clock_now_ns() > end_ns)
			return false;
		(void)loop_turn(g->dirs.loop, 10 * NSEC_PER_MSEC);
	}
	return true;
}

static void test_a_directory_is_opened(void **state)
{
	struct rig *g = *state;
	struct stat is, wanted;
	char file[80];
	int fd;

	async_open_ask(&g->dirs, g->dir);
	fd = open_dir(g, g->dir);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(fd, &is), 0);
	assert_int_equal(stat(g->dir, &wanted), 0);
	assert_true(is.st_ino == wanted.st_ino && is.st_dev == wanted.st_dev);
	close(fd);

	snprintf(file, sizeof(file), "%s/none", g->dir);
	assert_int_equal(open_dir(g, file), -ENOENT);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(open_dir(g, file), -ENOTDIR);
	unlink(file);
	assert_null(g->dirs.first);
}

/*
 * Seen once an attempt was answered, for each attempt separately; none keeps the file system busy.
 */
static void test_a_check_finds_a_directory_and_keeps_none_open(void **state)
{
	struct rig *g = *state;

	own_mounts();
	assert_int_equal(mount("own", g->dir, "tmpfs", 0, NULL), 0);
	assert_false(is_there(g));
	for (int i = 0; i < 1000 && umount2(g->dir, 0) < 0; i++)
		(void)loop_turn(g->dirs.loop, 10 * NSEC_PER_MSEC);
	assert_int_equal(umount2(g->dir, 0), -1); /* it was unmounted */
	assert_true(comes(g));
	assert_int_equal(rmdir(g->dir), 0);
	for (int i = 0; i < 20 && is_there(g); i++) /* also after it was seen before */
		(void)loop_turn(g->dirs.loop, 10 * NSEC_PER_MSEC);
	assert_false(is_there(g));
	assert_int_equal(mkdir(g->dir, 0700), 0);
	assert_true(comes(g));
}

/*
 * A caller waits once for a directory that hangs, and opens it when the file system answers again.
 */
static void test_a_directory_that_hangs_is_waited_for_once(void **state)
{
	struct rig *g = *state;
	uint64_t began_ns;
	char path[80];
	int fd;

	hang(g);
	began_ns = clock_now_ns();
	assert_int_equal(open_dir(g, g->dir), -ETIMEDOUT);
	assert_true(clock_now_ns() - began_ns >= ASYNC_OPEN_LIMIT_MS * NSEC_PER_MSEC);
	for (int i = 0; i < 100; i++) {
		async_open_ask(&g->dirs, g->dir);
		assert_int_equal(open_dir(g, g->dir), -ETIMEDOUT);
		assert_false(is_there(g));
	}
	assert_true(clock_now_ns() - began_ns < 50 * ASYNC_OPEN_LIMIT_MS * NSEC_PER_MSEC);
	began_ns = clock_now_ns();
	for (int i = 0; i < 100; i++) { /* nor as long for each of many */
		snprintf(path, sizeof(path), "%s/%d", g->dir, i);
		assert_int_equal(open_dir(g, path), -ETIMEDOUT);
	}
	assert_true(clock_now_ns() - began_ns < 50 * ASYNC_OPEN_LIMIT_MS * NSEC_PER_MSEC);
	assert_false(comes(g)); /* no answer yet */

	cleanup_close(&g->silent);
	g->silent = -1;
	assert_int_equal(umount2(g->dir, MNT_DETACH), 0);
	assert_true(comes(g));
	fd = open_dir(g, g->dir);
	assert_true(fd >= 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_directory_is_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_check_finds_a_directory_and_keeps_none_open,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_directory_that_hangs_is_waited_for_once,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
