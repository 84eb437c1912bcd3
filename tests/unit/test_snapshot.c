/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Snapshots of every recorded host of the golden plans: the plan from a snapshot has the same
 * steps, also after writing and reading it, and nothing in it identifies the host.
 */
#include "netcfg/base/file.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/plan/plan.h"
#include "netcfg/plan/show/snapshot.h"
#include "plugins/plugins.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN TOP_SRCDIR "/tests/golden/plan"

static const uint64_t key[2] = {7, 11};

static char *read_case(const char *name, const char *file)
{
	autofree char *path = NULL;
	char *text = NULL;
	size_t len;

	assert_true(asprintf(&path, "%s/%s/%s", GOLDEN, name, file) > 0);
	return file_read(path, 1 << 20, &text, &len) < 0 ? NULL : text;
}

static struct inventory *from_json(const char *json)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;

	if (inv_from_json(json, strlen(json), &d, &inv) < 0)
		diag_print(&d, stderr);
	assert_non_null(inv);
	return inv;
}

/* The plan as text, or its errors. */
static char *plan_text(const struct spec *s, const struct inventory *inv)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct plan *p = NULL;
	char *text = plan_build(s, inv, NULL, &d, &p) < 0 ? diag_format(&d) : plan_to_text(p);

	plan_free(p);
	return text;
}

static struct inventory *snapshot(const struct inventory *inv, const struct spec *s)
{
	struct inventory *copy = NULL;

	assert_int_equal(snapshot_make(inv, s, key, &copy), 0);
	return copy;
}

/* Reasons may contain replaced names, but each line of one plan matches a line of the other. */
static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static bool check_case(const char *name)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *yaml = read_case(name, "spec.yaml"),
		      *json = read_case(name, "inventory.json");
	autofree char *plain = NULL, *shown = NULL, *again = NULL, *text = NULL, *text2 = NULL;
	struct inventory *inv, *copy, *back;
	struct spec *s = NULL;

	if (!yaml)
		return false;
	if (!json)
		json = read_case(".", "inventory.json");
	if (spec_parse("spec.yaml", yaml, strlen(yaml), &d, &s) < 0)
		return false;
	inv = from_json(json);
	copy = snapshot(inv, s);
	text = inv_to_json(copy);
	back = from_json(text);
	text2 = inv_to_json(back);
	assert_string_equal(text, text2);
	plain = plan_text(s, inv);
	shown = plan_text(s, copy);
	again = plan_text(s, back);
	assert_string_equal(shown, again);
	if (count_lines(plain) != count_lines(shown))
		fail_msg("%s:\n%s\nbut of the snapshot:\n%s", name, plain, shown);
	inv_free(inv);
	inv_free(copy);
	inv_free(back);
	spec_free(s);
	return true;
}

static void test_a_snapshot_gives_the_same_plan(void **state)
{
	DIR *dir = opendir(GOLDEN);
	unsigned n = 0;

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.' && strcmp(e->d_name, "inventory.json") != 0 &&
		     check_case(e->d_name);
	closedir(dir);
	assert_true(n > 50);
}

static struct ip_prefix prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, &p), 0);
	return p;
}

static void add_addr(struct inventory *inv, const char *text)
{
	struct inv_addr *a = inv_addr_add(inv);

	assert_non_null(a);
	a->ifindex = 1;
	a->ip = prefix(text);
}

static void test_a_snapshot_has_no_private_data(void **state)
{
	static const char yaml[] = "host: h\nnetworks: [{name: n, range: 10.10.1.1-10.10.1.9/24}]\n"
				   "net: [{name: a, device: \"00:11:22:aa:bb:01\", network: n}]\n";
	static const char *const secrets[] = {"secret",	   "192.0.2", "aa:bb:cc",
					      "a8bb:ccff", "rack-7",  "SN0815"};
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *json = NULL;
	struct inventory *inv = inv_new(), *copy;
	struct inv_link *l = inv_link_add(inv);
	struct inv_mount *m = inv_mount_add(inv);
	struct spec *s = NULL;

	strcpy(inv_devlink_add(inv)->device, "pci/0000:3b:00.0");
	strcpy(inv->devlinks[0].serial, "SN0815");
	assert_int_equal(spec_parse("t", yaml, strlen(yaml), &d, &s), 0);
	strcpy(inv->host, "secret-host");
	l->ifindex = 1;
	strcpy(l->name, "eth0");
	strcpy(l->alias, "secret rack-7");
	strcpy(l->switch_id, "secretswitch");
	mac_addr_parse("00:11:22:aa:bb:cc", &l->mac);
	mac_addr_parse("00:11:22:aa:bb:01", &l->permanent_mac);
	strcpy(m->path, "/home/secret");
	strcpy(m->type, "nfs4");
	m->server = prefix("192.0.2.9/32").addr;
	add_addr(inv, "192.0.2.5/24");
	add_addr(inv, "192.0.2.77/24");
	add_addr(inv, "10.10.1.5/24");
	add_addr(inv, "127.0.0.1/8");
	add_addr(inv, "fe80::211:22ff:feaa:bbcc/64");
	add_addr(inv, "2001:db8::211:22ff:feaa:bbcc/64");
	copy = snapshot(inv, s);
	json = inv_to_json(copy);
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (strstr(json, secrets[i]))
			fail_msg("%s is in %s", secrets[i], json);
	assert_non_null(strstr(json, "\"10.10.1.5/24\""));
	assert_non_null(strstr(json, "\"127.0.0.1/8\""));
	assert_non_null(strstr(json, "00:11:22:aa:bb:01")); /* the configuration names it */
	assert_non_null(strstr(json, "fe80::211:22ff:fe00:1/64"));
	inv_free(inv);
	inv_free(copy);
	spec_free(s);
}

/* Addresses share a subnet afterwards if and only if they did before. */
static void test_subnets_stay_subnets(void **state)
{
	static const char *const texts[] = {"192.0.2.5/24",  "192.0.2.77/24", "192.0.3.5/23",
					    "172.16.4.4/12", "10.0.0.0/8",    "10.10.1.0/24",
					    "fd00::1/64",    "fd00::2/64",    "fd01::1/32"};
	struct inventory *inv = inv_new(), *copy;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct inv_rule *r = inv_rule_add(inv); /* rules keep the order of their priority */

		r->family = strchr(texts[i], ':') ? AF_INET6 : AF_INET;
		r->priority = (uint32_t)i;
		r->from = prefix(texts[i]);
	}
	copy = snapshot(inv, NULL);
	inv_sort(inv);
	for (size_t i = 0; i < inv->n_rules; i++)
		for (size_t j = 0; j < inv->n_rules; j++)
			assert_int_equal(
				ip_prefix_contains(&inv->rules[i].from, &inv->rules[j].from.addr),
				ip_prefix_contains(&copy->rules[i].from,
						   &copy->rules[j].from.addr));
	inv_free(inv);
	inv_free(copy);
}

static int setup(void **state)
{
	plugins_register();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_snapshot_gives_the_same_plan),
		cmocka_unit_test(test_a_snapshot_has_no_private_data),
		cmocka_unit_test(test_subnets_stay_subnets),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
