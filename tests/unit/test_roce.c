/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RoCE defaults on a host in memory: set on existing devices and on those that the same plan
 * creates, restored, and refused without such RoCE.
 */
#include "plugins/plugins.h"
#include "tests/lib/host/apply_host.h"

static const char format[] = "host: host-a\n"
			     "networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16%s}]\n"
			     "net: [{name: leg-a, device: veth0, network: data-a%s}]\n"
			     "workers: [{role: compute, cores: [1], transport: udp, exports: "
			     "[{name: x, path: /srv}]}]\n";
static const char none[] = "host: host-a\n"
			   "networks: [{name: data-b, range: fd00:b::10-fd00:b::40/64}]\n"
			   "net: [{name: leg-b, device: eth9, network: data-b}]\n";

static struct spec *wanted(const char *network, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text), format, network, more);
	return host_spec(text);
}

static void host_gets_device(struct host *h, const char *mode, const char *gid_type)
{
	struct inventory *inv = host_collect(h);
	struct inv_rdma *p = inv_rdma_add(inv);

	*p = (struct inv_rdma){.device = "mlx5_0",
			       .port = 1,
			       .kind = "roce",
			       .state = "ACTIVE",
			       .ifindex = HOST_VETH0,
			       .roce_tos = "0"};
	inv_text_set(p->roce_mode, sizeof(p->roce_mode), mode);
	if (*gid_type) {
		struct inv_gid *g = inv_gid_add(inv);

		*g = (struct inv_gid){.device = "mlx5_0", .port = 1, .ifindex = HOST_VETH0};
		inv_text_set(g->type, sizeof(g->type), gid_type);
		g->gid.family = AF_INET6;
		g->gid.bytes[0] = 0xfe;
	}
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	inv_free(inv);
}

static const struct inv_rdma *port_now(struct host *h)
{
	return inv_rdma_find(kernel_fake_inventory(h->fake), HOST_VETH0);
}

static void test_settings_are_set_and_restored(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted("", ", roce-mode: v2, roce-tos: 96"), *nothing = host_spec(none);
	char *before;

	host_gets_device(h, "v1", "");
	before = host_json(h);
	plan_free(host_apply(h, s));
	assert_string_equal(port_now(h)->roce_mode, "v2");
	assert_string_equal(port_now(h)->roce_tos, "96");
	assert_int_equal(host_steps_left(h, s), 0);
	host_gives_all_back(h, nothing, before);
	free(before);
	spec_free(s);
	spec_free(nothing);
}

/* A VLAN uses the device of its parent, which gets soft-RoCE in the same plan; both are removed
 * together. */
static void test_a_planned_device_is_set_up_too(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(", vlan: 100", ", soft-roce: true, roce-mode: v2, roce-tos: 106");
	struct spec *nothing = host_spec(none);
	struct inventory *inv = host_collect(h);
	char *before;

	inv->soft_roce = true;
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	inv_free(inv);
	before = host_json(h);
	plan_free(host_apply(h, s));
	assert_true(kernel_rdma_is_ours(port_now(h)->device));
	assert_string_equal(port_now(h)->roce_tos, "106");
	assert_int_equal(host_steps_left(h, s), 0);
	host_gives_all_back(h, nothing, before);
	free(before);
	spec_free(s);
	spec_free(nothing);
}

static void degraded(struct host *h, const char *more, const char *text)
{
	struct spec *s = wanted("", more);
	struct plan *p = host_plan(h, s);

	assert_int_equal(p->legs[0].state, PLAN_LEG_DEGRADED);
	assert_string_equal(p->legs[0].reason.code, "no-roce");
	assert_string_equal(p->legs[0].reason.text, text);
	plan_free(p);
	plan_free(host_apply(h, s));
	assert_int_equal(host_steps_left(h, s), 0);
	spec_free(s);
}

static void test_unavailable_settings_are_refused(void **state)
{
	struct host *h = *state;

	degraded(h, ", roce-tos: 96",
		 "veth0 has no RoCE device; remove roce-mode and roce-tos from leg leg-a");
	host_gets_device(h, "v1", "IB/RoCE v1");
	degraded(h, ", roce-mode: v2",
		 "mlx5_0 does not support RoCE v2; remove roce-mode from leg leg-a");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, apply_host_setup, apply_host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_settings_are_set_and_restored),
		CASE(test_a_planned_device_is_set_up_too),
		CASE(test_unavailable_settings_are_refused),
	};

	plugins_register();
	return cmocka_run_group_tests_name("RoCE", tests, NULL, NULL);
}
