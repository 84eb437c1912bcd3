/* SPDX-License-Identifier: BSD-3-Clause */
/* Durations of requests: buckets, quantiles, windows of the last seconds, and what status and
 * metrics say of them. */
#include "tests/lib/agent/reconcile_host.h"

static const char config[] =
	"host: host-a\n"
	"networks:\n"
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"
	"net:\n"
	"  - {name: leg-a, device: veth0, network: data-a}\n"
	"workers:\n"
	"  - {role: compute, cores: [1], transport: udp, exports: [{name: x, path: /srv}]}\n";

static void buckets_have_powers_of_two_as_limits(void **state)
{
	assert_int_equal(launch_latency_bucket(0), 0);
	assert_int_equal(launch_latency_bucket(1), 0);
	for (unsigned i = 0; i < LAUNCH_LATENCY_LIMITS; i++) {
		uint64_t limit = launch_latency_limit_ns(i);

		assert_int_equal(limit, 8000ULL << i);
		assert_int_equal(launch_latency_bucket(limit - 1), i);
		assert_int_equal(launch_latency_bucket(limit), i);
		assert_int_equal(launch_latency_bucket(limit + 1), i + 1);
	}
	assert_int_equal(launch_latency_bucket(UINT64_MAX), LAUNCH_LATENCY_LIMITS);
}

static void window_put(struct latency_window *w, uint64_t ns, uint64_t n)
{
	w->buckets[launch_latency_bucket(ns)] += n;
	w->requests += n;
}

static void quantiles_lie_in_the_bucket_of_their_rank(void **state)
{
	struct latency_window w = {0};

	assert_int_equal(latency_quantile_ns(&w, 50), 0);
	window_put(&w, 100000, 98);
	assert_int_equal(latency_quantile_ns(&w, 50), 96000); /* half of 64 to 128 us */
	assert_in_range(latency_quantile_ns(&w, 99), 127000, 128000);
	window_put(&w, 20 * NSEC_PER_MSEC, 2);
	assert_in_range(latency_quantile_ns(&w, 50), 96000, 97000);
	assert_in_range(latency_quantile_ns(&w, 99), 16384000, 32768000);
	w = (struct latency_window){0};
	window_put(&w, 3600 * NSEC_PER_SEC, 1);
	assert_int_equal(latency_quantile_ns(&w, 50),
			 launch_latency_limit_ns(LAUNCH_LATENCY_LIMITS - 1));
	w = (struct latency_window){0};
	window_put(&w, 0, 1);
	assert_int_equal(latency_quantile_ns(&w, 99), 7920);
}

/* ---- of an agent's worker ---- */

static struct launch_stats *begin(struct fixture *f)
{
	write_file(f, config);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	return host_serve(host_worker(f));
}

static void serve(struct launch_stats *page, enum launch_request_class c, uint64_t ns, unsigned n)
{
	while (n-- > 0)
		launch_latency_add(&page->latencies[0].of[c], ns);
}

/* The latency of the only export. */
static json_t *latency_now(struct fixture *f)
{
	struct status st;
	json_t *o, *latency;

	assert_int_equal(status_collect(&f->a, &st), 0);
	o = status_to_json(&st);
	status_done(&st);
	assert_non_null(o);
	assert_int_equal(json_array_size(json_object_get(o, "exports")), 1);
	latency = json_incref(
		json_object_get(json_array_get(json_object_get(o, "exports"), 0), "latency"));
	json_decref(o);
	return latency;
}

static void expect_requests(struct fixture *f, json_int_t n, double median_us)
{
	json_t *latency = latency_now(f);
	const json_t *l = json_array_get(latency, 0);

	assert_int_equal(json_array_size(latency), n > 0);
	if (n > 0) {
		assert_string_equal(json_string_value(json_object_get(l, "class")), "read");
		assert_int_equal(json_integer_value(json_object_get(l, "requests")), n);
		assert_true(json_number_value(json_object_get(l, "median_us")) == median_us);
		assert_true(json_number_value(json_object_get(l, "p99_us")) > median_us);
		assert_true(json_number_value(json_object_get(l, "seconds")) > 0);
	}
	json_decref(latency);
}

static void look(struct fixture *f, uint64_t now_ns)
{
	latency_look(&f->a.latency, f->a.sup, now_ns);
}

static void status_shows_the_last_seconds_only(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f);
	uint64_t now = clock_now_ns() - 60 * NSEC_PER_SEC;

	serve(page, LAUNCH_READ, NSEC_PER_SEC, 50); /* before this agent */
	expect_requests(f, 0, 0);		    /* no sample yet */
	look(f, now);
	expect_requests(f, 0, 0);
	serve(page, LAUNCH_READ, 100000, 10);
	expect_requests(f, 10, 96);
	look(f, now += NSEC_PER_SEC); /* too early for the next sample */
	look(f, now += 5 * NSEC_PER_SEC);
	expect_requests(f, 10, 96);
	serve(page, LAUNCH_READ, 100000, 4);
	expect_requests(f, 14, 96);
	look(f, now += 5 * NSEC_PER_SEC);
	expect_requests(f, 4, 96);
	look(f, now += 5 * NSEC_PER_SEC);
	expect_requests(f, 0, 0);
	look(f, now += 5 * NSEC_PER_SEC);
	expect_requests(f, 0, 0);
}

static void a_worker_that_is_down_has_no_window(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f);
	struct sup_worker *w = host_worker(f);
	uint64_t now = clock_now_ns();

	look(f, now);
	serve(page, LAUNCH_READ, 100000, 10);
	expect_requests(f, 10, 96);
	w->state = SUP_STOPPING;
	expect_requests(f, 0, 0);
	look(f, now + NSEC_PER_SEC);
	assert_int_equal(f->a.latency.n, 0);
	w->state = SUP_UP;
	expect_requests(f, 0, 0);
}

/* The counters of its page begin again. */
static void a_restarted_worker_has_no_window_of_the_former_process(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f);
	struct sup_worker *w = host_worker(f);
	uint64_t now = clock_now_ns();
	pid_t pid = w->pid;

	look(f, now);
	serve(page, LAUNCH_READ, 100000, 10);
	w->pid = pid + 1;
	memset(&page->latencies, 0, sizeof(page->latencies));
	serve(page, LAUNCH_READ, 100000, 3);
	expect_requests(f, 0, 0);
	look(f, now + NSEC_PER_SEC);
	serve(page, LAUNCH_READ, 100000, 2);
	expect_requests(f, 2, 96);
	assert_int_equal(f->a.latency.n, 1);
	w->pid = pid;
}

static char *metrics_now(struct fixture *f)
{
	struct status st;
	char *text;

	assert_int_equal(status_collect(&f->a, &st), 0);
	text = status_to_metrics(&st);
	status_done(&st);
	assert_non_null(text);
	return text;
}

static void expect_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || at[strlen(line)] != '\n')
		fail_msg("the metrics lack the line %s", line);
}

#define LABELS "export=\"x\",class=\"write\",worker=\"1\""

static void metrics_are_cumulative_histograms_in_seconds(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page = begin(f);
	autofree char *none = metrics_now(f), *text = NULL;

	expect_line(none, "# TYPE plenum_export_request_duration_seconds histogram");
	expect_line(none, "# TYPE plenum_mount_request_duration_seconds histogram");
	assert_null(strstr(none, "duration_seconds_bucket"));
	serve(page, LAUNCH_WRITE, 8000, 3);
	serve(page, LAUNCH_WRITE, 3 * NSEC_PER_MSEC, 2);
	serve(page, LAUNCH_WRITE, 5 * NSEC_PER_SEC, 1);
	text = metrics_now(f);
	expect_line(text,
		    "plenum_export_request_duration_seconds_bucket{" LABELS ",le=\"8e-06\"} 3");
	expect_line(text,
		    "plenum_export_request_duration_seconds_bucket{" LABELS ",le=\"0.002048\"} 3");
	expect_line(text,
		    "plenum_export_request_duration_seconds_bucket{" LABELS ",le=\"0.004096\"} 5");
	expect_line(text,
		    "plenum_export_request_duration_seconds_bucket{" LABELS ",le=\"4.194304\"} 5");
	expect_line(text,
		    "plenum_export_request_duration_seconds_bucket{" LABELS ",le=\"+Inf\"} 6");
	expect_line(text, "plenum_export_request_duration_seconds_sum{" LABELS "} 5.006024000");
	expect_line(text, "plenum_export_request_duration_seconds_count{" LABELS "} 6");
	assert_null(strstr(text, "class=\"read\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_have_powers_of_two_as_limits),
		cmocka_unit_test(quantiles_lie_in_the_bucket_of_their_rank),
		RECONCILE_TEST(status_shows_the_last_seconds_only),
		RECONCILE_TEST(a_worker_that_is_down_has_no_window),
		RECONCILE_TEST(a_restarted_worker_has_no_window_of_the_former_process),
		RECONCILE_TEST(metrics_are_cumulative_histograms_in_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
