/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/host/inventory_build.h"
#include "netcfg/spec/spec.h"
#include <linux/rtnetlink.h>
#include <string.h>

static struct ip_prefix prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, &p), 0);
	return p;
}

static struct inv_link *link_add(struct inventory *inv, const char *name, enum inv_link_kind kind)
{
	struct inv_link *l = inv_link_add(inv);

	assert_non_null(l);
	l->ifindex = (uint32_t)inv->n_links;
	inv_text_set(l->name, sizeof(l->name), name);
	l->kind = kind;
	l->mtu = 9000;
	l->up = l->carrier = true;
	return l;
}

static void addr_add(struct inventory *inv, uint32_t ifindex, const char *text)
{
	struct inv_addr *a = inv_addr_add(inv);

	assert_non_null(a);
	a->ifindex = ifindex;
	a->ip = prefix(text);
}

static void default_route_add(struct inventory *inv, uint32_t oif, uint32_t metric)
{
	struct inv_route *r = inv_route_add(inv);

	assert_non_null(r);
	*r = (struct inv_route){.table = RT_TABLE_MAIN,
				.metric = metric,
				.family = AF_INET,
				.type = RTN_UNICAST,
				.proto = RTPROT_STATIC,
				.dst = prefix("0.0.0.0/0"),
				.oif = oif};
	assert_int_equal(ip_addr_parse("192.0.2.1", &r->gateway), 0);
}

/* eth0 is the management; two ports of one NIC with addresses; cores 0-3, core 2 isolated. */
static struct inventory *host_new(void)
{
	struct inventory *inv = inv_new();

	assert_non_null(inv);
	inv->number = 42;
	inv_text_set(inv->host, sizeof(inv->host), "storage-07");
	inv_text_set(inv->kernel_release, sizeof(inv->kernel_release), "6.1.0");
	link_add(inv, "eth0", INV_LINK_PHYSICAL);
	for (int port = 0; port < 2; port++) {
		struct inv_link *l = link_add(inv, port ? "ens1f1" : "ens1f0", INV_LINK_PHYSICAL);

		inv_text_set(l->pci, sizeof(l->pci), port ? "0000:3b:00.1" : "0000:3b:00.0");
		inv_text_set(l->driver, sizeof(l->driver), "ice");
		l->mac = (struct mac_addr){{2, 0, 0, 0, 0, (uint8_t)port}};
		l->permanent_mac = (struct mac_addr){{2, 0, 0, 0, 1, (uint8_t)port}};
		l->speed_mbps = 100000;
		l->numa_node = 1;
		l->max_vfs = 64;
	}
	addr_add(inv, 1, "192.0.2.7/24");
	addr_add(inv, 2, "10.10.1.7/16");
	addr_add(inv, 3, "fe80::1/64");
	addr_add(inv, 3, "10.20.1.7/16");
	default_route_add(inv, 1, 100);
	*inv_rule_add(inv) = (struct inv_rule){
		.priority = 5, .table = 70, .family = AF_INET, .from = prefix("10.10.1.7/32")};
	for (unsigned i = 0; i < 4; i++)
		*inv_core_add(inv) = (struct inv_core){
			.id = i, .numa_node = i / 2 ? 1 : 0, .online = true, .isolated = i == 2};
	*inv_hugepages_add(inv) = (struct inv_hugepages){2048, INV_NUMA_NONE, 512, 500};
	assert_int_equal(inv_sysctl_add(inv, "net/ipv4/conf/all/rp_filter", "1"), 0);
	return inv;
}

static void test_json_comes_back(void **state)
{
	struct inventory *inv = host_new(), *again;
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
		 "another family"},
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

static void test_find(void **state)
{
	struct inventory *inv = host_new();

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

	link_add(inv, "bond0", INV_LINK_BOND)->mac = mac;
	link_add(inv, "eth1", INV_LINK_PHYSICAL)->mac = mac;
	assert_string_equal(inv_link_find(inv, "02:00:00:00:00:09")->name, "eth1");
	inv_free(inv);
}

static void test_text(void **state)
{
	struct inventory *inv = host_new();
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

/* The draft for inv, which must validate; frees inv. */
static struct spec *draft(struct inventory *inv, char **ret_yaml)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	inv_sort(inv);
	*ret_yaml = inv_generate_yaml(inv);
	assert_non_null(*ret_yaml);
	if (spec_parse("draft", *ret_yaml, strlen(*ret_yaml), &d, &s) < 0) {
		char *text = diag_format(&d);

		print_message("# %s\n%s", text, *ret_yaml);
		free(text);
		fail();
	}
	assert_int_equal(d.n_errors, 0);
	diag_done(&d);
	inv_free(inv);
	return s;
}

static void test_draft_dual_leg(void **state)
{
	char *yaml;
	struct spec *s = draft(host_new(), &yaml);

	assert_string_equal(s->host, "storage-07");
	assert_string_equal(s->management_interface, "eth0");
	assert_int_equal(s->n_nets, 2);
	assert_string_equal(s->nets[0].device, "0000:3b:00.0");
	assert_string_equal(s->nets[1].device, "0000:3b:00.1");
	assert_int_equal(s->networks[1].range.first.bytes[1], 20);
	assert_int_equal(s->networks[1].range.prefix_len, 16);
	assert_int_equal(s->networks[0].mtu, 9000);
	assert_int_equal(s->ha, SPEC_HA_DUAL_LEG);
	assert_int_equal(s->n_workers, 1);
	assert_int_equal(s->workers[0].cores[0], 2); /* isolated, beside the device */
	spec_free(s);
	free(yaml);
}

static void test_draft_without_devices(void **state)
{
	struct inventory *inv = inv_new();
	char *yaml;
	struct spec *s;

	link_add(inv, "eth0", INV_LINK_PHYSICAL);
	default_route_add(inv, 1, 0);
	*inv_core_add(inv) = (struct inv_core){.id = 0, .online = true};
	s = draft(inv, &yaml);
	assert_int_equal(s->n_nets, 0);
	assert_non_null(strstr(yaml, "no device for data"));
	assert_non_null(strstr(yaml, "no core besides core 0"));
	spec_free(s);
	free(yaml);
	s = draft(inv_new(), &yaml);
	spec_free(s);
	free(yaml);
}

/* What belongs to the management, in a bridge or beneath a VLAN, is never offered. */
static void test_draft_spares_the_management(void **state)
{
	struct inventory *inv = host_new();
	char *yaml;
	struct spec *s;

	link_add(inv, "br0", INV_LINK_BRIDGE);
	inv->links[1].master = 4;
	link_add(inv, "ens1f1.7", INV_LINK_VLAN)->lower = 3;
	inv->routes[0].oif = 5;
	addr_add(inv, 5, "198.51.100.1/24");
	s = draft(inv, &yaml);
	assert_string_equal(s->management_interface, "ens1f1.7");
	assert_int_equal(s->n_nets, 1);
	assert_string_equal(s->nets[0].device, "eth0");
	assert_int_equal(s->ha, SPEC_HA_NONE);
	spec_free(s);
	free(yaml);
}

static void test_draft_of_odd_hosts(void **state)
{
	static const char *const addrs[] = {"10.0.0.0/24",     "10.0.0.255/24",	 "0.0.0.1/8",
					    "127.0.0.2/8",     "224.0.0.1/4",	 "169.254.1.1/16",
					    "10.0.0.1/31",     "10.0.0.1/32",	 "10.0.0.1/1",
					    "fe80::2/64",      "ff02::1/16",	 "::1/128",
					    "2001:db8::1/128", "2001:db8::1/64", "10.10.1.7/16"};
	static const char *const names[] = {"e\"x", "-x", "n\351", "e\033x", "a:b", "null", "0x1"};
	char *yaml;

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		struct inventory *inv = host_new();

		inv->addrs[3].ip = prefix(addrs[i]);
		inv->links[2].mtu = i % 2 ? 1000 : 500;
		spec_free(draft(inv, &yaml));
		free(yaml);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct inventory *inv = host_new();

		inv_text_set(inv->host, sizeof(inv->host), names[i]);
		for (size_t l = 0; l < inv->n_links; l++) {
			inv->links[l].pci[0] = '\0';
			inv_text_set(inv->links[l].name, IFNAMSIZ,
				     names[(i + l) % ARRAY_SIZE(names)]);
			inv_text_set(inv->links[l].driver, INV_TEXT_MAX, names[i]);
		}
		spec_free(draft(inv, &yaml));
		free(yaml);
	}
}

/* Devices without an address stand ready in comments; taking the # away gives a valid file too. */
static void test_draft_can_be_uncommented(void **state)
{
	struct inventory *inv = host_new();
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	char *yaml, *w, *text;

	inv->n_addrs = 1;
	inv_text_set(inv->links[1].pci, sizeof(inv->links[1].pci), "");
	s = draft(inv, &yaml);
	assert_int_equal(s->n_nets, 0);
	spec_free(s);
	w = yaml;
	for (const char *line = yaml; *line;) {
		size_t len = strcspn(line, "\n") + 1;
		bool take = strncmp(line, "# net", 5) == 0 || strncmp(line, "# ha:", 5) == 0 ||
			    strncmp(line, "  # - {name: ", 13) == 0;
		size_t hash = strcspn(line, "#"), skip = take ? hash + 2 : 0;

		memmove(w, line, take ? hash : 0);
		w += take ? hash : 0;
		memmove(w, line + skip, len - skip);
		w += len - skip;
		line += len;
	}
	*w = '\0';
	if (spec_parse("draft", yaml, strlen(yaml), &d, &s) < 0) {
		text = diag_format(&d);
		fail_msg("%s\n%s", text, yaml);
	}
	assert_int_equal(s->n_nets, 2);
	assert_int_equal(s->ha, SPEC_HA_DUAL_LEG);
	spec_free(s);
	free(yaml);
	diag_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_comes_back),
		cmocka_unit_test(test_json_is_strict),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_find_prefers_the_device),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_draft_dual_leg),
		cmocka_unit_test(test_draft_without_devices),
		cmocka_unit_test(test_draft_spares_the_management),
		cmocka_unit_test(test_draft_of_odd_hosts),
		cmocka_unit_test(test_draft_can_be_uncommented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
