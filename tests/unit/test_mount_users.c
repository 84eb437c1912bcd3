/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for processes that use mounts: their number is not limited, the list of their names
 * is. The test mounts in a mount namespace of its process. tests/e2e/stop_in_use has the ways in
 * which programs can use a mount.
 */
#include "agent/supervise/mounts/mount_users.h"
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY (MOUNT_USERS_MAX + 3)

static char at[] = "/tmp/plenum-users-XXXXXX";
static struct loop *loop;
static bool is_mounted;
static struct mount_users found;
static int result;
static pid_t children[MANY];

static int begin(void **state)
{
	(void)state;
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
		return 0;
	assert_non_null(mkdtemp(at));
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("tmpfs", at, "tmpfs", 0, NULL), 0);
	is_mounted = true;
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (!is_mounted)
		return 0;
	umount2(at, MNT_DETACH);
	rmdir(at);
	return 0;
}

static void on_found(void *user, int error, const struct mount_users *users,
		     const char *const *paths)
{
	(void)user;
	assert_string_equal(paths[0], at);
	result = error;
	found = *users;
	loop_exit(loop, 0);
}

static void search(void)
{
	const char *paths[] = {at};
	struct mount_search *s;

	if (!is_mounted)
		skip(); /* only root can mount */
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(mount_search_start(loop, paths, 1, on_found, NULL, &s), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(result, 0);
	loop_free(loop);
}

/* Starts n processes with their current directory on the mount, and waits until they are there. */
static void start(unsigned n)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	for (unsigned i = 0; i < n; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (chdir(at) < 0 || write(ready[1], "x", 1) != 1)
				_exit(1);
			for (;;)
				pause();
		}
	}
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
}

static void stop(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		kill(children[i], SIGKILL);
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
	}
}

static void a_mount_without_users_has_none(void **state)
{
	(void)state;
	search();
	assert_false(mount_users_any(&found));
	assert_int_equal(found.n, 0);
}

static void a_user_is_named_with_its_directory(void **state)
{
	const char *paths[] = {at};
	char line[512], expected[512];

	(void)state;
	if (!is_mounted)
		skip();
	start(1);
	search();
	assert_true(mount_users_any(&found));
	assert_int_equal(found.n, 1);
	assert_int_equal(found.list[0].pid, children[0]);
	assert_true(mount_users_line(&found, paths, 0, line, sizeof(line)));
	snprintf(expected, sizeof(expected), "%s is in use by process %d (%s): %s", at,
		 (int)children[0], found.list[0].program, at);
	assert_string_equal(line, expected);
	assert_false(mount_users_line(&found, paths, 1, line, sizeof(line)));
	stop(1);
}

static void more_users_than_the_list_has_are_counted(void **state)
{
	const char *paths[] = {at};
	char line[512];
	json_t *all;

	(void)state;
	if (!is_mounted)
		skip();
	start(MANY);
	search();
	assert_int_equal(found.n, MANY);
	all = mount_users_to_json(&found, paths);
	assert_int_equal(json_array_size(all), MOUNT_USERS_MAX);
	json_decref(all);
	assert_true(mount_users_line(&found, paths, MOUNT_USERS_MAX, line, sizeof(line)));
	assert_string_equal(line, "3 more processes use the mounts");
	assert_false(mount_users_line(&found, paths, MOUNT_USERS_MAX + 1, line, sizeof(line)));
	mount_users_describe(&found, line, sizeof(line));
	assert_non_null(strstr(line, " and 62 more"));
	stop(MANY);
}

/* A search that has not ended, or may not examine a process, does not prove that a mount is unused.
 */
static void an_incomplete_search_counts_as_use(void **state)
{
	static struct mount_users u;
	const char *paths[] = {at};
	char line[512];

	(void)state;
	u = (struct mount_users){.incomplete = true, .busy = 42};
	assert_true(mount_users_any(&u));
	assert_true(mount_users_line(&u, paths, 0, line, sizeof(line)));
	assert_non_null(strstr(line, "the memory of process 42"));
	assert_false(mount_users_line(&u, paths, 1, line, sizeof(line)));
	u = (struct mount_users){.n_denied = 7};
	assert_true(mount_users_any(&u));
	assert_true(mount_users_line(&u, paths, 0, line, sizeof(line)));
	assert_non_null(strstr(line, "may not examine 7 processes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mount_without_users_has_none),
		cmocka_unit_test(a_user_is_named_with_its_directory),
		cmocka_unit_test(more_users_than_the_list_has_are_counted),
		cmocka_unit_test(an_incomplete_search_counts_as_use),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
