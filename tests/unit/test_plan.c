/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of planning beyond the golden cases: order, ownership, stability, memory. The golden cases
 * test the texts. */
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_owned.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"

static void plan_expect_refused(const struct spec *s, const struct inventory *inv, const char *text)
{
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
}

static void expect_error(const char *yaml, const struct inventory *inv, const char *text)
{
	struct spec *s = host_spec(yaml);

	plan_expect_refused(s, inv, text);
	spec_free(s);
}

static size_t count(const struct plan *p, const char *op)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_steps; i++)
		n += step_is(&p->steps[i], op);
	return n;
}

static void test_fresh_host(void **state)
{
	struct inventory *inv = host_new();
	struct spec *s;
	struct plan *p = host_plan_of(HOST_YAML, inv, &s);

	assert_int_equal(count(p, "addr-add"), 2);
	assert_int_equal(count(p, "route-add"), 5);
	assert_int_equal(count(p, "rule-add"), 2);
	assert_int_equal(count(p, "link-set"), 3); /* two MTUs, one of the links is down */
	for (size_t i = 0; i < p->n_steps; i++) {
		assert_string_not_equal(p->steps[i].reason, "");
		if (i)
			assert_true(p->steps[i - 1].phase <= p->steps[i].phase);
	}
	assert_int_equal(p->n_workers, 1);
	assert_int_equal(p->workers[0].n_ports, 2);
	assert_int_equal(p->workers[0].udp_port, SPEC_PORT_DEFAULT);
	assert_int_equal(p->workers[0].ports[0].mtu, 9000);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* The plan never changes foreign objects. */
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
	p = host_plan_of(HOST_YAML, inv, &s);
	assert_int_equal(count(p, "addr-del"), 0);
	assert_int_equal(count(p, "rule-del"), 0);
	assert_int_equal(count(p, "route-del"), 0);
	for (size_t i = 0; i < p->n_steps; i++) {
		if (step_is(&p->steps[i], "rule-add"))
			assert_int_not_equal(p->steps[i].change.rule.table, 7000);
		if (step_is(&p->steps[i], "route-add"))
			assert_true(p->steps[i].change.route.table == 7064 ||
				    p->steps[i].change.route.table == 7001);
	}
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

static void test_stale_objects_are_removed(void **state)
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
	p = host_plan_of(HOST_YAML, inv, &s);
	assert_int_equal(count(p, "addr-del"), 1);
	assert_int_equal(count(p, "rule-del"), 1);
	assert_int_equal(count(p, "route-del"), 1);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* The kernel allows an IPv6 address once per link: one with another prefix must be removed first.
 */
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
	p = host_plan_of(yaml, inv, &s);
	for (size_t i = 0; i < p->n_steps; i++) {
		add = step_is(&p->steps[i], "addr-add") ? i : add;
		del = step_is(&p->steps[i], "addr-del") ? i : del;
	}
	assert_true(del > 0 && del < add);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* Duplicate address detection that fails after the apply, as when a cable is plugged in later,
 * becomes the reason of the leg; the address stays, and the plan is not repeated. */
static void test_duplicate_found_late(void **state)
{
	static const char yaml[] =
		"networks: [{name: a, range: 'fd00:a::10-fd00:a::20/64', mtu: 1500}]\n"
		"net: [{name: leg-a, device: veth1, network: a}]\n"
		"ha: {mode: none}\n"
		"workers: [{role: compute, cores: [1], transport: udp, exports: "
		"[{name: x, path: /srv}]}]\n";
	struct inventory *inv = host_new();
	struct spec *s;
	struct plan *p;

	*inv_addr_add(inv) = (struct inv_addr){.ifindex = HOST_VETH1,
					       .ip = host_prefix("fd00:a::10/64"),
					       .proto = PLENUM_RTPROT,
					       .tentative = true,
					       .dad_failed = true};
	p = host_plan_of(yaml, inv, &s);
	assert_int_equal(p->legs[0].state, PLAN_LEG_DEGRADED);
	assert_string_equal(p->legs[0].reason.code, "address-duplicate");
	assert_int_equal(p->workers[0].n_ports, 1);
	for (size_t i = 0; i < p->n_steps; i++)
		assert_true(p->steps[i].kind != &object_addr);
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

/* The value planned for rp_filter of veth0, or -1 if it stays. */
static int planned_rp_filter(const char *all, const char *own)
{
	struct inventory *inv = host_new();
	struct spec *s;
	struct plan *p;
	int value = -1;

	set_sysctl(inv, "net/ipv4/conf/all/rp_filter", all);
	set_sysctl(inv, "net/ipv4/conf/veth0/rp_filter", own);
	p = host_plan_of(HOST_YAML, inv, &s);
	for (size_t i = 0; i < p->n_steps; i++)
		if (step_is(&p->steps[i], "sysctl-set") &&
		    strcmp(p->steps[i].change.sysctl.key, "net/ipv4/conf/veth0/rp_filter") == 0)
			value = atoi(p->steps[i].change.sysctl.value);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
	return value;
}

static void test_rp_filter_uses_the_larger_value(void **state)
{
	assert_int_equal(planned_rp_filter("0", "0"), -1);
	assert_int_equal(planned_rp_filter("0", "1"), 2);
	assert_int_equal(planned_rp_filter("1", "0"), 2);
	assert_int_equal(planned_rp_filter("1", "1"), 2);
	assert_int_equal(planned_rp_filter("1", "2"), -1);
	assert_int_equal(planned_rp_filter("2", "1"), -1);
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

static void expect_leg_with(const char *find, const char *replace, size_t i,
			    enum plan_leg_state state, const char *code, const char *text)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with(find, replace);

	host_expect_leg(yaml, inv, i, state, code, text);
	free(yaml);
	inv_free(inv);
}

/* A stacked link on the leg that carries the host protects the leg as well. */
static void test_host_dependencies_refuse_a_leg(void **state)
{
	struct inventory *inv = host_new();

	host_add_link(inv, 9, "br0", INV_LINK_BRIDGE, true);
	inv->links[3].master = 9; /* veth1 */
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "enslaved",
			"veth1 is enslaved to br0");
	inv->links[3].master = 0;
	host_add_link(inv, 10, "veth1.7", INV_LINK_VLAN, true);
	inv->links[5].lower = HOST_VETH1;
	host_add_route(inv, 254, 3, "0.0.0.0/0", "192.0.2.9", 10);
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "default-route",
			"veth1 carries the host's default route via veth1.7");
	/* Also for default routes of a VRF or of IPv6. */
	inv->routes[inv->n_routes - 1].table = 100;
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "default-route",
			"default route in table 100");
	/* Links that do not change need no protection: the MTU is already right, or the link is
	 * down. */
	inv->links[3].mtu = 9000;
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_USABLE, "", "");
	inv->links[3].mtu = 1500;
	inv->links[3].up = false;
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_USABLE, "", "");
	inv_free(inv);
}

static void expect_forced(const struct inventory *inv, const char *name, enum plan_leg_state state,
			  const char *warning)
{
	const struct plan_context ctx = {.forced = (const char(*)[PLENUM_NAME_MAX])name,
					 .n_forced = 1};
	struct spec *s = host_spec(HOST_YAML);
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;
	char *all;

	assert_int_equal(plan_build(s, inv, &ctx, &d, &p), 0);
	assert_int_equal(p->legs[1].state, state);
	assert_int_equal(p->workers[0].ports[0].mtu, 9000);
	all = diag_format(&d);
	assert_int_equal(strstr(all, "was not needed") != NULL, *warning != '\0');
	assert_non_null(strstr(all, warning));
	free(all);
	diag_done(&d);
	plan_free(p);
	spec_free(s);
}

/* The reason names the dependency; --force with that name overrides it and no other. */
static void test_force_overrides_only_its_argument(void **state)
{
	static const char link[PLENUM_NAME_MAX] = "veth1", other[PLENUM_NAME_MAX] = "eth0",
			  dependency[PLENUM_NAME_MAX] = "default-route",
			  second[PLENUM_NAME_MAX] = "ssh";
	struct inventory *inv = host_new();

	host_add_route(inv, 254, 3, "0.0.0.0/0", "192.0.2.9", HOST_VETH1);
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "default-route",
			"use plenum apply --force veth1");
	expect_forced(inv, link, PLAN_LEG_USABLE, "");
	expect_forced(inv, dependency, PLAN_LEG_USABLE, "");
	expect_forced(inv, other, PLAN_LEG_REFUSED, "--force eth0 was not needed");
	/* A default route and a login via the same link are two dependencies. */
	*inv_addr_add(inv) =
		(struct inv_addr){.ifindex = HOST_VETH1, .ip = host_prefix("198.51.100.7/24")};
	*inv_conns_add(inv) =
		(struct inv_conns){.local = host_addr("198.51.100.7"), .n = 1, .n_ssh = 1};
	expect_forced(inv, dependency, PLAN_LEG_REFUSED, "");
	expect_forced(inv, second, PLAN_LEG_REFUSED, "");
	expect_forced(inv, link, PLAN_LEG_USABLE, "");
	/* A warning says that --force was not needed. */
	inv->links[3].mtu = 9000;
	expect_forced(inv, link, PLAN_LEG_USABLE, "--force veth1 was not needed");
	inv_free(inv);
}

/* A leg in service stays despite new problems beside it: the MTU stays as it is. */
static void test_leg_in_service_stays(void **state)
{
	struct inventory *inv = host_new();
	struct inv_addr *a = inv_addr_add(inv);
	struct spec *s;
	struct plan *p;

	*a = (struct inv_addr){
		.ifindex = HOST_VETH1, .ip = host_prefix("10.20.1.10/16"), .proto = PLENUM_RTPROT};
	host_add_route(inv, 254, INV_PROTO_RA, "::/0", "fe80::1", HOST_VETH1);
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_DEGRADED, "default-route", "veth1 carries");
	p = host_plan_of(HOST_YAML, inv, &s);
	assert_int_equal(p->workers[0].n_ports, 2);
	assert_int_equal(p->workers[0].ports[1].mtu, 1500);
	plan_free(p);
	spec_free(s);
	inv->links[3].mtu = 9000;
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_DEGRADED, "router-advertisement",
			"via fe80::1");
	inv->n_routes--;
	*inv_addr_add(inv) =
		(struct inv_addr){.ifindex = HOST_ETH0, .ip = host_prefix("10.20.0.1/17")};
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_DEGRADED, "overlap",
			"data-b (10.20.0.0/16) overlaps eth0 (10.20.0.0/17) from 10.20.0.0 to "
			"10.20.127.255");
	/* A data IP, too, which another program has moved. */
	inv->addrs[inv->n_addrs - 1].ip = host_prefix("10.20.1.11/16");
	host_expect_leg(
		HOST_YAML, inv, 1, PLAN_LEG_DEGRADED, "address-taken",
		"another program added 10.20.1.11/16, an address of network data-b, to eth0");
	inv->links[3].carrier = false;
	inv->n_addrs--;
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_DEGRADED, "no-carrier", "veth1 has no carrier");
	inv_free(inv);
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
	expect_leg_with("device: veth1", "device: veth0x", 1, PLAN_LEG_ABSENT, "not-found",
			"did you mean veth1?"); /* veth0 is leg-a's */
	expect_leg_with("device: veth1", "device: \"02:00:00:00:00:03\"", 1, PLAN_LEG_REFUSED,
			"used-twice", "leg leg-a already uses veth0");
	expect_leg_with("device: veth1", "device: lo", 1, PLAN_LEG_REFUSED, "loopback",
			"is the loopback interface");
	expect_leg_with("device: veth1", "device: \"02:00:00:00:00:02\"", 1, PLAN_LEG_REFUSED,
			"management", "eth0 is the management interface");
	expect_leg_with("interface: eth0", "interface: eth9", 1, PLAN_LEG_USABLE, "", "");
	expect_error_with("network: data-b, label: switch-b}\nha: {mode: dual-leg",
			  "network: data-a, label: switch-b}\nha: {mode: dual-leg",
			  "'data-a' is also the network of 'leg-a'");
}

/* The worker of a core that the host lacks has a reason and no port; the others run. */
static void test_a_missing_core_stops_its_worker_only(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("cores: [1]", "cores: [1, 3, 77]");
	struct spec *s;
	struct plan *p = host_plan_of(yaml, inv, &s);

	assert_int_equal(p->workers[0].n_ports, 2);
	assert_false(p->workers[0].no_core);
	assert_int_equal(p->workers[1].n_ports + p->workers[2].n_ports, 0);
	assert_string_equal(p->workers[1].reason.code, "no-core");
	assert_non_null(strstr(p->workers[1].reason.text, "core 3 is offline; write one of the"));
	assert_non_null(strstr(p->workers[2].reason.text, "core 77 is not on this host"));
	plan_free(p);
	spec_free(s);
	free(yaml);
	inv_free(inv);
}

static void test_mtu_limit(void **state)
{
	struct inventory *inv = host_new();

	inv->links[3].mtu_max = 4000;
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "mtu-impossible",
			"veth1 supports at most 4000; write mtu: 4000");
	inv_free(inv);
}

/* A leg ignores router advertisements, so the host must not depend on them. */
static void test_host_with_router_advertisements_refuses(void **state)
{
	struct inventory *inv = host_new();
	struct inv_conns *c;

	inv->links[3].mtu = 9000;
	assert_int_equal(inv_sysctl_add(inv, "net/ipv6/conf/veth1/accept_ra", "1"), 0);
	host_add_route(inv, 254, INV_PROTO_RA, "::/0", "fe80::1", HOST_VETH1);
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_DEGRADED, "router-advertisement",
			"via fe80::1");
	inv->routes[0].proto =
		PLENUM_RTPROT; /* eth0's default route belongs to a leg's table, not to the host */
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "default-route",
			"veth1 gets its IPv6 routes from router advertisements");
	inv->routes[0].proto = INV_PROTO_BOOT;
	*inv_addr_add(inv) =
		(struct inv_addr){.ifindex = HOST_VETH1, .ip = host_prefix("2001:db8::7/64")};
	c = inv_conns_add(inv);
	*c = (struct inv_conns){.local = host_addr("2001:db8::7"), .n = 1};
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "default-route",
			"the host needs the routes");
	inv_free(inv);
}

/* Ports of one PCI function share its address: the plan does not guess one. */
static void test_ambiguous_device_is_refused(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("device: veth1", "device: \"0000:3b:00.0\"");

	inv_text_set(inv->links[3].pci, sizeof(inv->links[3].pci), "0000:3b:00.0");
	host_expect_leg(yaml, inv, 1, PLAN_LEG_USABLE, "", "");
	inv_text_set(inv->links[2].pci, sizeof(inv->links[2].pci), "0000:3b:00.0");
	host_expect_leg(yaml, inv, 1, PLAN_LEG_REFUSED, "ambiguous",
			"2 interfaces have the PCI address 0000:3b:00.0: veth0, veth1; write");
	free(yaml);
	inv_free(inv);
}

/* Absent legs change no address, table or rule of the others. */
static void test_addresses_are_stable(void **state)
{
	struct inventory *both = host_new(), *second = host_new();
	char *yaml = yaml_with("cores: [1]", "cores: [1, 2]");
	struct spec *s, *t;
	struct plan *p = host_plan_of(yaml, both, &s), *q;

	inv_text_set(second->links[2].name, sizeof(second->links[2].name), "other");
	q = host_plan_of(yaml, second, &t);
	assert_int_equal(q->legs[0].state, PLAN_LEG_ABSENT);
	assert_int_equal(q->workers[1].n_ports, 1);
	assert_memory_equal(&q->workers[1].ports[0], &p->workers[1].ports[1],
			    sizeof(q->workers[1].ports[0]));
	assert_int_equal(q->workers[1].n_ips, 2);
	assert_memory_equal(q->workers[1].ips, p->workers[1].ips, sizeof(p->workers[1].ips));
	for (size_t i = 0; i < q->n_steps; i++)
		if (step_is(&q->steps[i], "rule-add"))
			assert_int_equal(q->steps[i].change.rule.table, PLAN_TABLE_FIRST + 1);
	plan_free(p);
	plan_free(q);
	spec_free(s);
	spec_free(t);
	free(yaml);
	inv_free(both);
	inv_free(second);
}

/* A leg moves to another device on a kernel that does not keep the owner of addresses: the record
 * says that the address on the old device is ours, so the plan removes it. */
static void test_moved_leg_does_not_conflict_with_itself(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("device: veth1", "device: ens9");
	struct inv_addr *a = inv_addr_add(inv);
	struct spec *s = host_spec(yaml);
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;
	struct plan_step made = {.kind = &object_addr, .verb = PLAN_ADD, .link = "veth1"};
	struct plan_owned owned = {.steps = &made, .n = 1};
	struct plan_context ctx = {.owned = &owned};

	host_add_link(inv, 9, "ens9", INV_LINK_VETH, true);
	inv->addr_owner_known = false;
	*a = (struct inv_addr){.ifindex = HOST_VETH1, .ip = host_prefix("10.20.1.10/16")};
	host_expect_leg(yaml, inv, 1, PLAN_LEG_REFUSED, "address-taken",
			"added 10.20.1.10/16, an address of network data-b, to veth1");
	made.change =
		(struct kernel_change){.kind = KERNEL_ADDR, .ifindex = HOST_VETH1, .addr = *a};
	assert_int_equal(plan_build(s, inv, &ctx, &d, &p), 0);
	assert_int_equal(p->legs[1].state, PLAN_LEG_USABLE);
	plan_free(p);
	spec_free(s);
	diag_done(&d);
	free(yaml);
	inv_free(inv);
}

/* A foreign address costs one port, not the leg. */
static void test_foreign_address_costs_one_port(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("cores: [1]", "cores: [1, 2]");
	struct spec *s;
	struct plan *p;

	*inv_addr_add(inv) =
		(struct inv_addr){.ifindex = HOST_ETH0, .ip = host_prefix("10.20.1.11/32")};
	p = host_plan_of(yaml, inv, &s);
	assert_int_equal(p->legs[1].state, PLAN_LEG_DEGRADED);
	assert_string_equal(p->legs[1].reason.code, "address-taken");
	assert_int_equal(p->workers[0].n_ports, 2);
	assert_int_equal(p->workers[1].n_ports, 1);
	plan_free(p);
	s->on_fallback = SPEC_FALLBACK_REFUSE;
	plan_expect_refused(s, inv, "another program added 10.20.1.11/32 to eth0");
	spec_free(s);
	free(yaml);
	inv_free(inv);
}

/* The launch of a DPDK worker does not depend on the available legs. */
static void test_dpdk_launch_ignores_absent_legs(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("transport: udp", "transport: dpdk");
	struct spec *s;
	struct plan *p;

	inv_text_set(inv->links[2].name, sizeof(inv->links[2].name), "other");
	inv_text_set(inv->links[3].name, sizeof(inv->links[3].name), "others");
	p = host_plan_of(yaml, inv, &s);
	assert_int_equal(p->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_string_equal(p->workers[0].reason.code, "no-leg");
	plan_free(p);
	spec_free(s);
	free(yaml);
	inv_free(inv);
}

/* Without any leg there is still a plan, and the workers give the reason. */
static void test_plan_without_usable_leg(void **state)
{
	struct inventory *inv = host_new();
	struct spec *s;
	struct plan *p;

	inv_text_set(inv->links[2].name, sizeof(inv->links[2].name), "other");
	inv->links[3].mtu_max = 4000;
	p = host_plan_of(HOST_YAML, inv, &s);
	assert_int_equal(p->n_steps, 0);
	assert_int_equal(p->workers[0].n_ports, 0);
	assert_string_equal(p->workers[0].reason.code, "no-leg");
	assert_string_equal(p->workers[0].reason.text, "leg-a is absent, leg-b is refused");
	plan_free(p);
	s->on_fallback = SPEC_FALLBACK_REFUSE;
	plan_expect_refused(s, inv, "this host has no device veth0");
	plan_expect_refused(s, inv, "veth1 supports at most 4000");
	spec_free(s);
	inv_free(inv);
}

/* The link of a leg is renamed, by udev or by an operator. The leg stays in service, but a
 * restarted agent does not guess. */
static void test_renamed_link_stays_in_service(void **state)
{
	struct inventory *inv = host_new();
	struct diag d = DIAG_INIT;
	struct spec *s;
	struct plan *p = host_plan_of(HOST_YAML, inv, &s), *q = NULL;
	struct plan_context ctx = {.running = p};

	inv_text_set(inv->links[3].name, sizeof(inv->links[3].name), "ens1");
	assert_int_equal(plan_build(s, inv, &ctx, &d, &q), 0);
	assert_int_equal(q->legs[1].state, PLAN_LEG_DEGRADED);
	assert_string_equal(q->legs[1].reason.code, "renamed");
	assert_non_null(strstr(q->legs[1].reason.text, "interface veth1 was renamed to ens1"));
	assert_string_equal(q->workers[0].ports[1].ifname, "ens1");
	plan_free(q);
	host_expect_leg(HOST_YAML, inv, 1, PLAN_LEG_ABSENT, "not-found", "no device veth1");
	plan_free(p);
	spec_free(s);
	inv_free(inv);
	diag_done(&d);
}

/* A second plan made while the workers of the first hold their hugepages equals the first. */
static void test_running_workers_hold_hugepages(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("cores: [1], transport: udp", "cores: [1, 2], transport: dpdk");
	struct diag d = DIAG_INIT;
	struct plan *first, *second;
	struct spec *s;

	first = host_plan_of(yaml, inv, &s);
	assert_int_equal(first->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(first->workers[1].effective, SPEC_TRANSPORT_DPDK);
	assert_true(first->workers[1].ports[0].kernel_owned);
	assert_int_equal(count(first, "addr-add"), 0);
	assert_int_equal(count(first, "rule-add"), 0);
	inv->hugepages[0].free = 0;
	assert_int_equal(plan_build(s, inv, &(struct plan_context){.running = first}, &d, &second),
			 0);
	assert_int_equal(second->workers[1].effective, SPEC_TRANSPORT_DPDK);
	plan_free(second);
	inv->hugepages[0].free = 40; /* enough for one */
	assert_int_equal(plan_build(s, inv, NULL, &d, &second), 0);
	assert_int_equal(second->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(second->workers[1].effective, SPEC_TRANSPORT_UDP);
	assert_non_null(strstr(second->workers[1].reason.text, "8 hugepages of 2 MiB are free"));
	assert_int_equal(count(second, "addr-add"), 2);
	plan_free(second);
	plan_free(first);
	diag_done(&d);
	spec_free(s);
	inv_free(inv);
	free(yaml);
}

/* Actions added by the agent are printed after the steps and count as changes. */
static void test_actions_are_printed(void **state)
{
	struct inventory *inv = host_new();
	struct spec *s;
	struct plan *p = host_plan_of("host: host-a\n", inv, &s);
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

/* A failed attempt is not repeated until an operator asks for it. */
static void test_failed_dpdk_is_not_chosen(void **state)
{
	struct inventory *inv = host_new();
	char *yaml = yaml_with("cores: [1], transport: udp", "cores: [1, 2], transport: dpdk");
	struct diag d = DIAG_INIT;
	struct plan_failures failures = {0};
	struct plan_context ctx = {.failures = &failures};
	struct plan *first, *second, *third;
	struct spec *s;

	first = host_plan_of(yaml, inv, &s);
	assert_int_equal(plan_failures_add(&failures, &first->workers[1], "first try"), 0);
	assert_int_equal(plan_failures_add(&failures, &first->workers[1], "no module"), 0);
	assert_int_equal(failures.n, 1);
	assert_int_equal(plan_build(s, inv, &ctx, &d, &second), 0);
	assert_int_equal(second->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(second->workers[1].effective, SPEC_TRANSPORT_UDP);
	assert_string_equal(second->workers[1].reason.code, "dpdk-failed");
	assert_string_equal(second->workers[1].reason.text, "no module");
	assert_int_equal(count(second, "addr-add"), 2);
	ctx.running = second;
	assert_int_equal(plan_build(s, inv, &ctx, &d, &third), 0);
	assert_int_equal(third->workers[1].effective, SPEC_TRANSPORT_UDP);
	plan_free(third);
	s->on_fallback = SPEC_FALLBACK_REFUSE;
	assert_int_equal(plan_build(s, inv, &ctx, &d, &third), 0);
	assert_int_equal(third->workers[1].effective, SPEC_TRANSPORT_DPDK);
	plan_free(third);
	s->on_fallback = SPEC_FALLBACK_DEGRADE;
	s->workers[0].cores[1] = 0; /* a different worker with the same id has not failed */
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

static void test_mounts_and_exports_are_distributed(void **state)
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
	struct plan *p = host_plan_of(yaml, inv, &s);

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
		cmocka_unit_test(test_stale_objects_are_removed),
		cmocka_unit_test(test_ipv6_prefix_change),
		cmocka_unit_test(test_duplicate_found_late),
		cmocka_unit_test(test_rp_filter_uses_the_larger_value),
		cmocka_unit_test(test_host_dependencies_refuse_a_leg),
		cmocka_unit_test(test_force_overrides_only_its_argument),
		cmocka_unit_test(test_leg_in_service_stays),
		cmocka_unit_test(test_host_with_router_advertisements_refuses),
		cmocka_unit_test(test_ambiguous_device_is_refused),
		cmocka_unit_test(test_addresses_are_stable),
		cmocka_unit_test(test_moved_leg_does_not_conflict_with_itself),
		cmocka_unit_test(test_foreign_address_costs_one_port),
		cmocka_unit_test(test_dpdk_launch_ignores_absent_legs),
		cmocka_unit_test(test_plan_without_usable_leg),
		cmocka_unit_test(test_renamed_link_stays_in_service),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_a_missing_core_stops_its_worker_only),
		cmocka_unit_test(test_mtu_limit),
		cmocka_unit_test(test_running_workers_hold_hugepages),
		cmocka_unit_test(test_actions_are_printed),
		cmocka_unit_test(test_failed_dpdk_is_not_chosen),
		cmocka_unit_test(test_mounts_and_exports_are_distributed),
	};

	return cmocka_run_group_tests_name("plan", tests, setup, NULL);
}
