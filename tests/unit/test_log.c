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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_is_one_line),
		cmocka_unit_test(test_a_long_message_is_cut),
		cmocka_unit_test(test_the_journal_gets_priorities),
		cmocka_unit_test(test_errno_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
