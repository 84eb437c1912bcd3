/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Redirects standard error to a file for one message. */
static char written[4096];
static int kept_fd, file_fd;

static void capture_begin(void)
{
	fflush(stderr);
	kept_fd = dup(STDERR_FILENO);
	file_fd = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(kept_fd >= 0 && file_fd >= 0);
	assert_true(dup2(file_fd, STDERR_FILENO) >= 0);
}

static const char *capture_end(void)
{
	ssize_t n = pread(file_fd, written, sizeof(written) - 1, 0);

	dup2(kept_fd, STDERR_FILENO);
	close(kept_fd);
	close(file_fd);
	assert_true(n >= 0);
	written[n] = '\0';
	return written;
}

static void test_a_message_is_one_line(void **state)
{
	char want[128];

	unsetenv("JOURNAL_STREAM");
	capture_begin();
	log_open("unit", LOG_LEVEL_INFO);
	log_notice("a\nb\tc\x1b[31m %d", 5);
	log_debug("not shown");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("shown");
	capture_end();
	snprintf(want, sizeof(want), "unit[%d]: a?b c?[31m 5\nunit[%d]: shown\n", (int)getpid(),
		 (int)getpid());
	assert_string_equal(written, want);
}

static void test_a_long_message_is_cut(void **state)
{
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	capture_begin();
	log_open("unit", LOG_LEVEL_INFO);
	log_err("%s", text);
	capture_end();
	assert_true(strlen(written) < 1100);
	assert_int_equal(written[strlen(written) - 1], '\n');
	assert_null(memchr(written, '\n', strlen(written) - 1));
}

static void test_the_journal_gets_priorities(void **state)
{
	char stream[64];
	struct stat st;

	capture_begin();
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open("unit", LOG_LEVEL_INFO);
	log_warning("careful");
	capture_end();
	assert_string_equal(written, "<4>careful\n");
	unsetenv("JOURNAL_STREAM");
}

static void test_errno_is_left_alone(void **state)
{
	capture_begin();
	log_open("unit", LOG_LEVEL_INFO);
	errno = ENOENT;
	log_err("%m");
	assert_int_equal(errno, ENOENT);
	capture_end();
	assert_non_null(strstr(written, "No such file or directory"));
}

static void test_the_level_decides_what_is_written(void **state)
{
	static const char *const names[] = {"error", "warning", "notice", "info", "debug"};

	for (enum log_level max = LOG_LEVEL_ERR; max <= LOG_LEVEL_DEBUG; max++) {
		capture_begin();
		log_open("unit", LOG_LEVEL_INFO);
		log_set_level(max);
		for (enum log_level l = LOG_LEVEL_ERR; l <= LOG_LEVEL_DEBUG; l++)
			log_write(l, "at %s;", log_level_to_string(l));
		capture_end();
		assert_int_equal(log_get_level(), max);
		for (enum log_level l = LOG_LEVEL_ERR; l <= LOG_LEVEL_DEBUG; l++) {
			char line[32];

			snprintf(line, sizeof(line), "at %s;", names[l - LOG_LEVEL_ERR]);
			assert_int_equal(strstr(written, line) != NULL, l <= max);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_is_one_line),
		cmocka_unit_test(test_a_long_message_is_cut),
		cmocka_unit_test(test_the_journal_gets_priorities),
		cmocka_unit_test(test_errno_is_left_alone),
		cmocka_unit_test(test_the_level_decides_what_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
