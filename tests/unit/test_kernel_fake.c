/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/host/inventory_build.h"
#include "tests/lib/kernel/kernel_fake.h"
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>

#define LEG 7

static struct ip_prefix prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, &p), 0);
	return p;
}

static struct ip_addr address(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, &a), 0);
	return a;
}

static int setup(void **state)
{
	struct inventory *inv = inv_new();
	struct inv_link *l = inv_link_add(inv);
	struct kernel *k;

	l->ifindex = LEG;
	strcpy(l->name, "leg0");
	strcpy(l->pci, "0000:3b:00.0");
	l->mtu = 1500;
	l->mtu_min = 68;
	l->mtu_max = 9000;
	l->up = l->carrier = true;
	assert_int_equal(inv_sysctl_add(inv, "net/ipv4/conf/leg0/arp_announce", "0"), 0);
	assert_int_equal(inv_sysctl_add(inv, "net/ipv4/conf/leg0/promote_secondaries", "0"), 0);
	assert_int_equal(kernel_fake_new(inv, &k), 0);
	inv_free(inv);
	*state = k;
	return 0;
}

static int teardown(void **state)
{
	kernel_free(*state);
	return 0;
}

static struct inv_addr leg_addr(const char *text)
{
	return (struct inv_addr){.ifindex = LEG, .ip = prefix(text)};
}

static void test_addresses_behave_as_in_the_kernel(void **state)
{
	struct kernel *k = *state;
	const struct inventory *inv = kernel_fake_inventory(k);
	struct inv_addr a = leg_addr("10.0.0.1/24"), b = leg_addr("10.0.0.2/24");
	struct reason why = {.code = ""};

	assert_int_equal(kernel_do_addr_add(k, &a, &why), 0);
	assert_int_equal(kernel_do_addr_add(k, &b, &why), 0);
	assert_int_equal(inv->addrs[0].proto, PLENUM_RTPROT);
	assert_false(inv->addrs[0].secondary);
	assert_true(inv->addrs[1].secondary);
	assert_int_equal(inv->n_routes, 1);
	assert_int_equal(inv->routes[0].proto, RTPROT_KERNEL);
	assert_string_equal(why.text, "");
	assert_int_equal(kernel_do_addr_add(k, &a, &why), -EEXIST);
	assert_string_not_equal(why.text, "");
	assert_int_equal(kernel_do_addr_del(k, &a, NULL), 0);
	assert_int_equal(inv->n_addrs, 0); /* the secondary went along */
	assert_int_equal(inv->n_routes, 0);
	assert_int_equal(kernel_do_addr_del(k, &a, NULL), -EADDRNOTAVAIL);
	assert_int_equal(k->n_writes, 5);
}

static void test_secondary_is_promoted(void **state)
{
	struct kernel *k = *state;
	const struct inventory *inv = kernel_fake_inventory(k);
	struct inv_addr a = leg_addr("10.0.0.1/24"), b = leg_addr("10.0.0.2/24");

	assert_int_equal(kernel_do_sysctl(k, "net/ipv4/conf/leg0/promote_secondaries", "1", NULL),
			 0);
	assert_int_equal(kernel_do_addr_add(k, &a, NULL), 0);
	assert_int_equal(kernel_do_addr_add(k, &b, NULL), 0);
	assert_int_equal(kernel_do_addr_del(k, &a, NULL), 0);
	assert_int_equal(inv->n_addrs, 1);
	assert_false(inv->addrs[0].secondary);
	assert_int_equal(inv->n_routes, 1);
	assert_true(ip_addr_equal(&inv->routes[0].src, &b.ip.addr));
}

static void test_routes_follow_the_link(void **state)
{
	struct kernel *k = *state;
	const struct inventory *inv = kernel_fake_inventory(k);
	struct inv_addr a = leg_addr("10.0.0.1/24");
	struct inv_route r = {
		.table = 100, .family = AF_INET, .gateway = address("10.0.0.254"), .oif = LEG};

	assert_int_equal(kernel_do_route_add(k, &r, NULL), -ENETUNREACH);
	assert_int_equal(kernel_do_addr_add(k, &a, NULL), 0);
	assert_int_equal(kernel_do_route_add(k, &r, NULL), 0);
	assert_int_equal(kernel_do_route_add(k, &r, NULL), -EEXIST);
	assert_int_equal(kernel_do_link(k, LEG, KERNEL_LINK_UP, 0, NULL), 0);
	assert_int_equal(inv->n_routes, 0);
	assert_int_equal(kernel_do_route_add(k, &r, NULL), -ENETDOWN);
	assert_int_equal(kernel_do_link(k, LEG, KERNEL_LINK_UP, 1, NULL), 0);
	assert_int_equal(inv->n_routes, 1);
	assert_true(inv->links[0].carrier);
	assert_int_equal(kernel_do_route_del(k, &r, NULL), -ESRCH);
	assert_int_equal(kernel_do_route_add(k, &r, NULL), 0);
	assert_int_equal(kernel_do_route_del(k, &r, NULL), 0);
}

static void test_links_have_limits(void **state)
{
	struct kernel *k = *state;
	struct kernel_change c = {
		.kind = KERNEL_LINK, .ifindex = LEG, .link = {.attr = KERNEL_LINK_MTU}};
	struct reason why;

	assert_int_equal(kernel_do_link(k, LEG, KERNEL_LINK_MTU, 9001, &why), -EINVAL);
	assert_string_equal(why.text, "mtu greater than device maximum");
	assert_int_equal(kernel_do_link(k, LEG, KERNEL_LINK_MTU, 9000, &why), 0);
	assert_int_equal(kernel_do_link(k, 99, KERNEL_LINK_MTU, 9000, &why), -ENODEV);
	assert_int_equal(k->ops->read(k, &c), 0);
	assert_int_equal(c.link.was, 9000);
	c.kind = KERNEL_ADDR;
	assert_int_equal(k->ops->read(k, &c), -EOPNOTSUPP);
}

static void test_links_refer_to_each_other(void **state)
{
	struct kernel *k = *state;
	uint32_t ifindex = 0;

	assert_int_equal(k->ops->link_find(k, "leg0", &ifindex), 0);
	assert_int_equal(ifindex, LEG);
	assert_int_equal(k->ops->link_find(k, "leg", &ifindex), -ENODEV);
	assert_int_equal(k->ops->link_find(k, "0000:3b:00.0", &ifindex), 0);
	assert_int_equal(k->ops->link_find(k, "0000:3b:00.0/vf0", &ifindex), -ENODEV);
}

static void test_rules_and_sysctls_behave_as_in_the_kernel(void **state)
{
	struct kernel *k = *state;
	struct inv_rule r = {.priority = 1000, .table = 100, .from = prefix("10.0.0.1/32")};
	char value[16];

	assert_int_equal(kernel_do_rule_add(k, &r, NULL), 0);
	assert_int_equal(kernel_do_rule_add(k, &r, NULL), -EEXIST);
	assert_int_equal(kernel_do_rule_del(k, &r, NULL), 0);
	assert_int_equal(kernel_do_rule_del(k, &r, NULL), -ENOENT);
	assert_int_equal(kernel_do_sysctl(k, "net/ipv4/conf/leg0/arp_announce", "2", NULL), 0);
	assert_int_equal(kernel_do_read_sysctl(k, "net/ipv4/conf/leg0/arp_announce", value, 16), 0);
	assert_string_equal(value, "2");
	assert_int_equal(kernel_do_sysctl(k, "net/ipv4/conf/leg0/arp_announce", "x", NULL),
			 -EINVAL);
	assert_int_equal(kernel_do_sysctl(k, "net/ipv4/conf/leg1/arp_announce", "2", NULL),
			 -ENOENT);
	assert_int_equal(kernel_do_read_sysctl(k, "net/none", value, 16), -ENOENT);
}

static void test_an_injected_failure_occurs(void **state)
{
	struct kernel *k = *state;
	struct inv_addr a = leg_addr("10.0.0.1/24"), b = leg_addr("10.0.0.2/24");
	struct reason why;

	kernel_fake_fail(k, 2, 1, -EBUSY, "the test says no");
	assert_int_equal(kernel_do_addr_add(k, &a, &why), 0);
	assert_int_equal(kernel_do_addr_add(k, &b, &why), -EBUSY);
	assert_string_equal(why.text, "the test says no");
	assert_int_equal(kernel_fake_inventory(k)->n_addrs, 1);
	assert_int_equal(kernel_do_addr_add(k, &b, &why), 0);
	kernel_fake_fail(k, 1, 0, -EIO, NULL);
	assert_int_equal(kernel_do_addr_del(k, &b, &why), -EIO);
	assert_int_equal(kernel_do_addr_del(k, &b, &why), -EIO);
	assert_int_equal(k->n_writes, 5);
}

static void count_event(void *user, const struct kernel_event *e)
{
	unsigned *n = user;

	if (e->type == KERNEL_EVENT_LINK && !e->carrier && strcmp(e->ifname, "leg0") == 0)
		(*n)++;
}

static void test_the_watch_reports_changes(void **state)
{
	struct kernel *k = *state;
	struct pollfd p = {.fd = k->ops->watch_fd(k), .events = POLLIN};
	unsigned n = 0;

	assert_true(p.fd >= 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(kernel_fake_set_carrier(k, LEG, false), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(k->ops->watch_read(k, count_event, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(poll(&p, 1, 0), 0);
}

static void test_collect_is_numbered(void **state)
{
	struct kernel *k = *state;
	struct diag d = DIAG_INIT;
	struct inventory *first, *second;

	assert_int_equal(inv_collect(k, &d, &first), 0);
	assert_int_equal(inv_collect(k, &d, &second), 0);
	assert_int_equal(second->number, first->number + 1);
	assert_non_null(inv_link_by_index(first, LEG));
	assert_null(inv_link_by_index(first, LEG + 1));
	assert_ptr_equal(inv_link_find(first, "leg0"), &first->links[0]);
	assert_int_equal(k->n_writes, 0);
	inv_free(first);
	inv_free(second);
	diag_done(&d);
}

static int lookup(struct kernel *k, const char *to, struct inv_route *ret)
{
	const struct ip_addr from = address("10.0.0.1"), dest = address(to);
	struct reason why = {.code = ""};
	int r = k->ops->route_lookup(k, &from, &dest, 0, 0, ret, &why);

	assert_int_equal(why.text[0] != '\0', r < 0);
	return r;
}

/* Where a packet goes once the cable is pulled depends on the link's setting and on the routes to
 * nowhere behind it. */
static void test_route_lookup_without_carrier(void **state)
{
	struct inventory *inv = inv_new();
	struct inv_link *l = inv_link_add(inv);
	struct kernel *k;
	struct inv_route r;

	l->ifindex = LEG;
	strcpy(l->name, "leg0");
	l->up = true;
	*inv_addr_add(inv) = leg_addr("10.0.0.1/24");
	*inv_route_add(inv) = (struct inv_route){.table = RT_TABLE_MAIN,
						 .family = AF_INET,
						 .type = RTN_UNICAST,
						 .dst = prefix("10.0.0.0/24"),
						 .oif = LEG};
	assert_int_equal(kernel_fake_new(inv, &k), 0);
	assert_int_equal(lookup(k, "10.0.0.9", &r), 0); /* the default rules, unrecorded */
	assert_int_equal(r.oif, LEG);
	assert_int_equal(lookup(k, "10.0.0.1", &r), 0);
	assert_int_equal(r.type, RTN_LOCAL);
	assert_int_equal(lookup(k, "10.1.0.1", &r), -ENETUNREACH);
	kernel_free(k);
	assert_int_equal(inv_sysctl_add(inv, "net/ipv4/conf/leg0/ignore_routes_with_linkdown", "1"),
			 0);
	assert_int_equal(kernel_fake_new(inv, &k), 0);
	assert_int_equal(lookup(k, "10.0.0.9", &r), -ENETUNREACH);
	kernel_free(k);
	*inv_route_add(inv) = (struct inv_route){.table = RT_TABLE_MAIN,
						 .family = AF_INET,
						 .type = RTN_UNREACHABLE,
						 .metric = 4000,
						 .dst = prefix("0.0.0.0/0")};
	assert_int_equal(kernel_fake_new(inv, &k), 0);
	assert_int_equal(lookup(k, "10.0.0.9", &r), -EHOSTUNREACH);
	kernel_free(k);
	inv_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_addresses_behave_as_in_the_kernel, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_secondary_is_promoted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_routes_follow_the_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_have_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_refer_to_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rules_and_sysctls_behave_as_in_the_kernel,
						setup, teardown),
		cmocka_unit_test(test_route_lookup_without_carrier),
		cmocka_unit_test_setup_teardown(test_an_injected_failure_occurs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_watch_reports_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_collect_is_numbered, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
