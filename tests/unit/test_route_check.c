/* SPDX-License-Identifier: BSD-3-Clause */
/* Route check: how data leave a host whose plan was applied exactly, despite foreign rules. */
#include "netcfg/apply/route_check.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"

/* A host configured by hand as HOST_YAML asks: two legs in service. */
static struct inventory *host_in_service(void)
{
	static const char *const ips[] = {"10.10.1.10", "10.20.1.10"};
	static const char *const subnets[] = {"10.10.0.0/16", "10.20.0.0/16"};
	struct inventory *inv = host_new();

	for (uint32_t i = 0; i < 2; i++) {
		struct inv_link *link = &inv->links[HOST_VETH0 - 1 + i];

		link->up = link->carrier = true;
		link->mtu = 9000;
		*inv_addr_add(inv) = (struct inv_addr){.ifindex = link->ifindex,
						       .ip = {host_addr(ips[i]), 16},
						       .proto = PLENUM_RTPROT};
		*inv_rule_add(inv) = (struct inv_rule){.priority = PLAN_RULE_PRIORITY,
						       .table = PLAN_TABLE_FIRST + i,
						       .family = AF_INET,
						       .proto = PLENUM_RTPROT,
						       .from = {host_addr(ips[i]), 32}};
		host_add_route(inv, PLAN_TABLE_FIRST + i, PLENUM_RTPROT, subnets[i], NULL,
			       link->ifindex);
	}
	host_add_route(inv, PLAN_TABLE_FIRST, PLENUM_RTPROT, "0.0.0.0/0", "10.10.0.1", HOST_VETH0);
	inv_sort(inv);
	return inv;
}

/* The legs of the plan after the kernel's route lookup. */
static struct plan *asked(struct inventory *inv, struct spec **ret_spec)
{
	struct spec *s = host_spec(HOST_YAML);
	struct diag d = DIAG_INIT;
	struct kernel *k = NULL;
	struct plan *p = NULL;

	assert_int_equal(plan_build(s, inv, NULL, &d, &p), 0);
	assert_int_equal(kernel_fake_new(inv, &k), 0);
	plan_check_routes(k, inv, p);
	assert_int_equal(k->n_writes, 0);
	kernel_free(k);
	diag_done(&d);
	*ret_spec = s;
	return p;
}

static void expect(struct inventory *inv, enum plan_leg_state a, const char *text)
{
	struct spec *s;
	struct plan *p = asked(inv, &s);

	assert_int_equal(p->legs[0].state, a);
	assert_int_equal(p->legs[1].state, PLAN_LEG_USABLE);
	if (text && !strstr(p->legs[0].reason.text, text))
		fail_msg("no '%s' in: %s", text, p->legs[0].reason.text);
	if (text)
		assert_string_equal(p->legs[0].reason.code, "diverted");
	plan_free(p);
	spec_free(s);
}

static void add_rule(struct inventory *inv, uint32_t priority, uint32_t table, const char *from)
{
	*inv_rule_add(inv) = (struct inv_rule){
		.priority = priority, .table = table, .family = AF_INET, .from = host_prefix(from)};
	inv_sort(inv);
}

static struct inv_rule *inv_rule_with(struct inventory *inv, uint32_t priority)
{
	for (size_t i = 0; i < inv->n_rules; i++)
		if (inv->rules[i].priority == priority)
			return &inv->rules[i];
	fail_msg("no rule %u", priority);
	return NULL;
}

static void test_undiverted_leg_is_usable(void **state)
{
	struct inventory *inv = host_in_service();

	expect(inv, PLAN_LEG_USABLE, NULL);
	add_rule(inv, 8000, 52, "10.10.0.0/16"); /* after our rules */
	add_rule(inv, 5210, 53, "10.10.0.0/16"); /* its table is empty */
	expect(inv, PLAN_LEG_USABLE, NULL);
	inv_free(inv);
}

static void test_foreign_rule_is_named(void **state)
{
	struct inventory *inv = host_in_service();

	host_add_route(inv, 52, 3, "0.0.0.0/0", "192.0.2.1", HOST_ETH0);
	add_rule(inv, 5270, 52, "10.10.1.0/24");
	add_rule(inv, 5210, 53, "10.10.0.0/16");
	expect(inv, PLAN_LEG_DEGRADED,
	       "packets from 10.10.1.10 go via eth0 instead of via veth0; routing rule 5270 "
	       "precedes Plenum's rules: remove this rule, or move it behind rule 7000");
	inv_free(inv);
}

static void test_rule_for_marked_packets_is_noted_and_diverts_no_others(void **state)
{
	struct inventory *inv = host_in_service();
	struct spec *s;
	struct plan *p;

	host_add_route(inv, 52, 3, "0.0.0.0/0", "192.0.2.1", HOST_ETH0);
	add_rule(inv, 5270, 52, "10.10.1.0/24");
	inv_rule_with(inv, 5270)->mark = 0x71;
	p = asked(inv, &s);
	assert_int_equal(p->legs[0].state, PLAN_LEG_USABLE);
	assert_int_equal(p->legs[0].mark, 0x71);
	assert_int_equal(p->legs[0].mark_rule, 5270);
	assert_int_equal(p->legs[1].mark, 0); /* its address is not in the rule's prefix */
	plan_free(p);
	spec_free(s);
	/* Another rule does divert them, and only that is named. */
	add_rule(inv, 5280, 52, "10.10.1.10/32");
	expect(inv, PLAN_LEG_DEGRADED, "routing rule 5280 precedes");
	inv_free(inv);
}

/* An unreachable route in a table that is looked up first. */
static void test_unreachable_route_is_reported(void **state)
{
	struct inventory *inv = host_in_service();
	struct inv_route *r;

	host_add_route(inv, 52, 3, "10.10.0.0/16", NULL, 0);
	r = &inv->routes[inv->n_routes - 1];
	r->type = INV_ROUTE_UNREACHABLE;
	r->scope = 0;
	add_rule(inv, 5270, 52, "10.10.1.10/32");
	expect(inv, PLAN_LEG_DEGRADED, "go nowhere instead of via veth0; routing rule 5270");
	inv_free(inv);
}

/* Without carrier, that is the reason instead. */
static void test_leg_with_a_reason_keeps_it(void **state)
{
	struct inventory *inv = host_in_service();
	struct spec *s;
	struct plan *p;

	inv->links[HOST_VETH0 - 1].carrier = false;
	p = asked(inv, &s);
	assert_string_equal(p->legs[0].reason.code, "no-carrier");
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* The link loses its carrier between the inventory and the route lookup. */
static void test_carrier_lost_after_the_inventory_is_the_reason(void **state)
{
	struct inventory *inv = host_in_service(), *now = host_in_service();
	struct spec *s = host_spec(HOST_YAML);
	struct diag d = DIAG_INIT;
	struct kernel *k = NULL;
	struct plan *p = NULL;

	now->links[HOST_VETH0 - 1].carrier = false;
	for (size_t i = 0; i < now->n_routes; i++)
		if (now->routes[i].oif == HOST_VETH0)
			now->routes[i].type = INV_ROUTE_UNREACHABLE;
	assert_int_equal(plan_build(s, inv, NULL, &d, &p), 0);
	assert_int_equal(kernel_fake_new(now, &k), 0);
	plan_check_routes(k, inv, p);
	assert_string_equal(p->legs[0].reason.code, "no-carrier");
	assert_int_equal(p->legs[0].state, PLAN_LEG_DEGRADED);
	kernel_free(k);
	plan_free(p);
	spec_free(s);
	diag_done(&d);
	inv_free(inv);
	inv_free(now);
}

static int setup(void **state)
{
	plugins_register();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_undiverted_leg_is_usable),
		cmocka_unit_test(test_foreign_rule_is_named),
		cmocka_unit_test(test_rule_for_marked_packets_is_noted_and_diverts_no_others),
		cmocka_unit_test(test_unreachable_route_is_reported),
		cmocka_unit_test(test_leg_with_a_reason_keeps_it),
		cmocka_unit_test(test_carrier_lost_after_the_inventory_is_the_reason),
	};

	return cmocka_run_group_tests_name("plan_way", tests, setup, NULL);
}
