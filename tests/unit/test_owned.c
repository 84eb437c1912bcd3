/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of owned values on a host in memory: values that leave the configuration are
 * restored, values that other programs changed are not, and a kill at any moment of a commit
 * neither loses nor invents a value.
 */
#include "netcfg/apply/apply.h"
#include "netcfg/base/file.h"
#include "netcfg/plan/plan_owned.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"

#define NOTHING_YAML "host: host-a\nmanagement: {interface: eth0}\n"
#define BYTES_MAX 65536

struct fixture {
	struct inventory *inv;
	struct kernel *k;
	struct plan_owned owned;
	char dir[32], journal[48], record[48];
};

static void start(struct fixture *f, bool addr_owner_known)
{
	f->inv = host_new();
	f->inv->addr_owner_known = addr_owner_known;
	assert_int_equal(kernel_fake_new(f->inv, &f->k), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	plugins_register();
	strcpy(f->dir, "/tmp/plenum-owned-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->journal, sizeof(f->journal), "%s/journal", f->dir);
	snprintf(f->record, sizeof(f->record), "%s/owned", f->dir);
	start(f, true);
	*state = f;
	return 0;
}

static int setup_old_kernel(void **state)
{
	struct fixture *f;

	setup(state);
	f = *state;
	kernel_free(f->k);
	inv_free(f->inv);
	start(f, false);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->journal);
	unlink(f->record);
	assert_int_equal(rmdir(f->dir), 0); /* nothing else is left in it */
	plan_owned_done(&f->owned);
	kernel_free(f->k);
	inv_free(f->inv);
	free(f);
	return 0;
}

static struct inventory *collect(struct fixture *f)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;

	assert_int_equal(inv_collect(f->k, &d, &inv), 0);
	diag_done(&d);
	return inv;
}

static char *host_json(struct fixture *f)
{
	struct inventory *inv = collect(f);
	char *text;

	inv->number = 0;
	text = inv_to_json(inv);
	inv_free(inv);
	return text;
}

/* Plans for the present host with the record on disk. */
static struct plan *plan_on(struct fixture *f, const char *yaml, const struct inventory *inv,
			    struct spec **ret_spec)
{
	const struct plan_context ctx = {.owned = &f->owned};
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;

	*ret_spec = host_spec(yaml);
	assert_int_equal(plan_owned_load(&f->owned, f->record, &d), 0);
	if (plan_build(*ret_spec, inv, &ctx, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	diag_done(&d);
	return p;
}

static struct plan *plan_now(struct fixture *f, const char *yaml, struct spec **ret_spec)
{
	struct inventory *inv = collect(f);
	struct plan *p = plan_on(f, yaml, inv, ret_spec);

	inv_free(inv);
	return p;
}

/* Applies, verifies and commits; the next plan is empty. Returns the number of steps. */
static size_t apply(struct fixture *f, const char *yaml)
{
	const struct plan_context ctx = {.owned = &f->owned};
	struct apply *a = NULL;
	struct apply_outcome o;
	struct diag d = DIAG_INIT;
	struct spec *s;
	struct plan *p = plan_now(f, yaml, &s);
	size_t n = p->n_steps;

	if (apply_run(f->k, p, f->journal, &a, &o) < 0)
		fail_msg("%s", o.why.text);
	if (apply_verify(f->k, s, &ctx, 0, &d) < 0)
		diag_print(&d, stderr);
	assert_false(diag_has_errors(&d));
	assert_int_equal(apply_commit(a, &o), 0);
	assert_string_equal(o.why.text, "");
	assert_int_equal(access(f->journal, F_OK), -1);
	plan_free(p);
	spec_free(s);
	p = plan_now(f, yaml, &s);
	assert_int_equal(p->n_steps, 0);
	plan_free(p);
	spec_free(s);
	diag_done(&d);
	return n;
}

static char *record_text(struct fixture *f)
{
	char *text = NULL;
	size_t len;

	assert_int_equal(file_read(f->record, BYTES_MAX, &text, &len), 0);
	return text;
}

static void assert_record_has(struct fixture *f, const char *line)
{
	char *text = record_text(f);

	if (!strstr(text, line))
		fail_msg("no '%s' in\n%s", line, text);
	free(text);
}

static const struct inv_link *link_now(struct fixture *f, const char *name)
{
	for (size_t i = 0; i < kernel_fake_inventory(f->k)->n_links; i++)
		if (strcmp(kernel_fake_inventory(f->k)->links[i].name, name) == 0)
			return &kernel_fake_inventory(f->k)->links[i];
	return NULL;
}

static char *with_mtu(const char *mtu)
{
	char *text = strdup(HOST_YAML), *at;

	while ((at = strstr(text, "9000")))
		memcpy(at, mtu, 4);
	return text;
}

/* From the found value to one and another configured value, and back to the found one. */
static void test_values_are_restored_as_found(void **state)
{
	struct fixture *f = *state;
	char *before = host_json(f), *after, *other = with_mtu("4000");

	apply(f, HOST_YAML);
	assert_record_has(f, "3 link-set veth0 up 0 1\n");
	assert_record_has(f, "3 link-set veth0 mtu 1500 9000\n");
	assert_record_has(f, "sysctl-set veth0 net/ipv4/conf/veth0/arp_announce =0 =2\n");
	assert_record_has(f, "3 addr-add veth0 10.10.1.10/16 ");
	assert_true(link_now(f, "veth0")->up);
	apply(f, other);
	assert_record_has(f, "3 link-set veth0 mtu 1500 4000\n");
	apply(f, NOTHING_YAML);
	after = host_json(f);
	assert_string_equal(after, before);
	plan_owned_done(&f->owned);
	assert_int_equal(apply(f, NOTHING_YAML), 0);
	assert_int_equal(f->owned.n, 0);
	free(other);
	free(before);
	free(after);
}

/* The reason says that a value is restored; these steps come after all objects that depend on it.
 */
static void test_restores_come_last(void **state)
{
	struct fixture *f = *state;
	struct spec *s;
	struct plan *p;
	size_t n = 0;

	apply(f, HOST_YAML);
	p = plan_now(f, NOTHING_YAML, &s);
	for (size_t i = 0; i < p->n_steps; i++) {
		if (p->steps[i].verb != PLAN_RESTORE) {
			assert_int_equal(n, 0);
			continue;
		}
		n++;
		assert_non_null(strstr(p->steps[i].reason, "restores the value found before"));
	}
	assert_true(n > 4);
	plan_free(p);
	spec_free(s);
}

/* Values changed and links used by other programs are not restored. */
static void test_foreign_values_stay(void **state)
{
	struct fixture *f = *state;
	struct inv_addr theirs = {.ifindex = HOST_VETH0,
				  .ip = host_prefix("192.0.2.77/24"),
				  .proto = INV_PROTO_STATIC};

	apply(f, HOST_YAML);
	assert_int_equal(kernel_do_addr_add(f->k, &theirs, NULL), 0);
	assert_int_equal(kernel_do_link(f->k, HOST_VETH1, KERNEL_LINK_MTU, 5000, NULL), 0);
	assert_int_equal(kernel_do_sysctl(f->k, "net/ipv4/conf/veth1/arp_announce", "1", NULL), 0);
	apply(f, NOTHING_YAML);
	assert_true(link_now(f, "veth0")->up);
	assert_int_equal(link_now(f, "veth0")->mtu, 9000);
	assert_int_equal(link_now(f, "veth1")->mtu, 5000);
	assert_string_equal(
		inv_sysctl_value(kernel_fake_inventory(f->k), "net/ipv4/conf/veth1/arp_announce"),
		"1");
	assert_string_equal(
		inv_sysctl_value(kernel_fake_inventory(f->k), "net/ipv4/conf/veth1/arp_filter"),
		"0");
	assert_int_equal(f->owned.n, 0);
	/* A value that another program sets to ours again is still not ours. */
	assert_int_equal(kernel_do_link(f->k, HOST_VETH1, KERNEL_LINK_MTU, 9000, NULL), 0);
	assert_int_equal(apply(f, NOTHING_YAML), 0);
}

/* A new link with the same name has none of our values, even if equal by chance. */
static void test_new_link_with_the_name_has_no_values(void **state)
{
	struct fixture *f = *state;
	struct inventory *inv;
	struct spec *s;
	struct plan *p;

	apply(f, HOST_YAML);
	inv = collect(f);
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == HOST_VETH1)
			inv->links[i].ifindex = 77;
	p = plan_on(f, NOTHING_YAML, inv, &s);
	for (size_t i = 0; i < p->n_steps; i++)
		assert_false(p->steps[i].verb == PLAN_RESTORE &&
			     strcmp(p->steps[i].ifname, "veth1") == 0);
	assert_true(p->n_disowned > 2);
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* The same link after a rename by udev. */
static void test_renamed_link_keeps_its_values(void **state)
{
	struct fixture *f = *state;
	struct inventory *inv;
	struct spec *s;
	struct plan *p;
	size_t n = 0;

	apply(f, HOST_YAML);
	inv = collect(f);
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == HOST_VETH1)
			strcpy(inv->links[i].name, "ens7f1");
	for (size_t i = 0; i < inv->n_sysctls; i++) {
		char *at = strstr(inv->sysctls[i].key, "/veth1/"), *key;

		if (!at)
			continue;
		assert_true(asprintf(&key, "%.*s/ens7f1/%s", (int)(at - inv->sysctls[i].key),
				     inv->sysctls[i].key, at + strlen("/veth1/")) > 0);
		free(inv->sysctls[i].key);
		inv->sysctls[i].key = key;
	}
	p = plan_on(f, NOTHING_YAML, inv, &s);
	for (size_t i = 0; i < p->n_steps; i++) {
		if (p->steps[i].verb != PLAN_RESTORE)
			continue;
		assert_string_not_equal(p->steps[i].link, "veth1");
		n += strcmp(p->steps[i].link, "ens7f1") == 0;
		if (p->steps[i].kind == &object_sysctl)
			assert_null(strstr(p->steps[i].change.sysctl.key, "veth1"));
	}
	assert_true(n > 3);
	assert_int_equal(p->n_disowned, n); /* under their old names */
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

/* A leg of the spec that must not be touched now keeps its values. */
static void test_refused_leg_keeps_its_values(void **state)
{
	struct fixture *f = *state;
	struct inventory *inv;
	struct spec *s;
	struct plan *p;

	apply(f, HOST_YAML);
	inv = collect(f);
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == HOST_VETH1)
			inv->links[i].master = HOST_ETH0;
	p = plan_on(f, HOST_YAML, inv, &s);
	assert_int_equal(p->legs[1].state, PLAN_LEG_REFUSED);
	for (size_t i = 0; i < p->n_steps; i++)
		assert_int_not_equal(p->steps[i].verb, PLAN_RESTORE);
	for (size_t i = 0; i < p->n_disowned; i++)
		assert_string_not_equal(p->disowned[i].link, "veth1");
	plan_free(p);
	spec_free(s);
	inv_free(inv);
}

static void append_file(const char *path, const char *text, const char *more)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	fprintf(out, "%s%s", text, more);
	fclose(out);
}

/* The journal of a completed, then committed apply of yaml. */
static char *journal_of(struct fixture *f, const char *yaml)
{
	struct apply *a = NULL;
	struct apply_outcome o;
	struct spec *s;
	struct plan *p = plan_now(f, yaml, &s);
	char *text = NULL;
	size_t len;

	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	assert_int_equal(file_read(f->journal, BYTES_MAX, &text, &len), 0);
	assert_int_equal(apply_commit(a, &o), 0);
	plan_free(p);
	spec_free(s);
	return text;
}

/* Killed after the commit line, before the record or before the journal was removed: recovery
 * completes the record once. From nothing, and with changed, removed and restored values. */
static void test_a_kill_in_the_commit_keeps_the_record(void **state)
{
	static const char *const steps[] = {HOST_YAML, NOTHING_YAML};
	struct fixture *f = *state;
	struct apply_outcome o;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		char *old = i ? record_text(f) : strdup(""), *host, *after;
		char *journal = journal_of(f, steps[i]), *record = record_text(f), *again;

		host = host_json(f);
		for (int replaced = 0; replaced < 2; replaced++) {
			if (!replaced && old[0])
				append_file(f->record, old, "");
			else if (!replaced)
				unlink(f->record);
			append_file(f->journal, journal, "commit\n");
			assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
			assert_int_equal(o.n_rolled_back, 0);
			assert_int_equal(access(f->journal, F_OK), -1);
			again = record_text(f);
			assert_string_equal(again, record);
			free(again);
		}
		after = host_json(f);
		assert_string_equal(after, host);
		free(old);
		free(host);
		free(after);
		free(journal);
		free(record);
	}
}

/* Killed before or within that line: everything is rolled back and the record stays. */
static void test_a_kill_before_the_commit_rolls_back(void **state)
{
	struct fixture *f = *state;
	char *before = host_json(f), *journal = journal_of(f, HOST_YAML), *after, prepared[64];
	static const char *const ends[] = {"", "comm", "commit"};
	struct apply_outcome o;

	snprintf(prepared, sizeof(prepared), "%s.new", f->record);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (i)
			free(journal_of(f, HOST_YAML));
		unlink(f->record);
		append_file(prepared, "plenum-owned 1 half", "");
		append_file(f->journal, journal, ends[i]);
		assert_int_equal(apply_recover(f->k, f->journal, &o), 0);
		assert_true(o.n_rolled_back > 10);
		assert_int_equal(access(f->record, F_OK), -1);
		assert_int_equal(access(prepared, F_OK), -1);
		after = host_json(f);
		assert_string_equal(after, before);
		free(after);
	}
	free(journal);
	free(before);
}

/* A rollback does not change the record. */
static void test_rollback_records_nothing(void **state)
{
	struct fixture *f = *state;
	struct apply *a = NULL;
	struct apply_outcome o;
	struct spec *s;
	struct plan *p;
	char *record, *again;

	apply(f, HOST_YAML);
	record = record_text(f);
	p = plan_now(f, NOTHING_YAML, &s);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	assert_int_equal(apply_rollback(a, &o), 0);
	again = record_text(f);
	assert_string_equal(again, record);
	free(record);
	free(again);
	plan_free(p);
	spec_free(s);
}

/* Before Linux 5.18 only the record knows which addresses are ours. */
static void test_addresses_without_owner_are_in_the_record(void **state)
{
	struct fixture *f = *state;
	struct inv_addr theirs = {.ifindex = HOST_VETH0, .ip = host_prefix("10.10.7.7/16")};
	size_t n = 0;

	assert_int_equal(kernel_do_addr_add(f->k, &theirs, NULL), 0);
	apply(f, HOST_YAML);
	for (size_t i = 0; i < kernel_fake_inventory(f->k)->n_addrs; i++)
		assert_int_equal(kernel_fake_inventory(f->k)->addrs[i].proto, 0);
	assert_int_equal(kernel_fake_inventory(f->k)->n_addrs, 3);
	apply(f, NOTHING_YAML);
	for (size_t i = 0; i < kernel_fake_inventory(f->k)->n_addrs; i++, n++)
		assert_true(ip_addr_equal(&kernel_fake_inventory(f->k)->addrs[i].ip.addr,
					  &theirs.ip.addr));
	assert_int_equal(n, 1);
}

static void test_unreadable_records(void **state)
{
	struct fixture *f = *state;
	struct diag d = DIAG_INIT;
	char *text, *broken;

	apply(f, HOST_YAML);
	text = record_text(f);
	assert_int_equal(plan_owned_load(&f->owned, f->record, &d), 0);
	assert_true(f->owned.n > 5);
	assert_int_equal(d.n, 0);
	broken = strdup(text);
	broken[strlen("plenum-owned ")] = '9';
	append_file(f->record, broken, "");
	assert_int_equal(plan_owned_load(&f->owned, f->record, &d), 0);
	assert_int_equal(d.n, 1);
	assert_int_equal(f->owned.n, 0);
	append_file(f->record, text, "3 link-set veth0 colour 1 2\n");
	assert_int_equal(plan_owned_load(&f->owned, f->record, &d), 0);
	assert_int_equal(d.n, 2);
	append_file(f->record, text, "no newline");
	assert_int_equal(plan_owned_load(&f->owned, f->record, &d), 0);
	assert_int_equal(d.n, 3);
	append_file(f->record, "", "");
	assert_int_equal(plan_owned_load(&f->owned, f->record, &d), 0);
	assert_int_equal(d.n, 4);
	/* A record of another boot is empty and not an error. */
	append_file(f->record, "plenum-owned 1 boot x netns 1\n", "3 link-set veth0 up 0 1\n");
	assert_int_equal(plan_owned_load(&f->owned, f->record, &d), 0);
	assert_int_equal(d.n, 4);
	assert_int_equal(f->owned.n, 0);
	free(broken);
	free(text);
	diag_done(&d);
}

/* If the record cannot be written, the host still gets its network, and a warning says so. */
static void test_unwritable_record_fails_no_apply(void **state)
{
	struct fixture *f = *state;
	struct apply *a = NULL;
	struct apply_outcome o;
	struct spec *s;
	struct plan *p;

	memcpy(f->record, "/nonexistent/owned", sizeof("/nonexistent/owned"));
	p = plan_now(f, HOST_YAML, &s);
	assert_int_equal(apply_run(f->k, p, f->journal, &a, &o), 0);
	assert_int_equal(apply_commit(a, &o), 0);
	assert_non_null(strstr(o.why.text, "/nonexistent/owned"));
	assert_int_equal(access(f->journal, F_OK), -1);
	assert_true(link_now(f, "veth0")->up);
	plan_free(p);
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_values_are_restored_as_found),
		CASE(test_restores_come_last),
		CASE(test_foreign_values_stay),
		CASE(test_new_link_with_the_name_has_no_values),
		CASE(test_renamed_link_keeps_its_values),
		CASE(test_refused_leg_keeps_its_values),
		CASE(test_a_kill_in_the_commit_keeps_the_record),
		CASE(test_a_kill_before_the_commit_rolls_back),
		CASE(test_rollback_records_nothing),
		cmocka_unit_test_setup_teardown(test_addresses_without_owner_are_in_the_record,
						setup_old_kernel, teardown),
		CASE(test_unreadable_records),
		CASE(test_unwritable_record_fails_no_apply),
	};

	return cmocka_run_group_tests_name("owned values", tests, NULL, NULL);
}
