/* SPDX-License-Identifier: BSD-3-Clause */
/* Complete files: their content after a replacement, after a failed one, and after a kill. */
#include "netcfg/base/file.h"
#include "tests/lib/process/kill_steps.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char dir[64], path[80], other[80];

static int setup(void **state)
{
	strcpy(dir, "/tmp/plenum-test-file-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/f", dir);
	snprintf(other, sizeof(other), "%s/g", dir);
	return 0;
}

static int teardown(void **state)
{
	file_abandon(path);
	file_abandon(other);
	unlink(path);
	unlink(other);
	return rmdir(dir);
}

static void assert_text(const char *want)
{
	autofree char *text = NULL;
	size_t len = 0;

	assert_int_equal(file_read(path, 100, &text, &len), 0);
	assert_string_equal(text, want);
	assert_int_equal(len, strlen(want));
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	return st.st_mode & 07777;
}

static void test_the_mode_is_kept(void **state)
{
	assert_int_equal(file_write(path, "one", 3, 0640), 0);
	assert_int_equal(mode_of(path), 0640);
	assert_int_equal(chmod(path, 0604), 0);
	assert_int_equal(file_write(path, "two", 3, 0600), 0);
	assert_int_equal(mode_of(path), 0604);
	assert_text("two");
}

static void test_a_symbolic_link_stays_a_link(void **state)
{
	struct stat st;

	assert_int_equal(file_write(other, "one", 3, 0600), 0);
	assert_int_equal(symlink("g", path), 0);
	assert_int_equal(file_write(path, "two", 3, 0600), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_text("two");
	assert_int_equal(lstat(other, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void test_limits_and_absent_files(void **state)
{
	char *text = NULL;
	size_t len;

	assert_int_equal(file_read(path, 3, &text, &len), -ENOENT);
	assert_int_equal(file_write(path, "four", 4, 0600), 0);
	assert_int_equal(file_read(path, 3, &text, &len), -EFBIG);
	assert_int_equal(file_read(dir, 3, &text, &len), -EISDIR);
	assert_null(text);
	assert_int_equal(file_write("/proc/no/such", "x", 1, 0600), -ENOENT);
	assert_int_equal(file_write(path, "", 0, 0600), 0);
	assert_text("");
}

static void test_a_prepared_file_is_not_visible_yet(void **state)
{
	assert_int_equal(file_write(path, "one", 3, 0600), 0);
	assert_int_equal(file_prepare(path, "two", 3, 0600), 0);
	assert_text("one");
	file_abandon(path);
	assert_int_equal(file_commit(path), -ENOENT);
	assert_text("one");
	assert_int_equal(file_prepare(path, "two", 3, 0600), 0);
	assert_int_equal(file_commit(path), 0);
	assert_text("two");
}

static void replace(void *arg)
{
	if (file_write(path, "new text", 8, 0600) < 0)
		_exit(1);
}

static void test_a_kill_leaves_old_or_new(void **state)
{
	unsigned n_old = 0, n_new = 0;

	for (unsigned n = 1;; n++) {
		autofree char *text = NULL;
		size_t len;
		int r;

		assert_int_equal(file_write(path, "old", 3, 0600), 0);
		r = kill_steps_run(replace, NULL, n);
		if (r == -EPERM)
			skip();
		assert_true(r >= 0);
		assert_int_equal(file_read(path, 100, &text, &len), 0);
		if (strcmp(text, "old") == 0)
			n_old++;
		else
			assert_string_equal(text, "new text");
		n_new += strcmp(text, "old") != 0;
		if (r == 1)
			break;
	}
	assert_true(n_old > 2 && n_new > 1);
}

/* As for files of the kernel: writing a value neither creates nor truncates the file. */
static void test_values_are_written_in_place(void **state)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC),
	    full = open("/dev", O_PATH | O_CLOEXEC);

	assert_true(fd >= 0 && full >= 0);
	assert_int_equal(file_put_value(fd, "f", "2"), -ENOENT);
	assert_int_equal(file_write(path, "1\n", 2, 0600), 0);
	assert_int_equal(file_put_value(fd, "f", "2"), 0);
	assert_text("2\n");
	assert_int_equal(file_put_value(full, "full", "2"), -ENOSPC);
	close(fd);
	close(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_mode_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_values_are_written_in_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_symbolic_link_stays_a_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits_and_absent_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_prepared_file_is_not_visible_yet, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_kill_leaves_old_or_new, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
