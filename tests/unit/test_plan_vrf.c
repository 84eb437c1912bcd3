/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that neither a VRF nor a device in one becomes a leg. */
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"

/* The kernel looks packets of both up in the VRF's table, which workers do not use. */
static void a_vrf_and_a_device_in_it_are_refused_with_the_remedy(void **state)
{
	struct inventory *inv = host_new();

	host_add_link(inv, 9, "blue", INV_LINK_VIRTUAL, true);
	inv->links[4].vrf_table = 100;
	inv->links[3].master = 9; /* veth1 */
	host_expect_leg(
		HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "vrf",
		"veth1 belongs to VRF blue, and workers do not receive packets of a VRF; write a "
		"device that belongs to no VRF, or release the device (ip link set veth1 "
		"nomaster)");
	inv->links[3].master = 0;
	inv->links[3].vrf_table = 100;
	host_expect_leg(
		HOST_YAML, inv, 1, PLAN_LEG_REFUSED, "vrf",
		"veth1 is a VRF, which carries no data IPs; write a device that belongs to no "
		"VRF");
	inv_free(inv);
}

static int setup(void **state)
{
	plugins_register();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vrf_and_a_device_in_it_are_refused_with_the_remedy),
	};

	return cmocka_run_group_tests_name("plan_vrf", tests, setup, NULL);
}
