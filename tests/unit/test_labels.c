/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of neighbours on a virtual clock, and the labels derived from it: of legs on links,
 * VLANs and bonds; with one neighbour, none, several, or one from the saved table. */
#include "agent/lldp/labels.h"
#include "netcfg/plan/plan.h"
#include "netcfg/spec/spec.h"
#include "plugins/plugins.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SEC NSEC_PER_SEC
#define TTL_S 120

/* Four ports; bond0 has the first two, vlan5 is on the third. */
static struct inv_link links[] = {
	{.ifindex = 1, .name = "eth1", .master = 5, .up = true, .carrier = true},
	{.ifindex = 2, .name = "eth2", .master = 5, .up = true, .carrier = true},
	{.ifindex = 3, .name = "eth3", .up = true, .carrier = true},
	{.ifindex = 4, .name = "eth4", .up = true, .carrier = true, .driver = "i40e"},
	{.ifindex = 5, .name = "bond0", .kind = INV_LINK_BOND, .up = true, .carrier = true},
	{.ifindex = 6, .name = "vlan5", .kind = INV_LINK_VLAN, .lower = 3, .up = true},
};
static struct inventory inv = {.links = links, .n_links = ARRAY_SIZE(links)};

struct fixture {
	struct neighbours heard;
	struct spec_net nets[2];
	struct spec spec;
	struct plan plan;
	struct labels labels;
	uint64_t now;
};

static void leg(struct fixture *f, size_t i, const char *name, uint32_t ifindex, const char *label)
{
	struct plan_leg_info *info = &f->plan.legs[i];

	snprintf(f->nets[i].name, sizeof(f->nets[i].name), "%s", name);
	snprintf(f->nets[i].label, sizeof(f->nets[i].label), "%s", label);
	snprintf(info->name, sizeof(info->name), "%s", name);
	info->ifindex = ifindex;
	f->plan.n_legs = f->spec.n_nets = i + 1;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->spec.nets = f->nets;
	f->now = 1000 * SEC;
	for (uint32_t i = 1; i <= 4; i++)
		assert_non_null(
			neighbours_add(&f->heard, i, inv_link_by_index(&inv, i)->name, f->now));
	leg(f, 0, "leg-a", 3, SPEC_LABEL_AUTO);
	leg(f, 1, "leg-b", 4, SPEC_LABEL_AUTO);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	neighbours_done(&f->heard);
	free(f);
	return 0;
}

static struct lldp_neighbour system_of(const char *chassis, const char *port, const char *name)
{
	struct lldp_neighbour n = {.ttl_s = TTL_S};

	snprintf(n.chassis, sizeof(n.chassis), "%s", chassis);
	snprintf(n.port, sizeof(n.port), "%s", port);
	snprintf(n.name, sizeof(n.name), "%s", name);
	return n;
}

static bool hear(struct fixture *f, uint32_t ifindex, const char *chassis, const char *port,
		 const char *name)
{
	const struct lldp_neighbour n = system_of(chassis, port, name);

	return neighbours_hear(neighbours_find(&f->heard, ifindex), &n, f->now);
}

static struct labels_view view(const struct fixture *f)
{
	return (struct labels_view){&f->spec, &f->plan, &inv, &f->heard, f->now};
}

static const char *label(struct fixture *f, const char *name)
{
	const struct labels_view v = view(f);

	labels_find_cables(&v, &f->labels);
	labels_decide(&v, &f->labels);
	return labels_find(&f->labels, name)->text;
}

static const char *why(const struct fixture *f, const char *name)
{
	return labels_find(&f->labels, name)->why.code;
}

/* Code and sentence of the first warning, "" for none. */
static const char *warning(struct fixture *f)
{
	static char text[REASON_FORMAT_MAX];
	const struct labels_view v = view(f);
	json_t *list;
	const char *s;

	label(f, "leg-a");
	list = labels_to_warnings(&v, &f->labels);
	s = json_string_value(json_array_get(list, 0));
	snprintf(text, sizeof(text), "%s", s ? s : "");
	json_decref(list);
	return text;
}

static void test_a_neighbour_labels_the_leg_until_it_expires(void **state)
{
	struct fixture *f = *state;
	uint64_t next;

	assert_string_equal(label(f, "leg-a"), "");
	assert_string_equal(why(f, "leg-a"), "lldp-silent");
	assert_true(hear(f, 3, "00:1b:21:00:00:0a", "Ethernet1/7", "switch-a"));
	assert_string_equal(label(f, "leg-a"), "switch-a");
	assert_string_equal(why(f, "leg-a"), "");
	f->now += 100 * SEC;
	assert_false(hear(f, 3, "00:1b:21:00:00:0a", "Ethernet1/7", "switch-a"));
	f->now += 100 * SEC;
	assert_false(neighbours_expire(&f->heard, f->now, &next));
	assert_int_equal(next, f->now + 20 * SEC);
	f->now = next;
	assert_true(neighbours_expire(&f->heard, f->now, &next));
	assert_string_equal(label(f, "leg-a"), "");
	assert_true(next == UINT64_MAX);
}

static void test_a_shutdown_or_lost_carrier_removes_the_neighbour(void **state)
{
	struct fixture *f = *state;
	struct lldp_neighbour bye = system_of("x", "1", "");

	hear(f, 3, "x", "1", "switch-a");
	bye.ttl_s = 0;
	assert_true(neighbours_hear(neighbours_find(&f->heard, 3), &bye, f->now));
	assert_string_equal(label(f, "leg-a"), "");
	hear(f, 3, "x", "1", "switch-a");
	assert_true(neighbours_forget(neighbours_find(&f->heard, 3), f->now));
	assert_string_equal(label(f, "leg-a"), "");
	assert_false(neighbours_forget(neighbours_find(&f->heard, 3), f->now));
}

static void test_several_systems_leave_the_label_unknown(void **state)
{
	struct fixture *f = *state;

	hear(f, 3, "x", "1", "switch-a");
	hear(f, 3, "x", "2", "switch-a"); /* one system, on two ports */
	assert_string_equal(label(f, "leg-a"), "switch-a");
	hear(f, 3, "y", "1", "switch-b");
	assert_string_equal(label(f, "leg-a"), "");
	assert_string_equal(why(f, "leg-a"), "lldp-several");
	assert_non_null(strstr(warning(f), "more than one system"));
	/* Many systems take no more room than the limit, and the leaving of one does not make the
	 * link unambiguous. */
	for (unsigned i = 0; i < 1000; i++) {
		char chassis[16];

		snprintf(chassis, sizeof(chassis), "z%u", i);
		hear(f, 3, chassis, "1", "");
	}
	assert_int_equal(neighbours_find(&f->heard, 3)->n, NEIGHBOURS_MAX);
	assert_string_equal(label(f, "leg-a"), "");
}

static void test_labels_are_names_or_chassis_ids(void **state)
{
	struct fixture *f = *state;
	char long_id[LLDP_TEXT_MAX];

	hear(f, 3, "00:1b:21:00:00:0a", "1", "switch");
	assert_string_equal(label(f, "leg-a"), "switch");
	hear(f, 4, "00:1b:21:00:00:0b", "1", "switch"); /* a factory default name */
	assert_string_equal(label(f, "leg-a"), "00:1b:21:00:00:0a");
	assert_string_equal(label(f, "leg-b"), "00:1b:21:00:00:0b");
	hear(f, 4, "00:1b:21:00:00:0b", "1", "my switch");
	assert_string_equal(label(f, "leg-a"), "switch");
	assert_string_equal(label(f, "leg-b"), "00:1b:21:00:00:0b");
	memset(long_id, 'c', sizeof(long_id) - 1);
	long_id[sizeof(long_id) - 1] = '\0';
	neighbours_forget(neighbours_find(&f->heard, 4), f->now);
	hear(f, 4, long_id, "1", "");
	assert_int_equal(strlen(label(f, "leg-b")), 57);
}

/* Configured labels stay, whatever LLDP reports. */
static void test_a_configured_label_stays(void **state)
{
	struct fixture *f = *state;

	leg(f, 0, "leg-a", 3, "left");
	leg(f, 1, "leg-b", 4, "");
	hear(f, 3, "x", "1", "switch-a");
	assert_string_equal(label(f, "leg-a"), "left");
	assert_string_equal(label(f, "leg-b"), "leg-b");
	assert_int_equal(label_source(labels_find(&f->labels, "leg-a")), LABEL_CONFIGURED);
}

static void test_vlans_and_bonds_use_the_cables_below(void **state)
{
	struct fixture *f = *state;

	leg(f, 0, "leg-a", 6, SPEC_LABEL_AUTO);
	leg(f, 1, "leg-b", 5, SPEC_LABEL_AUTO);
	hear(f, 3, "x", "1", "switch-a");
	assert_string_equal(label(f, "leg-a"), "switch-a");
	hear(f, 1, "y", "1", "switch-b");
	assert_string_equal(label(f, "leg-b"), ""); /* the other member is silent */
	hear(f, 2, "y", "2", "switch-b");
	assert_string_equal(label(f, "leg-b"), "switch-b");
	neighbours_forget(neighbours_find(&f->heard, 2), f->now);
	hear(f, 2, "z", "2", "switch-c");
	assert_string_equal(label(f, "leg-b"), "");
	assert_string_equal(why(f, "leg-b"), "lldp-several");
	assert_string_equal(warning(f), "lldp-several: the label of leg leg-b is unknown: the "
					"leg's members are on switch-b and switch-c");
}

/* The leg of a bond is not in the configuration, and its members are not legs. */
static void test_a_bond_of_the_plan_is_labelled_by_its_members(void **state)
{
	struct fixture *f = *state;
	struct inv_bond lacp = {.ifindex = 5, .setting = {.mode = 4}};

	leg(f, 0, "leg-a", 1, SPEC_LABEL_AUTO);
	leg(f, 1, "leg-b", 2, SPEC_LABEL_AUTO);
	for (size_t i = 0; i < 2; i++)
		strcpy(f->plan.legs[i].bond, "bond0");
	f->plan.legs[2] = (struct plan_leg_info){.name = "bond0", .label = "auto", .ifindex = 5};
	f->plan.n_legs = 3;
	hear(f, 1, "x", "1", "switch-a");
	hear(f, 2, "x", "2", "switch-a");
	assert_string_equal(label(f, "bond0"), "switch-a");
	assert_string_equal(warning(f), ""); /* both on one switch, as expected */
	neighbours_forget(neighbours_find(&f->heard, 2), f->now);
	hear(f, 2, "y", "2", "switch-b");
	assert_non_null(strstr(warning(f), "label of leg bond0 is unknown"));
	inv.bonds = &lacp;
	inv.n_bonds = 1;
	assert_non_null(strstr(
		warning(f), "bond-split: the members of bond0 are on the switches switch-a and"));
	inv.bonds = NULL;
	inv.n_bonds = 0;
}

static void test_warnings_name_legs_and_switches(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(warning(f), ""); /* too early for a warning */
	hear(f, 3, "x", "1", "switch-a");
	f->now += 70 * SEC;
	assert_non_null(strstr(warning(f), "lldp-silent: the label of leg leg-b is unknown"));
	assert_non_null(strstr(warning(f), "ethtool --set-priv-flags eth4 disable-fw-lldp on"));
	hear(f, 4, "x", "2", "switch-a");
	assert_non_null(
		strstr(warning(f), "one-switch: legs leg-a and leg-b are both on switch-a"));
	neighbours_forget(neighbours_find(&f->heard, 4), f->now);
	hear(f, 4, "y", "2", "switch-b");
	assert_string_equal(warning(f), "");
	leg(f, 0, "leg-a", 3, "same");
	leg(f, 1, "leg-b", 4, "same");
	assert_non_null(strstr(warning(f), "label-wrong: "));
}

/* Entries of an earlier agent stay valid for their original time; new frames replace them. */
static void test_the_table_of_an_earlier_agent_is_used(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/plenum-neighbours-XXXXXX";
	autoclose int fd = mkstemp(path);
	struct neighbours table = {.links = NULL};
	struct neighbours_link *link;

	hear(f, 3, "x", "1", "switch-a");
	hear(f, 4, "y", "1", "switch-b");
	neighbours_find(&f->heard, 4)->all[0].said.pfc = LLDP_PFC_SAID | 1 << 3;
	assert_true(fd >= 0);
	assert_int_equal(neighbours_save(&f->heard, path), 0);
	assert_int_equal(neighbours_load(&table, path), 0);
	assert_int_equal(unlink(path), 0);
	for (uint32_t i = 3; i <= 4; i++)
		neighbours_forget(neighbours_find(&f->heard, i), f->now);
	f->now += 60 * SEC;
	for (uint32_t i = 1; i <= 4; i++)
		neighbours_remember(neighbours_find(&f->heard, i), &table, f->now);
	assert_string_equal(label(f, "leg-a"), "switch-a");
	assert_string_equal(label(f, "leg-b"), "switch-b");
	assert_int_equal(neighbours_find(&f->heard, 1)->n, 0);
	assert_int_equal(neighbours_find(&f->heard, 3)->all[0].said.pfc, 0);
	assert_int_equal(neighbours_find(&f->heard, 4)->all[0].said.pfc, LLDP_PFC_SAID | 1 << 3);
	assert_true(hear(f, 3, "z", "1", "switch-c")); /* the cable was moved meanwhile */
	assert_string_equal(label(f, "leg-a"), "switch-c");
	link = neighbours_find(&f->heard, 4);
	neighbours_forget(link, f->now);
	neighbours_remember(link, &table, f->now + 61 * SEC); /* expired at that time */
	neighbours_remember(link, &table, f->now - 61 * SEC); /* of another boot */
	snprintf(link->ifname, sizeof(link->ifname), "eth9"); /* another link has that number */
	neighbours_remember(link, &table, f->now);
	assert_int_equal(link->n, 0);
	neighbours_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_neighbour_labels_the_leg_until_it_expires,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_shutdown_or_lost_carrier_removes_the_neighbour, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several_systems_leave_the_label_unknown, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_labels_are_names_or_chassis_ids, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_configured_label_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vlans_and_bonds_use_the_cables_below, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_bond_of_the_plan_is_labelled_by_its_members,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_warnings_name_legs_and_switches, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_table_of_an_earlier_agent_is_used, setup,
						teardown),
	};

	plugins_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
