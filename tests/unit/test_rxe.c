/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soft-RoCE devices on a host in memory: created on a leg's device or the parent of its VLAN,
 * awaited until data IPs are GIDs, and removed; foreign devices stay and are used.
 */
#include "netcfg/feature/plan_rxe.h"
#include "plugins/plugins.h"
#include "tests/lib/host/apply_host.h"

static const char wanted[] = "host: host-a\n"
			     "networks:\n"
			     "  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"
			     "  - {name: data-b, range: fd00:b::10-fd00:b::40/64, vlan: 200}\n"
			     "net:\n"
			     "  - {name: leg-a, device: veth0, network: data-a, soft-roce: true}\n"
			     "  - {name: leg-b, device: veth1, network: data-b, soft-roce: true}\n"
			     "ha: {mode: dual-leg}\n"
			     "workers: [{role: compute, cores: [1], transport: udp, exports: "
			     "[{name: x, path: /srv}]}]\n";
static const char none[] = "host: host-a\n"
			   "networks: [{name: data-b, range: fd00:b::10-fd00:b::40/64}]\n"
			   "net: [{name: leg-b, device: eth9, network: data-b}]\n";

/* The host after `edit`. */
static void host_edit(struct host *h, void (*edit)(struct inventory *inv))
{
	struct inventory *inv = host_collect(h);

	edit(inv);
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	inv_free(inv);
}

static void gets_soft_roce(struct inventory *inv)
{
	inv->soft_roce = true;
}

static void loses_gids(struct inventory *inv)
{
	inv->n_gids = 0;
}

static void device_add(struct inventory *inv, const char *name, uint32_t ifindex)
{
	struct inv_rdma *p = inv_rdma_add(inv);

	assert_non_null(p);
	*p = (struct inv_rdma){.port = 1, .kind = "roce", .ifindex = ifindex};
	inv_text_set(p->device, sizeof(p->device), name);
}

static void gets_foreign_device(struct inventory *inv)
{
	device_add(inv, "rxe0", HOST_VETH0);
}

static void had_other_names(struct inventory *inv)
{
	device_add(inv, PLENUM_RDMA_PREFIX "veth0", HOST_VETH1);
}

static int setup(void **state)
{
	int r = apply_host_setup(state);

	if (r == 0)
		host_edit(*state, gets_soft_roce);
	return r;
}

/* The RDMA device on the link; "": none. Borrowed from the fake. */
static const char *device_of(struct host *h, uint32_t ifindex)
{
	const struct inventory *inv = kernel_fake_inventory(h->fake);

	for (size_t i = 0; i < inv->n_rdma; i++)
		if (inv->rdma[i].ifindex == ifindex)
			return inv->rdma[i].device;
	return "";
}

static void remove_device(struct host *h, const char *name, uint32_t ifindex)
{
	struct kernel_change c = {.kind = KERNEL_RXE, .remove = true, .ifindex = ifindex};

	inv_text_set(c.rxe.name, sizeof(c.rxe.name), name);
	assert_int_equal(h->fake->ops->change(h->fake, &c, NULL), 0);
}

static int verify(struct host *h, const struct spec *s, struct diag *d)
{
	return apply_verify(h->fake, s, &(struct plan_context){0}, clock_now_ns(), d);
}

static void test_devices_are_created_and_removed(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(wanted), *nothing = host_spec(none);
	char *before = host_json(h);
	const struct inventory *inv;
	struct diag d = DIAG_INIT;
	size_t n = 0;

	plan_free(host_apply(h, s));
	assert_string_equal(device_of(h, HOST_VETH0), "plenum_veth0");
	assert_string_equal(device_of(h, HOST_VETH1), "plenum_veth1");
	inv = kernel_fake_inventory(h->fake);
	for (size_t i = 0; i < inv->n_gids; i++)
		n += strcmp(inv->gids[i].device, "plenum_veth1") == 0 &&
		     inv->gids[i].ifindex == inv_link_by_name(inv, "veth1.200")->ifindex;
	assert_int_equal(n, 1);
	assert_int_equal(host_steps_left(h, s), 0);
	assert_int_equal(verify(h, s, &d), 0);

	host_gives_all_back(h, nothing, before);
	diag_done(&d);
	free(before);
	spec_free(s);
	spec_free(nothing);
}

/* An apply waits until RDMA can use its addresses. */
static void test_an_apply_waits_for_gids(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(wanted);
	struct diag d = DIAG_INIT;
	char *text;

	plan_free(host_apply(h, s));
	host_edit(h, loses_gids);
	assert_int_equal(verify(h, s, &d), -ETIMEDOUT);
	text = diag_format(&d);
	assert_non_null(strstr(text, "10.10.1.10 on veth0 is not a GID of its RDMA device yet"));
	assert_non_null(strstr(text, "fd00:b::10 on veth1.200 is not a GID"));
	free(text);
	diag_done(&d);
	spec_free(s);
}

static void test_a_removed_device_is_restored(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(wanted);
	struct plan *p;
	char text[256];

	plan_free(host_apply(h, s));
	p = host_plan(h, s);
	assert_false(plan_has_drifted(h->fake, p));
	remove_device(h, "plenum_veth0", HOST_VETH0);
	assert_true(plan_has_drifted(h->fake, p));
	plan_free(p);
	p = host_plan(h, s);
	assert_int_equal(p->n_steps, 1);
	plan_step_describe_undone(&p->steps[0], text, sizeof(text));
	assert_string_equal(text, "soft-RoCE device plenum_veth0 of leg-a (veth0) was removed");
	plan_free(p);
	plan_free(host_apply(h, s));
	assert_string_equal(device_of(h, HOST_VETH0), "plenum_veth0");
	spec_free(s);
}

static void has_one_that_leaves(struct inventory *inv)
{
	device_add(inv, PLENUM_RDMA_PREFIX "veth0", 0);
}

static void has_one_elsewhere(struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (strcmp(inv->rdma[i].device, PLENUM_RDMA_PREFIX "veth0") == 0)
			inv->rdma[i].is_listed = true;
}

static void has_lost_it(struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (strcmp(inv->rdma[i].device, PLENUM_RDMA_PREFIX "veth0") == 0)
			inv->rdma[i--] = inv->rdma[--inv->n_rdma];
}

/* While the kernel removes the device there is nothing to do, but another check is due. A device
 * on no link of this host only blocks its name. */
static void test_a_vanishing_device_is_waited_for(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(wanted);
	struct plan *p;

	plan_free(host_apply(h, s));
	remove_device(h, "plenum_veth0", HOST_VETH0);
	host_edit(h, has_one_that_leaves);
	p = host_plan(h, s);
	assert_int_equal(p->n_steps, 0);
	assert_int_equal(p->legs[0].state, PLAN_LEG_DEGRADED);
	assert_string_equal(p->legs[0].reason.code, "no-soft-roce");
	assert_true(plan_has_drifted(h->fake, p));
	plan_free(p);

	host_edit(h, has_one_elsewhere);
	p = host_plan(h, s);
	assert_int_equal(p->n_steps, 1);
	assert_string_equal(p->steps[0].change.rxe.name, "plenum_veth0_2");
	plan_free(p);

	host_edit(h, has_lost_it);
	plan_free(host_apply(h, s));
	assert_string_equal(device_of(h, HOST_VETH0), "plenum_veth0");
	p = host_plan(h, s);
	assert_false(plan_has_drifted(h->fake, p));
	plan_free(p);
	spec_free(s);
}

static void test_a_foreign_device_is_used(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(wanted), *nothing = host_spec(none);
	struct kernel_change c = {
		.kind = KERNEL_RXE, .remove = true, .ifindex = HOST_VETH0, .rxe = {.name = "rxe0"}};
	struct plan *p;

	host_edit(h, gets_foreign_device);
	p = host_apply(h, s);
	assert_string_equal(device_of(h, HOST_VETH0), "rxe0");
	assert_int_equal(p->legs[0].state, PLAN_LEG_USABLE);
	assert_false(plan_has_drifted(h->fake, p));
	plan_free(p);
	plan_free(host_apply(h, nothing));
	assert_string_equal(device_of(h, HOST_VETH0), "rxe0");
	assert_int_equal(h->fake->ops->change(h->fake, &c, NULL), -EPERM);
	spec_free(s);
	spec_free(nothing);
}

/* The device is found by its link, whatever its name; a new one gets a free name. */
static void test_a_device_is_found_after_a_rename(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(wanted);

	host_edit(h, had_other_names);
	plan_free(host_apply(h, s));
	assert_string_equal(device_of(h, HOST_VETH1), "plenum_veth0");
	assert_string_equal(device_of(h, HOST_VETH0), "plenum_veth0_2");
	assert_int_equal(host_steps_left(h, s), 0);
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, apply_host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_devices_are_created_and_removed),
		CASE(test_an_apply_waits_for_gids),
		CASE(test_a_removed_device_is_restored),
		CASE(test_a_vanishing_device_is_waited_for),
		CASE(test_a_foreign_device_is_used),
		CASE(test_a_device_is_found_after_a_rename),
	};

	plugins_register();
	return cmocka_run_group_tests_name("soft-RoCE", tests, NULL, NULL);
}
