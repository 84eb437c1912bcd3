/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the extension point with a kind of object that no program has: the number of VFs of a
 * function. It needs only this file and the line in the table below; the libraries are those of
 * other tests. Its steps create links that later steps of the same plan refer to.
 */
#include "netcfg/apply/apply.h"
#include "netcfg/base/file.h"
#include "netcfg/plan/planner.h"
#include "tests/lib/host/plan_host.h"

#define PF "0000:3b:00.0"
#define NUMVFS "bus/pci/devices/" PF "/sriov_numvfs"
#define VF_IFINDEX 100

/* ---- the kind ---- */

static void vfs_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	snprintf(buf, size, "make %s virtual functions of %s (was %s)", s->change.sysctl.value,
		 where, s->change.sysctl.was);
}

static int vfs_format(const struct plan_step *s, char *buf, size_t size)
{
	return snprintf(buf, size, "%s %s", s->change.sysctl.was, s->change.sysctl.value);
}

static void vfs_change(struct plan_step *s)
{
	s->change.kind = KERNEL_SYSCTL;
	strcpy(s->change.sysctl.key, NUMVFS);
}

static int vfs_parse(const char *text, struct plan_step *s)
{
	vfs_change(s);
	return sscanf(text, "%31s %31s", s->change.sysctl.was, s->change.sysctl.value) == 2
		       ? 0
		       : -EBADMSG;
}

static enum object_presence vfs_present(const struct inventory *inv, const struct plan_step *s)
{
	const char *n = inv_sysctl_value(inv, NUMVFS);

	return n && strcmp(n, s->change.sysctl.value) == 0 ? OBJECT_PRESENT : OBJECT_ABSENT;
}

static bool vfs_same(const struct plan_step *a, const struct plan_step *b)
{
	return strcmp(a->link, b->link) == 0;
}

static void vfs_inverse(struct plan_step *s)
{
	char was[32];

	memcpy(was, s->change.sysctl.was, sizeof(was));
	memcpy(s->change.sysctl.was, s->change.sysctl.value, sizeof(was));
	memcpy(s->change.sysctl.value, was, sizeof(was));
}

static bool vfs_settled(const struct plan_step *s)
{
	return strcmp(s->change.sysctl.was, s->change.sysctl.value) == 0;
}

static const struct object_kind object_vfs = {
	.name = "vfs",
	.verb = PLAN_SET,
	.phase = {[PLAN_SET] = OBJECT_PHASE_MAKE},
	.describe = vfs_describe,
	.format = vfs_format,
	.parse = vfs_parse,
	.present = vfs_present,
	.same = vfs_same,
	.inverse = vfs_inverse,
	.settled = vfs_settled,
};

const struct object_kind *const object_kinds[] = {&object_vfs, &object_link, &object_addr};
const size_t object_kinds_n = ARRAY_SIZE(object_kinds);

/* ---- the host: a function with a variable number of VFs ---- */

struct host {
	struct kernel kernel; /* as the plan knows it */
	struct kernel *fake;
	char dir[32], journal[48];
};

static struct host *host_of(struct kernel *k)
{
	return k->impl;
}

static int host_collect(struct kernel *k, struct diag *d, struct inventory *inv)
{
	return host_of(k)->fake->ops->collect(host_of(k)->fake, d, inv);
}

static int host_link_find(struct kernel *k, const char *ref, uint32_t *ret_ifindex)
{
	return host_of(k)->fake->ops->link_find(host_of(k)->fake, ref, ret_ifindex);
}

static int host_read(struct kernel *k, struct kernel_change *c)
{
	return host_of(k)->fake->ops->read(host_of(k)->fake, c);
}

static int host_change(struct kernel *k, const struct kernel_change *c, struct reason *why)
{
	struct kernel *fake = host_of(k)->fake;
	int r = fake->ops->change(fake, c, why);
	struct inv_link vf = {.ifindex = VF_IFINDEX, .mtu = 1500, .mtu_min = 68, .mtu_max = 9000};

	if (r < 0 || c->kind != KERNEL_SYSCTL || strcmp(c->sysctl.key, NUMVFS) != 0)
		return r;
	strcpy(vf.name, "veth0v0");
	strcpy(vf.physfn, PF);
	return strcmp(c->sysctl.value, "0") == 0 ? kernel_fake_remove_link(fake, VF_IFINDEX)
						 : kernel_fake_add_link(fake, &vf);
}

static const struct kernel_ops host_ops = {
	.collect = host_collect,
	.link_find = host_link_find,
	.read = host_read,
	.change = host_change,
};

static int setup(void **state)
{
	struct host *h = calloc(1, sizeof(*h));
	struct inventory *inv = host_new();

	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == HOST_VETH0)
			strcpy(inv->links[i].pci, PF);
	assert_int_equal(inv_sysctl_add(inv, NUMVFS, "0"), 0);
	assert_int_equal(kernel_fake_new(inv, &h->fake), 0);
	inv_free(inv);
	h->kernel = (struct kernel){.ops = &host_ops, .impl = h};
	strcpy(h->dir, "/tmp/plenum-object-XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	snprintf(h->journal, sizeof(h->journal), "%s/journal", h->dir);
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	struct host *h = *state;

	assert_int_equal(rmdir(h->dir), 0);
	kernel_free(h->fake);
	free(h);
	return 0;
}

static char *host_json(struct host *h)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	char *text;

	assert_int_equal(inv_collect(&h->kernel, &d, &inv), 0);
	inv->number = 0;
	text = inv_to_json(inv);
	inv_free(inv);
	diag_done(&d);
	return text;
}

/* ---- an HA mode that puts a VF and its data IP on its only leg ---- */

static int vf_legs(struct plan_builder *b)
{
	return planner_leg_add(b, 0);
}

static int vf_want(struct plan_builder *b)
{
	struct plan_step *s = planner_want_add(b, &object_addr, &b->legs[0]);

	strcpy(s->link, PF "/vf0");
	s->change = (struct kernel_change){.kind = KERNEL_ADDR,
					   .addr = {.ip = host_prefix("10.10.1.10/16")}};
	s = planner_want_add(b, &object_link, &b->legs[0]);
	strcpy(s->link, PF "/vf0");
	s->change = (struct kernel_change){.kind = KERNEL_LINK,
					   .link = {.attr = KERNEL_LINK_UP, .value = 1}};
	s = planner_want_add(b, &object_vfs, &b->legs[0]);
	strcpy(s->link, PF);
	vfs_change(s);
	strcpy(s->change.sysctl.was, "0");
	strcpy(s->change.sysctl.value, "1");
	return 0;
}

static struct plan *plan_now(struct host *h, struct spec **ret_spec)
{
	static const struct planner_ops mode = {
		.mode = SPEC_HA_NONE, .legs = vf_legs, .want = vf_want};
	static const struct planner_ops *const modes[] = {&mode};
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct plan *p = NULL;

	planner_table_set(modes, 1);
	*ret_spec = host_spec("host: host-a\n"
			      "networks: [{name: a, range: 10.10.1.10-10.10.1.40/16}]\n"
			      "net: [{name: leg-a, device: '" PF "', network: a}]\n"
			      "ha: {mode: none}\n");
	assert_int_equal(inv_collect(&h->kernel, &d, &inv), 0);
	if (plan_build(*ret_spec, inv, NULL, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	inv_free(inv);
	diag_done(&d);
	return p;
}

static const struct inv_link *vf_of(struct host *h)
{
	return inv_link_by_name(kernel_fake_inventory(h->fake), "veth0v0");
}

static void test_later_steps_refer_to_created_links(void **state)
{
	struct host *h = *state;
	struct apply *a = NULL;
	struct apply_outcome o;
	struct spec *s;
	struct plan *p = plan_now(h, &s);
	char *text = plan_to_text(p), *before = host_json(h), *after;

	assert_int_equal(p->n_steps, 3);
	assert_true(step_is(&p->steps[0], "vfs-set"));
	assert_true(step_is(&p->steps[1], "link-set"));
	assert_true(step_is(&p->steps[2], "addr-add"));
	assert_non_null(strstr(text, "make 1 virtual functions of leg-a (veth0) (was 0)"));
	assert_int_equal(apply_run(&h->kernel, p, h->journal, &a, &o), 0);
	assert_non_null(vf_of(h));
	assert_true(vf_of(h)->up);
	assert_int_equal(kernel_fake_inventory(h->fake)->n_addrs, 1);
	assert_int_equal(kernel_fake_inventory(h->fake)->addrs[0].ifindex, VF_IFINDEX);
	assert_int_equal(apply_rollback(a, &o), 0);
	assert_int_equal(o.n_rolled_back, 3);
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
		assert_int_equal(apply_run(&h->kernel, p, h->journal, &a, &o), -EIO);
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

/* Recovers the journal of a killed apply by kinds and names alone. */
static void test_a_killed_apply_is_recovered(void **state)
{
	struct host *h = *state;
	struct apply *a = NULL;
	struct apply_outcome o;
	struct spec *s;
	struct plan *p = plan_now(h, &s);
	char *before = host_json(h), *after, *journal = NULL;
	size_t len;
	FILE *out;

	assert_int_equal(apply_run(&h->kernel, p, h->journal, &a, &o), 0);
	assert_int_equal(file_read(h->journal, 4096, &journal, &len), 0);
	assert_non_null(strstr(journal, "begin 0 vfs-set " PF " 0 1\n"));
	assert_non_null(strstr(journal, "begin 2 addr-add " PF "/vf0 10.10.1.10/16 "));
	assert_int_equal(apply_commit(a, &o), 0);
	out = fopen(h->journal, "we");
	assert_non_null(out);
	fputs(journal, out);
	fclose(out);
	assert_int_equal(apply_recover(&h->kernel, h->journal, &o), 0);
	assert_int_equal(o.n_rolled_back, 3);
	after = host_json(h);
	assert_string_equal(after, before);
	free(journal);
	free(before);
	free(after);
	plan_free(p);
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_later_steps_refer_to_created_links),
		CASE(test_every_failed_step_is_rolled_back),
		CASE(test_a_killed_apply_is_recovered),
	};

	return cmocka_run_group_tests_name("kinds of objects", tests, NULL, NULL);
}
