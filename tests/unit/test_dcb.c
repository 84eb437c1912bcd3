/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCB settings of devices: their text form; dcbnl messages, with answers as Linux sends them and
 * requests byte for byte as dcb(8) sends them; and a host in memory on which they are set, changed
 * by other programs and restored.
 */
#include "netcfg/linux/netlink/kernel_dcb.h"
#include "plugins/plugins.h"
#include "tests/lib/host/apply_host.h"
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

/* ---- text form ---- */

static void test_words(void **state)
{
	static const char *const ets[] = {
		"0:strict:01234567",
		"0:50:0124567;3:50:3",
		"0:100:012457;3:cbs:3;6:vendor:6",
		"0:99:0123456;5:1:;7:tsa9:7",
		"0:strict:0;1:strict:1;2:strict:2;3:strict:3;4:strict:4;5:strict:5;6:vendor:6;7:"
		"strict:7",
	};
	static const char *const bad[] = {
		"",
		"0:50",
		"0:strict:0123456",
		"0:strict:01234567;",
		"8:strict:01234567",
		"0:x:0",
		"0:50:01233",
		"0:300:01234567",
		"0:strict:01234567 ",
		"0:strict:01234568",
	};
	char buf[INV_DEVICE_VALUE_MAX], dscp[INV_DCB_DSCP_MAX];
	uint8_t bits, prios[DCB_DSCPS];
	struct dcb_ets e;

	for (size_t i = 0; i < ARRAY_SIZE(ets); i++) {
		assert_int_equal(dcb_ets_parse(ets[i], &e), 0);
		assert_string_equal(dcb_ets_format(&e, buf), ets[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(dcb_ets_parse(bad[i], &e), -EINVAL);
	assert_int_equal(dcb_prios_parse("34", &bits), 0);
	assert_int_equal(bits, 0x18);
	assert_string_equal(dcb_prios_format(0, buf), "none");
	assert_int_equal(dcb_prios_parse("none", &bits), 0);
	assert_int_equal(bits, 0);
	assert_int_equal(dcb_prios_parse("", &bits), -EINVAL);
	assert_int_equal(dcb_prios_parse("8", &bits), -EINVAL);
	assert_int_equal(dcb_prios_parse("33", &bits), -EINVAL);
	memset(prios, 0xff, sizeof(prios));
	assert_int_equal(dcb_dscp_parse(dcb_dscp_format(prios, dscp), prios), 0);
	assert_int_equal(dcb_dscp_parse("24:3,48:67", prios), 0);
	assert_string_equal(dcb_dscp_format(prios, dscp), "24:3,48:67");
	assert_int_equal(dcb_dscp_parse("24:3,", prios), -EINVAL);
	assert_int_equal(dcb_dscp_parse("64:3", prios), -EINVAL);
}

/* ---- messages ---- */

static struct nlmsghdr *answer(char *buf, uint8_t command)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct dcbmsg *dcb = mnl_nlmsg_put_extra_header(h, sizeof(*dcb));

	h->nlmsg_type = RTM_GETDCB;
	dcb->cmd = command;
	mnl_attr_put_strz(h, DCB_ATTR_IFNAME, "eth0");
	return h;
}

/* As dcbnl_ieee_fill() of Linux 6.2 and later sends it. */
static struct nlmsghdr *ieee_answer(char *buf, bool with_trust)
{
	const struct ieee_ets ets = {.willing = 1,
				     .ets_cap = 8,
				     .tc_tx_bw = {60, 0, 0, 40},
				     .tc_tsa = {IEEE_8021QAZ_TSA_ETS, 0, 0, IEEE_8021QAZ_TSA_ETS},
				     .prio_tc = {0, 0, 0, 3, 0, 0, 6, 0}};
	const struct ieee_pfc pfc = {.pfc_cap = 4, .pfc_en = 0x08, .mbc = 1, .delay = 7};
	const struct dcb_app apps[] = {{IEEE_8021QAZ_APP_SEL_DSCP, 3, 24},
				       {IEEE_8021QAZ_APP_SEL_DSCP, 5, 24},
				       {IEEE_8021QAZ_APP_SEL_ETHERTYPE, 3, 0x8915},
				       {IEEE_8021QAZ_APP_SEL_DSCP, 6, 48}};
	struct nlmsghdr *h = answer(buf, DCB_CMD_IEEE_GET);
	struct nlattr *ieee = mnl_attr_nest_start(h, DCB_ATTR_IEEE), *table;

	mnl_attr_put(h, DCB_ATTR_IEEE_ETS, sizeof(ets), &ets);
	mnl_attr_put(h, DCB_ATTR_IEEE_PFC, sizeof(pfc), &pfc);
	table = mnl_attr_nest_start(h, DCB_ATTR_IEEE_APP_TABLE);
	for (size_t i = 0; i < ARRAY_SIZE(apps); i++)
		mnl_attr_put(h, DCB_ATTR_IEEE_APP, sizeof(apps[i]), &apps[i]);
	mnl_attr_nest_end(h, table);
	if (with_trust) {
		table = mnl_attr_nest_start(h, 11);
		mnl_attr_put_u8(h, 1, IEEE_8021QAZ_APP_SEL_DSCP);
		mnl_attr_put_u8(h, 2, 255);
		mnl_attr_nest_end(h, table);
	}
	mnl_attr_nest_end(h, ieee);
	mnl_attr_put_u8(h, DCB_ATTR_DCBX, DCB_CAP_DCBX_LLD_MANAGED | DCB_CAP_DCBX_VER_IEEE);
	return h;
}

static void test_answers(void **state)
{
	char buf[1024];
	struct dcb_state s;
	struct inv_dcb dcb = {.ifindex = 2};
	struct nlmsghdr *h;

	assert_true(kernel_dcb_parse(ieee_answer(buf, true), &s));
	kernel_dcb_fill(&s, &dcb);
	assert_string_equal(dcb.ets, "0:60:012457;3:40:3;6:strict:6");
	assert_string_equal(dcb.pfc, "3");
	assert_string_equal(dcb.dscp, "24:35,48:6");
	assert_string_equal(dcb.trust, "dscp,pcp");
	assert_true(dcb.firmware);
	assert_int_equal(dcb.max_pfc, 4);
	assert_int_equal(dcb.max_classes, 8);
	dcb = (struct inv_dcb){.ifindex = 2};
	assert_true(kernel_dcb_parse(ieee_answer(buf, false), &s));
	kernel_dcb_fill(&s, &dcb);
	assert_string_equal(dcb.trust, "");
	/* A driver with only the older form. */
	assert_false(kernel_dcb_parse(answer(buf, DCB_CMD_IEEE_GET), &s));
	/* The answer holds the result of a change, cut to a byte; its ack is always a success. */
	h = answer(buf, DCB_CMD_IEEE_SET);
	mnl_attr_put_u8(h, DCB_ATTR_IEEE, (uint8_t)-EINVAL);
	assert_int_equal(kernel_dcb_result(h), -EINVAL);
	h = answer(buf, DCB_CMD_IEEE_SET);
	mnl_attr_put_u8(h, DCB_ATTR_IEEE, 0);
	assert_int_equal(kernel_dcb_result(h), 0);
}

static struct kernel_change change_of(enum device_attr attr, uint8_t dscp, const char *value)
{
	struct kernel_change c = {.kind = KERNEL_DEVICE, .ifindex = HOST_VETH0};

	c.device.attr = attr;
	c.device.dscp = dscp;
	snprintf(c.device.value, sizeof(c.device.value), "%s", value);
	return c;
}

/* The request of 'dcb app add dev v0 dscp-prio 24:3' and of its del, without the fields that
 * netlink.c fills in. */
static void test_requests_are_those_of_dcb(void **state)
{
	static const uint8_t attrs[] = {7,  0, 1,  0,	 'v', '0', 0, 0, /* the name */
					16, 0, 13, 0x80,		 /* IEEE */
					12, 0, 3,  0x80, 8,   0,   1, 0, 5, 3, 24, 0};
	const struct kernel_change c = change_of(DEVICE_DSCP, 24, "3");
	char buf[DCB_REQUEST_BYTES_MAX];
	struct dcb_state now = {.dcbx = 0};

	for (int step = 0; step < 2; step++) {
		const struct nlmsghdr *h = (const struct nlmsghdr *)buf;
		const struct dcbmsg *dcb = mnl_nlmsg_get_payload(h);
		struct kernel_change none = change_of(DEVICE_DSCP, 24, "none");

		now.dscp[24] = step ? 0x08 : 0;
		assert_int_equal(kernel_dcb_request(&now, step ? &none : &c, "v0", step, buf), 44);
		assert_int_equal(h->nlmsg_type, RTM_SETDCB);
		assert_int_equal(dcb->dcb_family, 0);
		assert_int_equal(dcb->cmd, step ? DCB_CMD_IEEE_DEL : DCB_CMD_IEEE_SET);
		assert_memory_equal(buf + 20, attrs, sizeof(attrs));
	}
}

/* A change request keeps the values of the driver's answer that it does not concern. */
static void test_requests_keep_other_values(void **state)
{
	char said[1024], buf[DCB_REQUEST_BYTES_MAX];
	struct kernel_change c = change_of(DEVICE_ETS, 0, "0:100:0123456;7:strict:7");
	struct dcb_state now, will;
	struct nlmsghdr *h = (struct nlmsghdr *)buf;

	assert_true(kernel_dcb_parse(ieee_answer(said, true), &now));
	assert_true(kernel_dcb_request(&now, &c, "eth0", 0, buf) > 0);
	assert_true(kernel_dcb_parse(h, &will));
	assert_int_equal(will.ets.willing, 1);
	assert_int_equal(will.ets.tc_tx_bw[0], 100);
	assert_int_equal(will.ets.prio_tc[7], 7);
	assert_int_equal(will.ets.prio_tc[3], 0);
	assert_false(will.has_pfc);
	c = change_of(DEVICE_PFC, 0, "35");
	assert_true(kernel_dcb_request(&now, &c, "eth0", 0, buf) > 0);
	assert_true(kernel_dcb_parse(h, &will));
	assert_int_equal(will.pfc.pfc_en, 0x28);
	assert_int_equal(will.pfc.delay, 7);
	assert_false(will.has_ets);
	assert_int_equal(kernel_dcb_request(&now, &c, "eth0", 1, buf), 0);
	/* Two priorities become one: the new one is added first. */
	c = change_of(DEVICE_DSCP, 24, "4");
	assert_true(kernel_dcb_request(&now, &c, "eth0", 0, buf) > 0);
	now.dscp[24] |= 1U << 4;
	assert_int_equal(kernel_dcb_request(&now, &c, "eth0", 0, buf), 0);
	assert_true(kernel_dcb_request(&now, &c, "eth0", 1, buf) > 0);
	c = change_of(DEVICE_ETS, 0, "nonsense");
	assert_int_equal(kernel_dcb_request(&now, &c, "eth0", 0, buf), -EINVAL);
	now.has_trust = false;
	c = change_of(DEVICE_TRUST, 0, "dscp");
	assert_int_equal(kernel_dcb_request(&now, &c, "eth0", 0, buf), -EOPNOTSUPP);
}

/* ---- a host ---- */

static const char wanted[] =
	"host: host-a\n"
	"networks:\n"
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n"
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16, vlan: 200}\n"
	"net:\n"
	"  - {name: leg-a, device: veth0, network: data-a, dcb: {pfc: [3], trust: dscp,\n"
	"     dscp: [{dscp: 24, prio: 3}],\n"
	"     ets: [{tc: 0, prios: [0, 1, 2, 4, 5, 7], bandwidth: 50},\n"
	"           {tc: 3, prios: [3], bandwidth: 50}, {tc: 6, prios: [6]}]}}\n"
	"  - {name: leg-b, device: veth1, network: data-b, dcb: {pfc: [3]}}\n"
	"ha: {mode: dual-leg}\n"
	"workers: [{role: compute, cores: [1], transport: udp, exports: "
	"[{name: x, path: /srv}]}]\n";
static const char none[] = "host: host-a\n"
			   "networks: [{name: data-b, range: fd00:b::10-fd00:b::40/64}]\n"
			   "net: [{name: leg-b, device: eth9, network: data-b}]\n";

static int setup(void **state)
{
	int r = apply_host_setup(state);
	struct host *h = *state;
	struct inventory *inv = r == 0 ? host_collect(h) : NULL;

	if (r < 0)
		return r;
	for (uint32_t ifindex = HOST_VETH0; ifindex <= HOST_VETH1; ifindex++) {
		struct inv_dcb *dcb = inv_dcb_add(inv);

		assert_non_null(dcb);
		*dcb = (struct inv_dcb){.ifindex = ifindex,
					.pfc = "none",
					.trust = "pcp",
					.ets = "0:strict:01234567",
					.dscp = "24:1,26:4"};
	}
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	inv_free(inv);
	return 0;
}

static void test_settings_are_set_and_restored(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(wanted), *nothing = host_spec(none);
	char *before = host_json(h);
	const struct inv_dcb *dcb;

	plan_free(host_apply(h, s));
	dcb = inv_dcb_find(kernel_fake_inventory(h->fake), HOST_VETH0);
	assert_string_equal(dcb->pfc, "3");
	assert_string_equal(dcb->trust, "dscp");
	assert_string_equal(dcb->dscp, "24:3,26:4");
	assert_string_equal(dcb->ets, "0:50:012457;3:50:3;6:strict:6");
	/* The parent of the VLAN has the setting. */
	dcb = inv_dcb_find(kernel_fake_inventory(h->fake), HOST_VETH1);
	assert_string_equal(dcb->pfc, "3");
	assert_string_equal(dcb->trust, "pcp");
	assert_int_equal(host_steps_left(h, s), 0);

	host_gives_all_back(h, nothing, before);
	free(before);
	spec_free(s);
	spec_free(nothing);
}

static void test_a_foreign_change_is_repaired(void **state)
{
	struct host *h = *state;
	struct spec *s = host_spec(wanted);
	struct kernel_change c = change_of(DEVICE_PFC, 0, "none");
	struct plan *p;
	char text[256];

	plan_free(host_apply(h, s));
	p = host_plan(h, s);
	assert_int_equal(p->n_steps, 0);
	assert_false(plan_has_drifted(h->fake, p));
	assert_int_equal(h->fake->ops->change(h->fake, &c, NULL), 0);
	assert_true(plan_has_drifted(h->fake, p));
	plan_free(p);
	p = host_plan(h, s);
	assert_int_equal(p->n_steps, 1);
	plan_step_describe_undone(&p->steps[0], text, sizeof(text));
	assert_string_equal(text, "the pfc of leg-a (veth0) was set to none (3 is wanted)");
	plan_free(p);
	plan_free(host_apply(h, s));
	assert_int_equal(host_steps_left(h, s), 0);
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, apply_host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_requests_are_those_of_dcb),
		cmocka_unit_test(test_requests_keep_other_values),
		CASE(test_settings_are_set_and_restored),
		CASE(test_a_foreign_change_is_repaired),
	};

	plugins_register();
	return cmocka_run_group_tests_name("DCB", tests, NULL, NULL);
}
