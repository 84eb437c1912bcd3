/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VFs on a host in memory: created with MACs and drivers in one plan, rolled back from every step,
 * recovered, stable in a second plan, and restored.
 */
#include "netcfg/apply/apply.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/planner.h"
#include "tests/lib/host/plan_host.h"

#define PF "0000:3b:00.0"
#define STEPS                                                                              \
	7 /* autoprobe, VFs, then MAC and driver of each, and the PF's link up before them \
	   */

struct host {
	struct kernel *fake;
	char dir[32], journal[48], record[48];
	bool wants; /* requested by the HA mode below */
	char held[1][16];
	size_t n_held; /* functions that workers have open */
};

static struct host *host;

static struct plan_step *want(struct plan_builder *b, const struct object_kind *kind,
			      const char *ref, enum kernel_kind k)
{
	struct plan_step *s = planner_want_add(b, kind, &b->legs[0]);

	assert_non_null(s);
	if (ref)
		strcpy(s->link, ref);
	s->change.kind = k;
	return s;
}

static void want_pci(struct plan_builder *b, const char *ref, enum kernel_pci_attr attr,
		     const char *value)
{
	struct kernel_pci *v = &want(b, &object_pci, ref, KERNEL_PCI)->change.pci_value;

	v->attr = attr;
	strcpy(v->value, value);
}

static int sriov_legs(struct plan_builder *b)
{
	return planner_leg_add(b, 0);
}

static int sriov_want(struct plan_builder *b)
{
	struct plan_step *s;

	if (!host->wants || b->n_legs == 0)
		return 0;
	want_pci(b, PF, KERNEL_PCI_AUTOPROBE, "0");
	want_pci(b, PF, KERNEL_PCI_VFS, "2");
	for (uint32_t n = 0; n < 2; n++) {
		char ref[KERNEL_LINK_REF_MAX];

		s = want(b, &object_vf, NULL, KERNEL_VF);
		s->change.vf = (struct kernel_vf){.vf = n, .attr = KERNEL_VF_MAC};
		snprintf(s->change.vf.value, sizeof(s->change.vf.value), "02:00:00:00:00:a%u", n);
		snprintf(ref, sizeof(ref), PF "/vf%u", n);
		want_pci(b, ref, KERNEL_PCI_DRIVER, "vfio-pci");
	}
	s = want(b, &object_link, NULL, KERNEL_LINK);
	s->change.link = (struct kernel_link_value){.attr = KERNEL_LINK_UP, .value = 1};
	s->phase = OBJECT_PHASE_PARENT;
	return 0;
}

static struct inventory *collect(struct host *h)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;

	assert_int_equal(inv_collect(h->fake, &d, &inv), 0);
	diag_done(&d);
	return inv;
}

static struct plan *plan_now(struct host *h, struct spec **ret_spec)
{
	static const struct planner_ops mode = {
		.mode = SPEC_HA_NONE, .legs = sriov_legs, .want = sriov_want};
	static const struct planner_ops *const modes[] = {&mode};
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	const struct plan_context ctx = {
		.owned = &owned, .held = (const char(*)[16])h->held, .n_held = h->n_held};
	struct diag d = DIAG_INIT;
	struct inventory *inv = collect(h);
	struct plan *p = NULL;

	planner_table_set(modes, 1);
	assert_int_equal(plan_owned_load(&owned, h->record, &d), 0);
	*ret_spec = host_spec("host: host-a\n"
			      "networks: [{name: a, range: 10.10.1.10-10.10.1.40/16}]\n"
			      "net: [{name: leg-a, device: '" PF "', network: a}]\n"
			      "ha: {mode: none}\n");
	if (plan_build(*ret_spec, inv, &ctx, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	inv_free(inv);
	diag_done(&d);
	return p;
}

static char *host_json(struct host *h)
{
	struct inventory *inv = collect(h);
	char *text;

	inv->number = 0;
	text = inv_to_json(inv);
	inv_free(inv);
	return text;
}

static int setup(void **state)
{
	struct inventory *inv = host_new();
	struct inv_function *fn = inv_function_add(inv);

	host = calloc(1, sizeof(*host));
	host->wants = true;
	inv_text_set(fn->pci, sizeof(fn->pci), PF);
	inv_text_set(fn->driver, sizeof(fn->driver), "igb");
	fn->max_vfs = 7;
	for (size_t i = 0; i < inv->n_links; i++) {
		if (inv->links[i].ifindex != HOST_VETH0)
			continue;
		inv_text_set(inv->links[i].pci, sizeof(inv->links[i].pci), PF);
		inv->links[i].up = inv->links[i].carrier = false;
	}
	assert_int_equal(kernel_fake_new(inv, &host->fake), 0);
	inv_free(inv);
	strcpy(host->dir, "/tmp/plenum-sriov-XXXXXX");
	assert_non_null(mkdtemp(host->dir));
	snprintf(host->journal, sizeof(host->journal), "%s/journal", host->dir);
	snprintf(host->record, sizeof(host->record), "%s/owned", host->dir);
	*state = host;
	return 0;
}

static int teardown(void **state)
{
	struct host *h = *state;

	unlink(h->record);
	assert_int_equal(rmdir(h->dir), 0);
	kernel_free(h->fake);
	free(h);
	return 0;
}

static struct apply *run(struct host *h, struct plan *p)
{
	struct apply *a = NULL;
	struct apply_outcome o;

	if (apply_run(h->fake, p, h->journal, &a, &o) < 0)
		fail_msg("%s", o.why.text);
	return a;
}

static void check_made(struct host *h)
{
	struct inventory *inv = collect(h);
	const struct inv_function *vf = inv_function_by_ref(inv, PF "/vf1");

	assert_int_equal(inv->n_functions, 3);
	assert_non_null(vf);
	assert_string_equal(vf->driver, "vfio-pci");
	assert_int_equal(inv->n_vfs, 2);
	assert_int_equal(inv->vfs[1].mac.bytes[5], 0xa1);
	assert_true(inv_link_by_index(inv, HOST_VETH0)->up);
	inv_free(inv);
}

static void test_vfs_are_created_in_order_and_removed(void **state)
{
	struct host *h = *state;
	struct apply_outcome o;
	struct spec *s;
	struct plan *p = plan_now(h, &s);
	char *before = host_json(h), *after, *text = plan_to_text(p);
	struct apply *a;

	assert_int_equal(p->n_steps, STEPS);
	assert_true(step_is(&p->steps[0], "link-set")); /* the PF comes up first */
	assert_true(step_is(&p->steps[2], "pci-set"));
	assert_non_null(strstr(text, "set leg-a (veth0) to 2 VFs (was "));
	assert_non_null(strstr(text, "bind leg-a (veth0) " PF "/vf1 to vfio-pci"));
	assert_non_null(strstr(text, "set leg-a (veth0) VF 1 mac 02:00:00:00:00:a1"));
	a = run(h, p);
	check_made(h);
	assert_int_equal(apply_rollback(a, &o), 0);
	after = host_json(h);
	assert_string_equal(after, before);
	free(text);
	free(before);
	free(after);
	plan_free(p);
	spec_free(s);
}

static void test_every_failed_step_is_rolled_back(void **state)
{
	struct host *h = *state;
	struct apply *a = NULL;
	struct apply_outcome o;
	struct spec *s;
	struct plan *p = plan_now(h, &s);
	char *before = host_json(h);

	for (size_t i = 0; i < p->n_steps; i++) {
		char *after;

		kernel_fake_fail(h->fake, i + 1, 1, -EIO, "no");
		assert_int_equal(apply_run(h->fake, p, h->journal, &a, &o), -EIO);
		assert_int_equal(o.failed_step, i);
		assert_false(o.stuck);
		after = host_json(h);
		assert_string_equal(after, before);
		free(after);
	}
	free(before);
	plan_free(p);
	spec_free(s);
}

static void host_vanishes(void *user, uint64_t nth)
{
	struct host *h = host;
	struct inventory *inv = NULL;

	if (nth != *(const uint64_t *)user)
		return;
	assert_int_equal(inv_copy(kernel_fake_inventory(h->fake), &inv), 0);
	inv->n_functions = inv->n_vfs = 0;
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	inv_free(inv);
	assert_int_equal(kernel_fake_remove_link(h->fake, HOST_VETH0), 0);
}

/* The card is removed, or its firmware dies, before any of the writes: nothing is left to roll
 * back, and the next plan works without the leg. */
static void test_a_vanished_device_loses_only_its_leg(void **state)
{
	struct host *h = *state;
	struct inventory *whole = NULL;
	struct spec *s, *again;
	struct plan *p = plan_now(h, &s), *rest;

	assert_int_equal(inv_copy(kernel_fake_inventory(h->fake), &whole), 0);
	for (uint64_t i = 1; i <= p->n_steps; i++) {
		struct apply *a = NULL;
		struct apply_outcome o;
		uint64_t at = h->fake->n_writes + i;

		kernel_fake_on_write(h->fake, host_vanishes, &at);
		assert_true(apply_run(h->fake, p, h->journal, &a, &o) < 0);
		kernel_fake_on_write(h->fake, NULL, NULL);
		assert_false(o.stuck);
		assert_int_equal(access(h->journal, F_OK), -1);
		rest = plan_now(h, &again);
		assert_int_equal(rest->legs[0].state, PLAN_LEG_ABSENT);
		assert_int_equal(rest->n_steps, 0);
		plan_free(rest);
		spec_free(again);
		assert_int_equal(kernel_fake_replace(h->fake, whole), 0);
	}
	inv_free(whole);
	plan_free(p);
	spec_free(s);
}

static void test_a_second_plan_is_empty_and_all_is_restored(void **state)
{
	struct host *h = *state;
	struct apply_outcome o;
	struct spec *s;
	char *before = host_json(h), *after;
	struct plan *p = plan_now(h, &s);

	assert_int_equal(apply_commit(run(h, p), &o), 0);
	plan_free(p);
	spec_free(s);
	p = plan_now(h, &s);
	assert_int_equal(p->n_steps, 0);
	plan_free(p);
	spec_free(s);
	h->wants = false;
	p = plan_now(h, &s);
	assert_true(p->n_steps > 0);
	assert_int_equal(apply_commit(run(h, p), &o), 0);
	after = host_json(h);
	assert_string_equal(after, before);
	plan_free(p);
	spec_free(s);
	p = plan_now(h, &s);
	assert_int_equal(p->n_steps, 0);
	assert_int_equal(p->n_disowned, 0);
	free(before);
	free(after);
	plan_free(p);
	spec_free(s);
}

/* The plan takes no VF that a worker has open and keeps the number of VFs of its PF; everything
 * else is restored, and the rest once the worker is gone. */
static void test_a_workers_open_vf_stays(void **state)
{
	struct host *h = *state;
	struct apply_outcome o;
	struct inventory *inv;
	struct spec *s;
	char *before = host_json(h), *after;
	struct plan *p = plan_now(h, &s);

	assert_int_equal(apply_commit(run(h, p), &o), 0);
	inv = collect(h);
	strcpy(h->held[0], inv_function_by_ref(inv, PF "/vf1")->pci);
	inv_free(inv);
	h->n_held = 1;
	h->wants = false;
	plan_free(p);
	spec_free(s);
	p = plan_now(h, &s);
	assert_int_equal(p->n_deferred, 4); /* driver and MAC of VF 1, the number, autoprobe */
	assert_int_equal(p->n_steps, STEPS - 4);
	assert_int_equal(apply_commit(run(h, p), &o), 0);
	inv = collect(h);
	assert_string_equal(inv_function_by_ref(inv, PF "/vf0")->driver, "");
	assert_string_equal(inv_function_by_ref(inv, PF "/vf1")->driver, "vfio-pci");
	inv_free(inv);
	plan_free(p);
	spec_free(s);
	h->n_held = 0;
	p = plan_now(h, &s);
	assert_int_equal(p->n_deferred, 0);
	assert_int_equal(apply_commit(run(h, p), &o), 0);
	after = host_json(h);
	assert_string_equal(after, before);
	free(before);
	free(after);
	plan_free(p);
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_vfs_are_created_in_order_and_removed),
		CASE(test_every_failed_step_is_rolled_back),
		CASE(test_a_vanished_device_loses_only_its_leg),
		CASE(test_a_second_plan_is_empty_and_all_is_restored),
		CASE(test_a_workers_open_vf_stays),
	};

	return cmocka_run_group_tests_name("virtual functions", tests, NULL, NULL);
}
