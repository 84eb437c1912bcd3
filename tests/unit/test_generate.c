/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum config generate`: on any host the draft validates and the plan accepts it; if it offers
 * no legs it says why.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "netcfg/plan/plan.h"
#include "netcfg/plan/show/generate.h"
#include "netcfg/spec/spec.h"
#include "plugins/plugins.h"
#include "tests/lib/host/inv_host.h"

static void fail_with(const struct diag *d, const char *yaml)
{
	char *text = diag_format(d);

	print_message("# %s\n%s", text, yaml);
	free(text);
	fail();
}

/* The draft for inv, which must validate and be planned without diagnostics; frees inv. */
static struct spec *draft(struct inventory *inv, char **ret_yaml)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	struct plan *p = NULL;

	inv_sort(inv);
	*ret_yaml = generate_yaml(inv);
	assert_non_null(*ret_yaml);
	if (spec_parse("draft", *ret_yaml, strlen(*ret_yaml), &d, &s) < 0)
		fail_with(&d, *ret_yaml);
	diag_done(&d);
	d = (struct diag)DIAG_INIT;
	if (plan_build(s, inv, NULL, &d, &p) < 0)
		fail_with(&d, *ret_yaml);
	assert_int_equal(p->n_legs, s->n_nets);
	for (size_t i = 0; i < p->n_legs; i++)
		if (p->legs[i].state != PLAN_LEG_USABLE)
			fail_with(&d, *ret_yaml);
	if (s->n_nets == 0) /* with the reason */
		assert_true(strstr(*ret_yaml, "# Not used: ") ||
			    strstr(*ret_yaml, "No device of this host can be a leg"));
	plan_free(p);
	diag_done(&d);
	inv_free(inv);
	return s;
}

static void test_draft_dual_leg(void **state)
{
	char *yaml;
	struct spec *s = draft(inv_host_new(), &yaml);

	assert_string_equal(s->host, "storage-07");
	assert_string_equal(s->management_interface, "eth0");
	assert_int_equal(s->n_nets, 2);
	assert_string_equal(s->nets[0].device, "0000:3b:00.0");
	assert_string_equal(s->nets[1].device, "0000:3b:00.1");
	assert_string_equal(s->nets[0].label, SPEC_LABEL_AUTO); /* no name is invented */
	assert_int_equal(s->networks[1].range.first.bytes[1], 20);
	assert_int_equal(s->networks[1].range.prefix_len, 16);
	assert_int_equal(s->networks[0].mtu, 9000); /* unchanged */
	assert_int_equal(s->ha, SPEC_HA_DUAL_LEG);
	assert_int_equal(s->n_workers, 1);
	assert_int_equal(s->workers[0].cores[0], 2); /* isolated, beside the device */
	spec_free(s);
	free(yaml);
}

/* The MTU of each link; a link that is too small for workers is not offered. */
static void test_draft_mtu(void **state)
{
	static const uint32_t mtus[] = {1280, 1500, 4200, 9000, 9216, 1279, 576};

	for (size_t i = 0; i < ARRAY_SIZE(mtus); i++) {
		struct inventory *inv = inv_host_new();
		char *yaml;
		struct spec *s;

		for (size_t j = 0; j < inv->n_links; j++)
			if (strcmp(inv->links[j].name, "ens1f1") == 0)
				inv->links[j].mtu = mtus[i];
		s = draft(inv, &yaml);
		assert_int_equal(s->n_nets, mtus[i] < 1280 ? 1 : 2);
		assert_int_equal(s->networks[0].mtu, 9000);
		if (s->n_nets == 2)
			assert_int_equal(s->networks[1].mtu, mtus[i]);
		else
			assert_non_null(strstr(yaml, "workers need 1280 or more"));
		spec_free(s);
		free(yaml);
	}
}

static void test_draft_without_devices(void **state)
{
	struct inventory *inv = inv_new();
	char *yaml;
	struct spec *s;

	inv_host_link_add(inv, "eth0", INV_LINK_PHYSICAL);
	inv_host_default_route_add(inv, 1, 0);
	*inv_core_add(inv) = (struct inv_core){.id = 0, .online = true};
	s = draft(inv, &yaml);
	assert_int_equal(s->n_nets, 0);
	assert_non_null(strstr(yaml, "Not used: eth0"));
	assert_non_null(strstr(yaml, "has only core 0"));
	spec_free(s);
	free(yaml);
	s = draft(inv_new(), &yaml);
	assert_non_null(strstr(yaml, "No device of this host can be a leg"));
	assert_non_null(strstr(yaml, "The management interface is unknown"));
	spec_free(s);
	free(yaml);
}

/* A single device: its address is shared, and the draft lists what to check. */
static void test_draft_shares_the_only_device(void **state)
{
	struct inventory *inv = inv_new();
	struct inv_addr *a;
	char *yaml;
	struct spec *s;

	inv_host_link_add(inv, "lo", INV_LINK_LOOPBACK);
	inv_host_link_add(inv, "eth0", INV_LINK_PHYSICAL);
	inv_host_default_route_add(inv, 2, 0);
	a = inv_addr_add(inv);
	a->ifindex = 2;
	assert_int_equal(ip_prefix_parse("192.0.2.7/24", &a->ip), 0);
	for (unsigned id = 0; id < 2; id++)
		*inv_core_add(inv) = (struct inv_core){.id = id, .online = true};
	s = draft(inv, &yaml);
	assert_string_equal(s->management_interface, "eth0");
	assert_int_equal(s->n_networks, 0);
	assert_int_equal(s->n_nets, 1);
	assert_string_equal(s->nets[0].device, "eth0");
	assert_true(s->nets[0].shared_ip);
	assert_false(s->nets[0].soft_roce);
	assert_int_equal(s->n_workers, 1);
	assert_non_null(strstr(yaml, "Data and management share the address 192.0.2.7"));
	assert_non_null(strstr(yaml, "Check that this network may carry data"));
	spec_free(s);
	free(yaml);
}

/* Links under the management interface, in a bridge or below a VLAN, are never offered. */
static void test_management_links_are_not_offered(void **state)
{
	struct inventory *inv = inv_host_new();
	char *yaml;
	struct spec *s;

	inv_host_link_add(inv, "br0", INV_LINK_BRIDGE);
	inv->links[1].master = 4;
	inv_host_link_add(inv, "ens1f1.7", INV_LINK_VLAN)->lower = 3;
	inv->routes[0].oif = 5;
	inv_host_addr_add(inv, 5, "198.51.100.1/24");
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
		struct inventory *inv = inv_host_new();

		inv->addrs[3].ip = inv_host_prefix(addrs[i]);
		inv->links[2].mtu = i % 2 ? 1000 : 500;
		spec_free(draft(inv, &yaml));
		free(yaml);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct inventory *inv = inv_host_new();

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

/* An SSH connection determines the management interface; otherwise the draft does not guess. */
static void test_draft_without_a_default_route(void **state)
{
	struct inventory *inv = inv_host_new();
	struct inv_conns *c;
	char *yaml;
	struct spec *s;

	inv->n_routes = 0;
	s = draft(inv, &yaml);
	assert_int_equal(s->n_nets, 0);
	assert_string_equal(s->management_interface, "");
	assert_non_null(strstr(yaml, "this may be the management interface"));
	spec_free(s);
	free(yaml);
	inv = inv_host_new();
	inv->n_routes = 0;
	c = inv_conns_add(inv);
	assert_non_null(c);
	c->local = inv->addrs[1].ip.addr; /* of ens1f0 */
	c->n = c->n_ssh = 1;
	s = draft(inv, &yaml);
	assert_string_equal(s->management_interface, "ens1f0");
	for (size_t i = 0; i < s->n_nets; i++)
		assert_string_not_equal(s->nets[i].device, "0000:3b:00.0");
	spec_free(s);
	free(yaml);
}

/* A link with connections of the host is not offered as a leg, and the draft gives the plan's
 * reason. */
static void test_a_link_in_use_is_not_offered(void **state)
{
	struct inventory *inv = inv_host_new();
	struct inv_conns *c = inv_conns_add(inv);
	char *yaml;
	struct spec *s;

	assert_non_null(c);
	c->local = inv->addrs[1].ip.addr;
	c->n = 3;
	s = draft(inv, &yaml);
	assert_int_equal(s->n_nets, 1);
	assert_string_equal(s->nets[0].device, "0000:3b:00.1");
	assert_non_null(strstr(yaml, "  #   ens1f0 "));
	spec_free(s);
	free(yaml);
}

/* The draft, including comments, names only cores that are online. */
static void test_draft_names_cores_that_are_online(void **state)
{
	struct inventory *inv = inv_host_new();
	char *yaml;
	struct spec *s;

	inv->n_cores = 2;
	s = draft(inv, &yaml);
	assert_int_equal(s->workers[0].cores[0], 1);
	assert_null(strstr(yaml, "cores: [3]"));
	assert_null(strstr(yaml, "role: frontend"));
	spec_free(s);
	free(yaml);
}

/* Comments contain no guesses either. */
static void test_draft_invents_nothing(void **state)
{
	struct inventory *inv = inv_host_new();
	char *yaml;
	struct spec *s;

	inv->n_addrs = 1;
	s = draft(inv, &yaml);
	assert_int_equal(s->n_nets, 0);
	assert_non_null(strstr(yaml, "the interface has no address"));
	assert_null(strstr(yaml, "mtu: 9000"));
	assert_null(strstr(yaml, "switch-"));
	assert_null(strstr(yaml, "10.20."));
	spec_free(s);
	free(yaml);
}

static char *file_of(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static bool draft_of_recorded(const char *json, bool as_hardware)
{
	struct inventory *inv = NULL;
	struct diag d = DIAG_INIT;
	struct spec *s;
	bool has_legs;
	char *yaml;

	assert_int_equal(inv_from_json(json, strlen(json), &d, &inv), 0);
	for (size_t i = 0; as_hardware && i < inv->n_links; i++)
		if (inv->links[i].kind == INV_LINK_VETH)
			inv->links[i].kind = INV_LINK_PHYSICAL;
	s = draft(inv, &yaml);
	has_legs = s->n_nets > 0 && !s->nets[0].shared_ip; /* a separate data network */
	spec_free(s);
	free(yaml);
	diag_done(&d);
	return has_legs;
}

/* Each recorded host of the golden plans. Most have only veth links, which count as hardware in the
 * second draft, because they cannot be legs otherwise. */
static void test_draft_of_recorded_hosts(void **state)
{
	DIR *dir = opendir(TOP_SRCDIR "/tests/golden/plan");
	unsigned n = 0, n_with_legs = 0;
	struct dirent *e;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		char path[512], *text;

		snprintf(path, sizeof(path), TOP_SRCDIR "/tests/golden/plan/%s/inventory.json",
			 e->d_name);
		text = strcmp(e->d_name, "..") == 0 ? NULL : file_of(path);
		if (!text)
			continue;
		assert_true(strstr(text, "\"physical\"") || !draft_of_recorded(text, false));
		n_with_legs += draft_of_recorded(text, true);
		n++;
		free(text);
	}
	closedir(dir);
	assert_true(n > 5 && n_with_legs > 5 && n_with_legs < n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_draft_dual_leg),
		cmocka_unit_test(test_draft_mtu),
		cmocka_unit_test(test_draft_without_devices),
		cmocka_unit_test(test_draft_shares_the_only_device),
		cmocka_unit_test(test_management_links_are_not_offered),
		cmocka_unit_test(test_draft_of_odd_hosts),
		cmocka_unit_test(test_draft_without_a_default_route),
		cmocka_unit_test(test_a_link_in_use_is_not_offered),
		cmocka_unit_test(test_draft_names_cores_that_are_online),
		cmocka_unit_test(test_draft_invents_nothing),
		cmocka_unit_test(test_draft_of_recorded_hosts),
	};

	plugins_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
