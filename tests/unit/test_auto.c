/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport: auto on a host with two PFs: which workers move to VFs and when, which accepted moves
 * return, which VF each worker has, and the reasons of fallbacks.
 */
#include "netcfg/feature/plan_vf.h"
#include "netcfg/plan/transport_choice.h"
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"

#define PF_A "0000:3b:00.0"
#define PF_B "0000:3c:00.0"

#define HEAD                                                    \
	"host: host-a\n"                                        \
	"management: {interface: eth0}\n"                       \
	"networks:\n"                                           \
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n" \
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16}\n" \
	"net:\n"                                                \
	"  - {name: leg-a, device: veth0, network: data-a}\n"   \
	"  - {name: leg-b, device: veth1, network: data-b}\n"   \
	"ha: {mode: dual-leg}\n"                                \
	"workers:\n"
#define EXPORTS(core) "exports: [{name: x" #core ", path: /srv}]}\n"
#define AUTO(core) "  - {role: compute, cores: [" #core "], transport: auto, " EXPORTS(core)
#define DPDK(core) "  - {role: compute, cores: [" #core "], transport: dpdk, " EXPORTS(core)

struct host {
	struct inventory *inv;
	struct plan_failures failures;
	struct transport_choice agreed;
	struct spec *spec;
	struct plan *plan;
	char made[PLAN_PORTS_MAX][16], held[1][16];
	size_t n_made, n_held;
	bool forced;
	bool needs_verified_peer;
	unsigned answered_cores[1];
	size_t n_answered_cores;
	struct plan_worker_ids ids;
};

static struct inv_link *link_of(struct host *h, uint32_t ifindex)
{
	for (size_t i = 0; i < h->inv->n_links; i++)
		if (h->inv->links[i].ifindex == ifindex)
			return &h->inv->links[i];
	return NULL;
}

static struct inv_function *pf_of(struct host *h, const char *pci)
{
	for (size_t i = 0; i < h->inv->n_functions; i++)
		if (strcmp(h->inv->functions[i].pci, pci) == 0)
			return &h->inv->functions[i];
	return NULL;
}

static void add_pf(struct host *h, uint32_t ifindex, const char *pci)
{
	struct inv_function *pf = inv_function_add(h->inv);
	struct inv_link *l = link_of(h, ifindex);

	inv_text_set(pf->pci, sizeof(pf->pci), pci);
	pf->max_vfs = l->max_vfs = 7;
	pf->iommu_group = (int)ifindex;
	l->kind = INV_LINK_PHYSICAL;
	l->up = l->carrier = true;
	inv_text_set(l->pci, sizeof(l->pci), pci);
}

static void set_driver(struct host *h, const char *driver)
{
	for (size_t i = 0; i < h->inv->n_functions; i++)
		inv_text_set(h->inv->functions[i].driver, sizeof(h->inv->functions[i].driver),
			     driver);
	inv_text_set(link_of(h, HOST_VETH0)->driver, 32, driver);
	inv_text_set(link_of(h, HOST_VETH1)->driver, 32, driver);
}

static int setup(void **state)
{
	struct host *h = calloc(1, sizeof(*h));

	plugins_register();
	h->inv = host_new();
	add_pf(h, HOST_VETH0, PF_A);
	add_pf(h, HOST_VETH1, PF_B);
	set_driver(h, "ixgbe");
	h->inv->cores[0].isolated = h->inv->cores[1].isolated = h->inv->cores[2].isolated = true;
	h->inv->hugepages[0].total = h->inv->hugepages[0].free = 512;
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	struct host *h = *state;

	plan_free(h->plan);
	transport_choice_done(&h->agreed);
	plan_failures_clear(&h->failures);
	spec_free(h->spec);
	inv_free(h->inv);
	free(h);
	return 0;
}

/* Plans with that spec, as an operator's apply or as the agent by itself. */
static const struct plan_worker *plan(struct host *h, const char *yaml, bool asked)
{
	static const char forced[1][PLENUM_NAME_MAX] = {"veth0"};
	const struct plan_context ctx = {.failures = &h->failures,
					 .accepted = &h->agreed,
					 .worker_ids = &h->ids,
					 .may_move = asked,
					 .needs_verified_peer = h->needs_verified_peer,
					 .answered_cores = h->answered_cores,
					 .n_answered_cores = h->n_answered_cores,
					 .made = (const char(*)[16])h->made,
					 .n_made = h->n_made,
					 .held = (const char(*)[16])h->held,
					 .n_held = h->n_held,
					 .forced = forced,
					 .n_forced = h->forced};
	struct diag d = DIAG_INIT;

	h->plan = plan_free(h->plan);
	spec_free(h->spec);
	h->spec = host_spec(yaml);
	if (plan_build(h->spec, h->inv, &ctx, &d, &h->plan) < 0)
		diag_print(&d, stderr);
	assert_non_null(h->plan);
	diag_done(&d);
	return &h->plan->workers[0];
}

static void keep(struct host *h)
{
	assert_int_equal(transport_choice_follow(&h->agreed, h->plan, &h->agreed), 0);
}

static const struct plan_worker *on_core(const struct host *h, unsigned core)
{
	for (size_t i = 0; i < h->plan->n_workers; i++)
		if (h->plan->workers[i].core == core)
			return &h->plan->workers[i];
	fail();
	return NULL;
}

/* The number of VFs that the plan creates on a PF; 0: none. */
static int vfs_made(const struct host *h, const char *pf)
{
	for (size_t i = 0; i < h->plan->n_steps; i++) {
		const struct kernel_change *c = &h->plan->steps[i].change;

		if (c->kind == KERNEL_PCI && c->pci_value.attr == KERNEL_PCI_VFS &&
		    strcmp(h->plan->steps[i].link, pf) == 0)
			return atoi(c->pci_value.value);
	}
	return 0;
}

/* Changes the inventory as if the plan had been applied. */
static void make_vfs(struct host *h, uint32_t n)
{
	static const char *const pfs[] = {PF_A, PF_B};

	for (size_t p = 0; p < ARRAY_SIZE(pfs); p++) {
		for (uint32_t i = 0; i < n; i++) {
			struct inv_function *vf = inv_function_add(h->inv);

			snprintf(vf->pci, sizeof(vf->pci), "0000:4%zu:00.%u", p % 2, i % 8);
			inv_text_set(vf->driver, sizeof(vf->driver), "vfio-pci");
			inv_text_set(vf->physfn, sizeof(vf->physfn), pfs[p]);
			vf->vf = i;
			vf->iommu_group = (int)(100 + 10 * p + i);
		}
		pf_of(h, pfs[p])->n_vfs = n;
		strcpy(h->made[p], pfs[p]);
	}
	h->n_made = 2;
}

static void check_udp(const struct plan_worker *w, const char *code)
{
	assert_string_equal(w->reason.code, code);
	assert_int_equal(w->effective, SPEC_TRANSPORT_UDP);
	assert_true(plan_worker_is_content(w));
}

/* Concerns an accepted move, so it is not a mere note. */
static void check_lost(const struct plan_worker *w, const char *code)
{
	assert_string_equal(w->reason.code, code);
	assert_int_equal(w->effective, SPEC_TRANSPORT_UDP);
	assert_false(plan_worker_is_content(w));
}

static bool is_needed(const struct host *h, const char *code)
{
	for (size_t i = 0; i < h->plan->n_needs; i++)
		if (strcmp(h->plan->needs[i].code, code) == 0)
			return true;
	return false;
}

static void check_vf(const struct plan_worker *w, size_t port, const char *ref)
{
	assert_int_equal(w->effective, SPEC_TRANSPORT_DPDK);
	assert_string_equal(w->ports[port].vf, ref);
	assert_false(w->ports[port].kernel_owned);
}

/* ---- when workers move ---- */

static void test_worker_stays_until_an_apply(void **state)
{
	struct host *h = *state;
	const struct plan_worker *w = plan(h, HEAD AUTO(1), false);

	check_udp(w, "vf-unused");
	assert_non_null(strstr(w->reason.text, "'plenum apply' moves the worker to them"));
	assert_int_equal(w->claim, SPEC_TRANSPORT_UDP);
	assert_int_equal(h->plan->n_moves, 0);
	assert_int_equal(vfs_made(h, PF_A), 0);
	keep(h);
	assert_int_equal(h->agreed.n, 0);
	w = plan(h, HEAD AUTO(1), true);
	check_vf(w, 0, PF_A "/vf0");
	check_vf(w, 1, PF_B "/vf0");
	assert_int_equal(h->plan->n_moves, 1);
	assert_int_equal(vfs_made(h, PF_A), 1);
	assert_int_equal(vfs_made(h, PF_B), 1);
	keep(h);
	check_vf(plan(h, HEAD AUTO(1), false), 0, PF_A "/vf0");
	assert_int_equal(h->plan->n_moves, 0); /* unchanged: no new move */
	plan(h, HEAD AUTO(1), true);
	assert_int_equal(h->plan->n_moves, 0);
}

/* An accepted transport stays recorded while a resource is missing, without an error. */
static void test_accepted_transport_returns(void **state)
{
	static const char yaml[] = HEAD AUTO(1) "policy: {on-fallback: refuse}\n";
	struct host *h = *state;

	plan(h, yaml, true);
	keep(h);
	h->inv->hugepages[0].free = 8;
	check_lost(plan(h, yaml, false), "no-hugepages");
	assert_true(is_needed(h, "hugepages"));
	keep(h);
	h->inv->hugepages[0].free = 512;
	pf_of(h, PF_A)->iommu_group = pf_of(h, PF_B)->iommu_group = INV_IOMMU_NONE;
	check_lost(plan(h, yaml, false), "no-iommu");
	assert_true(is_needed(h, "iommu"));
	keep(h);
	pf_of(h, PF_A)->iommu_group = pf_of(h, PF_B)->iommu_group = 7;
	h->inv->cores[1].isolated = false;
	check_lost(plan(h, yaml, false), "core-shared");
	keep(h);
	h->inv->cores[1].isolated = true;
	check_vf(plan(h, yaml, false), 0, PF_A "/vf0");
	assert_true(plan_worker_is_content(on_core(h, 1)));
	/* A transport that no apply accepted is not reported as missing. */
	transport_choice_done(&h->agreed);
	h->inv->hugepages[0].free = 8;
	check_udp(plan(h, yaml, true), "no-hugepages");
	assert_int_equal(h->plan->n_needs, 0);
}

/* Without an operator who confirms. */
static void test_worker_moves_if_a_peer_can_verify(void **state)
{
	struct host *h = *state;
	const struct plan_worker *w;

	h->needs_verified_peer = true;
	w = plan(h, HEAD AUTO(1) AUTO(2), true);
	check_udp(w, "no-witness");
	assert_non_null(strstr(w->reason.text, "'plenum apply --confirm 120s'"));
	assert_int_equal(h->plan->n_moves, 0);
	assert_int_equal(vfs_made(h, PF_A), 0);
	h->answered_cores[0] = 2;
	h->n_answered_cores = 1;
	plan(h, HEAD AUTO(1) AUTO(2), true);
	check_udp(on_core(h, 1), "no-witness");
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	assert_int_equal(h->plan->n_moves, 1);
	assert_int_equal(vfs_made(h, PF_A), 1);
	keep(h);
	plan(h, HEAD AUTO(1) AUTO(2), false);
	check_udp(on_core(h, 1), "vf-unused");
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
}

/* A worker that moves to another core keeps its VF, also without an operator who confirms, and its
 * peer counts as before. */
static void test_a_worker_keeps_its_vf_on_another_core(void **state)
{
	struct plan_worker_id entry = {.core = 1, .id = 1};
	struct host *h = *state;

	h->needs_verified_peer = true;
	h->ids = (struct plan_worker_ids){&entry, 1};
	h->answered_cores[0] = 1;
	h->n_answered_cores = 1;
	plan(h, HEAD AUTO(2), true);
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	h->n_answered_cores = 0;
	plan(h, HEAD AUTO(1), true);
	check_udp(on_core(h, 1), "no-witness");
	h->n_answered_cores = 1;
	plan(h, HEAD AUTO(1), true);
	keep(h);
	h->n_answered_cores = 0;
	plan(h, HEAD AUTO(2), false);
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	keep(h);
	plan(h, HEAD AUTO(2), false);
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	entry.core = 2;
	plan(h, HEAD AUTO(2), false);
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
}

static void test_zero_vfs_mean_sockets(void **state)
{
	static const char none[] = "host: host-a\n"
				   "networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16}]\n"
				   "net: [{name: leg-a, device: veth0, network: data-a, vfs: 0}]\n"
				   "ha: {mode: none}\n"
				   "workers:\n" AUTO(1);
	struct host *h = *state;

	plan(h, HEAD AUTO(1), true);
	keep(h);
	check_udp(plan(h, none, true), "policy");
	keep(h);
	check_udp(plan(h, HEAD AUTO(1), false), "vf-unused");
}

/* ---- legs ---- */

static void test_legs_do_not_pin_each_other(void **state)
{
	struct host *h = *state;
	struct inv_link *late = link_of(h, HOST_VETH1);
	const struct plan_worker *w;

	/* An absent leg that may have no VFs delays the move until it appears. */
	inv_text_set(late->name, sizeof(late->name), "else");
	w = plan(h, HEAD AUTO(1), true);
	assert_int_equal(w->effective, SPEC_TRANSPORT_UDP);
	assert_string_equal(w->reason.code, "leg-missing");
	assert_false(plan_worker_is_content(w));
	inv_text_set(late->name, sizeof(late->name), "veth1");
	check_udp(plan(h, HEAD AUTO(1), false), "vf-unused");
	plan(h, HEAD AUTO(1), true);
	keep(h);
	/* A worker with VFs stays on them via the remaining leg, also after a restart. */
	inv_text_set(late->name, sizeof(late->name), "else");
	w = plan(h, HEAD AUTO(1), false);
	check_vf(w, 0, PF_A "/vf0");
	assert_int_equal(w->n_ports, 1);
	keep(h);
	/* The other leg appears without VFs. */
	/* With all legs absent the worker keeps its transport. */
	inv_text_set(link_of(h, HOST_VETH0)->name, sizeof(late->name), "gone");
	w = plan(h, HEAD AUTO(1), false);
	assert_int_equal(w->effective, SPEC_TRANSPORT_DPDK);
	assert_string_equal(w->reason.code, "no-leg");
	keep(h);
	inv_text_set(link_of(h, HOST_VETH0)->name, sizeof(late->name), "veth0");
	inv_text_set(late->name, sizeof(late->name), "veth1");
	pf_of(h, PF_B)->max_vfs = late->max_vfs = 0;
	w = plan(h, HEAD AUTO(1), false);
	check_vf(w, 0, PF_A "/vf0");
	assert_true(w->ports[1].kernel_owned);
	assert_false(plan_worker_is_content(w)); /* it had a VF */
	/* No worker moves there. */
	transport_choice_done(&h->agreed);
	check_udp(plan(h, HEAD AUTO(1), true), "no-vf");
	assert_int_equal(vfs_made(h, PF_A), 0);
}

/* The only leg with a VF disappears and returns: mounts are not at risk. */
static void test_absent_leg_with_the_only_vf(void **state)
{
	static const char record[] = "plenum-agreed 1 boot x netns 1\n"
				     "core 1 transport dpdk\n"
				     "core 1 leg leg-a device " PF_A "\n";
	struct host *h = *state;
	struct inv_link *away = link_of(h, HOST_VETH0);
	const struct plan_worker *w;

	assert_int_equal(transport_choice_parse(&h->agreed, record), 0);
	pf_of(h, PF_B)->max_vfs = link_of(h, HOST_VETH1)->max_vfs = 0;
	w = plan(h, HEAD AUTO(1), false);
	check_vf(w, 0, PF_A "/vf0");
	assert_true(plan_worker_is_content(w)); /* no apply accepted a VF of leg-b */
	inv_text_set(away->name, sizeof(away->name), "gone");
	w = plan(h, HEAD AUTO(1), false);
	assert_int_equal(w->effective, SPEC_TRANSPORT_DPDK);
	assert_string_equal(w->reason.code, "leg-missing");
	keep(h);
	inv_text_set(away->name, sizeof(away->name), "veth0");
	check_vf(plan(h, HEAD AUTO(1), false), 0, PF_A "/vf0");
	/* A leg without VFs is not a reason to poll kernel interfaces. */
	pf_of(h, PF_A)->iommu_group = INV_IOMMU_NONE;
	check_lost(plan(h, HEAD AUTO(1), false), "no-iommu");
}

/* An accepted move covers a core, a leg and its device, but not a replacement device nor a changed
 * spec. */
static void test_another_device_waits_for_an_apply(void **state)
{
	static const char one[] = "host: host-a\n"
				  "networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16}]\n"
				  "net: [{name: leg-a, device: veth0, network: data-a}]\n"
				  "ha: {mode: none}\n"
				  "workers:\n" AUTO(1);
	struct host *h = *state;
	struct inv_link *l = link_of(h, HOST_VETH0);
	const struct plan_worker *w;

	plan(h, one, true);
	keep(h);
	/* One more leg, as from a spec edited before a reboot. */
	w = plan(h, HEAD AUTO(1), false);
	check_vf(w, 0, PF_A "/vf0");
	assert_true(w->ports[1].kernel_owned);
	assert_int_equal(vfs_made(h, PF_B), 0);
	assert_string_equal(w->reason.code, "vf-unused");
	assert_non_null(strstr(w->reason.text, "is a new device for leg leg-b"));
	assert_true(plan_worker_is_content(w));
	keep(h);
	w = plan(h, HEAD AUTO(1), true);
	check_vf(w, 1, PF_B "/vf0");
	assert_int_equal(h->plan->n_moves, 1);
	keep(h);
	check_vf(plan(h, HEAD AUTO(1), false), 1, PF_B "/vf0");
	assert_int_equal(h->plan->n_moves, 0);
	/* Another NIC in the same place. */
	plan(h, one, false);
	keep(h);
	l->permanent_mac.bytes[0] = 2;
	w = plan(h, one, false);
	check_lost(w, "vf-unused");
	assert_int_equal(vfs_made(h, PF_A), 0);
	keep(h);
	check_vf(plan(h, one, true), 0, PF_A "/vf0");
	keep(h);
	/* The same NIC in another one. */
	inv_text_set(l->pci, sizeof(l->pci), "0000:3d:00.0");
	inv_text_set(pf_of(h, PF_A)->pci, 16, "0000:3d:00.0");
	check_vf(plan(h, one, false), 0, "0000:3d:00.0/vf0");
}

/* ---- assignment of VFs ---- */

static void test_vf_numbers_stay(void **state)
{
	static const char both[] = HEAD AUTO(1) DPDK(2), three[] = HEAD AUTO(0) AUTO(1) DPDK(2);
	struct host *h = *state;
	struct plan_worker failed;

	plan(h, both, false);
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	assert_int_equal(vfs_made(h, PF_A), 1); /* and none for workers without an accepted move */
	keep(h);
	plan(h, both, true); /* worker 1 comes before it, and after it */
	check_vf(on_core(h, 1), 0, PF_A "/vf1");
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	assert_int_equal(vfs_made(h, PF_A), 2);
	keep(h);
	make_vfs(h, 2);
	/* A worker that failed keeps its VF for another attempt and costs no other worker its VF.
	 */
	failed = *on_core(h, 2);
	assert_int_equal(plan_failures_add(&h->failures, &failed, "no"), 0);
	failed = *on_core(h, 1);
	assert_int_equal(plan_failures_add(&h->failures, &failed, "it does not attach"), 0);
	plan(h, both, false);
	check_lost(on_core(h, 1), "dpdk-failed");
	assert_string_equal(on_core(h, 2)->reason.code, "dpdk-failed");
	assert_int_equal(vfs_made(h, PF_A), 0);
	keep(h);
	plan_failures_clear(&h->failures);
	plan(h, both, false);
	check_vf(on_core(h, 1), 0, PF_A "/vf1");
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	/* Creating more VFs would remove all VFs that workers have open. */
	strcpy(h->held[0], "0000:40:00.0");
	h->n_held = 1;
	plan(h, three, true);
	check_vf(on_core(h, 1), 0, PF_A "/vf1");
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	check_udp(on_core(h, 0), "vfs-busy");
	assert_int_equal(vfs_made(h, PF_A), 0);
	h->n_held = 0;
	plan(h, three, true);
	check_vf(on_core(h, 0), 0, PF_A "/vf2");
	check_vf(on_core(h, 1), 0, PF_A "/vf1");
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	assert_int_equal(vfs_made(h, PF_A), 3);
}

/* A new worker that names a transport does not remove VFs that others have open. */
static void test_busy_vfs_stay(void **state)
{
	struct host *h = *state;

	plan(h, HEAD DPDK(1), false);
	keep(h);
	make_vfs(h, 1);
	strcpy(h->held[0], "0000:40:00.0");
	h->n_held = 1;
	plan(h, HEAD DPDK(0) DPDK(1), false);
	check_vf(on_core(h, 1), 0, PF_A "/vf0");
	assert_true(on_core(h, 0)->ports[0].kernel_owned);
	assert_string_equal(on_core(h, 0)->reason.code, "vfs-busy");
}

static void test_no_more_vfs_than_exist(void **state)
{
	struct host *h = *state;

	pf_of(h, PF_B)->max_vfs = 1;
	plan(h, HEAD AUTO(0) AUTO(1), true);
	check_vf(on_core(h, 0), 1, PF_B "/vf0");
	check_udp(on_core(h, 1), "vf-limit");
	assert_int_equal(h->plan->n_moves, 1);
	assert_int_equal(vfs_made(h, PF_A), 1);
}

/* A changed spec reduces the number of VFs, and the next plan is stable. */
static void test_fewer_vfs_are_reassigned(void **state)
{
	static const char two[] = "host: host-a\n"
				  "networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16}]\n"
				  "net: [{name: leg-a, device: veth0, network: data-a, vfs: 2}]\n"
				  "ha: {mode: none}\n"
				  "workers:\n" AUTO(1);
	const struct transport_choice_entry dpdk = {.core = 1, .transport = SPEC_TRANSPORT_DPDK},
					    vf3 = {.core = 1,
						   .leg = "leg-a",
						   .device = PF_A,
						   .vf = 3};
	struct host *h = *state;

	assert_int_equal(transport_choice_add(&h->agreed, &dpdk), 0);
	assert_int_equal(transport_choice_add(&h->agreed, &vf3), 0);
	for (unsigned i = 0; i < 2; i++) {
		check_vf(plan(h, two, false), 0, PF_A "/vf0");
		keep(h);
	}
}

/* Workers that name a transport get hugepages first, wherever they are in the spec. */
static void test_named_transports_get_memory_first(void **state)
{
	struct host *h = *state;

	h->inv->hugepages[0].free = PLAN_HUGEPAGES_PER_WORKER + 16;
	plan(h, HEAD AUTO(1) DPDK(2) "policy: {on-fallback: refuse}\n", true);
	check_udp(on_core(h, 1), "no-hugepages");
	check_vf(on_core(h, 2), 0, PF_A "/vf0");
	assert_int_equal(h->plan->n_moves, 0);
	assert_int_equal(vfs_made(h, PF_A), 1);
}

/* ---- limits of auto ---- */

static void test_default_route_prevents_vfs(void **state)
{
	struct host *h = *state;

	set_driver(h, "ice"); /* its driver does not interrupt the link */
	host_add_route(h->inv, 254, 3, "0.0.0.0/0", "10.10.0.1", HOST_VETH0);
	h->forced = true;
	check_udp(plan(h, HEAD AUTO(1), true), "default-route");
	assert_int_equal(vfs_made(h, PF_A) + vfs_made(h, PF_B), 0);
	/* Nor by a move accepted under other conditions. */
	h->inv->n_routes--;
	plan(h, HEAD AUTO(1), true);
	keep(h);
	host_add_route(h->inv, 254, 3, "0.0.0.0/0", "10.10.0.1", HOST_VETH0);
	plan(h, HEAD AUTO(1), false);
	assert_int_equal(vfs_made(h, PF_A), 0);
}

static void test_polling_needs_an_isolated_core(void **state)
{
	struct host *h = *state;
	const struct plan_worker *w;

	set_driver(h, "igb");
	h->inv->cores[1].isolated = false;
	w = plan(h, HEAD AUTO(1), true);
	check_udp(w, "core-shared");
	assert_non_null(strstr(w->reason.text, "; dpdk-interrupt: VFs of veth0 (igb)"));
	h->inv->cores[1].isolated = true;
	check_vf(plan(h, HEAD AUTO(1), true), 0, PF_A "/vf0");
	set_driver(h, "ice");
	h->inv->cores[1].isolated = false;
	w = plan(h, HEAD AUTO(1), true);
	assert_int_equal(w->effective, SPEC_TRANSPORT_DPDK_INTERRUPT);
	assert_string_equal(w->reason.code, "core-shared");
	assert_true(plan_worker_is_content(w));
	keep(h);
	/* A worker moves to a better transport once it is available and an operator asks, with the
	 * memory that it has. */
	h->inv->cores[1].isolated = true;
	h->inv->hugepages[0].free = PLAN_HUGEPAGES_PER_WORKER + 16;
	w = plan(h, HEAD AUTO(1), false);
	assert_int_equal(w->effective, SPEC_TRANSPORT_DPDK_INTERRUPT);
	assert_string_equal(w->reason.code, "vf-unused");
	check_vf(plan(h, HEAD AUTO(1), true), 0, PF_A "/vf0");
	assert_int_equal(h->plan->n_moves, 1);
}

/* ---- the record ---- */

static uint32_t vf_of(const struct transport_choice *a, unsigned core, const char *leg,
		      const char *dev)
{
	const struct transport_choice_entry *e = transport_choice_find(a, core, leg, dev);

	assert_non_null(e);
	return e->vf;
}

static void test_record(void **state)
{
	static const char *const bad[] = {"core 1 transport udp\n",
					  "core 1 transport dpdk x\n",
					  "core 1 leg leg-a\n",
					  "core 1 leg leg-a device\n",
					  "core 1 leg leg-a device " PF_A " vf 70000\n",
					  "core 1 leg leg-a device " PF_A " vf 1 x\n",
					  "core 1 leg leg-a device " PF_A " x\n",
					  "core\n"};
	struct host *h = *state;
	struct transport_choice a = {0};
	char *text, *spoilt;

	plan(h, HEAD AUTO(1) DPDK(2), true);
	keep(h);
	text = transport_choice_format(&h->agreed);
	assert_int_equal(transport_choice_parse(&a, text), 0);
	assert_int_equal(a.n, h->agreed.n);
	assert_int_equal(transport_choice_transport(&a, 1), SPEC_TRANSPORT_DPDK);
	assert_int_equal(transport_choice_transport(&a, 2), SPEC_TRANSPORT_UDP);
	assert_int_equal(vf_of(&a, 1, "leg-b", PF_B), 1);
	assert_int_equal(vf_of(&a, 2, "leg-b", PF_B), 0);
	assert_null(transport_choice_find(&a, 1, "leg-b", PF_A));
	/* An invalid record does not discard the known one. */
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(asprintf(&spoilt,
				     "plenum-agreed 1 boot x netns 1\ncore 1 transport dpdk\n%s",
				     bad[i]) > 0);
		assert_int_equal(transport_choice_parse(&a, spoilt), -EBADMSG);
		assert_int_equal(a.n, h->agreed.n);
		free(spoilt);
	}
	/* After a reboot accepted transports stay, and no worker has a VF yet. */
	assert_int_equal(transport_choice_parse(&a, "plenum-agreed 1 boot x netns 1\n"
						    "core 1 transport dpdk\n"
						    "core 1 leg leg-a device " PF_A " vf 3\n"),
			 0);
	assert_int_equal(transport_choice_transport(&a, 1), SPEC_TRANSPORT_DPDK);
	assert_int_equal(vf_of(&a, 1, "leg-a", PF_A), TRANSPORT_CHOICE_NO_VF);
	free(text);
	text = transport_choice_format(&a);
	assert_non_null(strstr(text, "core 1 leg leg-a device " PF_A "\n"));
	transport_choice_done(&a);
	free(text);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_worker_stays_until_an_apply),
		CASE(test_accepted_transport_returns),
		CASE(test_worker_moves_if_a_peer_can_verify),
		CASE(test_a_worker_keeps_its_vf_on_another_core),
		CASE(test_zero_vfs_mean_sockets),
		CASE(test_legs_do_not_pin_each_other),
		CASE(test_absent_leg_with_the_only_vf),
		CASE(test_another_device_waits_for_an_apply),
		CASE(test_vf_numbers_stay),
		CASE(test_busy_vfs_stay),
		CASE(test_no_more_vfs_than_exist),
		CASE(test_fewer_vfs_are_reassigned),
		CASE(test_named_transports_get_memory_first),
		CASE(test_default_route_prevents_vfs),
		CASE(test_polling_needs_an_isolated_core),
		CASE(test_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
