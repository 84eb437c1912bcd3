/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Legs whose devices are selected by their properties: which device is taken, why a leg has none,
 * and that a leg in service keeps its device.
 */
#include "netcfg/host/kernel.h"
#include "netcfg/plan/transport_choice.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"

#define NIC_A 10 /* two ports of one NIC on node 0 */
#define NIC_B 11
#define NIC_C 12 /* a slower NIC on node 1 */

#define SPEC(match)                                                                        \
	"host: host-a\n"                                                                   \
	"management: {interface: eth0}\n"                                                  \
	"networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16}]\n"                    \
	"net: [{name: leg-a, match: {" match "}, network: data-a}]\n"                      \
	"workers: [{role: compute, cores: [1], transport: udp, exports: [{name: x, path: " \
	"/srv}]}]\n"

static struct inv_link *link_at(struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == ifindex)
			return &inv->links[i];
	fail_msg("no link %u", ifindex);
	return NULL;
}

static void add_nic(struct inventory *inv, uint32_t ifindex, const char *name, const char *driver,
		    const char *pci, int node, uint32_t speed)
{
	struct inv_link *l;

	host_add_link(inv, ifindex, name, INV_LINK_PHYSICAL, true);
	l = link_at(inv, ifindex);
	inv_text_set(l->driver, sizeof(l->driver), driver);
	inv_text_set(l->pci, sizeof(l->pci), pci);
	l->numa_node = node;
	l->speed_mbps = speed;
	l->initialized = true;
}

static struct inventory *nics_new(void)
{
	struct inventory *inv = host_new();

	inv->addr_owner_known = true;
	link_at(inv, HOST_ETH0)->numa_node = 0;
	add_nic(inv, NIC_A, "ens1f0", "mlx5_core", "0000:3b:00.0", 0, 100000);
	add_nic(inv, NIC_B, "ens1f1", "mlx5_core", "0000:3b:00.1", 0, 100000);
	add_nic(inv, NIC_C, "ens2", "ice", "0000:AF:00.0", 1, 25000);
	return inv;
}

static void add_address(struct inventory *inv, uint32_t ifindex, const char *text, uint8_t proto)
{
	struct inv_addr *a = inv_addr_add(inv);

	assert_non_null(a);
	a->ifindex = ifindex;
	a->ip = host_prefix(text);
	a->proto = proto;
}

/* Makes the plan with the record that was written when `running` was kept; operator: the plan of an
 * operator's apply. */
static struct plan *plan_with(const struct spec *s, const struct inventory *inv,
			      const struct plan *running, bool operator)
{
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice record = {.n = 0};
	struct plan_context ctx = {.may_move = operator};
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;

	if (running) {
		autofree char *text = NULL;

		assert_int_equal(transport_choice_follow(NULL, running, &record), 0);
		/* as written by one agent and read by the next */
		text = transport_choice_format(&record);
		assert_int_equal(transport_choice_parse(&record, text), 0);
		ctx.accepted = &record;
	}
	if (plan_build(s, inv, &ctx, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	diag_done(&d);
	return p;
}

/* Makes the plan; running NULL: nothing runs yet. The caller frees the plan. */
static struct plan *plan_of(const struct spec *s, const struct inventory *inv,
			    const struct plan *running)
{
	return plan_with(s, inv, running, false);
}

/* Asserts that leg-a has this state, reason and device (""; none); text: a part of the reason. */
static void expect_with(const char *yaml, const struct inventory *inv, const struct plan *running,
			bool operator, enum plan_leg_state state, const char *code,
			const char *device, const char *text)
{
	struct spec *s = host_spec(yaml);
	struct plan *p = plan_with(s, inv, running, operator);

	if (p->legs[0].state != state)
		fail_msg("%s is %s: %s", p->legs[0].device,
			 plan_leg_state_to_string(p->legs[0].state), p->legs[0].reason.text);
	assert_string_equal(p->legs[0].reason.code, code);
	assert_string_equal(p->legs[0].device, device);
	assert_string_equal(p->legs[0].ifname, device);
	if (!strstr(p->legs[0].reason.text, text))
		fail_msg("'%s' has no '%s'", p->legs[0].reason.text, text);
	plan_free(p);
	spec_free(s);
}

static void expect(const char *yaml, const struct inventory *inv, const struct plan *running,
		   enum plan_leg_state state, const char *code, const char *device,
		   const char *text)
{
	expect_with(yaml, inv, running, false, state, code, device, text);
}

static void expect_device(const char *yaml, const struct inventory *inv, const char *device)
{
	expect(yaml, inv, NULL, PLAN_LEG_USABLE, "", device, "");
}

static void test_each_property_selects_the_device_that_has_it(void **state)
{
	struct inventory *inv = nics_new();

	expect_device(SPEC("driver: ice"), inv, "ens2");
	expect_device(SPEC("driver: 'i*'"), inv, "ens2");
	expect_device(SPEC("numa: 1"), inv, "ens2");
	expect_device(SPEC("name: ens1f1"), inv, "ens1f1");
	expect_device(SPEC("name: 'ens*[!1]', driver: 'm*'"), inv, "ens1f0");
	expect_device(SPEC("mac: '02:00:00:00:00:0B'"), inv, "ens1f1");
	expect_device(SPEC("pci: '0000:3b:*.0'"), inv, "ens1f0");
	expect_device(SPEC("pci: '0000:af:*'"), inv, "ens2");
	expect_device(SPEC("min-speed: 100000, pci: '*.1'"), inv, "ens1f1");
	inv_text_set(link_at(inv, NIC_B)->altnames, sizeof(inv->links->altnames), "enp59 data0 ");
	expect_device(SPEC("name: 'data*'"), inv, "ens1f1");
	link_at(inv, NIC_C)->permanent_mac = (struct mac_addr){{0x0c, 0x42, 0xa1, 1, 2, 3}};
	expect_device(SPEC("mac: '0c:42:a1:*'"), inv, "ens2");
	inv_free(inv);
}

static void test_a_subnet_selects_by_addresses_of_other_programs(void **state)
{
	struct inventory *inv = nics_new();

	add_address(inv, NIC_A, "10.10.1.10/16", PLENUM_RTPROT);
	add_address(inv, NIC_B, "10.66.0.5/24", 0);
	expect_device(SPEC("subnet: [10.65.0.0/16, 10.66.0.0/16]"), inv, "ens1f1");
	expect(SPEC("subnet: [10.10.0.0/16]"), inv, NULL, PLAN_LEG_ABSENT, "no-match", "",
	       "ens1f0 has no address in the subnet");
	inv_free(inv);
}

static void test_several_devices_are_refused_with_what_differs(void **state)
{
	struct inventory *inv = nics_new();

	expect(SPEC("driver: mlx5_core"), inv, NULL, PLAN_LEG_REFUSED, "ambiguous", "",
	       "ens1f0 (pci 0000:3b:00.0), ens1f1 (pci 0000:3b:00.1); add 'pci'");
	expect(SPEC("min-speed: 10000, pci: '*.0'"), inv, NULL, PLAN_LEG_REFUSED, "ambiguous", "",
	       "ens1f0 (driver mlx5_core), ens2 (driver ice); add 'driver'");
	inv_free(inv);
}

static void test_no_match_names_the_devices_and_what_they_have(void **state)
{
	struct inventory *inv = nics_new();

	expect(SPEC("driver: mlx5_core, numa: 1"), inv, NULL, PLAN_LEG_ABSENT, "no-match", "",
	       "ens1f0 has numa 0, ens1f1 has numa 0, ens2 has driver ice");
	/* The leg gets the device when it appears. */
	add_nic(inv, 13, "ens3", "mlx5_core", "0000:b0:00.0", 1, 0);
	expect_device(SPEC("driver: mlx5_core, numa: 1"), inv, "ens3");
	inv_free(inv);
}

static void test_a_selector_never_takes_the_hosts_own_devices(void **state)
{
	struct inventory *inv = nics_new();

	expect(SPEC("name: 'eth*'"), inv, NULL, PLAN_LEG_ABSENT, "no-match", "",
	       "eth0 is not selected (eth0 is the management interface");
	host_add_route(inv, 254, 3, "0.0.0.0/0", "192.0.2.2", NIC_C);
	expect(SPEC("driver: ice"), inv, NULL, PLAN_LEG_ABSENT, "no-match", "",
	       "ens2 is not selected (ens2 carries the host's default route");
	/* A container's interface on a host with NICs, and a representor. */
	expect(SPEC("driver: veth"), inv, NULL, PLAN_LEG_ABSENT, "no-match", "", "");
	inv_text_set(link_at(inv, NIC_A)->port_name, sizeof(inv->links->port_name), "pf0vf1");
	expect_device(SPEC("driver: mlx5_core"), inv, "ens1f1");
	/* At boot the host may have no default route yet, and its network program has already given
	 * the device its address. */
	add_address(inv, NIC_B, "198.51.100.9/24", 0);
	expect(SPEC("driver: mlx5_core"), inv, NULL, PLAN_LEG_ABSENT, "no-match", "",
	       "ens1f1 is not selected (ens1f1 has the address 198.51.100.9 of another program");
	/* Without the management interface, any device may be that interface under another name. */
	inv_text_set(link_at(inv, HOST_ETH0)->name, IFNAMSIZ, "eno1");
	expect(SPEC("driver: mlx5_core, pci: '*.1'"), inv, NULL, PLAN_LEG_ABSENT, "no-match", "",
	       "because this host has no eth0");
	inv_free(inv);
}

#define TWO(a, b)                                                                          \
	"host: host-a\n"                                                                   \
	"management: {interface: eth0}\n"                                                  \
	"networks:\n"                                                                      \
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"                            \
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16}\n"                            \
	"net:\n"                                                                           \
	"  - {name: leg-a, " a ", network: data-a}\n"                                      \
	"  - {name: leg-b, " b ", network: data-b}\n"                                      \
	"ha: {mode: dual-leg}\n"                                                           \
	"workers: [{role: compute, cores: [1], transport: udp, exports: [{name: x, path: " \
	"/srv}]}]\n"

static void test_two_legs_do_not_get_one_device(void **state)
{
	static const char both[] = TWO("match: {driver: ice}", "match: {numa: 1}");
	struct inventory *inv = nics_new();
	struct spec *s = host_spec(both),
		    *later = host_spec(TWO("device: ens1f0", "match: {numa: 1}"));
	struct plan *p = plan_of(s, inv, NULL), *running;

	assert_int_equal(p->legs[0].state, PLAN_LEG_USABLE);
	assert_int_equal(p->legs[1].state, PLAN_LEG_REFUSED);
	assert_string_equal(p->legs[1].reason.code, "used-twice");
	assert_non_null(strstr(p->legs[1].reason.text, "leg leg-a selects ens2 too"));
	plan_free(p);
	/* A leg in service does not lose its device to another leg. */
	running = plan_of(later, inv, NULL);
	assert_string_equal(running->legs[1].device, "ens2");
	p = plan_of(s, inv, running);
	assert_int_equal(p->legs[0].state, PLAN_LEG_REFUSED);
	assert_int_equal(p->legs[1].state, PLAN_LEG_USABLE);
	plan_free(p);
	plan_free(running);
	spec_free(later);
	spec_free(s);
	/* A device that another leg names is not considered. */
	s = host_spec(TWO("device: ens1f0", "match: {driver: mlx5_core}"));
	p = plan_of(s, inv, NULL);
	assert_string_equal(p->legs[1].device, "ens1f1");
	assert_int_equal(p->legs[1].state, PLAN_LEG_USABLE);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

static void test_the_order_of_devices_does_not_matter(void **state)
{
	struct inventory *inv = host_new();

	add_nic(inv, NIC_A, "ens2", "ice", "0000:AF:00.0", 1, 25000);
	add_nic(inv, NIC_B, "ens1f1", "mlx5_core", "0000:3b:00.1", 0, 100000);
	add_nic(inv, NIC_C, "ens1f0", "mlx5_core", "0000:3b:00.0", 0, 100000);
	expect_device(SPEC("driver: ice"), inv, "ens2");
	expect_device(SPEC("driver: mlx5_core, pci: '*.0'"), inv, "ens1f0");
	expect(SPEC("driver: mlx5_core"), inv, NULL, PLAN_LEG_REFUSED, "ambiguous", "",
	       "2 devices match");
	inv_free(inv);
}

static void test_a_leg_in_service_keeps_its_device(void **state)
{
	static const char yaml[] = SPEC("driver: ice, name: ens2");
	struct inventory *inv = nics_new();
	struct spec *s = host_spec(yaml), *by_driver = host_spec(SPEC("driver: ice"));
	struct plan *running = plan_of(by_driver, inv, NULL);

	/* a second NIC */
	add_nic(inv, 13, "ens3", "ice", "0000:b0:00.0", 1, 25000);
	expect(SPEC("driver: ice"), inv, running, PLAN_LEG_DEGRADED, "ambiguous", "ens2",
	       "2 devices match");
	expect(SPEC("driver: ice"), inv, NULL, PLAN_LEG_REFUSED, "ambiguous", "", "");
	/* no record: the device with the leg's addresses */
	add_address(inv, NIC_C, "10.10.1.10/16", PLENUM_RTPROT);
	expect(SPEC("driver: ice"), inv, NULL, PLAN_LEG_DEGRADED, "ambiguous", "ens2", "");
	plan_free(running);
	/* a rename; with another match the device is selected again */
	running = plan_of(s, inv, NULL);
	assert_string_equal(running->legs[0].device, "ens2");
	inv_text_set(link_at(inv, NIC_C)->name, IFNAMSIZ, "data0");
	expect(yaml, inv, running, PLAN_LEG_DEGRADED, "no-match", "data0",
	       "data0 serves the leg, but does not match any more");
	expect(SPEC("driver: ice, name: ens3"), inv, running, PLAN_LEG_USABLE, "", "ens3", "");
	plan_free(running);
	spec_free(by_driver);
	spec_free(s);
	inv_free(inv);
}

static void test_only_an_apply_moves_a_leg_to_another_device(void **state)
{
	static const char yaml[] = SPEC("name: 'ens2*'");
	struct inventory *inv = nics_new();
	struct spec *s = host_spec(yaml);
	struct plan *running = plan_of(s, inv, NULL);

	/* The workers have the device by VFs, so it has no address that shows the leg. */
	inv_text_set(link_at(inv, NIC_C)->name, IFNAMSIZ, "data0");
	add_nic(inv, 13, "ens2np0", "ice", "0000:b0:00.0", 1, 25000);
	expect(yaml, inv, running, PLAN_LEG_DEGRADED, "no-match", "data0",
	       "does not match any more: ens2np0 matches 'name \"ens2*\"'; 'plenum apply' moves");
	expect_with(yaml, inv, running, true, PLAN_LEG_USABLE, "", "ens2np0", "");
	plan_free(running);
	spec_free(s);
	inv_free(inv);
}

static void test_a_missing_device_is_replaced_by_an_apply_alone(void **state)
{
	static const char yaml[] = SPEC("driver: ice");
	struct inventory *inv = nics_new();
	struct spec *s = host_spec(yaml);
	struct plan *running = plan_of(s, inv, NULL), *without;

	/* The data device is late at boot, and the other NIC would be the only one that matches. */
	inv_text_set(link_at(inv, NIC_C)->pci, sizeof(inv->links->pci), "0000:c0:00.0");
	expect(yaml, inv, running, PLAN_LEG_ABSENT, "not-found", "",
	       "the leg's device ens2 (0000:AF:00.0) is missing; 'plenum apply' selects ens2");
	expect_with(yaml, inv, running, true, PLAN_LEG_USABLE, "", "ens2", "");
	/* The record keeps a device that is missing. */
	without = plan_with(s, inv, running, false);
	assert_string_equal(without->legs[0].selected, "");
	plan_free(without);
	inv_text_set(link_at(inv, NIC_C)->driver, sizeof(inv->links->driver), "igc");
	expect_with(yaml, inv, running, true, PLAN_LEG_ABSENT, "no-match", "", "");
	plan_free(running);
	spec_free(s);
	inv_free(inv);
}

static void test_a_leg_never_keeps_a_device_that_another_leg_names(void **state)
{
	struct inventory *inv = nics_new();
	struct spec *s = host_spec(TWO("match: {driver: ice}", "device: ens1f0")),
		    *later = host_spec(TWO("match: {driver: ice}", "device: ens2"));
	struct plan *running = plan_of(s, inv, NULL), *p = plan_of(later, inv, running);

	assert_int_equal(p->legs[0].state, PLAN_LEG_REFUSED);
	assert_string_equal(p->legs[0].reason.code, "used-twice");
	assert_int_equal(p->legs[1].state, PLAN_LEG_USABLE);
	plan_free(p);
	plan_free(running);
	spec_free(later);
	spec_free(s);
	inv_free(inv);
}

static void test_the_record_keeps_the_device_of_a_leg_that_has_none_now(void **state)
{
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice record = {.n = 0};
	struct inventory *inv = nics_new();
	struct spec *s = host_spec(SPEC("driver: ice"));
	struct plan *p = plan_of(s, inv, NULL);

	assert_int_equal(transport_choice_follow(NULL, p, &record), 0);
	assert_int_equal(record.n_devices, 1);
	plan_free(p);
	inv_text_set(link_at(inv, NIC_C)->driver, sizeof(inv->links->driver), "igc");
	p = plan_of(s, inv, NULL);
	assert_int_equal(p->legs[0].state, PLAN_LEG_ABSENT);
	assert_int_equal(transport_choice_follow(&record, p, &record), 0);
	assert_int_equal(record.n_devices, 1);
	assert_string_equal(record.devices[0].device, "0000:AF:00.0");
	assert_null(transport_choice_device(&record, "leg-a", "driver igc"));
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

static void test_the_supported_speed_counts_and_else_the_speed_in_use(void **state)
{
	static const char yaml[] = SPEC("min-speed: 100000, pci: '*.1'");
	struct inventory *inv = nics_new();
	struct spec *s = host_spec(yaml);
	struct plan *running;

	/* links are down at boot */
	link_at(inv, NIC_B)->speed_mbps = 0;
	link_at(inv, NIC_B)->max_speed_mbps = 100000;
	expect_device(yaml, inv, "ens1f1");
	link_at(inv, NIC_B)->speed_mbps = 10000;
	running = plan_of(s, inv, NULL);
	assert_string_equal(running->legs[0].device, "ens1f1");
	/* The driver reports no link modes. */
	link_at(inv, NIC_B)->max_speed_mbps = 0;
	link_at(inv, NIC_B)->speed_mbps = 0;
	link_at(inv, NIC_B)->carrier = false;
	expect(yaml, inv, NULL, PLAN_LEG_ABSENT, "speed-unknown", "", "ens1f1 (");
	/* a pulled cable does not take the device from the leg, nor does a lower speed */
	expect(yaml, inv, running, PLAN_LEG_DEGRADED, "no-carrier", "ens1f1", "");
	link_at(inv, NIC_B)->speed_mbps = 10000;
	link_at(inv, NIC_B)->carrier = true;
	expect(yaml, inv, running, PLAN_LEG_DEGRADED, "no-match", "ens1f1", "");
	plan_free(running);
	spec_free(s);
	/* One device that matches is enough. */
	link_at(inv, NIC_B)->speed_mbps = 0;
	expect_device(SPEC("min-speed: 100000"), inv, "ens1f0");
	inv_free(inv);
}

static void test_ports_of_a_bond_are_selected(void **state)
{
	static const char yaml[] =
		"host: host-a\n"
		"management: {interface: eth0}\n"
		"networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16}]\n"
		"net:\n"
		"  - {name: port-a, match: {pci: '*3b*.0'}, network: data-a}\n"
		"  - {name: port-b, match: {pci: '*3b*.1'}, network: data-a}\n"
		"ha: {mode: active-backup}\n"
		"workers: [{role: compute, cores: [1], transport: udp, exports: [{name: x, path: "
		"/srv}]}]\n";
	struct inventory *inv = nics_new();
	struct spec *s = host_spec(yaml);
	struct plan *p = plan_of(s, inv, NULL);

	assert_int_equal(p->n_legs, 3);
	assert_string_equal(p->legs[0].match, "");
	assert_string_equal(p->legs[1].device, "ens1f0");
	assert_string_equal(p->legs[2].device, "ens1f1");
	assert_string_equal(p->legs[2].match, "pci \"*3b*.1\"");
	assert_int_equal(p->legs[2].state, PLAN_LEG_USABLE);
	plan_free(p);
	inv_text_set(link_at(inv, NIC_C)->pci, sizeof(inv->links->pci), "0000:3b:01.1");
	p = plan_of(s, inv, NULL);
	assert_int_equal(p->legs[2].state, PLAN_LEG_REFUSED);
	assert_string_equal(p->legs[2].reason.code, "ambiguous");
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_property_selects_the_device_that_has_it),
		cmocka_unit_test(test_a_subnet_selects_by_addresses_of_other_programs),
		cmocka_unit_test(test_several_devices_are_refused_with_what_differs),
		cmocka_unit_test(test_no_match_names_the_devices_and_what_they_have),
		cmocka_unit_test(test_a_selector_never_takes_the_hosts_own_devices),
		cmocka_unit_test(test_two_legs_do_not_get_one_device),
		cmocka_unit_test(test_the_order_of_devices_does_not_matter),
		cmocka_unit_test(test_a_leg_in_service_keeps_its_device),
		cmocka_unit_test(test_only_an_apply_moves_a_leg_to_another_device),
		cmocka_unit_test(test_a_missing_device_is_replaced_by_an_apply_alone),
		cmocka_unit_test(test_a_leg_never_keeps_a_device_that_another_leg_names),
		cmocka_unit_test(test_the_record_keeps_the_device_of_a_leg_that_has_none_now),
		cmocka_unit_test(test_the_supported_speed_counts_and_else_the_speed_in_use),
		cmocka_unit_test(test_ports_of_a_bond_are_selected),
	};

	plugins_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
