/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdicts about legs that hosts publish, from sessions and probes, and the merged list. */
#include "agent/cluster/view/links_rows.h"
#include "agent/links/links_watch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW (1000 * NSEC_PER_SEC)

/* ---- sessions of workers ---- */

static struct ip_addr ip_of(uint32_t host)
{
	return (struct ip_addr){.family = AF_INET, .bytes = {10, 1, 0, (uint8_t)(host + 1)}};
}

static struct links_watch_leg silent_leg(void)
{
	return (struct links_watch_leg){
		.name = "leg-a",
		.ifname = "eth1",
		.ip = {ip_of(0), 16},
		.report = {.ifindex = 1, .verdict = LINKS_OWN_LEG, .known = 3, .asked = 3}};
}

static struct links_report_fault fault_of(uint32_t host)
{
	struct links_report_fault f = {
		.leg = "leg-a", .ip = ip_of(host), .verdict = LINKS_PEER_LEG};

	snprintf(f.host, sizeof(f.host), "host-%u", host);
	return f;
}

static void a_path_of_a_worker_counts_more_than_silent_probes(void **state)
{
	const struct links_path path = {.leg = "leg-a", .peer = "host-1", .remote = ip_of(1)};
	const struct links_report_fault to = fault_of(1), other = fault_of(2);
	struct links_watch_leg leg = silent_leg();
	struct links_evidence e = {.paths = &path, .n_paths = 1, .carrier = true, .answered = true};
	struct links_opinion o;

	links_judge(&leg, &e, &o);
	assert_int_equal(o.verdict, LINKS_OK);
	assert_true(o.by_paths);
	assert_false(o.dead);
	assert_string_equal(o.why.code, "");
	assert_int_equal(links_judge_fault(&leg, &to, &e), LINKS_OK);
	assert_int_equal(links_judge_fault(&leg, &other, &e), LINKS_PEER_LEG);
	/* The path of another leg says nothing, and without a path the probes decide. */
	memcpy(leg.name, "leg-b", sizeof("leg-b"));
	links_judge(&leg, &e, &o);
	assert_int_equal(o.verdict, LINKS_OWN_LEG);
	assert_true(o.dead);
	assert_string_equal(o.why.code, "leg-unreachable");
	assert_int_equal(links_judge_fault(&leg, &to, &e), LINKS_PEER_LEG);
	/* A leg without a carrier carries nothing, whatever a path says. */
	leg = silent_leg();
	e.carrier = false;
	links_judge(&leg, &e, &o);
	assert_string_equal(o.why.code, "no-carrier");
}

static void only_a_path_that_was_heard_lately_counts(void **state)
{
	assert_true(links_path_counts(true, NOW - NSEC_PER_SEC, NOW));
	assert_false(links_path_counts(false, NOW - NSEC_PER_SEC, NOW));
	assert_false(links_path_counts(true, NOW - LINKS_PATH_NS, NOW));
	assert_false(links_path_counts(true, 0, NSEC_PER_SEC));
	assert_false(links_path_counts(true, NOW + 1, NOW)); /* a worker wrote nonsense */
}

/* The legs are not to blame, but the host must say that nothing answers it. */
static void a_host_whose_legs_are_all_silent_says_so(void **state)
{
	const struct links_path path = {.leg = "leg-a", .peer = "host-1", .remote = ip_of(1)};
	struct links_watch_leg leg = silent_leg();
	struct links_evidence e = {.carrier = true, .answered = true};
	struct links_opinion o;

	leg.report.verdict = LINKS_UNKNOWN;
	leg.report.alone = 1;
	links_judge(&leg, &e, &o);
	assert_int_equal(o.verdict, LINKS_UNKNOWN);
	assert_false(o.dead);
	assert_true(o.alone);
	e.answered = false; /* a firewall may drop all probes */
	links_judge(&leg, &e, &o);
	assert_false(o.alone);
	e.answered = true;
	e.paths = &path;
	e.n_paths = 1;
	links_judge(&leg, &e, &o);
	assert_false(o.alone);
}

static void a_firewall_that_drops_all_probes_is_no_fault(void **state)
{
	const struct links_path path = {.leg = "leg-a", .peer = "host-1", .remote = ip_of(1)};
	const struct links_report_fault to = fault_of(1), other = fault_of(2);
	struct links_watch_leg leg = silent_leg();
	struct links_evidence e = {.carrier = true};
	struct links_opinion o;

	links_judge(&leg, &e, &o);
	assert_int_equal(o.verdict, LINKS_UNKNOWN);
	assert_false(o.dead);
	assert_string_equal(o.why.code, "");
	assert_non_null(strstr(o.why.text, "UDP port 7410"));
	assert_int_equal(links_judge_fault(&leg, &other, &e), LINKS_UNKNOWN);
	e.paths = &path;
	e.n_paths = 1;
	assert_int_equal(links_judge_fault(&leg, &to, &e), LINKS_OK);
	assert_int_equal(links_judge_fault(&leg, &other, &e), LINKS_UNKNOWN);
}

/* ---- the list of all hosts ---- */

static const json_t *row_of(const json_t *rows, const char *id)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (strcmp(json_string_value(json_object_get(row, "id")), id) == 0)
			return row;
	fail();
	return NULL;
}

static const char *text_in(const json_t *rows, const char *id, const char *member)
{
	return json_string_value(json_object_get(row_of(rows, id), member));
}

#define OWN(name, verdict) \
	"{\"name\":\"" name "\",\"ip\":\"10.1.0.1\",\"verdict\":\"" verdict "\",\"asked\":3}"
#define FAULT(host, name, verdict)                                                               \
	"{\"host\":\"" host "\",\"leg\":\"" name "\",\"ip\":\"10.1.0.9\",\"verdict\":\"" verdict \
	"\"}"
#define RECORD(legs, faults) \
	"{\"v\":1,\"time_ms\":1000000,\"legs\":[" legs "],\"faults\":[" faults "]}"

static void a_row_says_where_its_verdict_comes_from(void **state)
{
	static const struct {
		const char *host, *text;
	} records[] = {
		{"a", RECORD(OWN("x", "ok") "," OWN("y", "ok"),
			     FAULT("b", "x", "peer-leg") "," FAULT("b", "y", "peer-leg") "," FAULT(
				     "d", "x", "unknown") "," FAULT("c", "x", "switch-between"))},
		{"b", RECORD(OWN("x", "ok") "," OWN("y", "ok"), "")},
		{"c", RECORD(OWN("x", "ok") "," OWN("y", "own-leg"),
			     FAULT("b", "x", "switch-between") "," FAULT("a", "y", "own-leg"))},
		{"e", "{\"v\":1,\"legs\":7,\"faults\":[3,{}]}"},
		{"f", "no JSON"},
	};
	json_t *list = json_array(), *rows;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		assert_int_equal(links_rows_add(list, records[i].host, records[i].text,
						strlen(records[i].text), 1061000),
				 0);
	rows = links_rows_merge(list);
	assert_string_equal(text_in(rows, "a/x", "verdict"), "ok");
	assert_string_equal(text_in(rows, "a/x", "source"), "a");
	assert_int_equal(json_integer_value(json_object_get(row_of(rows, "a/x"), "age_s")), 61);
	/* What others find now counts more than an older "ok", and the surest verdict most. */
	assert_string_equal(text_in(rows, "b/x", "verdict"), "peer-leg");
	assert_string_equal(text_in(rows, "b/x", "source"), "a");
	assert_int_equal(json_integer_value(json_object_get(row_of(rows, "b/x"), "reports")), 2);
	assert_non_null(strstr(text_in(rows, "b/x", "reason"), "no leg of this host answers"));
	assert_string_equal(text_in(rows, "c/x", "verdict"), "switch-between");
	assert_string_equal(text_in(rows, "c/y", "verdict"), "own-leg");
	assert_string_equal(text_in(rows, "c/y", "source"), "c");
	/* A host without a record, and a verdict that no other host can know. */
	assert_string_equal(text_in(rows, "d/x", "verdict"), "unknown");
	assert_string_equal(text_in(rows, "d/x", "source"), "a");
	assert_string_equal(text_in(rows, "a/y", "verdict"), "unknown");
	json_decref(rows);
	json_decref(list);
}

static void numbers_that_a_host_has_not_measured_are_null(void **state)
{
	static const char text[] =
		RECORD(OWN("x", "ok") ",{\"name\":\"y\",\"ip\":\"10.1.0.1\",\"verdict\":\"ok\","
				      "\"asked\":3,\"loss_percent\":2}",
		       "");
	json_t *list = json_array(), *rows;

	assert_int_equal(links_rows_add(list, "a", text, strlen(text), 1061000), 0);
	rows = links_rows_merge(list);
	assert_true(json_is_null(json_object_get(row_of(rows, "a/x"), "loss_percent")));
	assert_true(json_is_null(json_object_get(row_of(rows, "a/x"), "full_loss_percent")));
	assert_int_equal(json_integer_value(json_object_get(row_of(rows, "a/y"), "loss_percent")),
			 2);
	assert_true(json_is_null(json_object_get(row_of(rows, "a/y"), "full_loss_percent")));
	assert_true(json_is_null(json_object_get(row_of(rows, "a/y"), "rtt_us")));
	json_decref(rows);
	json_decref(list);
}

#define OWN_SESSION(name) \
	"{\"name\":\"" name "\",\"ip\":\"10.1.0.1\",\"verdict\":\"ok\",\"session\":true}"

static void sessions_count_more_than_probes_of_others(void **state)
{
	static const struct {
		const char *host, *text;
	} records[] = {
		{"a", RECORD(OWN_SESSION("x") "," OWN_SESSION("y"), FAULT("a", "y", "ok"))},
		{"b", RECORD(OWN("x", "own-leg"), FAULT("a", "x", "ok"))},
		{"c",
		 RECORD(OWN("x", "ok"), FAULT("a", "x", "peer-leg") "," FAULT(
						"a", "y", "peer-leg") "," FAULT("b", "x", "ok"))},
	};
	json_t *list = json_array(), *rows;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		assert_int_equal(links_rows_add(list, records[i].host, records[i].text,
						strlen(records[i].text), 1061000),
				 0);
	rows = links_rows_merge(list);
	assert_string_equal(text_in(rows, "a/x", "verdict"), "ok");
	assert_string_equal(text_in(rows, "a/x", "source"), "session of b");
	/* The host itself may have died after it wrote that its sessions work. */
	assert_string_equal(text_in(rows, "a/y", "verdict"), "unknown");
	assert_non_null(strstr(text_in(rows, "a/y", "reason"), "UDP port 7410"));
	assert_null(json_object_get(row_of(rows, "a/y"), "session"));
	assert_string_equal(text_in(rows, "b/x", "verdict"), "own-leg");
	json_decref(rows);
	json_decref(list);
}

/* No socket of the kernel has the address of leg y, so it answers no probes. */
static void a_leg_that_answers_no_probes_is_not_asked_and_not_blamed(void **state)
{
	static const char unprobed[] =
		RECORD("{\"name\":\"y\",\"ip\":\"10.1.0.2\",\"verdict\":\"unknown\","
		       "\"reason\":\"not probed: none\",\"probed\":false}",
		       "");
	static const char both[] =
		RECORD(OWN("x", "ok") ",{\"name\":\"y\",\"ip\":\"10.1.0.2\",\"probed\":false}", "");
	static const char fault[] = RECORD(OWN("x", "ok"), FAULT("a", "y", "peer-leg"));
	json_t *list = json_array(), *rows, *member;

	assert_null(links_rows_member("a", unprobed, strlen(unprobed)));
	member = links_rows_member("a", both, strlen(both));
	assert_int_equal(json_array_size(json_object_get(member, "legs")), 1);
	json_decref(member);
	assert_int_equal(links_rows_add(list, "a", unprobed, strlen(unprobed), 1061000), 0);
	assert_int_equal(links_rows_add(list, "b", fault, strlen(fault), 1061000), 0);
	rows = links_rows_merge(list);
	assert_string_equal(text_in(rows, "a/y", "verdict"), "unknown");
	assert_string_equal(text_in(rows, "a/y", "reason"), "not probed: none");
	assert_int_equal(json_integer_value(json_object_get(row_of(rows, "a/y"), "reports")), 0);
	assert_null(json_object_get(row_of(rows, "a/y"), "probed"));
	json_decref(rows);
	json_decref(list);
}

/* Others ignore a record that is too long, with all its legs. */
static void a_record_with_many_faults_is_cut_so_that_others_accept_it(void **state)
{
	json_t *o = json_loads(RECORD(OWN("x", "ok"), ""), 0, NULL), *list = json_array();
	char *text;

	for (int i = 0; i < 128; i++)
		json_array_append_new(json_object_get(o, "faults"),
				      json_pack("{s:s, s:s, s:s, s:s}", "host",
						"a-host-whose-name-has-as-many-characters-as-"
						"a-name-can-have-in-all",
						"leg", "a-leg-with-a-long-name", "ip",
						"2001:db8:1:2:3:4:5:6", "verdict",
						"switch-between"));
	text = links_rows_dump(o);
	assert_non_null(text);
	assert_in_range(strlen(text), LINKS_ROWS_BYTES_MAX / 2, LINKS_ROWS_BYTES_MAX);
	assert_int_equal(links_rows_add(list, "a", text, strlen(text), 1061000), 0);
	assert_in_range(json_array_size(list), 2, 65);
	free(text);
	json_decref(list);
	json_decref(o);
}

static void a_record_of_any_time_has_an_age_or_none(void **state)
{
	static const char *const times[] = {"-9223372036854775808", "0", "9223372036854775807"};
	char text[128];

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		json_t *list = json_array();

		snprintf(text, sizeof(text),
			 "{\"v\":1,\"time_ms\":%s,\"legs\":[" OWN("x", "ok") "]}", times[i]);
		assert_int_equal(links_rows_add(list, "a", text, strlen(text), 1061000), 0);
		assert_true(json_is_null(json_object_get(json_array_get(list, 0), "age_s")));
		json_decref(list);
	}
}

static void keys_of_links_begin_with_a_hash(void **state)
{
	char one[KV_KEY_MAX], other[KV_KEY_MAX], any[KV_KEY_MAX], end[KV_KEY_MAX];

	record_key(RECORD_LINKS, "prod", "host-b", one);
	record_key(RECORD_LINKS, "prod", "host-c", other);
	assert_string_equal(record_host(RECORD_LINKS, "prod", one), "host-b");
	assert_int_not_equal(strncmp(one, other, strlen("/plenum/prod/v1/links/0000")), 0);
	assert_null(record_host(RECORD_LINKS, "prod", "/plenum/prod/v1/links/host-b"));
	assert_null(record_host(RECORD_LINKS, "prod", "/plenum/prod/v1/links/"));
	record_key_random("prod", 0xabcd, any);
	record_key_end(RECORD_LINKS, "prod", end);
	assert_string_equal(any, "/plenum/prod/v1/links/abcd");
	assert_true(strcmp(any, end) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_of_a_worker_counts_more_than_silent_probes),
		cmocka_unit_test(only_a_path_that_was_heard_lately_counts),
		cmocka_unit_test(a_host_whose_legs_are_all_silent_says_so),
		cmocka_unit_test(a_firewall_that_drops_all_probes_is_no_fault),
		cmocka_unit_test(a_row_says_where_its_verdict_comes_from),
		cmocka_unit_test(numbers_that_a_host_has_not_measured_are_null),
		cmocka_unit_test(sessions_count_more_than_probes_of_others),
		cmocka_unit_test(a_leg_that_answers_no_probes_is_not_asked_and_not_blamed),
		cmocka_unit_test(a_record_with_many_faults_is_cut_so_that_others_accept_it),
		cmocka_unit_test(a_record_of_any_time_has_an_age_or_none),
		cmocka_unit_test(keys_of_links_begin_with_a_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
