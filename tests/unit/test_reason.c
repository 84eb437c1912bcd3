/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/base/reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Words of five letters and a space; the text of a reason has room for 85 of them. */
static const char *words(char *buf, size_t size, unsigned n)
{
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < n; i++)
		len += (size_t)snprintf(buf + len, size - len, "%sab%03u", i ? " " : "", i);
	return buf;
}

static void test_code_and_text_are_formatted(void **state)
{
	struct reason r;
	char text[REASON_FORMAT_MAX];

	reason_set(&r, "no-carrier", "check the cable of %s", "eth0");
	assert_string_equal(r.code, "no-carrier");
	assert_string_equal(r.text, "check the cable of eth0");
	assert_true(reason_is_set(&r));
	assert_string_equal(reason_format(&r, text, sizeof(text)),
			    "no-carrier: check the cable of eth0");
	reason_set(&r, "policy", "%s", "");
	assert_string_equal(reason_format(&r, text, sizeof(text)), "policy");
	reason_clear(&r);
	assert_false(reason_is_set(&r));
	assert_string_equal(reason_format(&r, text, sizeof(text)), "");
}

static void test_a_text_without_code_is_a_reason(void **state)
{
	struct reason r;
	char text[REASON_FORMAT_MAX];

	reason_set(&r, "old", "old");
	reason_set_text(&r, "no interface %s", "eth9");
	assert_string_equal(r.code, "");
	assert_true(reason_is_set(&r));
	assert_string_equal(reason_format(&r, text, sizeof(text)), "no interface eth9");
}

static void test_context_goes_before_and_more_behind(void **state)
{
	struct reason r = {.code = "busy", .text = "it is in use"};

	reason_prefix(&r, "mount point %s", "/mnt/a");
	assert_string_equal(r.text, "mount point /mnt/a: it is in use");
	reason_append(&r, "stop %d processes", 2);
	assert_string_equal(r.text, "mount point /mnt/a: it is in use; stop 2 processes");
	assert_string_equal(r.code, "busy");

	reason_clear(&r);
	reason_prefix(&r, "mount point %s", "/mnt/a");
	assert_string_equal(r.text, "mount point /mnt/a");
	reason_clear(&r);
	reason_append(&r, "stop it");
	assert_string_equal(r.text, "stop it");
}

static void test_arguments_may_come_from_the_reason_itself(void **state)
{
	struct reason r = {.code = "busy", .text = "device"};

	reason_set(&r, r.code, "%s %s is in use", r.text, r.text);
	assert_string_equal(r.code, "busy");
	assert_string_equal(r.text, "device device is in use");
	reason_prefix(&r, "%s", r.code);
	assert_string_equal(r.text, "busy: device device is in use");
	reason_set_text(&r, "no %s", r.text);
	assert_string_equal(r.text, "no busy: device device is in use");
}

static void test_no_reason_is_wanted_with_null(void **state)
{
	reason_set(NULL, "code", "text");
	reason_set_text(NULL, "text");
	reason_prefix(NULL, "text");
	reason_append(NULL, "text");
	reason_clear(NULL);
}

static void test_a_text_that_just_fits_is_whole(void **state)
{
	char exact[REASON_TEXT_MAX];
	struct reason r;

	memset(exact, 'x', sizeof(exact));
	exact[sizeof(exact) - 1] = '\0';
	reason_set_text(&r, "%s", exact);
	assert_string_equal(r.text, exact);
}

/* Nothing is written beyond the reason: the bytes around it keep their value. */
static void test_a_long_text_ends_after_a_whole_word(void **state)
{
	struct {
		char before[16];
		struct reason r;
		char after[16];
	} guarded;
	char want[REASON_TEXT_MAX + 8], text[4096], guard[16];

	memset(&guarded, 0x5a, sizeof(guarded));
	memset(guard, 0x5a, sizeof(guard));
	for (unsigned n = 80; n < 600; n++) {
		reason_set(&guarded.r, "long", "%s", words(text, sizeof(text), n));
		if (strlen(text) < REASON_TEXT_MAX) {
			assert_string_equal(guarded.r.text, text);
			continue;
		}
		words(want, sizeof(want), 84); /* 503 bytes; with one more word 509, and " ..." */
		strcat(want, " ...");
		assert_string_equal(guarded.r.text, want);
	}
	assert_memory_equal(guarded.before, guard, sizeof(guard));
	assert_memory_equal(guarded.after, guard, sizeof(guard));
}

static void test_a_cut_text_has_no_comma_before_its_end(void **state)
{
	struct reason r = {.text = "the device, which another program uses, is busy"};
	char text[18];

	assert_string_equal(reason_format(&r, text, sizeof(text)), "the device ...");
	assert_string_equal(reason_format(&r, text, 14), "the ...");
}

/* Of every length of buffer the same is true; a euro sign has three bytes. */
static void test_a_cut_keeps_characters_whole(void **state)
{
	static const char euros[] = "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac";
	struct reason r = {.code = ""};

	snprintf(r.text, sizeof(r.text), "%s", euros);
	for (size_t size = 1; size < sizeof(euros); size++) {
		char text[sizeof(euros)];
		size_t len;

		memset(text, 0x5a, sizeof(text));
		reason_format(&r, text, size);
		len = strlen(text);
		assert_true(len < size);
		if (size < 4) {
			assert_int_equal(len, 0);
			continue;
		}
		assert_string_equal(text + len - 3, "...");
		assert_int_equal((len - 3) % 3, 0);
		assert_memory_equal(text, euros, len - 3);
		assert_true(len + 3 >= size - 1); /* no more is dropped than one character */
	}
	r.text[0] = '\0';
	for (int i = 0; i < 400; i++)
		reason_prefix(&r, "%s", euros);
	assert_true(strlen(r.text) < REASON_TEXT_MAX);
	assert_string_equal(r.text + strlen(r.text) - 4, " ...");
}

static void test_equal_needs_code_and_text(void **state)
{
	struct reason a, b;

	reason_set(&a, "code", "text");
	reason_set(&b, "code", "text");
	assert_true(reason_equal(&a, &b));
	reason_set(&b, "other", "text");
	assert_false(reason_equal(&a, &b));
	reason_set(&b, "code", "other");
	assert_false(reason_equal(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_and_text_are_formatted),
		cmocka_unit_test(test_a_text_without_code_is_a_reason),
		cmocka_unit_test(test_context_goes_before_and_more_behind),
		cmocka_unit_test(test_arguments_may_come_from_the_reason_itself),
		cmocka_unit_test(test_no_reason_is_wanted_with_null),
		cmocka_unit_test(test_a_text_that_just_fits_is_whole),
		cmocka_unit_test(test_a_long_text_ends_after_a_whole_word),
		cmocka_unit_test(test_a_cut_text_has_no_comma_before_its_end),
		cmocka_unit_test(test_a_cut_keeps_characters_whole),
		cmocka_unit_test(test_equal_needs_code_and_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
