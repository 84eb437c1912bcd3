/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The IPoIB mode: read from its rtnetlink number, and on a host in memory set before an MTU that
 * needs it or after one that it does not allow, and restored in reverse order.
 */
#include "netcfg/linux/rtnl/rtnl.h"
#include "plugins/plugins.h"
#include "tests/lib/host/apply_host.h"
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>

static void test_mode_is_read(void **state)
{
	static const char *const texts[] = {"datagram", "connected", ""};

	for (uint16_t mode = 0; mode < ARRAY_SIZE(texts); mode++) {
		char buf[512];
		struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
		struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(h, sizeof(*ifi));
		struct inventory *inv = inv_new();
		struct nlattr *info, *data;

		h->nlmsg_type = RTM_NEWLINK;
		ifi->ifi_type = ARPHRD_INFINIBAND;
		ifi->ifi_index = 7;
		mnl_attr_put_strz(h, IFLA_IFNAME, "ib0");
		info = mnl_attr_nest_start(h, IFLA_LINKINFO);
		mnl_attr_put_strz(h, IFLA_INFO_KIND, "ipoib");
		data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
		mnl_attr_put_u16(h, IFLA_IPOIB_PKEY, 0xffff);
		mnl_attr_put_u16(h, IFLA_IPOIB_MODE, mode);
		mnl_attr_nest_end(h, data);
		mnl_attr_nest_end(h, info);
		assert_int_equal(rtnl_parse_link(inv, h), 0);
		assert_int_equal(inv->links[0].kind, INV_LINK_IPOIB);
		assert_string_equal(inv->links[0].ipoib_mode, texts[mode]);
		inv_free(inv);
	}
}

static const char format[] =
	"host: host-a\n"
	"networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16, mtu: %u}]\n"
	"net: [{name: leg-a, device: veth0, network: data-a%s}]\n"
	"workers: [{role: compute, cores: [1], transport: udp, exports: "
	"[{name: x, path: /srv}]}]\n";
static const char none[] = "host: host-a\n"
			   "networks: [{name: data-b, range: fd00:b::10-fd00:b::40/64}]\n"
			   "net: [{name: leg-b, device: eth9, network: data-b}]\n";

static struct spec *wanted(unsigned mtu, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text), format, mtu, more);
	return host_spec(text);
}

static void host_becomes(struct host *h, const char *mode, uint32_t mtu)
{
	struct inventory *inv = host_collect(h);

	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *l = &inv->links[i];

		if (l->ifindex != HOST_VETH0)
			continue;
		l->kind = INV_LINK_IPOIB;
		l->mtu = mtu;
		l->mtu_max = 65520;
		inv_text_set(l->ipoib_mode, sizeof(l->ipoib_mode), mode);
	}
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	inv_free(inv);
}

static void check_link(struct host *h, const char *mode, uint32_t mtu)
{
	const struct inv_link *l = inv_link_by_index(kernel_fake_inventory(h->fake), HOST_VETH0);

	assert_string_equal(l->ipoib_mode, mode);
	assert_int_equal(l->mtu, mtu);
}

static void goes_and_comes_back(struct host *h, const char *from, uint32_t from_mtu, const char *to,
				uint32_t to_mtu)
{
	char more[32];
	struct spec *s, *nothing = host_spec(none);

	snprintf(more, sizeof(more), ", ipoib-mode: %s", to);
	s = wanted(to_mtu, more);
	host_becomes(h, from, from_mtu);
	plan_free(host_apply(h, s));
	check_link(h, to, to_mtu);
	assert_int_equal(host_steps_left(h, s), 0);
	plan_free(host_apply(h, nothing));
	check_link(h, from, from_mtu);
	assert_int_equal(host_steps_left(h, nothing), 0);
	spec_free(s);
	spec_free(nothing);
}

static void test_connected_mode_is_set_before_the_mtu(void **state)
{
	goes_and_comes_back(*state, "datagram", 2044, "connected", 65520);
}

static void test_datagram_mode_is_set_after_the_mtu(void **state)
{
	goes_and_comes_back(*state, "connected", 65520, "datagram", 2044);
}

static void test_mtu_needs_the_mode(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(9000, "");
	struct plan *p;

	host_becomes(h, "datagram", 2044);
	p = host_plan(h, s);
	assert_int_equal(p->legs[0].state, PLAN_LEG_REFUSED);
	assert_string_equal(p->legs[0].reason.code, "mtu-impossible");
	plan_free(p);
	spec_free(s);
}

static void test_other_devices_have_no_mode(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(1500, ", ipoib-mode: datagram");
	struct plan *p = host_plan(h, s);

	assert_int_equal(p->legs[0].state, PLAN_LEG_DEGRADED);
	assert_string_equal(p->legs[0].reason.code, "no-ipoib");
	plan_free(p);
	plan_free(host_apply(h, s));
	assert_int_equal(host_steps_left(h, s), 0);
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, apply_host_setup, apply_host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mode_is_read),
		CASE(test_connected_mode_is_set_before_the_mtu),
		CASE(test_datagram_mode_is_set_after_the_mtu),
		CASE(test_mtu_needs_the_mode),
		CASE(test_other_devices_have_no_mode),
	};

	plugins_register();
	return cmocka_run_group_tests_name("IPoIB", tests, NULL, NULL);
}
