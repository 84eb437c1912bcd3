/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VLAN links on a host in memory: planned before they exist, created, recognized and removed;
 * foreign VLANs and VLANs in use by other programs stay.
 */
#include "netcfg/plan/make/plan_project.h"
#include "plugins/plugins.h"
#include "tests/lib/host/apply_host.h"

#define NETWORKS(a, b)                                               \
	"host: host-a\n"                                             \
	"networks:\n"                                                \
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16" a "}\n" \
	"  - {name: data-b, range: fd00:b::10-fd00:b::40/64" b "}\n" \
	"net:\n"                                                     \
	"  - {name: leg-a, device: veth0, network: data-a}\n"        \
	"  - {name: leg-b, device: veth1, network: data-b}\n"        \
	"ha: {mode: dual-leg}\n"

static const char tagged[] = NETWORKS(
	", mtu: 9000, vlan: 100", ", vlan: 200") "workers: [{role: compute, cores: [1], transport: "
						 "udp, exports: [{name: x, path: /srv}]}]\n";
static const char none[] = "host: host-a\n"
			   "networks: [{name: data-b, range: fd00:b::10-fd00:b::40/64}]\n"
			   "net: [{name: leg-b, device: eth9, network: data-b}]\n";

static void test_links_are_created_and_removed(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(tagged), *nothing = host_spec(none);
	char *before = host_json(h);
	struct plan *p = host_apply(h, s);
	struct inventory *inv = host_collect(h);
	const struct inv_link *l = inv_link_by_name(inv, "veth0.100");

	assert_non_null(l);
	assert_true(kernel_link_is_ours(l) && l->up);
	assert_int_equal(l->mtu, 9000);
	assert_int_equal(inv_link_by_index(inv, HOST_VETH0)->mtu, 9000);
	assert_int_equal(inv_link_by_index(inv, HOST_VETH1)->mtu, 1500);
	/* Values planned on a future link belong to the created one. */
	assert_string_equal(p->legs[0].ifname, "veth0.100");
	assert_true(inv_ifindex_is_planned(p->legs[0].ifindex));
	plan_resolve(p, inv);
	assert_int_equal(p->legs[0].ifindex, l->ifindex);
	assert_int_equal(p->workers[0].ports[0].ifindex, l->ifindex);
	assert_int_equal(host_steps_left(h, s), 0);
	plan_free(p);
	inv_free(inv);

	host_gives_all_back(h, nothing, before);
	free(before);
	spec_free(s);
	spec_free(nothing);
}

/* A process killed at any write leaves a journal that restores the host. */
static void test_a_kill_at_any_step_is_rolled_back(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(tagged);
	char *before = host_json(h);
	struct plan *p = host_plan(h, s);

	for (size_t i = 0; i < p->n_steps; i++) {
		struct apply_outcome o;
		struct apply *a = NULL;
		char *after;

		/* From here on the process cannot roll back: its changes stay. */
		kernel_fake_fail(h->fake, i + 1, 0, -EIO, "no");
		assert_int_equal(apply_run(h->fake, p, h->journal, &a, &o), -EIO);
		kernel_fake_fail(h->fake, 0, 0, 0, NULL);
		assert_int_equal(apply_recover(h->fake, h->journal, &o), 0);
		after = host_json(h);
		assert_string_equal(after, before);
		free(after);
	}
	plan_free(p);
	free(before);
	spec_free(s);
}

/* Killed between creating and marking the link: it is unused, and the journal removes it. */
static void test_an_unmarked_link_is_removed(void **state)
{
	struct host *h = *state;
	struct plan_step made = {.kind = &object_vlan, .verb = PLAN_ADD};
	struct inventory *inv;
	struct inv_link *l;

	made.change = (struct kernel_change){
		.kind = KERNEL_VLAN, .ifindex = HOST_VETH0, .vlan = {"veth0.100", 100}};
	assert_int_equal(h->fake->ops->change(h->fake, &made.change, NULL), 0);
	inv = host_collect(h);
	l = (struct inv_link *)inv_link_by_name(inv, "veth0.100");
	assert_int_equal(object_vlan.present(inv, &made), OBJECT_OURS);
	l->alias[0] = '\0';
	assert_int_equal(object_vlan.present(inv, &made), OBJECT_OURS);
	l->up = true;
	assert_int_equal(object_vlan.present(inv, &made), OBJECT_PRESENT);
	strcpy(l->alias, "uplink of the storage");
	l->up = false;
	assert_int_equal(object_vlan.present(inv, &made), OBJECT_PRESENT);
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	made.change.remove = true;
	assert_int_equal(h->fake->ops->change(h->fake, &made.change, NULL), -EPERM);
	inv_free(inv);
}

/* Foreign objects on our link keep it. */
static void test_a_link_in_use_stays(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(tagged), *nothing = host_spec(none);
	struct inv_addr theirs = {.ip = host_prefix("192.168.7.1/24"), .proto = 3};
	struct inventory *inv;

	plan_free(host_apply(h, s));
	inv = host_collect(h);
	theirs.ifindex = inv_link_by_name(inv, "veth0.100")->ifindex;
	inv_free(inv);
	assert_int_equal(kernel_do_addr_add(h->fake, &theirs, NULL), 0);
	plan_free(host_apply(h, nothing));
	inv = host_collect(h);
	assert_non_null(inv_link_by_name(inv, "veth0.100"));
	assert_true(inv_link_by_name(inv, "veth0.100")->up);
	assert_null(inv_link_by_name(inv, "veth1.200"));
	inv_free(inv);
	assert_int_equal(host_steps_left(h, nothing), 0);
	/* If configured again, it is ours as before. */
	plan_free(host_apply(h, s));
	assert_int_equal(host_steps_left(h, s), 0);
	spec_free(s);
	spec_free(nothing);
}

/* If another program deletes the link, it is restored with all objects on it. */
static void test_a_deleted_link_is_restored(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(tagged);
	struct inventory *inv;

	plan_free(host_apply(h, s));
	inv = host_collect(h);
	assert_int_equal(
		kernel_fake_remove_link(h->fake, inv_link_by_name(inv, "veth1.200")->ifindex), 0);
	inv_free(inv);
	plan_free(host_apply(h, s));
	assert_int_equal(host_steps_left(h, s), 0);
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, apply_host_setup, apply_host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_links_are_created_and_removed),
		CASE(test_a_kill_at_any_step_is_rolled_back),
		CASE(test_an_unmarked_link_is_removed),
		CASE(test_a_link_in_use_stays),
		CASE(test_a_deleted_link_is_restored),
	};

	plugins_register();
	return cmocka_run_group_tests_name("VLANs", tests, NULL, NULL);
}
