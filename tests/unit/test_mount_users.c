/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for processes that use mounts: their number is not limited, the list of their names
 * is. The test mounts in a mount namespace of its process. tests/e2e/stop_in_use has the ways in
 * which programs can use a mount.
 */
#include "agent/supervise/mounts/mount_users.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static int ready[2];

static void __attribute__((noreturn)) wait_for_kill(bool is_ready)
{
	if (!is_ready || write(ready[1], "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Starts processes first to last - 1, which call act, and waits until they are ready. */
static void start_with(unsigned first, unsigned last, void (*act)(void))
{
	char byte;

	assert_int_equal(pipe(ready), 0);
	for (unsigned i = first; i < last; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			act();
			_exit(1);
		}
	}
	for (unsigned i = first; i < last; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
}

static void enter_mount(void)
{
	wait_for_kill(chdir(at) == 0);
}

static void start(unsigned n)
{
	start_with(0, n, enter_mount);
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

static int open_file(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/file", at);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static bool map_file(void)
{
	const int fd = open_file();
	const bool mapped = ftruncate(fd, 4096) == 0 &&
			    mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED;

	return close(fd) == 0 && mapped;
}

static void *own_table(void *user)
{
	(void)user;
	wait_for_kill(unshare(CLONE_FILES) == 0 && open_file() >= 0);
}

/* Returns when the first thread of the process is a zombie. */
static bool await_end_of_first_thread(void)
{
	char path[64], line[256], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	while (state != 'Z') {
		FILE *f = fopen(path, "re");

		if (!f || !fgets(line, sizeof(line), f) || !strrchr(line, ')') ||
		    sscanf(strrchr(line, ')') + 1, " %c", &state) != 1)
			return false;
		fclose(f);
		sched_yield();
	}
	return true;
}

static void *outlive(void *user)
{
	const bool *maps = user;

	wait_for_kill(await_end_of_first_thread() && (*maps ? map_file() : open_file() >= 0));
}

static void __attribute__((noreturn)) leave_thread(void *(*run)(void *), void *user, bool exits)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, user) != 0)
		_exit(1);
	if (exits)
		pthread_exit(NULL);
	for (;;)
		pause();
}

static void thread_opens(void)
{
	leave_thread(own_table, NULL, false);
}

static void survivor_opens(void)
{
	static bool maps = false;

	leave_thread(outlive, &maps, true);
}

static void survivor_maps(void)
{
	static bool maps = true;

	leave_thread(outlive, &maps, true);
}

/* Searches, and expects that the process is the only user. */
static void expect_only(pid_t pid)
{
	search();
	assert_int_equal(found.n, 1);
	assert_int_equal(found.list[0].pid, pid);
	assert_false(found.incomplete);
}

static void a_thread_with_its_own_open_files_is_a_user(void **state)
{
	(void)state;
	if (!is_mounted)
		skip();
	start_with(0, 1, thread_opens);
	expect_only(children[0]);
	stop(1);
}

static void a_process_whose_first_thread_has_ended_is_a_user(void **state)
{
	(void)state;
	if (!is_mounted)
		skip();
	start_with(0, 1, survivor_opens);
	expect_only(children[0]);
	stop(1);
	start_with(0, 1, survivor_maps);
	expect_only(children[0]);
	stop(1);
}

/* ---- other mount namespaces ---- */

static char elsewhere[] = "/tmp/plenum-users-XXXXXX";

static void leave_to_elsewhere(void)
{
	wait_for_kill(unshare(CLONE_NEWNS) == 0 && chroot(elsewhere) == 0 && chdir("/") == 0);
}

static bool join_first(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)children[0]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && setns(fd, CLONE_NEWNS) == 0;
}

static void join_and_open(void)
{
	wait_for_kill(join_first() && open_file() >= 0);
}

static void join_and_live_on_mount(void)
{
	wait_for_kill(join_first() && chroot(at) == 0 && chdir("/") == 0);
}

static void a_process_with_another_root_hides_no_user_of_its_namespace(void **state)
{
	(void)state;
	if (!is_mounted)
		skip();
	assert_non_null(mkdtemp(elsewhere));
	start_with(0, 1, leave_to_elsewhere);
	start_with(1, 2, join_and_open);
	assert_true(children[1] > children[0]); /* the search examines the first one first */
	expect_only(children[1]);
	kill(children[1], SIGKILL);
	assert_int_equal(waitpid(children[1], NULL, 0), children[1]);
	start_with(1, 2, join_and_live_on_mount);
	expect_only(children[1]);
	assert_string_equal(found.list[0].files[0], at);
	stop(2);
	rmdir(elsewhere);
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
	u = (struct mount_users){.n_denied = 7, .denied = 43, .denied_error = EACCES};
	assert_true(mount_users_any(&u));
	assert_true(mount_users_line(&u, paths, 0, line, sizeof(line)));
	assert_non_null(
		strstr(line, "examine 7 processes, such as process 43 (Permission denied)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mount_without_users_has_none),
		cmocka_unit_test(a_user_is_named_with_its_directory),
		cmocka_unit_test(more_users_than_the_list_has_are_counted),
		cmocka_unit_test(a_thread_with_its_own_open_files_is_a_user),
		cmocka_unit_test(a_process_whose_first_thread_has_ended_is_a_user),
		cmocka_unit_test(a_process_with_another_root_hides_no_user_of_its_namespace),
		cmocka_unit_test(an_incomplete_search_counts_as_use),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
