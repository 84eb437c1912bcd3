/* SPDX-License-Identifier: BSD-3-Clause */
/* What the golden cases cannot say: order, ownership, stability, memory. Texts are theirs. */
#include "plugins/plugins.h"
#include "tests/lib/plan_host.h"

static struct plan *plan(const char *yaml, const struct inventory *inv, struct spec **ret_spec)
{
	struct spec *s = host_spec(yaml);
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;

	if (plan_build(s, inv, NULL, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	assert_false(diag_has_errors(&d));
	diag_done(&d);
	*ret_spec = s;
	return p;
}

static void expect_error(const char *yaml, const struct inventory *inv, const char *text)
{
	struct spec *s = host_spec(yaml);
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;
	char *all;

	assert_int_equal(plan_build(s, inv, NULL, &d, &p), -EINVAL);
	assert_null(p);
	all = diag_format(&d);
	if (!strstr(all, text))
		print_error("no '%s' in: %s\n", text, all);
	assert_non_null(strstr(all, text));
	free(all);
	diag_done(&d);
	spec_free(s);
}

static unsigned rank(enum plan_op op)
{
	static const enum plan_op order[] = {
		PLAN_SYSCTL_SET, PLAN_LINK_SET, PLAN_RULE_DEL,	PLAN_ROUTE_DEL,
		PLAN_ADDR_ADD,	 PLAN_ADDR_DEL, PLAN_ROUTE_ADD, PLAN_RULE_ADD,
	};

	for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
		if (order[i] == op)
			return i;
	fail();
	return 0;
}

static size_t count(const struct plan *p, enum plan_op op)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_steps; i++)
		n += p->steps[i].op == op;
	return n;
}

static void test_fresh_host(void **state)
{
	struct inventory *inv = host_new();
	struct spec *s;
	struct plan *p = plan(HOST_YAML, inv, &s);

	assert_int_equal(count(p, PLAN_ADDR_ADD), 2);
	assert_int_equal(count(p, PLAN_ROUTE_ADD), 5);
	assert_int_equal(count(p, PLAN_RULE_ADD), 2);
	assert_int_equal(count(p, PLAN_LINK_SET), 3); /* two MTUs, one of the links is down */
	for (size_t i = 0; i < p->n_steps; i++) {
		assert_string_not_equal(p->steps[i].reason, "");
		if (i)
			assert_true(rank(p->steps[i - 1].op) <= rank(p->steps[i].op));
	}
	assert_int_equal(p->n_workers, 1);
	assert_int_equal(p->workers[0].n_ports, 2);
	assert_int_equal(p->workers[0].udp_port, SPEC_PORT_DEFAULT);
	assert_int_equal(p->workers[0].ports[0].mtu, 9000);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* Nothing that others made is touched, whatever it is. */
static void test_foreign_objects_stay(void **state)
{
	struct inventory *inv = host_new();
	struct inv_addr *a = inv_addr_add(inv);
	struct inv_rule *r = inv_rule_add(inv);
	struct spec *s;
	struct plan *p;

	*a = (struct inv_addr){.ifindex = HOST_VETH0, .ip = host_prefix("10.10.9.9/16")};
	*r = (struct inv_rule){.priority = PLAN_RULE_PRIORITY,
			       .table = 7000,
			       .family = AF_INET,
			       .from = host_prefix("10.10.9.9/32")};
	host_add_route(inv, 7000, 4, "10.10.0.0/16", NULL, HOST_VETH0);
	p = plan(HOST_YAML, inv, &s);
	assert_int_equal(count(p, PLAN_ADDR_DEL), 0);
	assert_int_equal(count(p, PLAN_RULE_DEL), 0);
	assert_int_equal(count(p, PLAN_ROUTE_DEL), 0);
	for (size_t i = 0; i < p->n_steps; i++) {
		if (p->steps[i].op == PLAN_RULE_ADD)
			assert_int_not_equal(p->steps[i].rule.table, 7000);
		if (p->steps[i].op == PLAN_ROUTE_ADD)
			assert_true(p->steps[i].route.table == 7064 ||
				    p->steps[i].route.table == 7001);
	}
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

static void test_stale_objects_go(void **state)
{
	struct inventory *inv = host_new();
	struct inv_addr *a = inv_addr_add(inv);
	struct inv_rule *r = inv_rule_add(inv);
	struct spec *s;
	struct plan *p;

	*a = (struct inv_addr){
		.ifindex = HOST_ETH0, .ip = host_prefix("10.10.9.9/16"), .proto = PLENUM_RTPROT};
	*r = (struct inv_rule){.priority = 5,
			       .table = 9,
			       .family = AF_INET,
			       .proto = PLENUM_RTPROT,
			       .from = host_prefix("10.10.9.9/32")};
	host_add_route(inv, 9, PLENUM_RTPROT, "10.30.0.0/16", NULL, HOST_VETH0);
	p = plan(HOST_YAML, inv, &s);
	assert_int_equal(count(p, PLAN_ADDR_DEL), 1);
	assert_int_equal(count(p, PLAN_RULE_DEL), 1);
	assert_int_equal(count(p, PLAN_ROUTE_DEL), 1);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* The kernel holds an IPv6 address once: one with another prefix must go before. */
static void test_ipv6_prefix_change(void **state)
{
	static const char yaml[] = "networks: [{name: a, range: 'fd00:a::10-fd00:a::20/64'}]\n"
				   "net: [{name: leg-a, device: veth0, network: a}]\n"
				   "ha: {mode: none}\n"
				   "workers: [{role: compute, cores: [1], transport: udp, exports: "
				   "[{name: x, path: /srv}]}]\n";
	struct inventory *inv = host_new();
	struct inv_addr *a = inv_addr_add(inv);
	size_t add = 0, del = 0;
	struct spec *s;
	struct plan *p;

	*a = (struct inv_addr){
		.ifindex = HOST_VETH0, .ip = host_prefix("fd00:a::10/48"), .proto = PLENUM_RTPROT};
	p = plan(yaml, inv, &s);
	for (size_t i = 0; i < p->n_steps; i++) {
		add = p->steps[i].op == PLAN_ADDR_ADD ? i : add;
		del = p->steps[i].op == PLAN_ADDR_DEL ? i : del;
	}
	assert_true(del > 0 && del < add);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

static void set_sysctl(struct inventory *inv, const char *key, const char *value)
{
	for (size_t i = 0; i < inv->n_sysctls; i++) {
		if (strcmp(inv->sysctls[i].key, key) != 0)
			continue;
		free(inv->sysctls[i].value);
		inv->sysctls[i].value = strdup(value);
		return;
	}
	fail();
}

/* The value planned for veth0's rp_filter, or -1 where it is left alone. */
static int planned_rp_filter(const char *all, const char *own)
{
	struct inventory *inv = host_new();
	struct spec *s;
	struct plan *p;
	int value = -1;

	set_sysctl(inv, "net/ipv4/conf/all/rp_filter", all);
	set_sysctl(inv, "net/ipv4/conf/veth0/rp_filter", own);
	p = plan(HOST_YAML, inv, &s);
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].op == PLAN_SYSCTL_SET &&
		    strcmp(p->steps[i].sysctl.key, "net/ipv4/conf/veth0/rp_filter") == 0)
			value = atoi(p->steps[i].sysctl.want);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
	return value;
}

static void test_rp_filter_is_the_larger(void **state)
{
	assert_int_equal(planned_rp_filter("0", "0"), -1);
	assert_int_equal(planned_rp_filter("0", "1"), 2);
	assert_int_equal(planned_rp_filter("1", "0"), 2);
	assert_int_equal(planned_rp_filter("1", "1"), 2);
	assert_int_equal(planned_rp_filter("1", "2"), -1);
	assert_int_equal(planned_rp_filter("2", "1"), -1);
}

/* Something stacked on the leg that carries the host is protected as the leg itself would be. */
static void test_what_the_host_stands_on(void **state)
{
	struct inventory *inv = host_new();

	host_add_link(inv, 9, "br0", INV_LINK_BRIDGE, true);
	inv->links[3].master = 9; /* veth1 */
	host_add_route(inv, 254, 3, "0.0.0.0/0", "192.0.2.9", 9);
	expect_error(HOST_YAML, inv, "veth1 carries the host's default route through br0");
	inv->n_routes = 0;
	expect_error(HOST_YAML, inv, "veth1 is enslaved to br0");
	inv->links[3].master = 0;
	host_add_link(inv, 10, "veth0.7", INV_LINK_VLAN, true);
	inv->links[5].lower = HOST_VETH0;
	host_add_route(inv, 254, 3, "0.0.0.0/0", "192.0.2.9", 10);
	expect_error(HOST_YAML, inv, "veth0 carries the host's default route through veth0.7");
	inv_free(inv);
}

static char *yaml_with(const char *find, const char *replace)
{
	const char *at = strstr(HOST_YAML, find);
	char *text = NULL;

	assert_non_null(at);
	assert_true(asprintf(&text, "%.*s%s%s", (int)(at - HOST_YAML), HOST_YAML, replace,
			     at + strlen(find)) > 0);
	return text;
}

static void expect_error_with(const char *find, const char *replace, const char *error)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with(find, replace);

	expect_error(yaml, inv, error);
	free(yaml);
	inv_free(inv);
}

static void test_refusals(void **state)
{
	expect_error_with("device: veth1", "device: veth0x", "did you mean veth0?");
	expect_error_with("device: veth1", "device: \"02:00:00:00:00:03\"", "is leg-a already");
	expect_error_with("device: veth1", "device: lo", "is the loopback interface");
	expect_error_with("interface: eth0", "interface: eth9", "no interface eth9");
	expect_error_with("network: data-b, label: switch-b}\nha: {mode: dual-leg",
			  "network: data-a, label: switch-b}\nha: {mode: lacp",
			  "no planner for lacp; write none or dual-leg");
	expect_error_with("cores: [1]", "cores: [3]",
			  "core 3 is offline; write one of the online "
			  "cores: 0-2");
	expect_error_with("cores: [1]", "cores: [77]", "core 77 is not on this host");
}

static void test_mtu_limit(void **state)
{
	struct inventory *inv = host_new();

	inv->links[3].mtu_max = 4000;
	expect_error(HOST_YAML, inv, "veth1 takes 4000 at most; write mtu: 4000");
	inv_free(inv);
}

/* A second plan, made while the workers of the first hold their hugepages, is the same. */
static void test_running_workers_hold_hugepages(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("cores: [1], transport: udp", "cores: [1, 2], transport: dpdk");
	struct diag d = DIAG_INIT;
	struct plan *first, *second;
	struct spec *s;

	first = plan(yaml, inv, &s);
	assert_int_equal(first->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(first->workers[1].effective, SPEC_TRANSPORT_DPDK);
	assert_true(first->workers[1].ports[0].kernel_owned);
	assert_int_equal(count(first, PLAN_ADDR_ADD), 0);
	assert_int_equal(count(first, PLAN_RULE_ADD), 0);
	inv->hugepages[0].free = 0;
	assert_int_equal(plan_build(s, inv, &(struct plan_context){.running = first}, &d, &second),
			 0);
	assert_int_equal(second->workers[1].effective, SPEC_TRANSPORT_DPDK);
	plan_free(second);
	inv->hugepages[0].free = 40; /* enough for one */
	assert_int_equal(plan_build(s, inv, NULL, &d, &second), 0);
	assert_int_equal(second->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(second->workers[1].effective, SPEC_TRANSPORT_UDP);
	assert_non_null(strstr(second->workers[1].reason, "no-hugepages: 8 free"));
	assert_int_equal(count(second, PLAN_ADDR_ADD), 2);
	plan_free(second);
	plan_free(first);
	diag_done(&d);
	spec_free(s);
	inv_free(inv);
	free(yaml);
}

/* What the plan's reader adds is printed behind the steps, and is something to do. */
static void test_actions_are_printed(void **state)
{
	struct inventory *inv = host_new();
	struct spec *s;
	struct plan *p = plan("host: host-a\n", inv, &s);
	struct plan_action *a;
	char *text = plan_to_text(p), *json;

	assert_non_null(strstr(text, "nothing to do"));
	free(text);
	a = plan_action_add(p);
	assert_non_null(a);
	strcpy(a->text, "restart worker 1");
	strcpy(a->reason, "its mounts changed");
	a->disruptive = true;
	text = plan_to_text(p);
	json = plan_to_json(p);
	assert_non_null(strstr(text, "host-a: 1 step\n   1. restart worker 1  [disruptive]\n"
				     "      its mounts changed\n"));
	assert_non_null(strstr(json, "\"action\": \"restart worker 1\""));
	free(text);
	free(json);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* What could not be had once is not chosen again, until somebody asks again. */
static void test_failed_dpdk_is_not_chosen(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("cores: [1], transport: udp", "cores: [1, 2], transport: dpdk");
	struct diag d = DIAG_INIT;
	struct plan_failures failures = {0};
	struct plan_context ctx = {.failures = &failures};
	struct plan *first, *second, *third;
	struct spec *s;

	first = plan(yaml, inv, &s);
	assert_int_equal(plan_failures_add(&failures, &first->workers[1], "first try"), 0);
	assert_int_equal(plan_failures_add(&failures, &first->workers[1], "no module"), 0);
	assert_int_equal(failures.n, 1);
	assert_int_equal(plan_build(s, inv, &ctx, &d, &second), 0);
	assert_int_equal(second->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(second->workers[1].effective, SPEC_TRANSPORT_UDP);
	assert_string_equal(second->workers[1].reason, "dpdk-failed: no module");
	assert_int_equal(count(second, PLAN_ADDR_ADD), 2);
	ctx.running = second;
	assert_int_equal(plan_build(s, inv, &ctx, &d, &third), 0);
	assert_int_equal(third->workers[1].effective, SPEC_TRANSPORT_UDP);
	plan_free(third);
	s->on_fallback = SPEC_FALLBACK_REFUSE;
	assert_int_equal(plan_build(s, inv, &ctx, &d, &third), 0);
	assert_int_equal(third->workers[1].effective, SPEC_TRANSPORT_DPDK);
	plan_free(third);
	s->on_fallback = SPEC_FALLBACK_DEGRADE;
	s->workers[0].cores[1] = 0; /* another worker under the same number has not failed */
	assert_int_equal(plan_build(s, inv, &ctx, &d, &third), 0);
	assert_int_equal(third->workers[1].effective, SPEC_TRANSPORT_DPDK);
	plan_free(third);
	s->workers[0].cores[1] = 2;
	plan_failures_clear(&failures);
	assert_int_equal(plan_build(s, inv, &ctx, &d, &third), 0);
	assert_int_equal(third->workers[1].effective, SPEC_TRANSPORT_DPDK);
	plan_free(third);
	plan_free(second);
	plan_free(first);
	diag_done(&d);
	spec_free(s);
	inv_free(inv);
	free(yaml);
}

static void test_mounts_and_exports_are_dealt(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with(
		"  - {role: compute, cores: [1], transport: udp, exports: [{name: x, path: "
		"/srv}]}\n",
		"  - {role: compute, cores: [1], exports: [{name: x, path: /x}]}\n"
		"  - {role: frontend, cores: [2, 0], mounts: [{path: /a, from: h/a}, {path: /b, "
		"from: h/b}, {path: /c, from: h/c}]}\n"
		"peers: [{name: h, ips: [10.10.2.1]}]\n");
	struct spec *s;
	struct plan *p = plan(yaml, inv, &s);

	assert_int_equal(p->n_workers, 3);
	assert_int_equal(p->workers[0].n_exports, 1);
	assert_int_equal(p->workers[1].n_mounts, 2);
	assert_string_equal(p->workers[1].mounts[1]->path, "/c");
	assert_int_equal(p->workers[2].n_mounts, 1);
	assert_string_equal(p->workers[2].mounts[0]->path, "/b");
	assert_int_equal(p->workers[2].id, 3);
	assert_int_equal(p->workers[2].core, 0);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
	free(yaml);
}

static int setup(void **state)
{
	plugins_register();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fresh_host),
		cmocka_unit_test(test_foreign_objects_stay),
		cmocka_unit_test(test_stale_objects_go),
		cmocka_unit_test(test_ipv6_prefix_change),
		cmocka_unit_test(test_rp_filter_is_the_larger),
		cmocka_unit_test(test_what_the_host_stands_on),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_mtu_limit),
		cmocka_unit_test(test_running_workers_hold_hugepages),
		cmocka_unit_test(test_actions_are_printed),
		cmocka_unit_test(test_failed_dpdk_is_not_chosen),
		cmocka_unit_test(test_mounts_and_exports_are_dealt),
	};

	return cmocka_run_group_tests_name("plan", tests, setup, NULL);
}
