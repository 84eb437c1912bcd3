/* SPDX-License-Identifier: BSD-3-Clause */
/* Address pools: the choice of addresses, their keys and values, the change of pools, the record of
 * this host's addresses, and the plan that uses them. */
#include "agent/cluster/cluster.h"
#include "agent/cluster/pools/pool.h"
#include "netcfg/base/file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct pool_choice choice;

static struct ip_addr ip(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, &a), 0);
	return a;
}

static struct cluster_pool make(const char *range, const char *gateway)
{
	struct cluster_pool p;
	struct reason why;

	assert_int_equal(pool_make("p", range, gateway, 0, 0, &p, &why), 0);
	return p;
}

static struct pool_owned owned(const char *address, const char *host, uint32_t index)
{
	struct pool_owned o = {.ip = ip(address), .index = index, .revision = 1};

	snprintf(o.host, sizeof(o.host), "%s", host);
	return o;
}

static void has(size_t index, const char *address, bool is_new)
{
	char text[IP_ADDR_STR_MAX];

	assert_string_equal(ip_addr_format(&choice.addrs[index], text, sizeof(text)), address);
	assert_int_equal(choice.is_new[index], is_new);
}

/* ---- the choice ---- */

/* Returns the first of the addresses that a host without addresses gets in an empty pool. All of
 * them are adjacent. */
static struct ip_addr place_of(const struct cluster_pool *p, const char *host, size_t need)
{
	struct ip_addr next;

	pool_choose(p, NULL, 0, host, "", NULL, 0, need, &choice);
	assert_int_equal(choice.n_new, need);
	for (size_t i = 1; i < need; i++) {
		assert_true(ip_addr_add(&choice.addrs[0], i, &next));
		assert_true(ip_addr_equal(&choice.addrs[i], &next));
	}
	return choice.addrs[0];
}

/* The place of the host "a" in this range is the first address. */
static void test_a_host_gets_the_free_addresses_from_its_place_on(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	struct pool_owned all[] = {owned("10.0.0.12", "b", 1), owned("10.0.0.10", "b", 0)};

	pool_choose(&p, all, 2, "a", "", NULL, 0, 3, &choice);
	assert_int_equal(choice.n, 3);
	assert_int_equal(choice.n_new, 3);
	assert_int_equal(choice.n_missing, 0);
	has(0, "10.0.0.11", true);
	has(1, "10.0.0.13", true);
	has(2, "10.0.0.14", true);
}

static void test_an_owned_address_keeps_its_index(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	struct pool_owned all[] = {owned("10.0.0.15", "a", 0), owned("10.0.0.11", "a", 2)};

	pool_choose(&p, all, 2, "a", "", NULL, 0, 3, &choice);
	assert_int_equal(choice.n_new, 1);
	has(0, "10.0.0.15", false);
	has(1, "10.0.0.12", true); /* behind the last one of the host */
	has(2, "10.0.0.11", false);
}

static void test_a_host_that_needs_fewer_keeps_all(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	struct pool_owned all[] = {owned("10.0.0.10", "a", 0), owned("10.0.0.11", "a", 1)};

	pool_choose(&p, all, 2, "a", "", NULL, 0, 1, &choice);
	assert_int_equal(choice.n, 2);
	assert_int_equal(choice.n_new, 0);
}

static void test_a_remembered_address_is_preferred_if_it_is_free(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	struct pool_owned all[] = {owned("10.0.0.18", "b", 0)};
	const struct ip_addr known[] = {ip("10.0.0.18"), ip("10.0.0.19"), ip("10.0.1.1")};

	pool_choose(&p, all, 1, "a", "", known, 3, 3, &choice);
	has(0, "10.0.0.20", true); /* another host owns the remembered one */
	has(1, "10.0.0.19", true);
	has(2, "10.0.0.10", true); /* the remembered one is outside the pool */
}

static void test_an_exhausted_pool_gives_what_it_has(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.13/24", "");
	struct pool_owned all[] = {owned("10.0.0.10", "b", 0), owned("10.0.0.12", "c", 0),
				   owned("10.0.0.11", "c", 1), owned("10.0.9.1", "d", 0)};

	pool_choose(&p, all, 4, "a", "", NULL, 0, 3, &choice);
	assert_int_equal(choice.n, 1);
	has(0, "10.0.0.13", true);
	assert_int_equal(choice.n_missing, 2);
	assert_int_equal(choice.n_range, 4);
	assert_int_equal(choice.n_owned, 3);
	assert_int_equal(choice.n_hosts, 2);
}

static void test_a_large_range_is_searched_quickly(void **state)
{
	const struct cluster_pool p = make("fd00::1-fd00::ffff:ffff:ffff/64", "");
	const struct ip_addr place = place_of(&p, "a", CLUSTER_POOL_ADDRS_MAX);
	static struct pool_owned all[20000];
	struct ip_addr next;

	for (uint32_t i = 0; i < ARRAY_SIZE(all); i++) {
		all[i] = owned("fd00::1", "b", i);
		assert_true(ip_addr_add(&place, ARRAY_SIZE(all) - 1 - i, &all[i].ip));
	}
	pool_choose(&p, all, ARRAY_SIZE(all), "a", "", NULL, 0, CLUSTER_POOL_ADDRS_MAX + 5,
		    &choice);
	assert_int_equal(choice.n, CLUSTER_POOL_ADDRS_MAX);
	assert_true(ip_addr_add(&place, ARRAY_SIZE(all), &next));
	assert_true(ip_addr_equal(&choice.addrs[0], &next));
}

/* Hosts that join at the same time, and see an empty pool, must seldom choose the same addresses.
 */
static void test_hosts_begin_at_different_places(void **state)
{
	const struct cluster_pool p = make("10.0.0.1-10.0.255.254/16", "");
	static struct ip_addr places[1000];
	struct ip_addr again;
	unsigned n_shared = 0;
	char host[32];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		bool shared = false;

		snprintf(host, sizeof(host), "host-%zu", i);
		places[i] = place_of(&p, host, 16);
		for (size_t k = 0; k < i; k++)
			shared |= ip_addr_equal(&places[k], &places[i]);
		n_shared += shared;
	}
	/* 1,000 hosts in 4,095 places: about 113 share one */
	assert_in_range(n_shared, 0, 160);
	again = place_of(&p, "host-7", 16);
	assert_true(ip_addr_equal(&places[7], &again));
}

static void test_the_search_continues_at_the_first_address(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	struct pool_owned all[] = {owned("10.0.0.19", "a", 0)};

	pool_choose(&p, all, 1, "a", "", NULL, 0, 4, &choice);
	has(1, "10.0.0.20", true);
	has(2, "10.0.0.10", true);
	has(3, "10.0.0.11", true);
	pool_choose(&p, all, 1, "a", "", NULL, 0, 12, &choice);
	assert_int_equal(choice.n_new, 10);
	assert_int_equal(choice.n_missing, 1);
}

static void test_two_addresses_with_one_index_do_not_confuse(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	struct pool_owned all[] = {owned("10.0.0.12", "a", 0), owned("10.0.0.11", "a", 0),
				   owned("10.0.0.10", "a", UINT32_MAX)};

	pool_choose(&p, all, 3, "a", "", NULL, 0, 2, &choice);
	has(0, "10.0.0.11", false);
	has(1, "10.0.0.13", true);
}

static void test_an_address_of_a_former_host_with_the_name_is_not_taken_over(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	struct pool_owned all[] = {owned("10.0.0.16", "a", 0)};

	strcpy(all[0].id, "12");
	pool_choose(&p, all, 1, "a", "34", NULL, 0, 1, &choice);
	has(0, "10.0.0.17", true);
}

/* After the store has lost its keys, two hosts must not take each other's addresses. */
static void test_a_host_can_be_limited_to_the_addresses_that_it_had(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	const struct ip_addr known[] = {ip("10.0.0.18")};

	pool_choose(&p, NULL, 0, "a", "", known, 1, 3, &choice);
	assert_int_equal(choice.n_again, 1);
	pool_choose_known_only(&choice);
	assert_int_equal(choice.n, 1);
	assert_int_equal(choice.n_new, 1);
	assert_int_equal(choice.n_missing, 2);
	has(0, "10.0.0.18", true);
}

/* ---- keys and values ---- */

static void test_an_address_is_read_as_it_was_written(void **state)
{
	const struct record_owner self = {.id = "0123", .epoch = 4};
	const struct ip_addr a = ip("fd00::9");
	struct kv_pair pair = {.revision = 8};
	struct pool_owned o;

	pool_address_key("prod", &a, pair.key);
	assert_string_equal(pair.key, "/plenum/prod/v1/address/fd00::9");
	pair.value = pool_address_format("p", "host-a", &self, 5);
	pair.len = strlen(pair.value);
	assert_true(pool_take_pair("prod", &pair, &o));
	assert_true(ip_addr_equal(&o.ip, &a));
	assert_string_equal(o.host, "host-a");
	assert_int_equal(o.index, 5);
	assert_int_equal(o.revision, 8);
	assert_false(pool_take_pair("other", &pair, &o));
	free(pair.value);
}

/* No host may take the address while its key exists, and the host that found the squatter uses
 * another one. */
static void test_an_address_with_a_squatter_is_passed_over(void **state)
{
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "");
	const struct record_owner self = {.id = "0123", .epoch = 4};
	const struct mac_addr by = {{2, 0, 0, 0, 0, 7}};
	const struct ip_addr a = place_of(&p, "a", 2);
	struct kv_pair pair = {.revision = 8};
	struct pool_owned o;
	struct ip_addr next;

	pool_address_key("prod", &a, pair.key);
	pair.value = pool_squat_format("p", "a", &self, &by);
	pair.len = strlen(pair.value);
	assert_true(pool_take_pair("prod", &pair, &o));
	assert_string_equal(o.host, "a");
	assert_string_equal(o.squatter, "02:00:00:00:00:07");
	pool_choose(&p, &o, 1, "a", "0123", &a, 1, 2, &choice);
	assert_true(ip_addr_add(&a, 1, &next));
	assert_true(ip_addr_equal(&choice.addrs[0], &next));
	assert_int_equal(choice.n_new, 2);
	free(pair.value);
}

/* A value that no version can read must not make the address look free, or that of this host. */
static void test_an_address_with_a_bad_value_is_owned_all_the_same(void **state)
{
	static const char *const values[] = {"",
					     "x",
					     "[]",
					     "{}",
					     "{\"host\": 7}",
					     "{\"host\": \"a/b\"}",
					     "{\"host\": \"\"}",
					     "{\"host\": \"host-a\", \"index\": -1}",
					     "{\"host\": \"host-a\", \"index\": 1e9}"};
	const struct cluster_pool p = make("10.0.0.1-10.0.0.2/24", "");

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct kv_pair pair = {.key = "/plenum/prod/v1/address/10.0.0.1",
				       .value = (char *)values[i],
				       .len = strlen(values[i])};
		struct pool_owned o;

		assert_true(pool_take_pair("prod", &pair, &o));
		pool_choose(&p, &o, 1, "host-b", "", NULL, 0, 2, &choice);
		assert_int_equal(choice.n_missing, 1);
		has(0, "10.0.0.2", true);
	}
}

static void test_only_one_form_of_an_address_is_a_key(void **state)
{
	static const char *const bad[] = {"10.0.0.01", "fd00:0::1",   "FD00::1",      "",
					  "x",	       "10.0.0.1/24", "::ffff:a00:1 "};
	struct ip_addr a;
	char key[KV_KEY_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(key, sizeof(key), "/plenum/prod/v1/address/%s", bad[i]);
		assert_false(pool_key_address("prod", key, &a));
	}
}

/* ---- pools ---- */

static void test_changes_of_pools_keep_what_they_do_not_know(void **state)
{
	static const char text[] =
		"{\"v\": 2, \"more\": [1], \"pools\": [{\"name\": \"x\", \"range\": "
		"\"10.1.0.1-10.1.0.9/24\", \"colour\": \"red\"}, {\"name\": 5}]}";
	json_t *o = pools_parse(text, strlen(text));
	const struct cluster_pool p = make("10.0.0.10-10.0.0.20/24", "10.0.0.1");
	const struct cluster_pool clash = make("10.1.0.9-10.1.0.20/24", "");
	struct cluster_pool is, other = make("10.0.0.1-10.0.0.9/24", "");
	struct reason why;

	assert_non_null(o);
	assert_int_equal(pools_add(o, &clash, &why), -EEXIST);
	assert_non_null(strstr(why.text, "'x'"));
	assert_int_equal(pools_add(o, &p, &why), 0);
	assert_int_equal(pools_add(o, &p, &why), -EEXIST);
	snprintf(other.name, sizeof(other.name), "q");
	assert_int_equal(pools_add(o, &other, &why), -EEXIST); /* it has the gateway of p */
	assert_non_null(strstr(why.text, "gateway"));
	assert_int_equal(pools_find(o, "p", &is, &why), 0);
	assert_true(ip_addr_equal(&is.gateway, &p.gateway));
	assert_int_equal(is.range.prefix_len, 24);
	assert_int_equal(pools_remove(o, "p", &why), 0);
	assert_int_equal(pools_remove(o, "p", &why), -ENOENT);
	assert_true(json_is_array(json_object_get(o, "more")));
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(o, "pools"), 0), "colour")),
			    "red");
	assert_int_equal(json_array_size(json_object_get(o, "pools")), 2);
	json_decref(o);
	assert_null(pools_parse("{\"v\": 1, \"pools\": {}}", 21));
	assert_null(pools_parse("[]", 2));
}

static void test_a_pool_is_changed_and_keeps_what_it_does_not_know(void **state)
{
	const char *text = "{\"v\": 1, \"pools\": [{\"name\": \"a\", \"range\": "
			   "\"10.1.0.1-10.1.0.9/16\", \"gateway\": \"10.1.9.9\", \"mtu\": 9000, "
			   "\"wait\": 3}, {\"name\": \"b\", \"range\": "
			   "\"10.2.0.1-10.2.0.9/16\"}]}";
	json_t *o = pools_parse(text, strlen(text));
	struct cluster_pool change, was, is, found;
	struct reason why;

	assert_int_equal(pool_change_make("a", "10.1.0.1-10.1.0.20/16", "", 0, 7, &change, &why),
			 0);
	assert_int_equal(pools_set(o, &change, false, &was, &is, &why), 0);
	assert_int_equal(pools_find(o, "a", &found, &why), 0);
	assert_true(pools_are_equal(&found, &is) && !pools_are_equal(&was, &is));
	assert_int_equal(found.mtu, 9000);
	assert_int_equal(found.vlan, 7);
	assert_int_equal(found.gateway.family, AF_INET);
	assert_int_equal(ip_range_count(&found.range), 20);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(json_object_get(o, "pools"), 0), "wait")),
			 3);
	assert_int_equal(pool_change_make("a", "", "none", 0, 0, &change, &why), 0);
	assert_int_equal(pools_set(o, &change, true, &was, &is, &why), 0);
	assert_int_equal(is.gateway.family, 0);
	/* nothing that add refuses */
	assert_int_equal(pool_change_make("a", "", "10.1.0.5", 0, 0, &change, &why), 0);
	assert_int_equal(pools_set(o, &change, false, &was, &is, &why), -EINVAL);
	assert_int_equal(pool_change_make("a", "", "fd00::1", 0, 0, &change, &why), 0);
	assert_int_equal(pools_set(o, &change, false, &was, &is, &why), -EINVAL);
	assert_int_equal(pool_change_make("a", "10.1.0.1-10.2.0.1/8", "", 0, 0, &change, &why), 0);
	assert_int_equal(pools_set(o, &change, false, &was, &is, &why), -EEXIST);
	assert_int_equal(pool_change_make("c", "", "", 1400, 0, &change, &why), 0);
	assert_int_equal(pools_set(o, &change, false, &was, &is, &why), -ENOENT);
	assert_int_equal(pool_change_make("a", "", "x", 0, 0, &change, &why), -EINVAL);
	assert_int_equal(pool_change_make("a", "", "", 100, 0, &change, &why), -EINVAL);
	json_decref(o);
}

static void test_pools_that_cannot_work_are_refused(void **state)
{
	static const struct {
		const char *name, *range, *gateway;
		uint32_t mtu, vlan;
	} bad[] = {
		{"a b", "10.0.0.1-10.0.0.9/24", "", 0, 0},
		{"p", "10.0.0.1-10.0.0.9", "", 0, 0},
		{"p", "10.0.0.9-10.0.0.1/24", "", 0, 0},
		{"p", "10.0.0.0-10.0.0.9/24", "", 0, 0},
		{"p", "10.0.0.1-10.0.0.255/24", "", 0, 0},
		{"p", "10.0.0.1-10.0.1.1/24", "", 0, 0},
		{"p", "127.0.0.1-127.0.0.9/24", "", 0, 0},
		{"p", "fe80::1-fe80::9/64", "", 0, 0},
		{"p", "10.0.0.1-10.0.0.9/24", "x", 0, 0},
		{"p", "10.0.0.1-10.0.0.9/24", "10.0.0.5", 0, 0},
		{"p", "10.0.0.1-10.0.0.9/24", "10.0.1.1", 0, 0},
		{"p", "10.0.0.1-10.0.0.9/24", "", 100, 0},
		{"p", "10.0.0.1-10.0.0.9/24", "", 0, 4095},
	};
	struct cluster_pool p;
	struct reason why;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		reason_clear(&why);
		assert_int_equal(pool_make(bad[i].name, bad[i].range, bad[i].gateway, bad[i].mtu,
					   bad[i].vlan, &p, &why),
				 -EINVAL);
		assert_true(why.text[0]);
	}
}

/* ---- the monitor ---- */

static void test_reports_in_parts_become_the_addresses_of_a_pool(void **state)
{
	struct plan_pools known = {.n = 0};
	struct cluster_pool_draft d = {.n = 0};
	struct cluster_pool_report r = {.cluster = "prod", .n_total = 34, .n = CLUSTER_POOL_CHUNK};

	r.pool = make("10.0.0.1-10.0.0.99/24", "");
	for (uint32_t i = 0; i < r.n; i++)
		assert_true(ip_addr_add(&r.pool.range.first, i, &r.addrs[i]));
	assert_false(cluster_pools_take(&known, &d, &r));
	assert_int_equal(known.n, 0);
	r.at = r.n;
	r.n = 2;
	assert_true(cluster_pools_take(&known, &d, &r));
	assert_int_equal(known.all[0].n, 34);
	assert_string_equal(known.cluster, "prod");
	/* a part that does not follow is ignored */
	assert_false(cluster_pools_take(&known, &d, &r));
	/* an unknown pool leaves the addresses in use */
	r = (struct cluster_pool_report){
		.cluster = "prod", .state = CLUSTER_POOL_UNKNOWN, .text = "gone"};
	snprintf(r.pool.name, sizeof(r.pool.name), "p");
	assert_true(cluster_pools_take(&known, &d, &r));
	assert_int_equal(known.all[0].n, 34);
	assert_string_equal(known.all[0].why.code, "pool-unknown");
	plan_pools_done(&known);
	free(d.addrs);
}

static void test_the_record_outlives_the_agent(void **state)
{
	char path[] = "/tmp/plenum-test-pool-XXXXXX", file[64];
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct plan_pools a = {.cluster = "prod", .host = "h", .id = "12"}, b = {.n = 0};
	struct plan_pool *p = plan_pools_add(&a, "data a");

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/pools", path);
	p->range = make("10.0.0.1-10.0.0.99/24", "").range;
	p->mtu = 9000;
	p->vlan = 7;
	p->n = 2;
	p->addrs = calloc(2, sizeof(*p->addrs));
	p->addrs[1] = ip("10.0.0.7");
	assert_int_equal(plan_pools_load(&b, file, &d), 0); /* there is none */
	assert_int_equal(d.n, 0);
	assert_int_equal(plan_pools_save(&a, file), 0);
	assert_int_equal(plan_pools_load(&b, file, &d), 0);
	assert_int_equal(b.n, 1);
	assert_string_equal(b.cluster, "prod");
	assert_string_equal(b.host, "h");
	assert_string_equal(b.id, "12");
	assert_string_equal(b.all[0].name, "data a");
	assert_int_equal(b.all[0].range.prefix_len, 24);
	assert_int_equal(b.all[0].gateway.family, 0);
	assert_int_equal(b.all[0].mtu, 9000);
	assert_int_equal(b.all[0].vlan, 7);
	assert_int_equal(b.all[0].n, 2);
	assert_int_equal(b.all[0].addrs[0].family, 0);
	assert_true(ip_addr_equal(&b.all[0].addrs[1], &a.all[0].addrs[1]));
	assert_int_equal(file_write(file, "plenum-pools 1 bytes 3 sum 0\nx\n", 31, 0600), 0);
	assert_int_equal(plan_pools_load(&b, file, &d), 0);
	assert_int_equal(b.n, 0);
	assert_int_equal(d.n, 1);
	plan_pools_done(&a);
	plan_pools_done(&b);
	unlink(file);
	rmdir(path);
}

static void test_a_plan_gets_the_addresses_of_its_cluster_only(void **state)
{
	static const char yaml[] =
		"host: a\nnetworks: [{name: n, pool: p, vlan: 9}]\n"
		"net: [{name: l, device: eth1, network: n}]\nworkers: [{role: frontend, cores: [1, "
		"2]}]\n"
		"cluster: {name: prod, etcd: [\"http://10.0.0.1:2379\"], security: none}\n";
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct plan_pools known = {.cluster = "prod", .host = "a"};
	struct plan_pool *p = plan_pools_add(&known, "p");
	struct spec *s = NULL, resolved;

	assert_int_equal(spec_parse("t", yaml, strlen(yaml), &d, &s), 0);
	p->range = make("10.0.0.1-10.0.0.99/24", "").range;
	p->mtu = 9000;
	p->vlan = 7;
	p->n = 1;
	p->addrs = calloc(1, sizeof(*p->addrs));
	p->addrs[0] = ip("10.0.0.7");
	assert_int_equal(plan_pool_need(s, &s->networks[0]), 2);
	assert_int_equal(plan_pools_resolve(s, &known, &resolved), 0);
	assert_int_equal(resolved.networks[0].n_taken, 1);
	assert_int_equal(resolved.networks[0].mtu, 9000);
	assert_int_equal(resolved.networks[0].vlan, 9); /* the file's own counts first */
	assert_int_equal(s->networks[0].n_taken, 0);
	free(resolved.networks);
	snprintf(known.cluster, sizeof(known.cluster), "other");
	assert_int_equal(plan_pools_resolve(s, &known, &resolved), 0);
	assert_int_equal(resolved.networks[0].n_taken, 0);
	free(resolved.networks);
	snprintf(known.cluster, sizeof(known.cluster), "prod");
	snprintf(known.host, sizeof(known.host), "b"); /* a copied state directory */
	assert_int_equal(plan_pools_resolve(s, &known, &resolved), 0);
	assert_int_equal(resolved.networks[0].n_taken, 0);
	free(resolved.networks);
	snprintf(known.host, sizeof(known.host), "a");
	assert_true(cluster_pools_withhold(&known)); /* another host has the name */
	assert_int_equal(plan_pools_resolve(s, &known, &resolved), 0);
	assert_int_equal(resolved.networks[0].n_taken, 0);
	free(resolved.networks);
	known.withheld = false;
	p->confirmed = true;
	assert_false(cluster_pools_withhold(&known)); /* it runs with them already */
	s->nets[0].enabled = false;
	assert_int_equal(plan_pool_need(s, &s->networks[0]), 0);
	spec_free(s);
	plan_pools_done(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_host_gets_the_free_addresses_from_its_place_on),
		cmocka_unit_test(test_hosts_begin_at_different_places),
		cmocka_unit_test(test_the_search_continues_at_the_first_address),
		cmocka_unit_test(test_an_owned_address_keeps_its_index),
		cmocka_unit_test(test_a_host_that_needs_fewer_keeps_all),
		cmocka_unit_test(test_a_remembered_address_is_preferred_if_it_is_free),
		cmocka_unit_test(test_an_exhausted_pool_gives_what_it_has),
		cmocka_unit_test(test_a_large_range_is_searched_quickly),
		cmocka_unit_test(test_two_addresses_with_one_index_do_not_confuse),
		cmocka_unit_test(test_an_address_of_a_former_host_with_the_name_is_not_taken_over),
		cmocka_unit_test(test_a_host_can_be_limited_to_the_addresses_that_it_had),
		cmocka_unit_test(test_an_address_is_read_as_it_was_written),
		cmocka_unit_test(test_an_address_with_a_squatter_is_passed_over),
		cmocka_unit_test(test_an_address_with_a_bad_value_is_owned_all_the_same),
		cmocka_unit_test(test_only_one_form_of_an_address_is_a_key),
		cmocka_unit_test(test_changes_of_pools_keep_what_they_do_not_know),
		cmocka_unit_test(test_a_pool_is_changed_and_keeps_what_it_does_not_know),
		cmocka_unit_test(test_pools_that_cannot_work_are_refused),
		cmocka_unit_test(test_reports_in_parts_become_the_addresses_of_a_pool),
		cmocka_unit_test(test_the_record_outlives_the_agent),
		cmocka_unit_test(test_a_plan_gets_the_addresses_of_its_cluster_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
