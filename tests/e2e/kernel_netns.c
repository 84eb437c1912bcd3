/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes a real kernel via kernel_linux, and checks its watch; compares the host in memory with
 * it. inventory_netns covers the reading side.
 */
#include "netcfg/linux/rtnl/rtnl.h"
#include "tests/lib/kernel/kernel_fake.h"
#include "tests/lib/kernel/netns_kernel.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>

#define EVENT_DEADLINE_NS (20 * NSEC_PER_SEC)

static void test_link(void **state)
{
	struct kernel *k = *state;
	struct kernel_change c = {.kind = KERNEL_LINK, .link = {.attr = KERNEL_LINK_MTU}};
	struct inventory *inv = netns_collect(k);
	const struct inv_link *l = inv_link_by_name(inv, LEG);
	struct reason why = {.code = ""};
	uint32_t ifindex = 0;

	assert_int_equal(inv->n_links, 3);
	assert_non_null(l);
	assert_int_equal(l->kind, INV_LINK_VETH);
	assert_string_equal(l->kind_text, "veth");
	assert_true(l->up && l->carrier);
	assert_int_equal(l->mtu, 1500);
	assert_int_equal(l->lower, 0);
	c.ifindex = l->ifindex;
	assert_int_equal(k->n_writes, 0);
	assert_int_equal(kernel_do_link(k, c.ifindex, KERNEL_LINK_MTU, 9000, &why), 0);
	assert_int_equal(kernel_do_link(k, c.ifindex, KERNEL_LINK_MTU, 1000000, &why), -EINVAL);
	assert_string_equal(why.text, "mtu greater than device maximum");
	assert_int_equal(k->ops->read(k, &c), 0);
	assert_int_equal(c.link.was, 9000);
	c.link.attr = KERNEL_LINK_UP;
	assert_int_equal(k->ops->read(k, &c), 0);
	assert_int_equal(c.link.was, 1);
	assert_int_equal(kernel_do_link(k, c.ifindex, KERNEL_LINK_UP, 0, &why), 0);
	assert_int_equal(k->ops->read(k, &c), 0);
	assert_int_equal(c.link.was, 0);
	assert_int_equal(k->n_writes, 3);
	inv_free(inv);
	inv = netns_collect(k);
	l = inv_link_by_name(inv, LEG);
	assert_int_equal(l->mtu, 9000);
	assert_false(l->up || l->carrier);
	assert_int_equal(k->ops->link_find(k, LEG, &ifindex), 0);
	assert_int_equal(ifindex, c.ifindex);
	assert_int_equal(k->ops->link_find(k, "legs", &ifindex), -ENODEV);
	assert_int_equal(k->ops->link_find(k, "ffff:ff:1f.7", &ifindex), -ENODEV);
	c.ifindex = 12345;
	assert_int_equal(k->ops->read(k, &c), -ENODEV);
	assert_int_equal(kernel_do_link(k, 12345, KERNEL_LINK_UP, 1, &why), -ENODEV);
	inv_free(inv);
}

static void test_addr(void **state)
{
	struct kernel *k = *state;
	struct inv_addr a = {.ifindex = netns_leg_index(k), .ip = netns_prefix("10.99.0.1/24")};
	struct inv_addr six = {.ifindex = a.ifindex, .ip = netns_prefix("fd99::1/64")};
	struct reason why = {.code = ""};
	struct inventory *inv;
	size_t n_found = 0;

	assert_int_equal(kernel_do_addr_add(k, &a, &why), 0);
	assert_int_equal(kernel_do_addr_add(k, &six, &why), 0);
	assert_int_equal(kernel_do_addr_add(k, &a, &why), -EEXIST);
	assert_string_not_equal(why.text, "");
	inv = netns_collect(k);
	for (size_t i = 0; i < inv->n_addrs; i++) {
		const struct inv_addr *have = &inv->addrs[i];

		if (!ip_addr_equal(&have->ip.addr, &a.ip.addr) &&
		    !ip_addr_equal(&have->ip.addr, &six.ip.addr))
			continue;
		assert_int_equal(have->proto, PLENUM_RTPROT);
		assert_int_equal(have->ifindex, a.ifindex);
		n_found++;
	}
	assert_int_equal(n_found, 2);
	inv_free(inv);
	assert_int_equal(kernel_do_addr_del(k, &a, &why), 0);
	assert_int_equal(kernel_do_addr_del(k, &six, &why), 0);
	assert_int_equal(kernel_do_addr_del(k, &a, &why), -EADDRNOTAVAIL);
}

/* The route in the inventory, or NULL. */
static const struct inv_route *route_find(const struct inventory *inv, struct inv_route want)
{
	kernel_route_normalize(&want);
	for (size_t i = 0; i < inv->n_routes; i++)
		if (kernel_route_equal(&inv->routes[i], &want))
			return &inv->routes[i];
	return NULL;
}

static void test_route(void **state)
{
	struct kernel *k = *state;
	struct inv_addr a = {.ifindex = netns_leg_index(k), .ip = netns_prefix("10.99.0.1/24")};
	struct inv_route subnet = {.table = 7411,
				   .dst = netns_prefix("10.99.0.0/24"),
				   .src = netns_address("10.99.0.1"),
				   .oif = a.ifindex};
	struct inv_route gateway = {
		.table = 7411, .gateway = netns_address("10.99.0.254"), .oif = a.ifindex};
	struct inv_route six = {.table = 7411, .dst = netns_prefix("fd98::/64"), .oif = a.ifindex};
	struct reason why = {.code = ""};
	struct inventory *inv;

	assert_int_equal(kernel_do_route_add(k, &gateway, &why), -ENETUNREACH);
	assert_string_equal(why.text, "Nexthop has invalid gateway");
	assert_int_equal(kernel_do_addr_add(k, &a, NULL), 0);
	assert_int_equal(kernel_do_route_add(k, &subnet, &why), 0);
	assert_int_equal(kernel_do_route_add(k, &gateway, &why), 0);
	assert_int_equal(kernel_do_route_add(k, &six, &why), 0);
	assert_int_equal(kernel_do_route_add(k, &gateway, &why), -EEXIST);
	inv = netns_collect(k);
	assert_non_null(route_find(inv, subnet));
	assert_non_null(route_find(inv, gateway));
	assert_non_null(route_find(inv, six));
	inv_free(inv);
	assert_int_equal(kernel_do_route_del(k, &gateway, &why), 0);
	assert_int_equal(kernel_do_route_del(k, &subnet, &why), 0);
	assert_int_equal(kernel_do_route_del(k, &six, &why), 0);
	assert_int_equal(kernel_do_route_del(k, &gateway, &why), -ESRCH);
	inv = netns_collect(k);
	assert_null(route_find(inv, gateway));
	inv_free(inv);
}

static void test_rule(void **state)
{
	struct kernel *k = *state;
	struct inv_rule r = {.priority = 7411,
			     .table = 7411,
			     .family = AF_INET,
			     .proto = PLENUM_RTPROT,
			     .from = netns_prefix("10.99.0.1/32")};
	struct inventory *inv;
	bool ours = false, foreign = false;

	assert_int_equal(kernel_do_rule_add(k, &r, NULL), 0);
	assert_int_equal(kernel_do_rule_add(k, &r, NULL), -EEXIST);
	assert_int_equal(netns_run("ip rule add fwmark 7 from 10.99.0.1 table 9 priority 500"), 0);
	inv = netns_collect(k);
	for (size_t i = 0; i < inv->n_rules; i++) {
		ours |= kernel_rule_equal(&inv->rules[i], &r);
		foreign |= inv->rules[i].priority == 500 && inv->rules[i].more;
	}
	assert_true(ours && foreign);
	inv_free(inv);
	assert_int_equal(kernel_do_rule_del(k, &r, NULL), 0);
	assert_int_equal(kernel_do_rule_del(k, &r, NULL), -ENOENT);
}

/* An address without its subnet's route, and one that is usable during duplicate detection. */
static void test_addr_flags(void **state)
{
	struct kernel *k = *state;
	struct inv_addr four = {.ifindex = netns_leg_index(k),
				.ip = netns_prefix("10.99.0.1/24"),
				.no_prefix_route = true};
	struct inv_addr six = {.ifindex = four.ifindex,
			       .ip = netns_prefix("fd99::1/64"),
			       .no_prefix_route = true,
			       .optimistic = true};
	struct inventory *inv;
	size_t n_seen = 0;

	assert_int_equal(kernel_do_sysctl(k, "net/ipv6/conf/" LEG "/optimistic_dad", "1", NULL), 0);
	assert_int_equal(kernel_do_sysctl(k, "net/ipv6/conf/" LEG "/use_optimistic", "1", NULL), 0);
	assert_int_equal(kernel_do_addr_add(k, &four, NULL), 0);
	assert_int_equal(kernel_do_addr_add(k, &six, NULL), 0);
	inv = netns_collect(k);
	assert_true(inv->addr_owner_known);
	for (size_t i = 0; i < inv->n_addrs; i++) {
		const struct inv_addr *a = &inv->addrs[i];

		if (a->proto != PLENUM_RTPROT)
			continue;
		assert_true(a->no_prefix_route);
		assert_true(a->ip.addr.family == AF_INET || (a->optimistic && a->tentative));
		n_seen++;
	}
	assert_int_equal(n_seen, 2);
	for (size_t i = 0; i < inv->n_routes; i++)
		assert_false(ip_prefix_contains(&inv->routes[i].dst, &four.ip.addr) ||
			     ip_prefix_contains(&inv->routes[i].dst, &six.ip.addr));
	inv_free(inv);
}

static void test_sysctl(void **state)
{
	struct kernel *k = *state;
	static const char key[] = "net/ipv4/conf/" LEG "/arp_announce";
	struct reason why = {.code = ""};
	char value[16];
	struct inventory *inv;

	assert_int_equal(kernel_do_sysctl(k, key, "2", &why), 0);
	assert_int_equal(kernel_do_read_sysctl(k, key, value, sizeof(value)), 0);
	assert_string_equal(value, "2");
	inv = netns_collect(k);
	assert_string_equal(inv_sysctl_value(inv, key), "2");
	inv_free(inv);
	assert_int_equal(kernel_do_sysctl(k, "net/ipv4/conf/none/arp_announce", "2", &why),
			 -ENOENT);
	assert_non_null(strstr(why.text, "/proc/sys/net/ipv4/conf/none/arp_announce"));
	assert_int_equal(kernel_do_sysctl(k, key, "many", &why), -EINVAL);
	assert_int_equal(kernel_do_sysctl(k, "net/../kernel/hostname", "x", &why), -EINVAL);
	assert_int_equal(kernel_do_read_sysctl(k, "/etc/passwd", value, sizeof(value)), -EINVAL);
}

struct seen {
	bool renamed, udev, carrier_lost, carrier_back, addr, route, rule, lost, removed;
	unsigned n;
};

static void see(void *user, const struct kernel_event *e)
{
	struct seen *s = user;

	s->n++;
	if (e->type == KERNEL_EVENT_LINK && strcmp(e->ifname, LEG) == 0) {
		s->carrier_lost |= e->up && !e->carrier;
		s->carrier_back |= s->carrier_lost && e->up && e->carrier;
	}
	s->udev |= e->type == KERNEL_EVENT_UDEV && e->ifindex == 77 && strcmp(e->ifname, LEG) == 0;
	s->renamed |= e->type == KERNEL_EVENT_LINK && strcmp(e->ifname, "ens1f0") == 0;
	s->addr |= e->type == KERNEL_EVENT_ADDR;
	s->route |= e->type == KERNEL_EVENT_ROUTE;
	s->rule |= e->type == KERNEL_EVENT_RULE;
	s->lost |= e->type == KERNEL_EVENT_LOST;
	s->removed |= e->removed && strcmp(e->ifname, "far0") == 0;
}

/* Reads notifications until *flag is set; the kernel may keep a carrier's for a second. */
static void await(struct kernel *k, struct seen *s, const bool *flag)
{
	struct pollfd p = {.fd = k->ops->watch_fd(k), .events = POLLIN};
	uint64_t deadline = clock_now_ns() + EVENT_DEADLINE_NS;

	while (!*flag) {
		uint64_t now = clock_now_ns();

		assert_true(now < deadline);
		assert_true(poll(&p, 1, (int)((deadline - now) / NSEC_PER_MSEC) + 1) >= 0);
		assert_int_equal(k->ops->watch_read(k, see, s), 0);
	}
}

static void test_watch(void **state)
{
	struct kernel *k = *state;
	struct inv_addr a = {.ifindex = netns_leg_index(k), .ip = netns_prefix("10.99.0.1/24")};
	struct inv_rule r = {.priority = 9, .table = 9, .from = netns_prefix("10.99.0.1/32")};
	struct seen s = {0};

	assert_true(k->ops->watch_fd(k) >= 0);
	assert_true(fcntl(k->ops->watch_fd(k), F_GETFD) & FD_CLOEXEC);
	assert_int_equal(netns_run("ip link set far0 down"), 0);
	await(k, &s, &s.carrier_lost);
	assert_int_equal(netns_run("ip link set far0 up"), 0);
	await(k, &s, &s.carrier_back);
	assert_int_equal(kernel_do_addr_add(k, &a, NULL), 0);
	await(k, &s, &s.addr);
	await(k, &s, &s.route);
	assert_int_equal(kernel_do_rule_add(k, &r, NULL), 0);
	await(k, &s, &s.rule);
	assert_false(s.lost);
	assert_int_equal(netns_run("ip link del far0"), 0);
	await(k, &s, &s.removed);
	assert_int_equal(k->ops->watch_read(k, see, &s), 0);
}

/* A link that udev or an administrator renames is reported under its new name. */
static void test_watch_rename(void **state)
{
	struct kernel *k = *state;
	struct seen s = {0};

	assert_true(k->ops->watch_fd(k) >= 0);
	assert_int_equal(netns_run("ip link set far0 down && ip link set far0 name ens1f0"), 0);
	await(k, &s, &s.renamed);
}

/* More notifications than the socket holds: the reader gets the overflow, and the watch
 * continues. */
static void test_watch_overflow(void **state)
{
	struct kernel *k = *state;
	const int small = 4096;
	uint32_t ifindex = netns_leg_index(k);
	struct seen s = {0};
	struct rtnl_watch *w;
	int fd;

	assert_int_equal(rtnl_watch_open(&w), 0);
	fd = rtnl_watch_fd(w);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &small, sizeof(small)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	for (int i = 0; i < 200; i++) {
		assert_int_equal(
			kernel_do_link(k, ifindex, KERNEL_LINK_MTU, 1400 + (uint32_t)i % 2, NULL),
			0);
	}
	assert_int_equal(rtnl_watch_read(w, see, &s), 0);
	assert_true(s.lost);
	assert_int_equal(netns_run("ip link set far0 down"), 0);
	while (!s.carrier_lost) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		assert_int_equal(poll(&p, 1, 20000), 1);
		assert_int_equal(rtnl_watch_read(w, see, &s), 0);
	}
	rtnl_watch_close(w);
}

/* udev's message as libudev sends it; the agent is notified when udev has finished a link. */
static void test_watch_udev(void **state)
{
	static const char properties[] = "ACTION=add\0SUBSYSTEM=net\0INTERFACE=" LEG "\0IFINDEX=77";
	const struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = 2};
	uint32_t header[10] = {0};
	char message[sizeof(header) + sizeof(properties)];
	struct kernel *k = *state;
	struct seen s = {0};
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	assert_true(fd >= 0 && k->ops->watch_fd(k) >= 0);
	memcpy(header, "libudev", 8);
	header[2] = htonl(0xfeedcafe);
	header[3] = header[4] = sizeof(header);
	header[5] = sizeof(properties);
	memcpy(message, header, sizeof(header));
	memcpy(message + sizeof(header), properties, sizeof(properties));
	assert_int_equal(
		sendto(fd, message, sizeof(message), 0, (const struct sockaddr *)&all, sizeof(all)),
		sizeof(message));
	await(k, &s, &s.udev);
}

/* Compares addresses, routes and rules of two inventories, with a word for the message. */
static void assert_same_objects(const struct inventory *a, const struct inventory *b)
{
	assert_int_equal(a->n_addrs, b->n_addrs);
	for (size_t i = 0; i < a->n_addrs; i++) {
		assert_true(ip_addr_equal(&a->addrs[i].ip.addr, &b->addrs[i].ip.addr));
		assert_int_equal(a->addrs[i].secondary, b->addrs[i].secondary);
		assert_int_equal(a->addrs[i].proto, b->addrs[i].proto);
	}
	assert_int_equal(a->n_routes, b->n_routes);
	for (size_t i = 0; i < a->n_routes; i++)
		assert_true(kernel_route_equal(&a->routes[i], &b->routes[i]));
	assert_int_equal(a->n_rules, b->n_rules);
	for (size_t i = 0; i < a->n_rules; i++)
		assert_true(kernel_rule_equal(&a->rules[i], &b->rules[i]));
}

static void assert_same_state(struct kernel *a, struct kernel *b)
{
	struct inventory *is = netns_collect(a), *says = netns_collect(b);

	assert_same_objects(is, says);
	inv_free(is);
	inv_free(says);
}

/* The same changes one after the other on both hosts: results and the state afterwards are
 * equal. */
static void test_fake_is_faithful(void **state)
{
	struct kernel *real = *state, *fake;
	struct inv_addr a, b;
	struct inventory *before;
	uint32_t leg = netns_leg_index(real);
	struct inv_route subnet = {.table = 100, .dst = netns_prefix("10.99.0.0/24"), .oif = leg};
	struct inv_route gateway = {
		.table = 100, .gateway = netns_address("10.99.0.254"), .oif = leg};
	struct inv_route from_b = {.table = 101,
				   .dst = netns_prefix("10.98.0.0/24"),
				   .src = netns_address("10.99.0.2"),
				   .oif = leg};
	struct inv_rule rule = {
		.priority = 100, .table = 100, .from = netns_prefix("10.99.0.1/32")};

	a = (struct inv_addr){.ifindex = leg, .ip = netns_prefix("10.99.0.1/24")};
	b = (struct inv_addr){.ifindex = leg, .ip = netns_prefix("10.99.0.2/24")};
	/* IPv6 needs time to settle, which the fake does not imitate. */
	assert_int_equal(kernel_do_sysctl(real, "net/ipv6/conf/all/disable_ipv6", "1", NULL), 0);
	before = netns_collect(real);
	assert_int_equal(kernel_fake_new(before, &fake), 0);
	inv_free(before);
#define BOTH(op, ...)                                                                   \
	do {                                                                            \
		struct reason why_real = {.code = ""}, why_fake = {.code = ""};         \
		int r_real = kernel_do_##op(real, __VA_ARGS__, &why_real);              \
                                                                                        \
		assert_int_equal(kernel_do_##op(fake, __VA_ARGS__, &why_fake), r_real); \
		assert_int_equal(why_fake.text[0] != 0, why_real.text[0] != 0);         \
		assert_same_state(real, fake);                                          \
	} while (0)
	BOTH(route_add, &gateway);
	BOTH(addr_add, &a);
	BOTH(addr_add, &a);
	BOTH(addr_add, &b);
	BOTH(route_add, &subnet);
	BOTH(route_add, &gateway);
	BOTH(route_add, &gateway);
	BOTH(route_add, &from_b);
	BOTH(rule_add, &rule);
	BOTH(rule_add, &rule);
	BOTH(link, leg, KERNEL_LINK_MTU, 70000);
	BOTH(addr_del, &b);
	BOTH(route_add, &from_b);
	BOTH(addr_add, &b);
	BOTH(link, leg, KERNEL_LINK_UP, 0);
	BOTH(route_add, &subnet);
	BOTH(link, leg, KERNEL_LINK_UP, 1);
	BOTH(route_del, &subnet);
	BOTH(addr_del, &a);
	BOTH(addr_del, &a);
	BOTH(rule_del, &rule);
	BOTH(rule_del, &rule);
#undef BOTH
	kernel_free(fake);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, netns_setup, netns_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_link),
		CASE(test_addr),
		CASE(test_route),
		CASE(test_rule),
		CASE(test_addr_flags),
		CASE(test_sysctl),
		CASE(test_watch),
		CASE(test_watch_overflow),
		CASE(test_watch_udev),
		CASE(test_watch_rename),
		CASE(test_fake_is_faithful),
	};

	if (!netns_is_possible())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
