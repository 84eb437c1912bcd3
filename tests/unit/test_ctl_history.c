/* SPDX-License-Identifier: BSD-3-Clause */
/* `plenum history` and `plenum rollback`, and commands that meet another operator's change. */
#include "tests/lib/agent/ctl_rig.h"

static const char leg_json[] = "{\"name\":\"leg-a\",\"pending\":\"change\"}";

/* Another command has changed the configuration between the two requests of this one. */
static void test_net_set_looks_again_after_a_conflict(void **state)
{
	struct result r;

	agent->n_conflicts = 5;
	agent->n_requests = 0;
	r = run("net set leg-a --label x", 200, leg_json);
	assert_int_equal(r.status, CTL_OK);
	assert_int_equal(agent->n_conflicts, 0);
	assert_int_equal(agent->n_requests, 2 * 6);
	assert_body("{\"label\":\"x\"}");
	/* Not for ever. */
	agent->n_conflicts = 1000;
	r = run("net set leg-a --label x", 200, "{\"detail\":\"it changed\"}");
	assert_int_equal(r.status, CTL_DATA);
	assert_non_null(strstr(r.err, "it changed"));
	assert_in_range(1000 - agent->n_conflicts, 10, 30);
	agent->n_conflicts = 0;
}

static void test_history_prints_a_table(void **state)
{
	struct result r = run("history", 200,
			      "{\"history\":[{\"number\":7,\"time\":\"2026-01-02T03:04:05Z\","
			      "\"by\":\"uid 0, pid 3\",\"what\":\"staged\",\"steps\":5,"
			      "\"outcome\":\"applied\",\"text\":\"\",\"kept\":true}]}");

	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/history");
	assert_non_null(strstr(r.out, "7"));
	assert_non_null(strstr(r.out, "root (uid 0, pid 3)"));
	assert_non_null(strstr(r.out, "applied"));
	assert_null(strstr(r.out, "times"));
	r = run("history", 200,
		"{\"history\":[{\"number\":27,\"time\":\"2026-01-02T03:04:05Z\",\"by\":\"uid 0, "
		"pid 3\",\"what\":\"files\",\"steps\":0,\"outcome\":\"failed\",\"text\":\"no\","
		"\"kept\":false,\"times\":25}]}");
	assert_non_null(strstr(r.out, "failed (25 times)"));
}

static void test_history_shows_and_compares_configurations(void **state)
{
	struct result r = run("history show 7", 200, "host: a\n");

	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/history/7");
	assert_string_equal(r.out, "host: a\n");
	/* The agent of this test gives one answer to both requests. */
	r = run("history show 7", 200,
		"{\"plan\":{\"steps\":[{\"step\":\"add a\",\"reason\":\"b\",\"result\":\"done\"}],"
		"\"actions\":[{\"action\":\"start c\",\"reason\":\"\",\"result\":\"not done\"}],"
		"\"left_out\":2}}");
	assert_non_null(strstr(agent->request, "Accept: application/json\r\n"));
	assert_non_null(strstr(r.out, "}\n# The plan of apply 7:\n"
				      "#   done         add a (b)\n"
				      "#   not done     start c\n"
				      "#   2 further steps and actions are not kept\n"));
	r = run("history show 7 -j", 200, "{\"plan\":{\"steps\":[]}}");
	assert_non_null(strstr(r.out, "\"plan\": {"));
	r = run("history show 7", 404, "{\"detail\":\"no\"}");
	assert_int_equal(r.status, CTL_NO_INPUT);
	assert_string_equal(r.out, "");
	r = run("history diff 7", 200, "host: a\n");
	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/config/running");
	assert_string_equal(r.out, "");
	run("history diff 7 6", 200, "host: a\n");
	assert_asked("GET /v1/history/6");
	assert_int_equal(run("history show x", 200, "").status, CTL_USAGE);
	assert_int_equal(run("history diff 7", 404, "{\"detail\":\"no\"}").status, CTL_NO_INPUT);
}

static void test_rollback_sends_dry_run(void **state)
{
	struct result r =
		run("rollback 7 --dry-run", 200,
		    "{\"steps\":[{\"step\":\"set x\",\"reason\":\"y\"}],\"warnings\":[]}");

	assert_int_equal(r.status, CTL_OK);
	assert_asked("POST /v1/rollback");
	assert_body("{\"to\":7,\"dry-run\":true}");
	assert_non_null(strstr(r.out, "1. set x\n      y\n"));
}

static void test_events_are_chosen_by_options(void **state)
{
	static const struct {
		const char *options, *error;
	} bad[] = {
		{"--since x", "--since is 'x'; write the number of an event, or 2h (ago"},
		{"--until 25:00", "--until is '25:00'; write 2h (ago"},
		{"--severity fatal",
		 "--severity is 'fatal'; write error, warning, notice or info\n"},
		{"-n 0", "--lines needs a number from 1 to 1000, found '0'\n"},
		{"-f --until 2026-11-27", "--until cannot be used with --follow; remove one"},
	};
	static const char none[] = "{\"next\":9,\"events\":[]}";

	run("events --since 2026-11-27T22:00Z --until 2026-11-27T23:00:05Z -n 20 "
	    "--severity warning --source leg-a",
	    200, none);
	assert_asked("GET /v1/events?since=0&from=2026-11-27T22%3A00%3A00%2E000Z&"
		     "until=2026-11-27T23%3A00%3A05%2E000Z&limit=20&severity=warning&source=leg-a");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char line[128];
		struct result r;

		snprintf(line, sizeof(line), "events %s", bad[i].options);
		r = run(line, 200, none);
		assert_int_equal(r.status, CTL_USAGE);
		assert_non_null(strstr(r.err, bad[i].error));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_are_chosen_by_options),
		cmocka_unit_test(test_net_set_looks_again_after_a_conflict),
		cmocka_unit_test(test_history_prints_a_table),
		cmocka_unit_test(test_history_shows_and_compares_configurations),
		cmocka_unit_test(test_rollback_sends_dry_run),
	};

	return cmocka_run_group_tests_name("ctl_history", tests, fake_setup, fake_teardown);
}
