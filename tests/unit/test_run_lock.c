/* SPDX-License-Identifier: BSD-3-Clause */
/* The run directory's lock: no other user can hold it, agents of this and of earlier versions
 * exclude each other, and the agent creates removed lock files again. */
#include "agent/base/run_lock.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define STRANGER 65534

static char dir[64], pid_path[80], lock_path[80];

static int set_up(void **state)
{
	strcpy(dir, "/tmp/plenum-run-lock.XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	snprintf(pid_path, sizeof(pid_path), "%s/plenumd.pid", dir);
	snprintf(lock_path, sizeof(lock_path), "%s/plenumd.lock", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(pid_path);
	unlink(lock_path);
	return rmdir(dir);
}

static int take(struct run_lock *ret, pid_t *ret_owner)
{
	return run_lock_take(dir, ret, ret_owner, NULL);
}

/* As agents up to 60dec88 take the lock. 0, or -1 if it is held. */
static int take_as_before(int *ret_fd)
{
	char text[24];
	int fd = open(pid_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	int len = snprintf(text, sizeof(text), "%d\n", getpid());

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || ftruncate(fd, 0) < 0 ||
	    pwrite(fd, text, (size_t)len, 0) != len) {
		close(fd);
		return -1;
	}
	*ret_fd = fd;
	return 0;
}

struct other { /* a process */
	pid_t pid;
	int order; /* closing it ends the process */
};

/* Runs hold() in another process, which keeps what it opened until other_end. */
static void other_start(struct other *o, uid_t uid, int (*hold)(void))
{
	int told[2], order[2];
	char c;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	assert_int_equal(pipe2(order, O_CLOEXEC), 0);
	o->pid = fork();
	if (o->pid == 0) {
		close(order[1]);
		if ((uid && setuid(uid) < 0) || hold() < 0 || write(told[1], "x", 1) != 1)
			_exit(1);
		_exit(read(order[0], &c, 1) != 0);
	}
	close(told[1]);
	close(order[0]);
	o->order = order[1];
	assert_int_equal(read(told[0], &c, 1), 1);
	close(told[0]);
}

static void other_end(const struct other *o)
{
	int status;

	close(o->order);
	assert_int_equal(waitpid(o->pid, &status, 0), o->pid);
	assert_int_equal(status, 0);
}

static int hold_any_way(void)
{
	int fd = open(pid_path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : flock(fd, LOCK_SH);
}

static int hold_as_before(void)
{
	int fd;

	return take_as_before(&fd);
}

static int hold_as_now(void)
{
	struct run_lock l;
	pid_t owner;

	return take(&l, &owner);
}

static int open_only(void)
{
	return open(pid_path, O_RDONLY | O_CLOEXEC);
}

/* What an agent up to 60dec88 leaves. */
static void leave_as_before(void)
{
	int fd = open(pid_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(write(fd, "1999999999\n", 11), 11);
	close(fd);
}

static void assert_private(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_another_user_who_locks_the_pid_file_cannot_keep_the_agent_from_starting(
	void **state)
{
	struct run_lock l;
	struct other o;
	pid_t owner;
	uint64_t began;

	if (geteuid() != 0)
		skip();
	leave_as_before();
	other_start(&o, STRANGER, hold_any_way);
	began = clock_now_ns();
	assert_int_equal(take(&l, &owner), 0);
	assert_true(clock_now_ns() - began < 10 * NSEC_PER_SEC);
	assert_private(pid_path);
	assert_private(lock_path);
	run_lock_done(&l);
	/* From now on no process of that user can delay a start. */
	began = clock_now_ns();
	assert_int_equal(take(&l, &owner), 0);
	assert_true(clock_now_ns() - began < NSEC_PER_SEC);
	run_lock_done(&l);
	other_end(&o);
}

static void test_another_user_who_opened_the_former_pid_file_cannot_lock_the_new_one(void **state)
{
	struct run_lock l;
	struct other o;
	struct stat was, is;
	pid_t owner;

	if (geteuid() != 0)
		skip();
	leave_as_before();
	assert_int_equal(stat(pid_path, &was), 0);
	other_start(&o, STRANGER, open_only);
	assert_int_equal(take(&l, &owner), 0);
	assert_int_equal(stat(pid_path, &is), 0);
	assert_true(was.st_ino != is.st_ino);
	assert_private(pid_path);
	run_lock_done(&l);
	other_end(&o);
}

static void test_an_agent_of_an_earlier_version_excludes_a_new_one(void **state)
{
	struct run_lock l;
	struct other o;
	pid_t owner = 0;

	other_start(&o, 0, hold_as_before);
	assert_int_equal(take(&l, &owner), -EBUSY);
	assert_int_equal(owner, o.pid);
	other_end(&o);
	assert_int_equal(take(&l, &owner), 0);
	run_lock_done(&l);
}

static void test_a_new_agent_excludes_one_of_an_earlier_version(void **state)
{
	struct other o;
	char text[24] = "";
	int fd = -1, former;

	leave_as_before();
	former = open(pid_path, O_RDWR | O_CLOEXEC); /* an earlier agent just before its flock() */
	assert_true(former >= 0);
	other_start(&o, 0, hold_as_now);
	assert_int_equal(take_as_before(&fd), -1);
	assert_int_equal(flock(former, LOCK_EX | LOCK_NB), -1);
	assert_true(pread(former, text, sizeof(text) - 1, 0) > 0);
	assert_int_equal(atoi(text), o.pid);
	other_end(&o);
	close(former);
	assert_int_equal(take_as_before(&fd), 0);
	close(fd);
}

static void test_a_second_new_agent_is_refused(void **state)
{
	struct run_lock l;
	struct other o;
	pid_t owner = 0;

	other_start(&o, 0, hold_as_now);
	assert_int_equal(take(&l, &owner), -EBUSY);
	assert_int_equal(owner, o.pid);
	other_end(&o);
	assert_int_equal(take(&l, &owner), 0);
	run_lock_done(&l);
}

static void test_removed_files_are_created_and_locked_again(void **state)
{
	struct run_lock l, second;
	pid_t owner = 0;
	int fd;

	assert_int_equal(take(&l, &owner), 0);
	assert_int_equal(run_lock_restore(&l, dir), 0);
	assert_int_equal(unlink(pid_path), 0);
	assert_int_equal(unlink(lock_path), 0);
	assert_int_equal(run_lock_restore(&l, dir), 1);
	assert_private(pid_path);
	assert_private(lock_path);
	assert_int_equal(take(&second, &owner), -EBUSY);
	assert_int_equal(owner, getpid());
	assert_int_equal(take_as_before(&fd), -1);
	assert_int_equal(run_lock_restore(&l, dir), 0);
	run_lock_done(&l);
}

static void test_an_agent_that_started_after_the_removal_is_not_overruled(void **state)
{
	struct run_lock l;
	struct other o;
	pid_t owner = 0;
	int (*const hold[])(void) = {hold_as_now, hold_as_before};

	for (size_t i = 0; i < ARRAY_SIZE(hold); i++) {
		assert_int_equal(take(&l, &owner), 0);
		assert_int_equal(unlink(pid_path), 0);
		assert_int_equal(unlink(lock_path), 0);
		other_start(&o, 0, hold[i]);
		assert_int_equal(run_lock_restore(&l, dir), -EBUSY);
		other_end(&o);
		run_lock_done(&l);
	}
}

static void test_a_lock_file_that_others_can_open_is_refused(void **state)
{
	struct run_lock l;
	pid_t owner = 0;
	struct reason why = {"", ""};
	int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(fchmod(fd, 0644), 0);
	close(fd);
	assert_int_equal(run_lock_take(dir, &l, &owner, &why), -EPERM);
	assert_non_null(strstr(
		why.text, "plenumd.lock must belong to the user of plenumd and have mode 0600"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_another_user_who_locks_the_pid_file_cannot_keep_the_agent_from_starting),
		TEST(test_another_user_who_opened_the_former_pid_file_cannot_lock_the_new_one),
		TEST(test_an_agent_of_an_earlier_version_excludes_a_new_one),
		TEST(test_a_new_agent_excludes_one_of_an_earlier_version),
		TEST(test_a_second_new_agent_is_refused),
		TEST(test_removed_files_are_created_and_locked_again),
		TEST(test_an_agent_that_started_after_the_removal_is_not_overruled),
		TEST(test_a_lock_file_that_others_can_open_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
