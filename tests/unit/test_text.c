/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate for text from outside, and that texts of workers, of other hosts and of events pass it.
 */
#include "agent/base/events.h"
#include "agent/base/stats_page.h"
#include "netcfg/base/text.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_cleaned(const char *text, const char *want)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%s", text);
	text_clean(buf);
	assert_string_equal(buf, want);
	assert_int_equal(text_is_clean(text, strlen(text) + 1), strcmp(text, want) == 0);
	assert_false(text_is_clean(text, strlen(text)));
	assert_false(text_is_utf8(text, strlen(text)));
}

static void test_readable_text_is_unchanged(void **state)
{
	static const char *const texts[] = {
		"",
		"host-a",
		"10.1.2.3",
		"no answer (for /mnt/scratch)",
		"Gr\xc3\xb6\xc3\x9f"
		"e",
		"\xe2\x82\xac",
		"\xf0\x9f\x92\xa9",
		"\xe6\xbc\xa2\xe5\xad\x97",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_cleaned(texts[i], texts[i]);
}

static void test_a_cut_text_loses_an_incomplete_character_only(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {{"", ""},
		     {"a", "a"},
		     {"ab\xc3", "ab"},
		     {"ab\xc3\xa9", "ab\xc3\xa9"},
		     {"\xe2\x82", ""},
		     {"a\xf0\x9f\x92", "a"},
		     {"\xf0\x9f\x92\xa9", "\xf0\x9f\x92\xa9"}};
	char buf[16];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		strcpy(buf, cases[i].text);
		text_trim(buf);
		assert_string_equal(buf, cases[i].want);
	}
}

static void test_invalid_utf8_and_control_characters_are_replaced(void **state)
{
	assert_cleaned("a\xff"
		       "b",
		       "a?b");
	assert_cleaned("\xc0\xaf", "??");	      /* overlong */
	assert_cleaned("\xed\xa0\x80", "???");	      /* a surrogate */
	assert_cleaned("\xf4\x90\x80\x80", "????");   /* beyond the last character */
	assert_cleaned("cut \xe2\x82", "cut ??");     /* by a buffer's end */
	assert_cleaned("\x1b[2J\n\t\x7f", "?[2J???"); /* C0 and DEL */
	assert_cleaned("\xc2\x9b"
		       "31m",
		       "??31m"); /* C1: the same as ESC [ */
}

static void test_bidirectional_and_widthless_characters_are_replaced(void **state)
{
	assert_cleaned("a\xe2\x80\xae"
		       "b",
		       "a???b");		    /* U+202E */
	assert_cleaned("\xe2\x81\xa6", "???");	    /* U+2066 */
	assert_cleaned("\xd8\x9c", "??");	    /* U+061C */
	assert_cleaned("\xe2\x80\x8b", "???");	    /* U+200B */
	assert_cleaned("\xe2\x80\xa8", "???");	    /* U+2028 */
	assert_cleaned("\xef\xbb\xbf", "???");	    /* U+FEFF */
	assert_cleaned("\xf3\xa0\x81\x81", "????"); /* U+E0041 */
}

static void test_texts_of_a_worker_pass_the_gate(void **state)
{
	struct launch_stats *page = calloc(1, sizeof(*page));
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	char text[LAUNCH_REASON_MAX];

	assert_non_null(page);
	strcpy(page->paths[0].peer, "evil\xff");
	strcpy(page->paths[0].leg, "leg\x1b");
	strcpy(page->paths[0].remote, "\xe2\x80\xae"
				      "1.2.3.4");
	page->n_paths = 1;
	assert_int_equal(stats_page_paths(page, paths), 1);
	assert_string_equal(paths[0].peer, "evil?");
	assert_string_equal(paths[0].leg, "leg?");
	assert_string_equal(paths[0].remote, "???1.2.3.4");
	strcpy(page->reason, "dead\xc2\x9b");
	stats_page_text(page, page->reason, text, sizeof(text));
	assert_string_equal(text, "dead??");
	free(page);
}

static struct launch_stats *changing; /* a page that the worker is changing; NULL: none */

/* Replaces that of the C library, which sanitizers also call: while a reader waits, the worker ends
 * its change. */
int sched_yield(void)
{
	if (!changing)
		return 0;
	strcpy(changing->paths[0].leg, "leg-a");
	strcpy(changing->reason, "path-mtu");
	changing->seq++;
	return 0;
}

static void test_readers_of_a_page_wait_for_the_end_of_a_change(void **state)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	char text[LAUNCH_REASON_MAX];

	changing = calloc(1, sizeof(*changing));
	assert_non_null(changing);
	changing->n_paths = 1;
	changing->seq = 1;
	assert_int_equal(stats_page_paths(changing, paths), 1);
	assert_string_equal(paths[0].leg, "leg-a");
	changing->reason[0] = '\0';
	changing->seq = 3;
	stats_page_text(changing, changing->reason, text, sizeof(text));
	assert_string_equal(text, "path-mtu");
	free(changing);
	changing = NULL;
}

static void test_texts_of_events_pass_the_gate(void **state)
{
	static struct events ev;
	json_t *o;

	events_init(&ev);
	events_add_all(&ev, LOG_LEVEL_DEBUG, "worker 1", "cannot serve \xff\xe2\x80\xae");
	o = events_to_json(&ev, &(struct events_filter){0});
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(o, "events"), 0), "text")),
			    "cannot serve ????");
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readable_text_is_unchanged),
		cmocka_unit_test(test_invalid_utf8_and_control_characters_are_replaced),
		cmocka_unit_test(test_a_cut_text_loses_an_incomplete_character_only),
		cmocka_unit_test(test_bidirectional_and_widthless_characters_are_replaced),
		cmocka_unit_test(test_texts_of_a_worker_pass_the_gate),
		cmocka_unit_test(test_readers_of_a_page_wait_for_the_end_of_a_change),
		cmocka_unit_test(test_texts_of_events_pass_the_gate),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
