/* SPDX-License-Identifier: BSD-3-Clause */
/* The cluster's key file: reading, refusing, and writing a new key. */
#include "netcfg/base/files/secret.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define A "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define B "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

static void test_key_files_are_parsed(void **state)
{
	static const struct {
		const char *text;
		unsigned n; /* 0: refused */
	} cases[] = {
		{A, 1},
		{A "\n", 1},
		{"# a comment " B "\n\n  " A "\t\n# end", 1},
		{A "\n" B "\n", 2},
		{A " " B, 2},
		{"", 0},
		{"# nothing\n", 0},
		{A "0", 0},
		{"0" A, 0},
		{A "\n" A "\n", 0}, /* the same key twice */
		{A "\n" B "\n" A, 0},
		{"G00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0},
		{"00", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct secret s = {.n = 77};

		assert_int_equal(secret_parse(cases[i].text, &s), cases[i].n ? 0 : -EINVAL);
		assert_int_equal(s.n, cases[i].n ? cases[i].n : 77);
		if (cases[i].n)
			assert_int_equal(s.keys[0][31], 0x1f);
	}
}

static void test_a_new_key_is_added_and_written(void **state)
{
	struct secret s = {.n = 0}, back;
	autofree char *text = NULL;

	assert_int_equal(secret_add(&s), 0);
	assert_int_equal(secret_add(&s), 0);
	assert_int_equal(secret_add(&s), -ENOSPC);
	assert_memory_not_equal(s.keys[0], s.keys[1], SECRET_KEY_BYTES);
	text = secret_format(&s);
	assert_non_null(text);
	assert_int_equal(secret_parse(text, &back), 0);
	assert_memory_equal(&back, &s, sizeof(s));
	secret_wipe(&s);
	assert_int_equal(s.keys[0][0] | s.keys[1][5] | s.n, 0);
}

static void test_only_root_may_read_the_file(void **state)
{
	char path[] = "/tmp/plenum-secret.XXXXXX";
	autoclose int fd = mkstemp(path);
	struct reason why;
	struct secret s;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, A "\n", 65), 65);
	assert_int_equal(secret_read(path, &s, &why), 0);
	assert_int_equal(s.n, 1);
	for (unsigned bit = 0; bit < 6; bit++) {
		assert_int_equal(fchmod(fd, 0600 | 1U << bit), 0);
		assert_int_equal(secret_read(path, &s, &why), -EPERM);
		assert_non_null(strstr(why.text, "chmod 600"));
	}
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(ftruncate(fd, 20), 0);
	assert_int_equal(secret_read(path, &s, &why), -EINVAL);
	assert_non_null(strstr(why.text, "plenum secret generate"));
	assert_int_equal(pwrite(fd, A "\n\0" A "\n", 131, 0), 131); /* the rest would be ignored */
	assert_int_equal(secret_read(path, &s, &why), -EINVAL);
	unlink(path);
	assert_int_equal(secret_read(path, &s, &why), -ENOENT);
	assert_int_equal(secret_read("/tmp", &s, &why), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_files_are_parsed),
		cmocka_unit_test(test_a_new_key_is_added_and_written),
		cmocka_unit_test(test_only_root_may_read_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
