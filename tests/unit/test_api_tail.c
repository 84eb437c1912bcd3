/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the text of streams of events: ids, filters, gaps, and the memory that all streams share.
 */
#include "agent/api/api_tail.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct events ev;
static struct api_tail tail;

static int setup(void **state)
{
	log_set_level(LOG_LEVEL_ERR - 1);
	events_init(&ev);
	ev.instance = 0xabc;
	return 0;
}

static int teardown(void **state)
{
	api_tail_done(&tail);
	return 0;
}

/* Plays the monitor: puts the events from tail.next on into the tail. */
static void look(void)
{
	const struct events_filter f = {.since = tail.next, .instance = tail.instance};
	json_t *o = events_to_json(&ev, &f);
	char *text = json_dumps(o, JSON_COMPACT);

	assert_int_equal(api_tail_take(&tail, text, strlen(text)), 0);
	json_decref(o);
	free(text);
}

static void add(size_t n, enum log_level severity, const char *source)
{
	for (size_t i = 0; i < n; i++)
		events_add_all(&ev, severity, source, "a \"quoted\" text");
}

static void expect(struct api_tail_cursor *c, const char *begin, const char *part)
{
	char *text = NULL;

	assert_int_equal(api_tail_next(&tail, c, &text), 1);
	assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
	assert_non_null(strstr(text, part));
	assert_string_equal(strstr(text, "\n\n"), "\n\n"); /* one event, and its end */
	free(text);
}

static void expect_none(struct api_tail_cursor *c)
{
	char *text = NULL;

	assert_int_equal(api_tail_next(&tail, c, &text), 0);
}

static void test_a_stream_has_each_event_once_with_its_id(void **state)
{
	struct api_tail_cursor c = {.next = 0}, late = {.instance = 0xabc, .next = 3};

	expect_none(&c); /* the monitor has not answered yet */
	add(3, LOG_LEVEL_NOTICE, "agent");
	look();
	for (unsigned i = 1; i <= 3; i++) {
		char id[60];

		snprintf(id, sizeof(id), "id: 0000000000000abc-%u\ndata: {\"seq\":%u,", i, i);
		expect(&c, id, "\"text\":\"a \\\"quoted\\\" text\"}");
	}
	expect_none(&c);
	expect(&late, "id: 0000000000000abc-3\n", "\"seq\":3");
	add(1, LOG_LEVEL_NOTICE, "agent");
	expect_none(&c);
	look();
	expect(&c, "id: 0000000000000abc-4\n", "\"seq\":4");
	look(); /* the same answer again adds nothing */
	expect_none(&c);
}

static void test_a_stream_selects_by_severity_and_source(void **state)
{
	struct api_tail_cursor c = {.severity = LOG_LEVEL_WARNING, .source = "worker 2"};
	char *text;

	add(1, LOG_LEVEL_INFO, "worker 2");
	add(1, LOG_LEVEL_ERR, "agent");
	add(1, LOG_LEVEL_ERR, "worker 2");
	add(1, LOG_LEVEL_NOTICE, "worker 2");
	look();
	expect(&c, "id: 0000000000000abc-3\n", "\"severity\":\"error\"");
	expect_none(&c);
	/* The comment moves the id on: the client does not come back for what it did not select. */
	text = api_tail_keep_alive(&c);
	assert_string_equal(text, ": keep-alive\nid: 0000000000000abc-4\n\n");
	free(text);
}

/* A client that was away for longer than events are kept, or reads slowly. */
static void test_missing_numbers_are_a_gap(void **state)
{
	struct api_tail_cursor c = {.instance = 0xabc, .next = 5};

	add(EVENTS_KEPT + 10, LOG_LEVEL_NOTICE, "agent");
	look();
	expect(&c, "id: 0000000000000abc-10\nevent: gap\n",
	       "data: {\"from\":5,\"next\":11,\"instance\":\"0000000000000abc\",");
	expect(&c, "id: 0000000000000abc-11\n", "\"seq\":11");
	add(EVENTS_KEPT + 1, LOG_LEVEL_NOTICE, "agent");
	look();
	assert_int_equal(tail.n, EVENTS_KEPT);
	expect(&c, "id: 0000000000000abc-1011\nevent: gap\n", "\"from\":12,\"next\":1012");
	/* Without a number there is nothing that could be missing. */
	c = (struct api_tail_cursor){.next = 0};
	expect(&c, "id: 0000000000000abc-1012\n", "\"seq\":1012");
}

/* The agent has lost its stored events, and with them the numbers. */
static void test_another_instance_is_a_gap(void **state)
{
	struct api_tail_cursor c = {.instance = 0xdef, .next = 700},
			       high = {.instance = 0xabc, .next = 700},
			       all = {.instance = 0xdef, .next = 0};

	add(2, LOG_LEVEL_NOTICE, "agent");
	look();
	expect(&c, "id: 0000000000000abc-0\nevent: gap\n", "began again");
	expect(&c, "id: 0000000000000abc-1\n", "\"seq\":1");
	expect(&high, "id: 0000000000000abc-0\nevent: gap\n", "\"from\":700,\"next\":1,");
	expect(&all, "id: 0000000000000abc-1\n", "\"seq\":1");
	/* Also where the child keeps its streams over the change. */
	events_init(&ev);
	ev.instance = 0x123;
	add(1, LOG_LEVEL_NOTICE, "agent");
	look();
	assert_int_equal(tail.n, 1);
	expect(&c, "id: 0000000000000123-0\nevent: gap\n", "\"instance\":\"0000000000000123\"");
	expect(&c, "id: 0000000000000123-1\n", "\"seq\":1");
}

/* Numbers are missing at the end of what is kept: after a restart, all events were lost. */
static void test_lost_events_without_a_successor_are_a_gap(void **state)
{
	struct api_tail_cursor c = {.instance = 0xabc, .next = 5};

	events_restore(&ev, NULL, 0, 0xabc, 20);
	look();
	expect(&c, "id: 0000000000000abc-19\nevent: gap\n", "\"from\":5,\"next\":20");
	expect_none(&c);
}

static void test_another_answer_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"next\":1,\"instance\":\"abc\"}",
		"{\"next\":2,\"instance\":\"abc\",\"events\":[{\"seq\":1}]}",
		"{\"next\":0,\"instance\":\"abc\",\"events\":[]}",
		"{\"next\":1,\"instance\":\"0\",\"events\":[]}"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(api_tail_take(&tail, bad[i], strlen(bad[i])), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_stream_has_each_event_once_with_its_id,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_stream_selects_by_severity_and_source, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_missing_numbers_are_a_gap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_instance_is_a_gap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_events_without_a_successor_are_a_gap,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_answer_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
