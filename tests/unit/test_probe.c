/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Duplicate address detection: its frames byte for byte, and what an apply on a host in memory
 * does with the answers.
 */
#include "netcfg/apply/apply.h"
#include "netcfg/apply/apply_probe.h"
#include "netcfg/linux/probe.h"
#include "plugins/plugins.h"
#include "tests/lib/host/plan_host.h"
#include "tests/lib/kernel/fake_probe.h"

static const struct mac_addr ours = {{2, 0, 0, 0, 0, 1}}, theirs = {{2, 0, 0, 0, 0, 0x77}};

static void test_arp_probes_find_other_hosts(void **state)
{
	static const uint8_t want[] = {0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0,	 0, 0, 1,
				       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 1, 1, 10};
	const struct ip_addr ip = host_addr("10.1.1.10");
	struct kernel_probe q = {.ip = ip, .mac = ours};
	uint8_t buf[PROBE_BYTES_MAX];
	struct mac_addr to, by;
	struct ip_addr got;

	assert_int_equal(probe_write(&q, buf, &to), sizeof(want));
	assert_memory_equal(buf, want, sizeof(want));
	assert_int_equal(to.bytes[0] & to.bytes[5], 0xff);
	/* Another host that probes for the address wants it too: a conflict. */
	assert_true(probe_parse_arp(buf, sizeof(want), &got, &by));
	assert_true(ip_addr_equal(&got, &ip));
	assert_memory_equal(by.bytes, ours.bytes, 6);
	/* An answer: the sender uses the address. */
	buf[7] = 2;
	memcpy(buf + 8, theirs.bytes, 6);
	memcpy(buf + 14, ip.bytes, 4);
	memset(buf + 24, 9, 4);
	assert_true(probe_parse_arp(buf, sizeof(want), &got, &by));
	assert_true(ip_addr_equal(&got, &ip));
	assert_memory_equal(by.bytes, theirs.bytes, 6);
	/* A host that asks for the address as a neighbour does not use it. */
	buf[7] = 1;
	memcpy(buf + 14, host_addr("10.1.1.99").bytes, 4);
	memcpy(buf + 24, ip.bytes, 4);
	assert_true(probe_parse_arp(buf, sizeof(want), &got, &by));
	assert_false(ip_addr_equal(&got, &ip));
	assert_false(probe_parse_arp(buf, sizeof(want) - 1, &got, &by));
	/* An ordinary request carries its sender's address. */
	q.from = host_addr("10.1.1.99");
	assert_int_equal(probe_write(&q, buf, &to), sizeof(want));
	assert_memory_equal(buf + 14, q.from.bytes, 4);
	assert_memory_equal(buf + 24, ip.bytes, 4);
	buf[4] = 8; /* InfiniBand hardware addresses are longer */
	assert_false(probe_parse_arp(buf, sizeof(want), &got, &by));
}

/* The sum over pseudo header and message, including the checksum, is all ones (RFC 1071). */
static uint16_t icmp6_sum(const uint8_t *p, size_t len)
{
	uint32_t sum = (uint32_t)(len - 40) + 58;

	for (size_t i = 8; i < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void test_solicitations_find_other_hosts(void **state)
{
	static const uint8_t head[] = {0x60, 0, 0, 0, 0, 24, 58, 255};
	static const uint8_t none[16];
	const struct ip_addr ip = host_addr("fd00:b::12:3456"),
			     group = host_addr("ff02::1:ff12:3456");
	struct kernel_probe q = {.ip = ip, .mac = ours};
	uint8_t buf[PROBE_BYTES_MAX];
	struct mac_addr to, by;
	struct ip_addr got;

	assert_int_equal(probe_write(&q, buf, &to), 64);
	assert_memory_equal(buf, head, sizeof(head));
	assert_memory_equal(buf + 8, none, 16);
	assert_memory_equal(buf + 24, group.bytes, 16);
	assert_int_equal(buf[40], 135);
	assert_memory_equal(buf + 48, ip.bytes, 16);
	assert_int_equal(icmp6_sum(buf, 64), 0xffff);
	assert_memory_equal(to.bytes, "\x33\x33\xff\x12\x34\x56", 6);
	q.from = host_addr("fd00:b::99");
	assert_int_equal(probe_write(&q, buf, &to), 64);
	assert_memory_equal(buf + 8, q.from.bytes, 16);
	assert_int_equal(icmp6_sum(buf, 64), 0xffff);
	q.from.family = 0;
	assert_int_equal(probe_write(&q, buf, &to), 64);
	/* A detection probe of another host is a claim; its neighbour solicitation is not. */
	assert_true(probe_parse_nd(buf, 64, &theirs, &got, &by));
	assert_true(ip_addr_equal(&got, &ip));
	assert_memory_equal(by.bytes, theirs.bytes, 6);
	buf[8] = 0xfd;
	assert_false(probe_parse_nd(buf, 64, &theirs, &got, &by));
	buf[40] = 136;
	assert_true(probe_parse_nd(buf, 64, &theirs, &got, &by));
	buf[7] = 254; /* from another network */
	assert_false(probe_parse_nd(buf, 64, &theirs, &got, &by));
	buf[7] = 255;
	assert_false(probe_parse_nd(buf, 63, &theirs, &got, &by));
}

static const char yaml[] = "host: host-a\n"
			   "networks:\n"
			   "  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"
			   "net: [{name: leg-a, device: veth1, network: data-a}]\n"
			   "workers: [{role: compute, cores: [1, 2], transport: udp, exports: "
			   "[{name: x, path: /srv}]}]\n";

static struct plan *plan_with(struct kernel *k, const struct spec *s,
			      const struct plan_conflicts *c)
{
	const struct plan_context ctx = {.conflicts = c};
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct plan *p = NULL;

	assert_int_equal(inv_collect(k, &d, &inv), 0);
	assert_int_equal(plan_build(s, inv, &ctx, &d, &p), 0);
	inv_free(inv);
	diag_done(&d);
	return p;
}

static bool has(struct kernel *k, const char *ip)
{
	const struct inventory *inv = kernel_fake_inventory(k);
	const struct ip_addr want = host_addr(ip);

	for (size_t i = 0; i < inv->n_addrs; i++)
		if (ip_addr_equal(&inv->addrs[i].ip.addr, &want))
			return true;
	return false;
}

struct world {
	struct kernel *k;
	struct spec *spec;
	char dir[32], journal[48];
	struct plan_conflicts conflicts;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct inventory *inv = host_new();

	assert_int_equal(kernel_fake_new(inv, &w->k), 0);
	inv_free(inv);
	w->spec = host_spec(yaml);
	strcpy(w->dir, "/tmp/plenum-probe-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->journal, sizeof(w->journal), "%s/journal", w->dir);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	fake_probe_others(NULL, 0);
	assert_int_equal(rmdir(w->dir), 0);
	kernel_free(w->k);
	spec_free(w->spec);
	plan_conflicts_done(&w->conflicts);
	free(w);
	return 0;
}

static struct apply *apply_links(struct world *w, const struct plan *p, struct apply_outcome *o)
{
	struct apply *a = NULL;
	struct diag d = DIAG_INIT;

	assert_int_equal(apply_run_links(w->k, p, w->journal, &a, o), 0);
	assert_false(has(w->k, "10.10.1.10") || has(w->k, "10.10.1.11"));
	assert_int_equal(apply_probe(w->k, p, &w->conflicts, &d), 0);
	assert_int_equal(d.n, 0);
	diag_done(&d);
	return a;
}

/* No worker gets the address in use; the rest continues under the same journal, and a rollback
 * restores the host. */
static void apply_with_conflict(struct world *w, bool commit)
{
	struct plan *p = plan_with(w->k, w->spec, NULL), *rest;
	const struct inventory *inv = kernel_fake_inventory(w->k);
	const size_t n_addrs = inv->n_addrs, n_rules = inv->n_rules, n_routes = inv->n_routes;
	struct apply_outcome o;
	struct apply *a = apply_links(w, p, &o);
	const struct ip_addr ip = host_addr("10.10.1.10");

	assert_int_equal(w->conflicts.n, 1);
	assert_non_null(plan_conflicts_find(&w->conflicts, &ip, "veth1"));
	rest = plan_with(w->k, w->spec, &w->conflicts);
	assert_int_equal(apply_go_on(a, rest, true, &o), 0);
	assert_true(has(w->k, "10.10.1.11"));
	assert_false(has(w->k, "10.10.1.10"));
	assert_int_equal(rest->workers[0].n_ports, 0);
	assert_string_equal(rest->legs[0].reason.code, "address-duplicate");
	assert_non_null(
		strstr(rest->legs[0].reason.text, "(02:00:00:00:00:77) already uses 10.10.1.10"));
	plan_free(p);
	plan_free(rest);
	if (commit) {
		assert_int_equal(apply_commit(a, &o), 0);
		rest = plan_with(w->k, w->spec, &w->conflicts);
		assert_int_equal(rest->n_steps, 0);
		plan_free(rest);
		return;
	}
	assert_int_equal(apply_rollback(a, &o), 0);
	assert_int_equal(inv->n_addrs, n_addrs);
	assert_int_equal(inv->n_rules, n_rules);
	assert_int_equal(inv->n_routes, n_routes);
}

static void test_a_taken_address_is_a_conflict(void **state)
{
	struct world *w = *state;
	struct kernel_probe other = {.ip = host_addr("10.10.1.10"), .by = theirs};

	fake_probe_others(&other, 1);
	apply_with_conflict(w, false);
	plan_conflicts_done(&w->conflicts);
	apply_with_conflict(w, true);
}

/* Our own worker that answered for the address so far is not another host. */
static void test_our_own_worker_is_no_conflict(void **state)
{
	struct world *w = *state;
	struct kernel_probe self = {.ip = host_addr("10.10.1.10"),
				    .by = {{2, 0, 0, 0, 0, HOST_VETH1}}};
	struct plan *p = plan_with(w->k, w->spec, NULL);
	struct apply_outcome o;
	struct apply *a;

	fake_probe_others(&self, 1);
	a = apply_links(w, p, &o);
	assert_int_equal(w->conflicts.n, 0);
	assert_int_equal(apply_go_on(a, p, false, &o), 0);
	assert_int_equal(apply_commit(a, &o), 0);
	assert_true(has(w->k, "10.10.1.10") && has(w->k, "10.10.1.11"));
	plan_free(p);
}

/* All new addresses are probed at once, existing ones not again. */
static void test_only_new_addresses_are_probed(void **state)
{
	struct world *w = *state;
	unsigned before = fake_probe_count();
	struct plan *p = plan_with(w->k, w->spec, NULL);
	struct apply_outcome o;
	struct apply *a = apply_links(w, p, &o);
	struct diag d = DIAG_INIT;

	assert_int_equal(fake_probe_count(), before + 1);
	assert_int_equal(apply_go_on(a, p, false, &o), 0);
	assert_int_equal(apply_commit(a, &o), 0);
	plan_free(p);
	p = plan_with(w->k, w->spec, NULL);
	assert_int_equal(apply_probe(w->k, p, &w->conflicts, &d), 0);
	assert_int_equal(fake_probe_count(), before + 1);
	plan_free(p);
	diag_done(&d);
}

/* Without carrier the probe is impossible, and a warning says so; the address is still added. */
static void test_a_probe_without_carrier_warns(void **state)
{
	struct world *w = *state;
	struct plan *p = plan_with(w->k, w->spec, NULL);
	struct diag d = DIAG_INIT;

	assert_int_equal(kernel_fake_set_carrier(w->k, HOST_VETH1, false), 0);
	assert_int_equal(apply_probe(w->k, p, &w->conflicts, &d), 0);
	assert_int_equal(d.n, 2);
	assert_non_null(
		strstr(d.entries[0].text,
		       "whether another host uses 10.10.1.10 on veth1: the link has no carrier"));
	assert_int_equal(w->conflicts.n, 0);
	plan_free(p);
	diag_done(&d);
}

/* A failure after the links rolls them back, too. */
static void test_a_failure_after_the_links_is_rolled_back(void **state)
{
	struct world *w = *state;
	struct plan *p = plan_with(w->k, w->spec, NULL);
	char *before = inv_to_json(kernel_fake_inventory(w->k)), *after;
	struct apply_outcome o;
	struct apply *a = apply_links(w, p, &o);

	kernel_fake_fail(w->k, 2, 1, -EIO, "no");
	assert_int_equal(apply_go_on(a, p, false, &o), -EIO);
	assert_false(o.stuck);
	after = inv_to_json(kernel_fake_inventory(w->k));
	assert_string_equal(after, before);
	free(before);
	free(after);
	plan_free(p);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arp_probes_find_other_hosts),
		cmocka_unit_test(test_solicitations_find_other_hosts),
		CASE(test_a_taken_address_is_a_conflict),
		CASE(test_our_own_worker_is_no_conflict),
		CASE(test_only_new_addresses_are_probed),
		CASE(test_a_probe_without_carrier_warns),
		CASE(test_a_failure_after_the_links_is_rolled_back),
	};

	plugins_register();
	return cmocka_run_group_tests_name("duplicate addresses", tests, NULL, NULL);
}
