/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/host/inv_host.h"

static void test_json_round_trips(void **state)
{
	struct inventory *inv = inv_host_new(), *again;
	struct diag d = DIAG_INIT;
	char *json, *json_again;

	inv_sort(inv);
	json = inv_to_json(inv);
	assert_non_null(json);
	assert_int_equal(inv_from_json(json, strlen(json), &d, &again), 0);
	json_again = inv_to_json(again);
	assert_string_equal(json, json_again);
	assert_int_equal(again->number, 42);
	assert_int_equal(again->links[1].numa_node, 1);
	assert_int_equal(again->links[0].numa_node, INV_NUMA_NONE);
	assert_string_equal(inv_sysctl_value(again, "net/ipv4/conf/all/rp_filter"), "1");
	free(json);
	free(json_again);
	inv_free(inv);
	inv_free(again);
	diag_done(&d);
}

/* Every one is refused with a message that holds `text`. */
static void test_json_is_strict(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"", "not JSON"},
		{"[]", "a JSON object is expected"},
		{"{\"lincs\": []}", "lincs: unknown member; did you mean \"links\"?"},
		{"{\"links\": {}}", "links: found {}, write a list"},
		{"{\"links\": [3]}", "links[0]: found 3, write an object"},
		{"{\"links\": [{}]}", "links[0].ifindex: missing"},
		{"{\"links\": [{\"ifindex\": 1, \"name\": \"a\", \"kind\": \"modem\"}]}",
		 "links[0].kind: found \"modem\""},
		{"{\"links\": [{\"ifindex\": 0, \"name\": \"a\", \"kind\": \"veth\"}]}", "above 0"},
		{"{\"links\": [{\"ifindex\": -1, \"name\": \"a\", \"kind\": \"veth\"}]}",
		 "links[0].ifindex: found -1"},
		{"{\"links\": [{\"ifindex\": 4294967296, \"name\": \"a\", \"kind\": \"veth\"}]}",
		 "links[0].ifindex: found 4294967296"},
		{"{\"links\": [{\"ifindex\": 1, \"name\": \"a\", \"kind\": \"veth\", \"up\": 1}]}",
		 "links[0].up: found 1, write true or false"},
		{"{\"links\": [{\"ifindex\": 1, \"name\": \"abcdefghijklmnop\","
		 " \"kind\": \"veth\"}]}",
		 "links[0].name"},
		{"{\"addresses\": [{\"ifindex\": 1, \"ip\": \"10.0.0.1/8\"}]}",
		 "addresses[0].ifindex: no link"},
		{"{\"addresses\": [{\"ifindex\": 1, \"ip\": null}]}", "addresses[0].ip"},
		{"{\"routes\": [{\"family\": 5, \"table\": 1, \"dst\": \"0.0.0.0/0\"}]}",
		 "routes[0].family: found 5, write 4 or 6"},
		{"{\"routes\": [{\"family\": 6, \"table\": 1, \"dst\": \"0.0.0.0/0\"}]}",
		 "address family differs"},
		{"{\"links\": [{\"ifindex\": 1, \"name\": \"a\", \"kind\": \"veth\"},"
		 " {\"ifindex\": 2, \"name\": \"a\", \"kind\": \"veth\"}]}",
		 "two links have the name \"a\""},
		{"{\"sysctls\": {\"a\": 1}}", "sysctls.a: found 1, write a string"},
		{"{\"number\": 1, \"number\": 2}", "duplicate"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory *inv = NULL;
		struct diag d = DIAG_INIT;
		char *text;

		assert_int_equal(inv_from_json(cases[i].json, strlen(cases[i].json), &d, &inv),
				 -EINVAL);
		assert_null(inv);
		text = diag_format(&d);
		assert_non_null(text);
		if (!strstr(text, cases[i].text))
			fail_msg("\"%s\" is not in: %s", cases[i].text, text);
		free(text);
		diag_done(&d);
	}
}

static void test_objects_are_found(void **state)
{
	struct inventory *inv = inv_host_new();

	inv_sort(inv);
	assert_string_equal(inv_link_find(inv, "eth0")->name, "eth0");
	assert_string_equal(inv_link_find(inv, "0000:3B:00.1")->name, "ens1f1");
	assert_string_equal(inv_link_find(inv, "02:00:00:00:00:01")->name, "ens1f1");
	assert_string_equal(inv_link_find(inv, "02:00:00:00:01:00")->name, "ens1f0");
	assert_null(inv_link_find(inv, "eth9"));
	assert_null(inv_link_find(inv, ""));
	inv_free(inv);
}

/* A bond takes its port's MAC: the device itself is what is meant. */
static void test_find_prefers_the_device(void **state)
{
	struct inventory *inv = inv_new();
	const struct mac_addr mac = {{2, 0, 0, 0, 0, 9}};

	inv_host_link_add(inv, "bond0", INV_LINK_BOND)->mac = mac;
	inv_host_link_add(inv, "eth1", INV_LINK_PHYSICAL)->mac = mac;
	assert_string_equal(inv_link_find(inv, "02:00:00:00:00:09")->name, "eth1");
	inv_free(inv);
}

/* Bonds with their ports and what LACP has come to; the interface of an RDMA port. */
static void test_bonds_and_rdma_are_printed(void **state)
{
	struct inventory *inv = inv_new();
	struct inv_bond *b = inv_bond_add(inv);
	struct inv_bond_port *p;
	struct inv_rdma *r = inv_rdma_add(inv);
	autofree char *text = NULL;

	*b = (struct inv_bond){.ifindex = inv_host_link_add(inv, "bond0", INV_LINK_BOND)->ifindex,
			       .setting = {.mode = INV_BOND_LACP, .rate = 1, .min_links = 1},
			       .n_ports = 1,
			       .partner = {{2, 0, 0, 0, 0, 9}}};
	p = inv_bond_port_add(inv);
	*p = (struct inv_bond_port){
		.ifindex = inv_host_link_add(inv, "eth1", INV_LINK_PHYSICAL)->ifindex,
		.bond = b->ifindex,
		.link_up = true,
		.active = true,
		.actor = INV_LACP_SYNC | INV_LACP_DISTRIBUTING};
	p = inv_bond_port_add(inv);
	*p = (struct inv_bond_port){
		.ifindex = inv_host_link_add(inv, "eth2", INV_LINK_PHYSICAL)->ifindex,
		.bond = b->ifindex,
		.failures = 3,
		.actor = INV_LACP_DEFAULTED};
	*r = (struct inv_rdma){.device = "plenum_eth1", .port = 1, .ifindex = p[-1].ifindex};
	inv_sort(inv);
	text = inv_to_text(inv);
	assert_non_null(strstr(text, "bond0  -       1               02:00:00:00:00:09  802.3ad"));
	assert_non_null(strstr(text, "eth1  bond0  up    yes      -         distributing"));
	assert_non_null(strstr(text, "eth2  bond0  down  no       3         no-partner"));
	assert_non_null(strstr(text, "plenum_eth1  1     -     -      -     eth1"));
	inv_free(inv);
}

static void test_the_inventory_is_printed(void **state)
{
	struct inventory *inv = inv_host_new();
	char *text;

	inv_text_set(inv->links[0].name, IFNAMSIZ, "e\033[31mvil");
	text = inv_to_text(inv);
	assert_non_null(text);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "e?[31mvil"));
	assert_non_null(strstr(text, "ens1f0     physical  ice     0000:3b:00.0  1"));
	assert_non_null(strstr(text, "100G"));
	assert_non_null(strstr(text, "0/64"));
	assert_non_null(strstr(text, "10.20.1.7/16"));
	assert_non_null(strstr(text, "default"));
	assert_null(strstr(text, " \n"));
	free(text);
	inv_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_round_trips),
		cmocka_unit_test(test_json_is_strict),
		cmocka_unit_test(test_objects_are_found),
		cmocka_unit_test(test_find_prefers_the_device),
		cmocka_unit_test(test_the_inventory_is_printed),
		cmocka_unit_test(test_bonds_and_rdma_are_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
