/* SPDX-License-Identifier: BSD-3-Clause */
/* Points in time that people write. */
#include "netcfg/base/when.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOW 1795820400000ULL /* 2026-11-27T23:00:00Z */

static void test_times_are_read(void **state)
{
	static const struct {
		const char *text, *is;
		bool local;
	} cases[] = {
		{"90s", "2026-11-27T22:58:30.000Z", false},
		{"2h", "2026-11-27T21:00:00.000Z", true},
		{"7d", "2026-11-20T23:00:00.000Z", false},
		{"999999999d", "1970-01-01T00:00:00.000Z", false},
		{"2026-11-27", "2026-11-27T00:00:00.000Z", false},
		{"2026-11-27T22:00", "2026-11-27T22:00:00.000Z", false},
		{"2026-11-27T22:00", "2026-11-27T20:00:00.000Z", true},
		{"2026-11-27 22:00:05", "2026-11-27T22:00:05.000Z", false},
		{"2026-11-27T22:00:05.123Z", "2026-11-27T22:00:05.123Z", true},
		{"2026-11-27T22:00+01:30", "2026-11-27T20:30:00.000Z", true},
		{"2026-11-27T22:00-01:30", "2026-11-27T23:30:00.000Z", false},
		{"2028-02-29T00:00Z", "2028-02-29T00:00:00.000Z", false},
		{"2000-02-29T12:00Z", "2000-02-29T12:00:00.000Z", false},
		{"1970-01-01", "1970-01-01T00:00:00.000Z", false},
		{"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z", false},
	};
	char text[WHEN_TEXT_MAX];
	uint64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(when_parse(cases[i].text, NOW, cases[i].local, &ms), 0);
		assert_string_equal(when_format(ms, text), cases[i].is);
	}
}

/* The C library agrees on each day. */
static void test_days_are_those_of_the_calendar(void **state)
{
	for (time_t t = 0; t < 16LL << 30; t += 86400 * 3 + 3601) {
		char text[WHEN_TEXT_MAX];
		uint64_t ms;

		assert_int_equal(when_parse(when_format((uint64_t)t * 1000, text), 0, false, &ms),
				 0);
		assert_int_equal(ms, (uint64_t)t * 1000);
	}
}

static void test_other_texts_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"h",
		"2",
		"2w",
		"-2h",
		"2h ",
		"yesterday",
		"2026",
		"2026-13-01",
		"2026-02-29",
		"2026-11-27T",
		"2026-11-27T22",
		"22:00",
		"2026-11-27T24:00",
		"2026-11-27T22:00x",
		"1969-12-31",
		"2026-11-27Z",
		"2026-1-27",
		"1970-01-01T00:00+01:00",
		"2026-11-27T22:00:05.",
		"2026-11-27T22:00+1",
		"99999999999999999999h",
	};
	uint64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(when_parse(bad[i], NOW, false, &ms), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_are_read),
		cmocka_unit_test(test_days_are_those_of_the_calendar),
		cmocka_unit_test(test_other_texts_are_refused),
	};

	setenv("TZ", "EET-2", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
