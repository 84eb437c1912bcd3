/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queueing discipline of a leg: read from the kernel's list of disciplines, and on a host in
 * memory set, restored after a change of another program, and given back.
 */
#include "netcfg/linux/rtnl/rtnl_qdisc.h"
#include "plugins/plugins.h"
#include "tests/lib/host/apply_host.h"
#include <linux/pkt_sched.h>

#define OWN 0x70700000U
#define OTHER 0x80010000U

#define ROOT(kind_, handle_)                                                        \
	{                                                                           \
		.ifindex = 3, .handle = handle_, .parent = TC_H_ROOT, .kind = kind_ \
	}
#define QUEUE(kind_, parent_)                                  \
	{                                                      \
		.ifindex = 3, .parent = parent_, .kind = kind_ \
	}
#define OTHER_LINK                                                                \
	{                                                                         \
		.ifindex = 4, .parent = TC_H_ROOT, .kind = "tbf", .handle = OTHER \
	}

static void test_the_text_of_a_link(void **state)
{
	static const struct {
		const char *text;
		struct rtnl_qdisc all[4];
	} cases[] = {
		{"default", {OTHER_LINK}},
		{"noqueue", {OTHER_LINK, ROOT("noqueue", 0)}},
		{"fq_codel", {ROOT("fq_codel", 0), OTHER_LINK}},
		{"pfifo", {ROOT("pfifo", OWN)}},
		{"tc:pfifo", {ROOT("pfifo", OTHER)}},
		{"tc:htb", {ROOT("htb", OTHER), QUEUE("fq", OTHER | 1)}},
		{"fq", {ROOT("mq", 0), QUEUE("fq", 1), QUEUE("fq", 2)}},
		{"fq", {QUEUE("fq", OWN | 1), QUEUE("fq", OWN | 2), ROOT("mq", OWN)}},
		{"tc:fq", {ROOT("mq", OTHER), QUEUE("fq", OTHER | 1), QUEUE("fq", OTHER | 2)}},
		{"tc:mixed", {ROOT("mq", OWN), QUEUE("fq", OWN | 1), QUEUE("tbf", OWN | 2)}},
		{"mq", {ROOT("mq", 0)}},
	};
	char text[RTNL_QDISC_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(
			rtnl_qdisc_text(cases[i].all, ARRAY_SIZE(cases[i].all), 3, text),
			cases[i].text);
}

static const char with_key[] =
	"host: host-a\n"
	"networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16, mtu: 1500}]\n"
	"net: [{name: leg-a, device: veth0, network: data-a, qdisc: pfifo}]\n"
	"workers: [{role: compute, cores: [1], transport: udp, exports: "
	"[{name: x, path: /srv}]}]\n";
static const char none[] = "host: host-a\n"
			   "networks: [{name: data-b, range: fd00:b::10-fd00:b::40/64}]\n"
			   "net: [{name: leg-b, device: eth9, network: data-b}]\n";

static void host_gets(struct host *h, const char *qdisc)
{
	struct inventory *inv = host_collect(h);

	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == HOST_VETH0)
			inv_text_set(inv->links[i].qdisc, sizeof(inv->links[i].qdisc), qdisc);
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	inv_free(inv);
}

static const char *qdisc_of(struct host *h)
{
	return inv_link_by_index(kernel_fake_inventory(h->fake), HOST_VETH0)->qdisc;
}

static void test_it_is_set_and_given_back(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(with_key), *nothing = host_spec(none);

	host_gets(h, "fq_codel");
	plan_free(host_apply(h, s));
	assert_string_equal(qdisc_of(h), "pfifo");
	assert_int_equal(host_steps_left(h, s), 0);
	plan_free(host_apply(h, nothing));
	assert_string_equal(qdisc_of(h), "fq_codel");
	spec_free(s);
	spec_free(nothing);
}

static void test_a_change_of_another_program_is_undone(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(with_key), *nothing = host_spec(none);

	host_gets(h, "fq_codel");
	plan_free(host_apply(h, s));
	host_gets(h, "tc:tbf");
	assert_int_equal(host_steps_left(h, s), 1);
	plan_free(host_apply(h, s));
	assert_string_equal(qdisc_of(h), "pfifo");
	plan_free(host_apply(h, nothing));
	assert_string_equal(qdisc_of(h), "fq_codel");
	spec_free(s);
	spec_free(nothing);
}

static void test_that_of_another_program_stays(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(with_key);
	struct plan *p;

	host_gets(h, "tc:tbf");
	p = host_plan(h, s);
	assert_int_equal(p->legs[0].state, PLAN_LEG_DEGRADED);
	assert_string_equal(p->legs[0].reason.code, "qdisc-foreign");
	plan_free(p);
	plan_free(host_apply(h, s));
	assert_string_equal(qdisc_of(h), "tc:tbf");
	spec_free(s);
}

static void test_a_kernel_that_shows_none_is_named(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(with_key);
	struct plan *p = host_plan(h, s);

	assert_int_equal(p->legs[0].state, PLAN_LEG_DEGRADED);
	assert_string_equal(p->legs[0].reason.code, "no-qdisc");
	plan_free(p);
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, apply_host_setup, apply_host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_text_of_a_link),
		CASE(test_it_is_set_and_given_back),
		CASE(test_a_change_of_another_program_is_undone),
		CASE(test_that_of_another_program_stays),
		CASE(test_a_kernel_that_shows_none_is_named),
	};

	plugins_register();
	return cmocka_run_group_tests_name("qdisc", tests, NULL, NULL);
}
