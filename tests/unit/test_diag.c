/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/base/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_lines_are_sorted_by_place(void **state)
{
	struct diag_pos late = {"a.yaml", 9, 1}, early = {"a.yaml", 2, 7}, same = {"a.yaml", 2, 3},
			other = {"b.yaml", 1, 1}, whole = {"c.yaml", 0, 0};
	struct diag d = DIAG_INIT;
	autofree char *text = NULL;

	diag_add(&d, DIAG_ERROR, &late, "net[1]", "late %d", 5);
	diag_add(&d, DIAG_WARNING, &other, NULL, "other");
	diag_add(&d, DIAG_ERROR, &early, "host", "early");
	diag_add(&d, DIAG_ERROR, NULL, NULL, "nowhere");
	diag_add(&d, DIAG_ERROR, &same, "", "earlier");
	diag_add(&d, DIAG_ERROR, &whole, NULL, "whole file");
	text = diag_format(&d);
	assert_non_null(text);
	assert_string_equal(text, "a.yaml:2:3: error: earlier\n"
				  "a.yaml:2:7: error: host: early\n"
				  "a.yaml:9:1: error: net[1]: late 5\n"
				  "b.yaml:1:1: warning: other\n"
				  "c.yaml: error: whole file\n"
				  "error: nowhere\n");
	assert_int_equal(d.n_errors, 5);
	diag_done(&d);
}

/* The words may come from a file or from another host. */
static void test_no_word_controls_the_terminal(void **state)
{
	struct diag_pos at = {"a\033[2J.yaml", 1, 2};
	struct diag d = DIAG_INIT;
	autofree char *text = NULL;

	diag_add(&d, DIAG_ERROR, &at, "links[0].\033]0;x\007",
		 "found \xc2\x9b"
		 "31m\nb");
	text = diag_format(&d);
	assert_string_equal(text, "a?[2J.yaml:1:2: error: links[0].?]0;x?: found ??31m?b\n");
	diag_done(&d);
}

static void test_warnings_are_no_errors(void **state)
{
	struct diag d = DIAG_INIT;

	assert_false(diag_has_errors(&d));
	diag_add(&d, DIAG_WARNING, NULL, NULL, "careful");
	assert_false(diag_has_errors(&d));
	assert_null(diag_first_error(&d));
	d.out_of_memory = true;
	assert_true(diag_has_errors(&d));
	assert_null(diag_first_error(&d)); /* it has no text */
	diag_add(&d, DIAG_ERROR, NULL, "net", "wrong");
	diag_add(&d, DIAG_ERROR, NULL, NULL, "worse");
	assert_string_equal(diag_first_error(&d)->text, "wrong");
	diag_done(&d);
}

static void test_a_flood_is_cut_and_counted(void **state)
{
	struct diag d = DIAG_INIT;
	autofree char *text = NULL;

	for (int i = 0; i < 1000; i++)
		diag_add(&d, DIAG_ERROR, NULL, NULL, "error %d", i);
	text = diag_format(&d);
	assert_non_null(text);
	assert_int_equal(d.n_errors, 1000);
	assert_true(d.n < 1000);
	assert_non_null(strstr(text, "further errors are not shown"));
	diag_done(&d);
	assert_int_equal(d.n, 0);
}

static void test_similar_names_are_suggested(void **state)
{
	static const char *const keys[] = {"name", "device", "network", "label", "vfs", "rdma"};
	static const struct {
		const char *word, *want;
	} cases[] = {
		{"nmae", "name"}, {"devise", "device"}, {"netwrok", "network"},
		{"vf", "vfs"},	  {"label", "label"},	{"colour", NULL},
		{"", NULL},	  {"x", NULL},		{"networks-and-many-more", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = diag_suggest(cases[i].word, keys, ARRAY_SIZE(keys));

		if (cases[i].want) {
			assert_non_null(got);
			assert_string_equal(got, cases[i].want);
		} else {
			assert_null(got);
		}
	}
	assert_null(diag_suggest("name", keys, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_sorted_by_place),
		cmocka_unit_test(test_no_word_controls_the_terminal),
		cmocka_unit_test(test_warnings_are_no_errors),
		cmocka_unit_test(test_a_flood_is_cut_and_counted),
		cmocka_unit_test(test_similar_names_are_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
