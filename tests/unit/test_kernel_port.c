/* SPDX-License-Identifier: BSD-3-Clause */
/* Which workers have a kernel interface by AF_XDP where nothing is asked for. What is, golden cases
 * say. */
#include "netcfg/plan/nic_use.h"
#include "plugins/plugins.h"
#include "tests/lib/plan_host.h"

static const char yaml[] = "host: host-a\n"
			   "management: {interface: eth0}\n"
			   "networks:\n"
			   "  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"
			   "  - {name: data-b, range: 10.20.1.10-10.20.1.40/16}\n"
			   "net:\n"
			   "  - {name: leg-a, device: veth0, network: data-a, label: switch-a}\n"
			   "  - {name: leg-b, device: veth1, network: data-b, label: switch-b}\n"
			   "ha: {mode: dual-leg}\n"
			   "workers:\n"
			   "  - {role: compute, cores: [1, 2], transport: dpdk,\n"
			   "     exports: [{name: x, path: /srv}]}\n";

static struct plan *plan_of(const struct spec *s, const struct inventory *inv)
{
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;

	if (plan_build(s, inv, NULL, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	diag_done(&d);
	return p;
}

static const struct plan_port *port_of(const struct plan *p, unsigned worker, unsigned leg)
{
	return &p->workers[worker].ports[leg];
}

/* By itself AF_XDP is taken where the driver needs no copies, by one worker an interface, and where
 * a frame fits a page. */
static void test_kernel_port_auto(void **state)
{
	struct inventory *inv = host_new();
	struct inv_link *veth0 = &inv->links[2];
	struct spec *s = host_spec(yaml);
	struct plan *p;

	p = plan_of(s, inv);
	assert_int_equal(port_of(p, 0, 0)->kernel_port, PLAN_AF_PACKET);
	plan_free(p);
	inv_text_set(veth0->af_xdp, sizeof(veth0->af_xdp), "copy");
	p = plan_of(s, inv);
	assert_int_equal(port_of(p, 0, 0)->kernel_port, PLAN_AF_PACKET);
	plan_free(p);
	inv_text_set(veth0->af_xdp, sizeof(veth0->af_xdp), "zero-copy");
	p = plan_of(s, inv);
	assert_int_equal(port_of(p, 0, 0)->kernel_port, PLAN_AF_XDP_ZERO_COPY);
	assert_int_equal(port_of(p, 0, 1)->kernel_port, PLAN_AF_PACKET);
	assert_int_equal(port_of(p, 1, 0)->kernel_port, PLAN_AF_PACKET);
	assert_string_equal(p->workers[0].reason.code, "kernel-interface");
	assert_non_null(strstr(p->workers[0].reason.text, "AF_XDP shares it"));
	assert_non_null(strstr(p->workers[1].reason.text,
			       "DPDK shares it: AF_XDP takes one worker an interface, and worker "
			       "1 has it"));
	assert_true(plan_reason_is_note(&p->workers[1].reason));
	plan_free(p);
	s->nets[0].kernel_port = SPEC_KERNEL_PORT_AF_PACKET;
	p = plan_of(s, inv);
	assert_int_equal(port_of(p, 0, 0)->kernel_port, PLAN_AF_PACKET);
	plan_free(p);
	s->nets[0].kernel_port = SPEC_KERNEL_PORT_AUTO;
	s->networks[0].mtu = 9000;
	p = plan_of(s, inv);
	assert_int_equal(port_of(p, 0, 0)->kernel_port, PLAN_AF_PACKET);
	assert_non_null(strstr(p->workers[0].reason.text, "an MTU of up to 3498, not 9000"));
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_port_auto),
	};

	plugins_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
