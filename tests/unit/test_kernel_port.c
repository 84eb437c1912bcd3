/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers on kernel interfaces without a configured kernel-port: their ports and notes. Golden
 * cases cover the configured ones. */
#include "netcfg/plan/nic_use.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"

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

/* Two legs exist, two more may appear. */
static const char four[] = "host: host-a\n"
			   "management: {interface: eth0}\n"
			   "networks:\n"
			   "  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"
			   "  - {name: data-b, range: 10.20.1.10-10.20.1.40/16}\n"
			   "  - {name: data-c, range: 10.30.1.10-10.30.1.40/16}\n"
			   "  - {name: data-d, range: 10.40.1.10-10.40.1.40/16}\n"
			   "net:\n"
			   "  - {name: leg-a, device: veth0, network: data-a, label: a}\n"
			   "  - {name: leg-b, device: veth1, network: data-b, label: b}\n"
			   "  - {name: leg-c, device: nosuch1, network: data-c, label: c}\n"
			   "  - {name: leg-d, device: nosuch2, network: data-d, label: d}\n"
			   "ha: {mode: dual-leg}\n"
			   "workers:\n"
			   "  - {role: compute, cores: [1, 2], transport: dpdk,\n"
			   "     exports: [{name: x, path: /srv}]}\n";

static const char shared[] = "host: host-a\n"
			     "management: {interface: eth0}\n"
			     "net:\n"
			     "  - {name: leg-a, device: eth0, shared-ip: true}\n"
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

/* Auto never chooses AF_XDP; if it would avoid copies, the note says so. */
static void test_auto_never_chooses_af_xdp(void **state)
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
			assert_int_equal(!!strstr(why->text, "af-xdp would avoid copies"),
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

/* The note describes the first leg, even if the name of another leg begins with its name. */
static void test_the_note_describes_the_first_leg(void **state)
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
	assert_non_null(strstr(p->workers[0].reason.text, "AF_XDP shares the interface"));
	plan_free(p);
	s->nets[0].kernel_port = SPEC_KERNEL_PORT_AUTO;
	put(&inv->links[2], "zero-copy");
	s->nets[1].kernel_port = SPEC_KERNEL_PORT_AF_XDP;
	p = plan_of(s, inv);
	assert_int_equal(port_of(p, 0, 1)->kernel_port, PLAN_AF_XDP);
	assert_non_null(strstr(p->workers[0].reason.text, "veth0 (veth)"));
	assert_non_null(strstr(p->workers[0].reason.text, "DPDK shares the interface"));
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

static void expect_pages(const struct spec *s, const struct inventory *inv, unsigned first,
			 unsigned second)
{
	struct plan *p = plan_of(s, inv);

	assert_int_equal(p->workers[0].hugepages, first);
	assert_int_equal(p->workers[1].hugepages, second);
	plan_free(p);
}

/* No hugepages for a worker with AF_XDP on each leg; all of them as soon as one leg may need DPDK.
 */
static void test_af_xdp_needs_no_hugepages(void **state)
{
	const unsigned all = PLAN_HUGEPAGES_PER_WORKER;
	struct inventory *inv = host_new();
	struct spec *s = host_spec(yaml);
	struct spec_net *a = &s->nets[0], *b = &s->nets[1];

	expect_pages(s, inv, all, all);
	a->kernel_port = SPEC_KERNEL_PORT_AF_XDP;
	expect_pages(s, inv, all, all);
	b->kernel_port = SPEC_KERNEL_PORT_AF_XDP;
	expect_pages(s, inv, 0, all);
	inv->hugepages[0].free = 0;
	expect_pages(s, inv, 0, all);
	s->networks[1].mtu = 9000;
	expect_pages(s, inv, all, all);
	s->networks[1].mtu = 0;
	put(&inv->links[3], "none");
	expect_pages(s, inv, all, all);
	put(&inv->links[3], "");
	/* Also for a leg that may appear, but not for a disabled one. */
	memcpy(b->device, "nosuch", sizeof("nosuch"));
	expect_pages(s, inv, 0, all);
	b->kernel_port = SPEC_KERNEL_PORT_AF_PACKET;
	expect_pages(s, inv, all, all);
	b->enabled = false;
	expect_pages(s, inv, 0, all);
	s->workers[0].transport = SPEC_TRANSPORT_UDP;
	expect_pages(s, inv, 0, 0);
	spec_free(s);
	inv_free(inv);
}

/* Hugepages grow with long frames and many legs; legs on the host's own address need none. */
static void test_hugepages_grow_with_frames_and_legs(void **state)
{
	const unsigned least = PLAN_HUGEPAGES_PER_WORKER;
	struct inventory *inv = host_new();
	struct spec *s = host_spec(yaml);

	s->networks[0].mtu = s->networks[1].mtu = 9000;
	expect_pages(s, inv, least, least); /* 16 MiB and 40 */
	spec_free(s);
	s = host_spec(four);
	inv->hugepages[0].total = inv->hugepages[0].free = 1000;
	expect_pages(s, inv, least, least); /* 16 MiB and 32 */
	s->networks[0].mtu = s->networks[1].mtu = s->networks[2].mtu = 9000;
	expect_pages(s, inv, 42, 42); /* 16 MiB, 60 and 8 */
	s->nets[2].enabled = false;
	expect_pages(s, inv, least, least);
	spec_free(s);
	s = host_spec(shared);
	expect_pages(s, inv, 0, 0);
	spec_free(s);
	inv_free(inv);
}

/* Hugepages that a running worker does not hold do not become free when it stops; if the first
 * worker failed with AF_XDP, the next gets the interfaces. */
static void test_hugepages_of_others_do_not_become_free(void **state)
{
	struct inventory *inv = host_new();
	struct spec *s = host_spec(yaml);
	struct plan_failures failures = {.n = 0};
	struct diag d = DIAG_INIT;
	struct plan *first, *second;

	s->nets[0].kernel_port = s->nets[1].kernel_port = SPEC_KERNEL_PORT_AF_XDP;
	inv->hugepages[0].free = 2 * PLAN_HUGEPAGES_PER_WORKER;
	first = plan_of(s, inv);
	assert_int_equal(first->workers[1].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(plan_failures_add(&failures, &first->workers[0], "no"), 0);
	assert_int_equal(
		plan_build(s, inv, &(struct plan_context){.failures = &failures}, &d, &second), 0);
	assert_int_equal(second->workers[0].effective, SPEC_TRANSPORT_UDP);
	assert_int_equal(second->workers[1].hugepages, 0);
	assert_int_equal(port_of(second, 1, 1)->kernel_port, PLAN_AF_XDP);
	plan_free(second);
	plan_failures_clear(&failures);
	s->nets[1].kernel_port = SPEC_KERNEL_PORT_AF_PACKET;
	inv->hugepages[0].free = 0; /* those of the second worker, enough for one, become free */
	assert_int_equal(plan_build(s, inv, &(struct plan_context){.running = first}, &d, &second),
			 0);
	assert_int_equal(second->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(second->workers[1].effective, SPEC_TRANSPORT_UDP);
	assert_string_equal(second->workers[1].reason.code, "no-hugepages");
	plan_free(second);
	/* Workers of a previous agent keep running. */
	assert_int_equal(
		plan_build(s, inv,
			   &(struct plan_context){.held_hugepages = 2 * PLAN_HUGEPAGES_PER_WORKER},
			   &d, &second),
		0);
	assert_int_equal(second->workers[0].effective, SPEC_TRANSPORT_DPDK);
	assert_int_equal(second->workers[1].effective, SPEC_TRANSPORT_DPDK);
	plan_free(second);
	plan_free(first);
	diag_done(&d);
	spec_free(s);
	inv_free(inv);
}

/* The reason covers each leg. */
static void test_the_reason_covers_each_leg(void **state)
{
	struct inventory *inv = host_new();
	struct spec *s = host_spec(yaml);
	struct plan *p;

	s->nets[0].kernel_port = s->nets[1].kernel_port = SPEC_KERNEL_PORT_AF_XDP;
	s->networks[0].mtu = 9000;
	put(&inv->links[3], "none");
	p = plan_of(s, inv);
	assert_string_equal(p->workers[0].reason.code, "no-af-xdp");
	assert_string_equal(p->workers[0].reason.text,
			    "veth0 uses AF_PACKET: AF_XDP supports an MTU of at most 3498, not "
			    "9000; veth1: the kernel does not support AF_XDP");
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_auto_never_chooses_af_xdp),
		cmocka_unit_test(test_the_note_describes_the_first_leg),
		cmocka_unit_test(test_af_xdp_needs_no_hugepages),
		cmocka_unit_test(test_hugepages_grow_with_frames_and_legs),
		cmocka_unit_test(test_hugepages_of_others_do_not_become_free),
		cmocka_unit_test(test_the_reason_covers_each_leg),
	};

	plugins_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
