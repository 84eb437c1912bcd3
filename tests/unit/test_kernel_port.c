/* SPDX-License-Identifier: BSD-3-Clause */
/* What workers on kernel interfaces have and say where nothing is asked for. What is, golden cases
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

static void put(struct inv_link *l, const char *af_xdp)
{
	inv_text_set(l->af_xdp, sizeof(l->af_xdp), af_xdp);
}

/* AF_XDP is never taken unasked; where it would need no copies and could be had, the note says so.
 */
static void test_kernel_port_auto(void **state)
{
	static const char *const says[] = {"", "copy", "zero-copy", "none"};
	struct inventory *inv = host_new();
	struct inv_link *veth0 = &inv->links[2];
	struct spec *s = host_spec(yaml);
	struct plan *p;

	for (unsigned i = 0; i < ARRAY_SIZE(says); i++) {
		put(veth0, says[i]);
		p = plan_of(s, inv);
		for (unsigned worker = 0; worker < 2; worker++) {
			const struct reason *why = &p->workers[worker].reason;

			assert_int_equal(port_of(p, worker, 0)->kernel_port, PLAN_AF_PACKET);
			assert_int_equal(port_of(p, worker, 1)->kernel_port, PLAN_AF_PACKET);
			assert_string_equal(why->code, "kernel-interface");
			assert_true(plan_reason_is_note(why));
			assert_int_equal(!!strstr(why->text, "af-xdp would need no copies"),
					 strcmp(says[i], "zero-copy") == 0);
		}
		plan_free(p);
	}
	put(veth0, "zero-copy");
	s->networks[0].mtu = 9000;
	p = plan_of(s, inv);
	assert_null(strstr(p->workers[0].reason.text, "af-xdp"));
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* The note is of the first leg, also where another's name begins with that one's. */
static void test_kernel_port_note(void **state)
{
	struct inventory *inv = host_new();
	struct spec *s = host_spec(yaml);
	struct plan *p;

	inv_text_set(inv->links[3].name, sizeof(inv->links[3].name), "veth00");
	memcpy(s->nets[1].device, "veth00", sizeof("veth00"));
	s->nets[0].kernel_port = SPEC_KERNEL_PORT_AF_XDP;
	p = plan_of(s, inv);
	assert_int_equal(port_of(p, 0, 0)->kernel_port, PLAN_AF_XDP);
	assert_non_null(strstr(p->workers[0].reason.text, "veth0 (veth)"));
	assert_non_null(strstr(p->workers[0].reason.text, "AF_XDP shares it"));
	plan_free(p);
	s->nets[0].kernel_port = SPEC_KERNEL_PORT_AUTO;
	put(&inv->links[2], "zero-copy");
	s->nets[1].kernel_port = SPEC_KERNEL_PORT_AF_XDP;
	p = plan_of(s, inv);
	assert_int_equal(port_of(p, 0, 1)->kernel_port, PLAN_AF_XDP);
	assert_non_null(strstr(p->workers[0].reason.text, "veth0 (veth)"));
	assert_non_null(strstr(p->workers[0].reason.text, "DPDK shares it"));
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_port_auto),
		cmocka_unit_test(test_kernel_port_note),
	};

	plugins_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
