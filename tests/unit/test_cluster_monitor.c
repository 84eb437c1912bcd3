/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitor's side of the cluster: what it takes from the role's process and what it shows, its
 * file of known servers, and the pace at which it follows them. */
#include "agent/base/child/child_role.h"
#include "agent/cluster/cluster.h"
#include "agent/cluster/pools/pool.h"
#include "agent/cluster/view/rows.h"
#include "agent/monitor/membership.h"
#include "netcfg/base/file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct cluster_server a_server(const char *ip)
{
	struct cluster_server s = {.host = "host-b", .registered = 1, .n_addrs = 1};

	assert_int_equal(ip_addr_parse(ip, &s.addrs[0].ip), 0);
	s.addrs[0].port = 7411;
	strcpy(s.addrs[0].label, "switch-a");
	return s;
}

/* The process of the role: the functions of child_role.h that the monitor's side uses. */
static struct {
	struct child_role_setup setup;
	bool up, fails; /* fails: it cannot be started */
	unsigned n_starts, n_lists;
} role;

static struct child_role *the_role(void)
{
	return (struct child_role *)&role;
}

int child_role_new(const struct child_role_setup *setup, struct child_role **ret)
{
	role.setup = *setup;
	role.n_starts++;
	if (role.fails)
		return -EAGAIN;
	role.up = true;
	*ret = the_role();
	setup->on_start(setup->user, *ret);
	return 0;
}

struct child_role *child_role_free(struct child_role *r)
{
	role.up = false;
	return NULL;
}

int child_role_send(struct child_role *r, struct privsep_msg *m, int fd)
{
	return r && role.up ? 0 : -ENOTCONN;
}

bool child_role_is_up(const struct child_role *r)
{
	return r && role.up;
}

void child_role_end(struct child_role *r, const char *why)
{
	role.up = false;
}

enum privsep_role child_role_kind(const struct child_role *r)
{
	return role.setup.role;
}

pid_t child_role_pid(const struct child_role *r)
{
	return r && role.up ? 1 : 0;
}

struct monitor {
	struct cluster *cluster;
	struct servers servers;
	struct events events;
	struct spec *spec;
	struct loop *loop;
	struct plan_pools pools;
	char path[64], file[80], pools_file[80];
};

static void on_nothing(void *user)
{
	(void)user;
}

static void on_list(void *user, uint64_t id, int fd, uint64_t len, const struct reason *why)
{
	assert_true(fd >= 0 || reason_is_set(why));
	role.n_lists++;
}

static struct spec *spec_of(const char *cluster)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	char text[512];

	snprintf(text, sizeof(text),
		 "host: a\ncluster: {name: %s, secret-file: /k, etcd: [\"http://10.0.0.1:2379\"]}\n"
		 "networks: [{name: n, pool: data-a}]\n"
		 "net: [{name: l, device: eth1, network: n}]\n"
		 "workers: [{role: frontend, cores: [1], mounts: [{path: /m, from: host-b/x}]}]\n",
		 cluster);
	assert_true(spec_parse("test", text, strlen(text), &d, &s) >= 0);
	diag_done(&d);
	return s;
}

static struct monitor *monitor_new(void)
{
	struct monitor *m = calloc(1, sizeof(*m));
	struct cluster_setup s = {.events = &m->events,
				  .path = m->file,
				  .servers = &m->servers,
				  .pools_path = m->pools_file,
				  .pools = &m->pools,
				  .on_change = on_nothing,
				  .on_servers = on_nothing,
				  .on_pools = on_nothing,
				  .on_list = on_list,
				  .user = m};

	memset(&role, 0, sizeof(role));
	events_init(&m->events);
	strcpy(m->path, "/tmp/plenum-cluster.XXXXXX");
	assert_non_null(mkdtemp(m->path));
	snprintf(m->file, sizeof(m->file), "%s/cluster", m->path);
	snprintf(m->pools_file, sizeof(m->pools_file), "%s/pools", m->path);
	assert_int_equal(loop_new(&m->loop), 0);
	s.loop = m->loop;
	m->spec = spec_of("prod");
	assert_int_equal(cluster_new(&s, &m->cluster), 0);
	return m;
}

static void monitor_free(struct monitor *m)
{
	cluster_free(m->cluster);
	servers_done(&m->servers);
	plan_pools_done(&m->pools);
	spec_free(m->spec);
	loop_free(m->loop);
	unlink(m->file);
	unlink(m->pools_file);
	rmdir(m->path);
	free(m);
}

static void say(struct monitor *m, const struct cluster_server *s)
{
	struct privsep_msg msg = {.type = PRIVSEP_CLUSTER_SERVER, .cluster_server = *s};

	assert_null(role.setup.on_message(m->cluster, the_role(), &msg, -1));
}

static bool has_problem(const struct monitor *m, const char *text)
{
	json_t *list = cluster_problems(m->cluster, m->spec);
	const char *is = json_string_value(json_array_get(list, 0));
	const bool has = is && strstr(is, text);

	json_decref(list);
	return has;
}

static void say_report(struct monitor *m, bool looked_up, enum cluster_trouble trouble)
{
	struct privsep_msg msg = {.type = PRIVSEP_CLUSTER_REPORT,
				  .cluster_report = {.registered = 1,
						     .looked_up = looked_up,
						     .trouble = trouble,
						     .text = "permission denied"}};

	assert_null(role.setup.on_message(m->cluster, the_role(), &msg, -1));
}

static void test_a_server_is_unknown_only_if_it_was_looked_up(void **state)
{
	struct monitor *m = monitor_new();
	struct cluster_server gone = {.host = "host-b"};
	char text[240];

	cluster_set(m->cluster, m->spec);
	cluster_why_unknown(m->cluster, m->spec, "host-b", text, sizeof(text));
	assert_string_equal(text, "server-unknown: host-b was not looked up in the cluster yet");
	say_report(m, false, CLUSTER_REFUSED);
	cluster_why_unknown(m->cluster, m->spec, "host-b", text, sizeof(text));
	assert_non_null(strstr(text, "yet: etcd-refused: etcd refuses this host (permission"));
	say(m, &gone);
	say_report(m, true, CLUSTER_FINE);
	cluster_why_unknown(m->cluster, m->spec, "host-b", text, sizeof(text));
	assert_non_null(strstr(text, "server-unknown: no host has registered as host-b"));
	gone.registered = 1; /* without addresses */
	say(m, &gone);
	cluster_why_unknown(m->cluster, m->spec, "host-b", text, sizeof(text));
	assert_non_null(strstr(text, "server-unknown: host-b has no usable addresses"));
	monitor_free(m);
}

static const char *state_of_server(struct monitor *m)
{
	static char state[32];
	json_t *o = cluster_to_json(m->cluster, m->spec);
	const json_t *s = json_array_get(json_object_get(o, "servers"), 0);

	snprintf(state, sizeof(state), "%s", json_string_value(json_object_get(s, "state")));
	json_decref(o);
	return state;
}

static void test_addresses_are_remembered_while_the_store_is_away(void **state)
{
	struct monitor *m = monitor_new();
	struct cluster_server s = a_server("10.10.1.20");

	cluster_set(m->cluster, m->spec);
	assert_string_equal(state_of_server(m), "unknown");
	say(m, &s);
	say_report(m, true, CLUSTER_FINE);
	assert_string_equal(state_of_server(m), "registered");
	say_report(m, false, CLUSTER_UNREACHABLE);
	assert_string_equal(state_of_server(m), "remembered");
	say_report(m, true, CLUSTER_FINE);
	assert_string_equal(state_of_server(m), "registered");
	role.setup.on_end(m->cluster, the_role());
	assert_string_equal(state_of_server(m), "remembered");
	monitor_free(m);
}

static void test_a_process_that_ends_is_a_reason(void **state)
{
	struct monitor *m = monitor_new();

	cluster_set(m->cluster, m->spec);
	assert_false(has_problem(m, ""));
	assert_int_equal(cluster_read(m->cluster, ROWS_HOSTS, 5), 0);
	role.setup.on_end(m->cluster, the_role());
	assert_int_equal(role.n_lists, 1);
	assert_true(has_problem(m, "etcd-unreachable: "));
	assert_true(has_problem(m, "process for etcd has ended"));
	monitor_free(m);
}

static void test_a_process_that_cannot_start_is_started_later(void **state)
{
	struct monitor *m = monitor_new();

	role.fails = true;
	cluster_set(m->cluster, m->spec);
	assert_true(has_problem(m, "cannot start"));
	assert_int_equal(cluster_pid(m->cluster), 0);
	role.fails = false;
	cluster_set(m->cluster, m->spec); /* the same settings */
	assert_int_equal(role.n_starts, 2);
	assert_int_not_equal(cluster_pid(m->cluster), 0);
	monitor_free(m);
}

static bool is_saved(const struct monitor *m, const char *ip)
{
	char *text = NULL;
	size_t len;
	bool has = file_read(m->file, 1U << 16, &text, &len) >= 0 && strstr(text, ip);

	free(text);
	return has;
}

static void test_only_servers_of_mounts_are_taken(void **state)
{
	struct monitor *m = monitor_new();
	struct cluster_server s = a_server("10.10.1.20"), junk = s;

	cluster_set(m->cluster, m->spec);
	for (unsigned i = 0; i < SERVERS_MAX + 1; i++) {
		snprintf(junk.host, sizeof(junk.host), "junk-%u", i);
		say(m, &junk);
	}
	assert_int_equal(m->servers.n, 0);
	say(m, &s);
	assert_non_null(servers_find(&m->servers, "prod", "host-b"));
	monitor_free(m);
}

/* Servers of former mounts stay known while there is room. */
static void test_servers_of_former_mounts_are_dropped_for_room(void **state)
{
	struct monitor *m = monitor_new();
	struct cluster_server s = a_server("10.10.1.20"), former = s;

	cluster_set(m->cluster, m->spec);
	say(m, &s);
	for (unsigned i = 1; i < SERVERS_MAX; i++) {
		if (i == 2) {
			cluster_set(m->cluster, m->spec);
			assert_int_equal(m->servers.n, 2);
		}
		snprintf(former.host, sizeof(former.host), "former-%u", i);
		assert_true(servers_take(&m->servers, &former));
	}
	assert_int_equal(m->servers.n, SERVERS_MAX);
	cluster_set(m->cluster, m->spec);
	assert_int_equal(m->servers.n, 1);
	assert_non_null(servers_find(&m->servers, "prod", "host-b"));
	monitor_free(m);
}

static void test_a_server_that_keeps_changing_is_not_written_each_time(void **state)
{
	struct monitor *m = monitor_new();
	struct cluster_server s = a_server("10.10.1.20");

	cluster_set(m->cluster, m->spec); /* writes the file */
	say(m, &s);
	assert_false(is_saved(m, "10.10.1.20"));
	s = a_server("10.10.1.21");
	say(m, &s);
	assert_true(loop_turn(m->loop, NSEC_PER_SEC / 50) >= 0);
	assert_false(is_saved(m, "10.10.1.2"));
	/* the last addresses are written before the agent ends */
	m->cluster = cluster_free(m->cluster);
	assert_true(is_saved(m, "10.10.1.21"));
	monitor_free(m);
}

static void test_servers_that_change_together_share_a_reconcile(void **state)
{
	struct membership_pace p = {.at_ns = 0};
	const uint64_t now = NSEC_PER_SEC, first = membership_follow(&p, now);
	uint64_t second;

	assert_int_equal(first, now + RECONCILE_DEBOUNCE_NS);
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(membership_follow(&p, now + i), first);
	second = membership_follow(&p, first);
	assert_int_equal(second, first + MEMBERSHIP_FOLLOW_NS);
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(membership_follow(&p, first + i), second);
}

static void test_a_server_that_keeps_changing_is_followed_less_often(void **state)
{
	struct membership_pace p = {.at_ns = 0};
	uint64_t now = NSEC_PER_SEC, last = membership_follow(&p, now), gap = MEMBERSHIP_FOLLOW_NS;

	for (unsigned i = 0; i < 6; i++) {
		now = last + NSEC_PER_SEC;
		assert_int_equal(membership_follow(&p, now), last + gap);
		last += gap;
		gap = MIN_OF(2 * gap, MEMBERSHIP_FOLLOW_MAX_NS);
	}
	assert_int_equal(gap, MEMBERSHIP_FOLLOW_MAX_NS);
	now = last + 2 * gap;
	assert_int_equal(membership_follow(&p, now), now + RECONCILE_DEBOUNCE_NS);
	last = membership_follow(&p, now);
	assert_int_equal(membership_follow(&p, last + 1), last + MEMBERSHIP_FOLLOW_NS);
}

static void report_pool(struct monitor *m, const char *cluster, const char *pool, const char *ip)
{
	struct privsep_msg msg = {.type = PRIVSEP_CLUSTER_POOL};
	struct cluster_pool_report *r = &msg.cluster_pool_report;

	strcpy(r->cluster, cluster);
	strcpy(r->pool.name, pool);
	assert_int_equal(ip_range_parse("10.0.0.1-10.0.0.9/24", &r->pool.range), 0);
	r->n_total = r->n = 1;
	assert_int_equal(ip_addr_parse(ip, &r->addrs[0]), 0);
	assert_null(role.setup.on_message(m->cluster, the_role(), &msg, -1));
}

static size_t recorded(const struct monitor *m)
{
	struct plan_pools pools = {.n = 0};
	struct diag d = DIAG_INIT;
	size_t n;

	assert_int_equal(plan_pools_load(&pools, m->pools_file, &d), 0);
	n = pools.n;
	plan_pools_done(&pools);
	diag_done(&d);
	return n;
}

/* The next agent must know an address that this one uses, even if it is killed at once; and must
 * not use one that was given back. */
static void test_addresses_of_pools_are_written_before_they_are_used(void **state)
{
	struct monitor *m = monitor_new();
	const struct privsep_cluster_edit leave = {.id = 7, .op = POOL_LEAVE};
	const struct privsep_msg answer = {.type = PRIVSEP_CLUSTER_ANSWER,
					   .cluster_answer = {.id = 7}};

	cluster_set(m->cluster, m->spec);
	report_pool(m, "other", "data-a", "10.0.0.5"); /* of former settings */
	assert_int_equal(m->pools.n, 0);
	report_pool(m, "prod", "data-b", "10.0.0.5"); /* that the configuration does not have */
	assert_int_equal(m->pools.n, 0);
	report_pool(m, "prod", "data-a", "10.0.0.5");
	assert_string_equal(m->pools.host, "a");
	assert_string_equal(m->pools.id, m->servers.id);
	assert_int_equal(m->pools.n, 1);
	assert_int_equal(recorded(m), 1);
	assert_int_equal(cluster_edit(m->cluster, &leave), 0);
	assert_int_equal(recorded(m), 0); /* before the store can give them to another host */
	assert_true(cluster_is_leaving(m->cluster));
	assert_int_equal(cluster_edit(m->cluster, &leave), -EALREADY);
	assert_null(role.setup.on_message(m->cluster, the_role(), &answer, STDIN_FILENO));
	assert_int_equal(m->pools.n, 0);
	assert_false(cluster_is_leaving(m->cluster));
	monitor_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_server_is_unknown_only_if_it_was_looked_up),
		cmocka_unit_test(test_addresses_are_remembered_while_the_store_is_away),
		cmocka_unit_test(test_a_process_that_ends_is_a_reason),
		cmocka_unit_test(test_a_process_that_cannot_start_is_started_later),
		cmocka_unit_test(test_only_servers_of_mounts_are_taken),
		cmocka_unit_test(test_servers_of_former_mounts_are_dropped_for_room),
		cmocka_unit_test(test_a_server_that_keeps_changing_is_not_written_each_time),
		cmocka_unit_test(test_addresses_of_pools_are_written_before_they_are_used),
		cmocka_unit_test(test_servers_that_change_together_share_a_reconcile),
		cmocka_unit_test(test_a_server_that_keeps_changing_is_followed_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
