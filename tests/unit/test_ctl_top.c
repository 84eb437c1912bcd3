/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests what `plenum top` makes of two answers: rates, also across restarts; the sentences about
 * problems; the order of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/ctl/top/ctl_top.h"
#include <string.h>

/* The answers are two seconds apart. Leg-b has three paths, all down in the second answer. */
static const char first[] =
	"{'host':'h','state':'running','workers':{'up':2,'total':2},'reasons':[],'mounts':[],"
	"'legs':[{'name':'leg-a','state':'usable','switch':'sw','switch_port':'7'},"
	"{'name':'leg-b','state':'usable','switch':null,'switch_port':null}],"
	"'traffic':[{'worker':2,'role':'FRONTEND','requests':1000,'responses':0,'errors':0,"
	"'read_bytes':0,'write_bytes':5000,'sessions':1},"
	"{'worker':10,'role':'COMPUTE','requests':9,'responses':100,'errors':4,"
	"'read_bytes':70,'write_bytes':0,'sessions':3}],"
	"'paths':[{'worker':2,'leg':'leg-a','local':'1','remote':'9','peer':'s1','up':true,"
	"'srtt_us':100.0,'tx_bytes':1000,'rx_bytes':0,'tx_packets':10,'rx_packets':0,"
	"'rdma_read_bytes':1000000,'rdma_write_bytes':50,"
	"'retransmits':1,'lost_packets':0,'failovers':0,'since_s':50,'reason':''},"
	"{'worker':10,'leg':'leg-a','local':'2','remote':'9','peer':'s2','up':true,"
	"'srtt_us':300.0,'tx_bytes':500000,'rx_bytes':0,'tx_packets':900,'rx_packets':0,"
	"'retransmits':0,'lost_packets':0,'failovers':0,'since_s':50,'reason':''}]}";
static const char second[] =
	"{'host':'h','state':'degraded','workers':{'up':2,'total':2},"
	"'mounts':[{'path':'/mnt/x','peer':'s1','export':'e','served':false,'worker':2},"
	"{'path':'/mnt/y','peer':'s1','export':'f','served':true,'worker':2,'latency':["
	"{'class':'read','requests':20,'seconds':10.0,'median_us':210.4,'p99_us':1400.0},"
	"{'class':'sync','requests':5,'seconds':10.0,'median_us':8.0,'p99_us':250000.0}]}],"
	"'exports':[{'name':'g','path':'/srv/g','workers':[10],'latency':[]},"
	"{'name':'a','path':'/srv/a','workers':[10],'latency':["
	"{'class':'metadata','requests':3,'seconds':6.0,'median_us':12345.0,'p99_us':12345.0}]}],"
	"'reasons':['worker 2: no-answer: s1 does not answer at 9, UDP port 1: a firewall','a "
	"second thing'],"
	"'legs':[{'name':'leg-a','state':'usable','switch':'sw','switch_port':'7'},"
	"{'name':'leg-b','state':'usable','switch':null,'switch_port':null}],"
	"'traffic':[{'worker':2,'role':'FRONTEND','requests':1600,'responses':0,'errors':0,"
	"'read_bytes':0,'write_bytes':9000,'sessions':1},"
	"{'worker':10,'role':'COMPUTE','requests':9,'responses':300,'errors':10,"
	"'read_bytes':70,'write_bytes':0,'sessions':3}],"
	"'paths':[{'worker':2,'leg':'leg-a','local':'1','remote':'9','peer':'s1','up':true,"
	"'srtt_us':100.0,'tx_bytes':21000,'rx_bytes':0,'tx_packets':30,'rx_packets':2,"
	"'rdma_read_bytes':9000000,'rdma_write_bytes':2000050,"
	"'retransmits':5,'lost_packets':2,'rx_lost_packets':6,'failovers':0,"
	"'loss_to_percent':0.5,'loss_from_percent':31.2,'since_s':52,'reason':''},"
	"{'worker':10,'leg':'leg-a','local':'2','remote':'9','peer':'s2','up':true,"
	"'srtt_us':300.0,'tx_bytes':4000,'rx_bytes':0,'tx_packets':8,'rx_packets':0,"
	"'retransmits':0,'lost_packets':0,'failovers':0,'since_s':1,'reason':''},"
	"{'worker':2,'leg':'leg-b','local':'3','remote':'8','peer':'s1','up':false,'srtt_us':0,"
	"'tx_bytes':77,'failovers':1,'since_s':12,'reason':''},"
	"{'worker':2,'leg':'leg-b','local':'3','remote':'7','peer':'s1','up':false,'srtt_us':0,"
	"'tx_bytes':77,'failovers':1,'since_s':15,"
	"'reason':'no-answer: s1 does not answer at 9, UDP port 1: a firewall'},"
	"{'worker':10,'leg':'leg-b','local':'4','remote':'8','peer':'s2','up':false,'srtt_us':0,"
	"'tx_bytes':77,'failovers':2,'since_s':14,'reason':''}]}";
static const char processes[] =
	"{'processes':[{'id':'h/0','role':'MANAGEMENT','status':'UP','network':''},"
	"{'id':'h/2','role':'FRONTEND','status':'UP','network':'UDP'},"
	"{'id':'h/10','role':'COMPUTE','status':'DEGRADED','network':'DPDK'},"
	"{'id':'h/11','role':'COMPUTE','status':'BACKOFF','network':'DPDK'}]}";

static json_t *load(const char *text)
{
	char *json = strdup(text);
	json_t *o;

	for (char *c = json; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	o = json_loads(json, 0, NULL);
	assert_non_null(o);
	free(json);
	return o;
}

struct pair {
	struct top_sample before, now;
};

static int pair_new(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->before = (struct top_sample){load(first), load(processes), NSEC_PER_SEC};
	p->now = (struct top_sample){load(second), load(processes), 3 * NSEC_PER_SEC};
	*state = p;
	return 0;
}

static int pair_free(void **state)
{
	struct pair *p = *state;

	top_sample_done(&p->before);
	top_sample_done(&p->now);
	free(p);
	return 0;
}

static const struct top_row *find(const struct top_view *v, enum top_kind k, const char *name)
{
	for (size_t i = 0; i < v->tables[k].n; i++)
		if (strcmp(v->tables[k].rows[i].name, name) == 0)
			return &v->tables[k].rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void test_rates_survive_a_worker_restart(void **state)
{
	const struct pair *p = *state;
	struct top_view v;
	const struct top_row *r;

	top_view_make(&p->before, &p->now, TOP_BY_NAME, &v);
	r = find(&v, TOP_LEGS, "leg-a");
	/* The second path's worker restarted between the answers: all its 4000 bytes are new. */
	assert_true(r->tx_bytes == (20000 + 4000) / 2.0);
	assert_true(r->packets == (20 + 2 + 8) / 2.0);
	assert_true(r->resent == 2 && r->lost == 4 && r->rtt_us == 200);
	assert_true(r->rdma_read == 4000000 && r->rdma_write == 1000000);
	/* The worst path in its worse direction; unknown where no peer reports. */
	assert_true(r->loss_percent == 31.2);
	assert_true(find(&v, TOP_LEGS, "leg-b")->loss_percent < 0);
	assert_true(find(&v, TOP_LEGS, "leg-a")->paths_rtt == 2);
	/* RDMA bytes are counted for the session's peer and worker, apart from packets. */
	r = find(&v, TOP_PEERS, "s1");
	assert_true(r->rdma_read == 4000000 && r->rdma_write == 1000000 && r->tx_bytes == 10000);
	assert_true(find(&v, TOP_WORKERS, "2")->rdma_read == 4000000);
	assert_true(find(&v, TOP_PEERS, "s2")->rdma_read == 0);
	r = find(&v, TOP_WORKERS, "2");
	assert_true(r->ops == 300 && r->write_bytes == 2000);
	r = find(&v, TOP_WORKERS, "10");
	assert_true(r->ops == 100 && r->errors == 3 && r->sessions == 3 && r->bad);
	assert_string_equal(find(&v, TOP_WORKERS, "11")->state, "BACKOFF");
	assert_string_equal(find(&v, TOP_PEERS, "s1")->state, "degraded");
	/* A new path has no rate yet. */
	assert_true(find(&v, TOP_LEGS, "leg-b")->tx_bytes == 0);
	top_view_done(&v);
	top_view_make(NULL, &p->now, TOP_BY_NAME, &v);
	assert_true(find(&v, TOP_LEGS, "leg-a")->tx_bytes == 0);
	top_view_done(&v);
}

static void test_problems_become_sentences(void **state)
{
	static const char *const said[] = {
		"leg leg-b: 0 of 3 paths up since 12s: s1 does not answer at 9, UDP port 1: a "
		"firewall",
		"mount /mnt/x waits for s1:e",
		"a second thing",
	};
	const struct pair *p = *state;
	struct top_view v;

	top_view_make(&p->before, &p->before, TOP_BY_NAME, &v);
	assert_int_equal(json_array_size(v.wrong), 0);
	top_view_done(&v);
	top_view_make(&p->before, &p->now, TOP_BY_NAME, &v);
	assert_int_equal(json_array_size(v.wrong), ARRAY_SIZE(said)); /* no reason appears twice */
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		assert_string_equal(json_string_value(json_array_get(v.wrong, i)), said[i]);
	top_view_done(&v);
}

/* No path knows its reason: the sentence then says "peer silent". */
static void test_a_leg_down_without_a_reason_is_peer_silent(void **state)
{
	struct pair *p = *state;
	json_t *paths = json_object_get(p->now.status, "paths");
	struct top_view v;

	json_object_set_new(json_array_get(paths, 3), "reason", json_string(""));
	top_view_make(&p->before, &p->now, TOP_BY_NAME, &v);
	assert_string_equal(json_string_value(json_array_get(v.wrong, 0)),
			    "leg leg-b: 0 of 3 paths up since 12s: peer silent");
	top_view_done(&v);
}

static void check_order(const struct pair *p, enum top_sort sort, enum top_kind k, const char *a,
			const char *b)
{
	struct top_view v;

	top_view_make(&p->before, &p->now, sort, &v);
	assert_string_equal(v.tables[k].rows[0].name, a);
	assert_string_equal(v.tables[k].rows[1].name, b);
	top_view_done(&v);
}

static void test_rows_sort_by_every_order(void **state)
{
	const struct pair *p = *state;

	check_order(p, TOP_BY_NAME, TOP_WORKERS, "2", "10"); /* as numbers */
	check_order(p, TOP_BY_OPS, TOP_WORKERS, "2", "10");
	check_order(p, TOP_BY_LATENCY, TOP_WORKERS, "10", "2");
	check_order(p, TOP_BY_TRAFFIC, TOP_LEGS, "leg-a", "leg-b");
	check_order(p, TOP_BY_HEALTH, TOP_LEGS, "leg-b", "leg-a");
}

static void test_cells_print_units(void **state)
{
	const struct pair *p = *state;
	char cell[TOP_CELL_MAX];
	struct top_view v;

	top_view_make(&p->before, &p->now, TOP_BY_NAME, &v);
	for (enum top_kind k = 0; k < TOP_KIND_MAX; k++)
		for (unsigned j = 0; top_heading(k, j); j++)
			assert_true(*top_cell(k, &v.tables[k].rows[0], j, cell));
	assert_string_equal(top_cell(TOP_LEGS, find(&v, TOP_LEGS, "leg-b"), 2, cell), "0/3");
	assert_string_equal(top_cell(TOP_LEGS, find(&v, TOP_LEGS, "leg-b"), 8, cell), "-");
	assert_string_equal(top_cell(TOP_LEGS, find(&v, TOP_LEGS, "leg-a"), 3, cell), "11.7 KiB");
	assert_string_equal(top_cell(TOP_LEGS, find(&v, TOP_LEGS, "leg-a"), 11, cell), "31%");
	assert_string_equal(top_cell(TOP_LEGS, find(&v, TOP_LEGS, "leg-b"), 11, cell), "-");
	assert_string_equal(top_cell(TOP_PEERS, find(&v, TOP_PEERS, "s1"), 5, cell), "3.8 MiB");
	assert_string_equal(top_cell(TOP_LEGS, find(&v, TOP_LEGS, "leg-a"), 13, cell), "sw 7");
	top_view_done(&v);
}

/* Median and 99th percentile in ms. */
static void test_mounts_and_exports_have_times_of_their_last_requests(void **state)
{
	const struct pair *p = *state;
	const struct top_row *r;
	char cell[TOP_CELL_MAX];
	struct top_view v;

	top_view_make(&p->before, &p->now, TOP_BY_NAME, &v);
	r = find(&v, TOP_MOUNTS, "/mnt/y");
	assert_string_equal(top_heading(TOP_MOUNTS, 4), "READ MS");
	assert_string_equal(top_cell(TOP_MOUNTS, r, 1, cell), "s1:f");
	assert_string_equal(top_cell(TOP_MOUNTS, r, 2, cell), "served");
	assert_string_equal(top_cell(TOP_MOUNTS, r, 3, cell), "2.5");
	assert_string_equal(top_cell(TOP_MOUNTS, r, 4, cell), "0.21/1.40");
	assert_string_equal(top_cell(TOP_MOUNTS, r, 5, cell), "-");
	assert_string_equal(top_cell(TOP_MOUNTS, r, 6, cell), "0.008/250");
	r = find(&v, TOP_MOUNTS, "/mnt/x");
	assert_true(r->bad);
	assert_string_equal(top_cell(TOP_MOUNTS, r, 4, cell), "-");
	r = find(&v, TOP_EXPORTS, "a");
	assert_string_equal(top_cell(TOP_EXPORTS, r, 1, cell), "/srv/a");
	assert_string_equal(top_cell(TOP_EXPORTS, r, 6, cell), "12.3/12.3");
	top_view_done(&v);
	check_order(p, TOP_BY_LATENCY, TOP_MOUNTS, "/mnt/y", "/mnt/x");
	check_order(p, TOP_BY_OPS, TOP_EXPORTS, "a", "g");
	check_order(p, TOP_BY_HEALTH, TOP_MOUNTS, "/mnt/x", "/mnt/y");
}

/* The round trip of an idle path is that of probes, or old: it is shown as unknown. */
static void test_round_trips_of_idle_paths_are_not_shown(void **state)
{
	static const char *const ages[] = {"0", "10", "11", "null"};
	char text[256], cell[TOP_CELL_MAX];

	for (unsigned i = 0; i < ARRAY_SIZE(ages); i++) {
		struct top_sample s = {.processes = load("{}"), .at_ns = 5};
		struct top_view v;

		snprintf(text, sizeof(text),
			 "{'paths':[{'leg':'leg-a','up':true,'srtt_us':70.0,'rtt_age_s':%s},"
			 "{'leg':'leg-a','up':true,'srtt_us':9000.0,'rtt_age_s':null}]}",
			 ages[i]);
		s.status = load(text);
		top_view_make(&s, &s, TOP_BY_NAME, &v);
		assert_string_equal(top_cell(TOP_LEGS, find(&v, TOP_LEGS, "leg-a"), 8, cell),
				    i < 2 ? "70 us" : "-");
		top_view_done(&v);
		top_sample_done(&s);
	}
}

/* Any answer gives something to show, whatever members it lacks. */
static void test_incomplete_answers_are_shown(void **state)
{
	struct top_sample s = {load("{}"), load("{'processes':[{}]}"), 5};
	struct top_view v;

	top_view_make(&s, &s, TOP_BY_HEALTH, &v);
	assert_int_equal(json_array_size(v.wrong), 0);
	top_view_done(&v);
	top_sample_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rates_survive_a_worker_restart, pair_new,
						pair_free),
		cmocka_unit_test_setup_teardown(test_problems_become_sentences, pair_new,
						pair_free),
		cmocka_unit_test_setup_teardown(test_a_leg_down_without_a_reason_is_peer_silent,
						pair_new, pair_free),
		cmocka_unit_test_setup_teardown(test_rows_sort_by_every_order, pair_new, pair_free),
		cmocka_unit_test_setup_teardown(test_cells_print_units, pair_new, pair_free),
		cmocka_unit_test_setup_teardown(
			test_mounts_and_exports_have_times_of_their_last_requests, pair_new,
			pair_free),
		cmocka_unit_test(test_round_trips_of_idle_paths_are_not_shown),
		cmocka_unit_test(test_incomplete_answers_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
