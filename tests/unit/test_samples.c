/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the values of the last hour that the agent keeps for plots. */
#include "agent/samples.h"
#include "agent/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct status st;
static struct status_path paths[2];
static struct status_leg legs[1];
static struct samples s;
static uint64_t now_ns;

static int setup(void **state)
{
	st = (struct status){.legs = legs, .n_legs = 1, .paths = paths, .n_paths = 2};
	s = (struct samples){0};
	now_ns = clock_now_ns();
	strcpy(legs[0].name, "leg-a");
	for (size_t i = 0; i < 2; i++) {
		paths[i] = (struct status_path){
			.current = true, .mount = i ? "" : "/mnt/a", .export_name = ""};
		strcpy(paths[i].s.leg, "leg-a");
		strcpy(paths[i].s.peer, "host-b/1");
		paths[i].s.up = 1;
		paths[i].s.srtt_ns = (100 - 10 * i) * NSEC_PER_USEC;
		paths[i].s.rtt_at_ns = now_ns;
		paths[i].s.loss_out_ppm = UINT64_MAX;
		paths[i].s.loss_in_ppm = 10000 * i;
	}
	return 0;
}

static int teardown(void **state)
{
	samples_done(&s);
	return 0;
}

static void sample(uint64_t after_ns)
{
	now_ns += after_ns;
	samples_add(&s, &st, now_ns);
}

/* Returns the values of the object's list, oldest first, such as "- 5 5", or "" if there is no such
 * object. */
static const char *values(const char *kind, const char *name, const char *list)
{
	static char text[4096];
	json_t *all = samples_to_json(&s, now_ns), *o, *v;
	size_t i, j, at = 0;

	assert_non_null(all);
	text[0] = '\0';
	json_array_foreach (json_object_get(all, "samples"), i, o) {
		if (strcmp(json_string_value(json_object_get(o, "kind")), kind) != 0 ||
		    strcmp(json_string_value(json_object_get(o, "name")), name) != 0)
			continue;
		json_array_foreach (json_object_get(o, list), j, v)
			at += (size_t)(json_is_null(v)
					       ? snprintf(text + at, sizeof(text) - at, "- ")
					       : snprintf(text + at, sizeof(text) - at, "%g ",
							  json_number_value(v)));
	}
	json_decref(all);
	return text;
}

static size_t n_objects(void)
{
	json_t *all = samples_to_json(&s, now_ns);
	size_t n = json_array_size(json_object_get(all, "samples"));

	json_decref(all);
	return n;
}

static void test_traffic_is_the_sum_of_the_paths(void **state)
{
	assert_int_equal(n_objects(), 0);
	sample(0);
	assert_string_equal(values("leg", "leg-a", "bytes_per_s"), "- ");
	paths[0].s.tx_bytes = 600;
	paths[1].s.rdma_read_bytes = 300;
	sample(SAMPLES_STEP_NS);
	assert_string_equal(values("leg", "leg-a", "bytes_per_s"), "- 30 ");
	assert_string_equal(values("peer", "host-b/1", "bytes_per_s"), "- 30 ");
	assert_string_equal(values("mount", "/mnt/a", "bytes_per_s"), "- 20 ");
	assert_string_equal(values("leg", "leg-a", "rtt_us"), "90 90 ");
	assert_string_equal(values("leg", "leg-a", "loss_percent"), "1 1 ");
	assert_string_equal(values("mount", "/mnt/a", "rtt_us"), "100 100 ");
	assert_string_equal(values("mount", "/mnt/a", "loss_percent"), "0 0 ");
	assert_string_equal(values("mount", "/mnt/a", "p99_us"), "- - ");
}

static void test_what_is_not_known_is_null(void **state)
{
	paths[0].s.tx_bytes = 1000;
	sample(0);
	paths[0].s.tx_bytes = 10; /* a new worker, whose counters begin again */
	sample(SAMPLES_STEP_NS);
	paths[0].current = paths[1].current = false;
	sample(SAMPLES_STEP_NS);
	paths[0].current = true;
	paths[0].s.up = 0;
	sample(SAMPLES_STEP_NS);
	assert_string_equal(values("mount", "/mnt/a", "bytes_per_s"), "- - - - ");
	assert_string_equal(values("mount", "/mnt/a", "rtt_us"), "100 100 - - ");
	paths[0].s.up = 1;
	paths[0].s.rtt_at_ns = 0; /* measured by probes alone */
	sample(SAMPLES_STEP_NS);
	assert_string_equal(values("mount", "/mnt/a", "rtt_us"), "100 100 - - - ");
	assert_string_equal(values("mount", "/mnt/a", "bytes_per_s"), "- - - - 0 ");
}

static void test_samples_that_are_missing_are_null(void **state)
{
	sample(0);
	sample(SAMPLES_STEP_NS + NSEC_PER_SEC); /* late, but not missing */
	sample(3 * SAMPLES_STEP_NS);
	assert_string_equal(values("leg", "leg-a", "rtt_us"), "90 90 - - 90 ");
	sample(24 * 3600 * NSEC_PER_SEC);
	assert_int_equal(strlen(values("leg", "leg-a", "rtt_us")), 2 * (SAMPLES_KEPT - 1) + 3);
}

static void test_an_hour_is_kept(void **state)
{
	for (unsigned i = 0; i < SAMPLES_KEPT; i++)
		sample(SAMPLES_STEP_NS);
	paths[0].s.srtt_ns = paths[1].s.srtt_ns = 7 * NSEC_PER_USEC;
	sample(SAMPLES_STEP_NS);
	assert_memory_equal(values("leg", "leg-a", "rtt_us"), "90 90 ", 6);
	assert_string_equal(values("leg", "leg-a", "rtt_us") + 3 * (SAMPLES_KEPT - 1), "7 ");
}

/* A peer that is gone is listed for an hour. The leg of the configuration stays. */
static void test_objects_that_are_gone_are_removed_after_an_hour(void **state)
{
	sample(0);
	assert_int_equal(n_objects(), 3);
	st.n_paths = 0;
	for (unsigned i = 0; i + 1 < SAMPLES_KEPT; i++)
		sample(SAMPLES_STEP_NS);
	assert_int_equal(n_objects(), 3);
	sample(SAMPLES_STEP_NS);
	assert_int_equal(n_objects(), 1);
	assert_string_not_equal(values("leg", "leg-a", "rtt_us"), "");
}

static void test_the_number_of_objects_has_a_limit(void **state)
{
	static struct status_path many[SAMPLES_OBJECTS_MAX + 50];

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = paths[1];
		snprintf(many[i].s.peer, sizeof(many[i].s.peer), "host-%zu/1", i);
	}
	st.paths = many;
	st.n_paths = ARRAY_SIZE(many);
	sample(0);
	assert_int_equal(n_objects(), SAMPLES_OBJECTS_MAX + 1); /* and the leg */
	assert_string_equal(values("leg", "leg-a", "rtt_us"), "90 ");
}

static void test_many_peers_leave_room_for_legs_and_mounts(void **state)
{
	static struct status_path many[SAMPLES_OBJECTS_MAX + 50];
	static struct status_leg two[2];

	two[0] = legs[0];
	strcpy(two[1].name, "leg-b");
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = paths[1];
		snprintf(many[i].s.peer, sizeof(many[i].s.peer), "host-%zu/1", i);
	}
	st.paths = many;
	st.n_paths = ARRAY_SIZE(many);
	sample(0);
	/* They come later than the peers. */
	st.legs = two;
	st.n_legs = 2;
	many[0].mount = "/mnt/late";
	sample(SAMPLES_STEP_NS);
	assert_string_equal(values("leg", "leg-b", "rtt_us"), "- - ");
	assert_string_equal(values("mount", "/mnt/late", "rtt_us"), "- 90 ");
	/* After an hour, the peers that are gone leave room for others. */
	st.n_paths = 0;
	for (unsigned i = 0; i <= SAMPLES_KEPT; i++)
		sample(SAMPLES_STEP_NS);
	assert_int_equal(n_objects(), 2);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		snprintf(many[i].s.peer, sizeof(many[i].s.peer), "later-%zu/1", i);
	st.n_paths = ARRAY_SIZE(many);
	sample(SAMPLES_STEP_NS);
	assert_int_equal(n_objects(), SAMPLES_OBJECTS_MAX + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_traffic_is_the_sum_of_the_paths, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_is_not_known_is_null, setup, teardown),
		cmocka_unit_test_setup_teardown(test_samples_that_are_missing_are_null, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_an_hour_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_objects_that_are_gone_are_removed_after_an_hour, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_number_of_objects_has_a_limit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_many_peers_leave_room_for_legs_and_mounts,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
