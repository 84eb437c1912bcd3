/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a real kernel via kernel_linux without changing it: inventories of hosts that are odd,
 * large or changing, the settings of legs, connections, and route lookups.
 */
#include "netcfg/host/link_setting.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include "tests/lib/kernel/fake_lookup.h"
#include "tests/lib/kernel/kernel_do.h"
#include "tests/lib/kernel/netns_kernel.h"
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/wait.h>

/* The kernel adds the local route of an IPv6 address some time after the address. */
#define ADD_SIX                                        \
	"ip -6 addr add fd99::1/64 dev leg0 nodad && " \
	"timeout 20 sh -c 'until ip -6 route show table local | grep -q fd99::1; do :; done'"

/* Compares the kernel's answer with that of the fake over the same inventory. */
static int lookup_both(struct kernel *k, const char *from, const char *to, uint32_t oif,
		       struct inv_route *ret)
{
	struct inventory *inv = netns_collect(k);
	struct ip_addr source = {0}, dest = netns_address(to);
	struct inv_route says = {0};
	struct reason why = {.code = ""};
	int r, r_fake;

	if (from)
		source = netns_address(from);
	*ret = (struct inv_route){0};
	r = k->ops->route_lookup(k, &source, &dest, oif, 0, ret, &why);
	r_fake = fake_lookup(inv, &source, &dest, oif, &says);
	print_message("# %s from %s: %d (%s), table %u\n", to, from ? from : "-", r, why.text,
		      ret->table);
	assert_int_equal(r_fake, r);
	assert_int_equal(why.text[0] != '\0', r < 0);
	if (r == 0) {
		assert_int_equal(says.table, ret->table);
		assert_int_equal(says.type, ret->type);
		if (ret->type == RTN_UNICAST)
			assert_int_equal(says.oif, ret->oif);
		assert_true(ip_addr_equal(&says.gateway, &ret->gateway));
	}
	inv_free(inv);
	return r;
}

/* Rules, tables, longest prefixes and routes to nowhere, in both families. */
static void test_route_lookup(void **state)
{
	struct kernel *k = *state;
	uint32_t leg = netns_leg_index(k);
	struct inv_route r;

	assert_int_equal(netns_run("ip addr add 10.99.0.1/24 dev leg0 && ip addr add 10.99.0.2/24 "
				   "dev leg0 &&" ADD_SIX " && "
				   "ip route add 10.99.0.0/24 dev leg0 table 100 && "
				   "ip route add default via 10.99.0.254 table 100 && "
				   "ip route add unreachable default metric 4000 table 101 && "
				   "ip route add prohibit 10.7.0.0/16 table 100 && "
				   "ip route add blackhole 10.8.0.0/16 table 100 && "
				   "ip route add throw 10.9.0.0/16 table 100 && "
				   "ip rule add from 10.99.0.1 table 100 priority 5300 && "
				   "ip rule add from 10.99.0.2 table 101 priority 5300 && "
				   "ip -6 route add fd00:1::/48 via fd99::fe && "
				   "ip -6 route add unreachable fd00:1:2::/64 && "
				   "ip -6 route add prohibit fd00:1:3::/64"),
			 0);
	assert_int_equal(lookup_both(k, "10.99.0.1", "10.99.0.9", 0, &r), 0);
	assert_int_equal(r.table, 100);
	assert_int_equal(r.oif, leg);
	assert_int_equal(lookup_both(k, NULL, "10.99.0.9", 0, &r), 0);
	assert_int_equal(r.table, RT_TABLE_MAIN);
	assert_int_equal(lookup_both(k, "10.99.0.1", "192.0.2.1", 0, &r), 0);
	assert_true(ip_addr_equal(&r.gateway, &(struct ip_addr){AF_INET, {10, 99, 0, 254}}));
	assert_int_equal(lookup_both(k, "10.99.0.2", "192.0.2.1", 0, &r), -EHOSTUNREACH);
	assert_int_equal(lookup_both(k, NULL, "192.0.2.1", 0, &r), -ENETUNREACH);
	assert_int_equal(lookup_both(k, "10.99.0.1", "10.7.0.1", 0, &r), -EACCES);
	assert_int_equal(lookup_both(k, "10.99.0.1", "10.8.0.1", 0, &r), -EINVAL);
	assert_int_equal(lookup_both(k, "10.99.0.1", "10.9.0.1", 0, &r), -ENETUNREACH);
	assert_int_equal(lookup_both(k, "10.99.0.77", "10.99.0.9", 0, &r), -ENETUNREACH);
	assert_int_equal(lookup_both(k, NULL, "10.99.0.2", 0, &r), 0);
	assert_int_equal(r.type, RTN_LOCAL);
	assert_int_equal(lookup_both(k, "fd99::1", "fd00:1::7", 0, &r), 0);
	assert_int_equal(r.oif, leg);
	assert_int_equal(lookup_both(k, "fd99::1", "fd00:1:2::7", 0, &r), -EHOSTUNREACH);
	assert_int_equal(lookup_both(k, "fd99::1", "fd00:1:3::7", 0, &r), -EACCES);
	assert_int_equal(lookup_both(k, NULL, "fd00:7::7", 0, &r), -ENETUNREACH);
	/* A foreign rule of higher priority diverts it. */
	assert_int_equal(netns_run("ip route add default dev far0 table 77 && "
				   "ip rule add from 10.99.0.0/24 table 77 priority 5270"),
			 0);
	assert_int_equal(lookup_both(k, "10.99.0.1", "192.0.2.1", 0, &r), 0);
	assert_int_equal(r.table, 77);
	assert_int_not_equal(r.oif, leg);
	assert_int_equal(k->n_writes, 0);
}

static void test_a_link_is_found_by_each_of_its_names(void **state)
{
	struct kernel *k = *state;
	uint32_t leg = netns_leg_index(k);
	struct inventory *inv;

	if (netns_run("ip link property add dev leg0 altname enp9s0 altname lan-of-rack-7") != 0)
		skip();
	inv = netns_collect(k);
	assert_int_equal(inv_link_find(inv, "enp9s0")->ifindex, leg);
	assert_int_equal(inv_link_find(inv, "lan-of-rack-7")->ifindex, leg);
	assert_null(inv_link_find(inv, "lan-of-rack"));
	assert_null(inv_link_find(inv, "rack-7"));
	inv_free(inv);
	assert_int_equal(
		netns_run("ip link property del dev leg0 altname enp9s0 altname lan-of-rack-7"), 0);
}

/* A foreign rule that selects by protocol and port diverts the packets of workers alone. */
static void test_route_lookup_by_port(void **state)
{
	const struct ip_addr from = netns_address("10.99.0.1"), to = netns_address("10.99.0.9");
	struct kernel *k = *state;
	uint32_t leg = netns_leg_index(k);
	struct inv_route r;

	assert_int_equal(netns_run("ip addr add 10.99.0.1/24 dev leg0 && "
				   "ip route add default dev far0 table 77 && "
				   "ip rule add ipproto udp dport 7411 table 77 priority 5270"),
			 0);
	assert_int_equal(k->ops->route_lookup(k, &from, &to, 0, 0, &r, NULL), 0);
	assert_int_equal(r.oif, leg);
	assert_int_equal(k->ops->route_lookup(k, &from, &to, 0, 7412, &r, NULL), 0);
	assert_int_equal(r.oif, leg);
	assert_int_equal(k->ops->route_lookup(k, &from, &to, 0, 7411, &r, NULL), 0);
	assert_int_equal(r.table, 77);
	assert_int_not_equal(r.oif, leg);
}

/* An address without its route in table local is not usable; adding it again makes the route. */
static void test_local_route_is_missing_and_made_again(void **state)
{
	struct kernel *k = *state;
	uint32_t leg = netns_leg_index(k);
	static const char *const ips[] = {"10.99.0.1", "fd99::1"};

	assert_int_equal(netns_run("ip addr add 10.99.0.1/24 dev leg0 && " ADD_SIX), 0);
	for (size_t i = 0; i < 2; i++) {
		struct kernel_change c = {.kind = KERNEL_ADDR, .ifindex = leg};

		c.addr.ip = (struct ip_prefix){netns_address(ips[i]), i ? 64 : 24};
		for (unsigned step = 0; step < 3; step++) {
			struct inventory *inv = netns_collect(k);
			bool found = false;

			for (size_t j = 0; j < inv->n_addrs; j++) {
				if (!ip_addr_equal(&inv->addrs[j].ip.addr, &c.addr.ip.addr))
					continue;
				found = true;
				assert_int_equal(inv->addrs[j].local_missing, step == 1);
			}
			assert_true(found);
			inv_free(inv);
			if (step == 0)
				assert_int_equal(
					netns_run(i ? "ip -6 route del local fd99::1 dev leg0 "
						      "table local"
						    : "ip route del local 10.99.0.1 dev leg0 "
						      "table local"),
					0);
			else if (step == 1)
				assert_int_equal(k->ops->change(k, &c, NULL), 0);
			else
				assert_int_equal(k->ops->change(k, &c, NULL), -EEXIST);
		}
	}
}

/* Established connections are counted by their local address; those within the host are not. */
static void test_connections(void **state)
{
	struct kernel *k = *state;
	static const struct {
		const char *ip;
		uint16_t port;
	} servers[] = {
		{"127.0.0.1", 22}, {"10.99.0.1", 22}, {"::ffff:10.99.0.1", 700}, {"fd99::1", 22}};
	const struct ip_addr four = netns_address("10.99.0.1"), six = netns_address("fd99::1");
	struct inventory *inv;
	size_t n = 0;

	assert_int_equal(netns_run("ip addr add 10.99.0.1/24 dev leg0 && " ADD_SIX), 0);
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		const struct ip_addr a = netns_address(servers[i].ip);
		struct sockaddr_storage ss;
		int len = ip_addr_to_sockaddr(&a, servers[i].port, &ss);
		int server = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int client = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

		assert_int_equal(bind(server, (struct sockaddr *)&ss, (socklen_t)len), 0);
		assert_int_equal(listen(server, 1), 0);
		r = connect(client, (struct sockaddr *)&ss, (socklen_t)len);
		if (r < 0)
			fail_msg("connect to %s: %s", servers[i].ip, strerror(errno));
		assert_true(accept4(server, NULL, NULL, SOCK_CLOEXEC) >= 0);
	}
	inv = netns_collect(k);
	for (size_t i = 0; i < inv->n_conns; i++) {
		const struct inv_conns *c = &inv->conns[i];
		bool v4 = ip_addr_equal(&c->local, &four);

		assert_true(v4 || ip_addr_equal(&c->local, &six));
		assert_int_equal(c->n, v4 ? 4 : 2); /* both ends */
		assert_int_equal(c->n_ssh, 1);
		n++;
	}
	assert_int_equal(n, 2);
	inv_free(inv);
}

/* A setting's file says v, and so does the inventory. */
static void assert_setting(struct kernel *k, enum link_setting s, const char *conf, int want)
{
	char key[LINK_SETTING_KEY_MAX], text[16];
	struct inventory *inv;
	int value = -1;

	snprintf(text, sizeof(text), "%d", want);
	assert_int_equal(kernel_do_sysctl(k, link_setting_key(s, conf, key), text, NULL), 0);
	inv = netns_collect(k);
	if (!link_setting_value(inv, s, conf, &value) || value != want)
		print_error("%s: %d instead of %d\n", key, value, want);
	assert_int_equal(value, want);
	inv_free(inv);
}

/* Each setting that a plan can change is read, for a link and for all, and is the one that its
 * name says. */
static void test_settings_are_collected(void **state)
{
	struct kernel *k = *state;

	for (enum link_setting s = 0; s < LINK_SETTING_MAX; s++) {
		char key[LINK_SETTING_KEY_MAX], value[16];
		struct inventory *inv = netns_collect(k);

		link_setting_key(s, LEG, key);
		if (kernel_do_read_sysctl(k, key, value, sizeof(value)) == -ENOENT) {
			assert_true(link_settings[s].optional);
			assert_null(inv_sysctl_value(inv, key));
		} else {
			assert_string_equal(inv_sysctl_value(inv, key), value);
			assert_setting(k, s, LEG, 1);
			assert_setting(k, s, LEG, 0);
			assert_setting(k, s, "all", 1);
			assert_setting(k, s, "all", 0);
		}
		inv_free(inv);
	}
}

/* Settings of links with dots and other special characters in their names are found too. */
static void test_odd_names(void **state)
{
	struct kernel *k = *state;
	struct inventory *inv, *again;
	struct diag d = DIAG_INIT;
	char *json;

	assert_int_equal(
		netns_run("ip link add 'a.b-c%d\"x' type veth peer name \"$(printf 'n\\351')\""),
		0);
	inv = netns_collect(k);
	assert_int_equal(inv->n_links, 5);
	assert_non_null(inv_link_by_name(inv, "n\351"));
	assert_int_equal(kernel_do_sysctl(k, "net/ipv4/conf/a.b-c0\"x/arp_ignore", "1", NULL), 0);
	json = inv_to_json(inv);
	assert_non_null(json);
	assert_int_equal(inv_from_json(json, strlen(json), &d, &again), 0);
	free(json);
	inv_free(inv);
	inv_free(again);
	diag_done(&d);
}

static void test_many_links(void **state)
{
	enum { PAIRS = 300 };
	struct kernel *k = *state;
	struct inventory *inv;
	uint64_t begin;
	FILE *batch = popen("ip -batch - >&2", "w");

	assert_non_null(batch);
	for (int i = 0; i < PAIRS; i++)
		fprintf(batch, "link add m%d type veth peer name n%d\n", i, i);
	assert_int_equal(pclose(batch), 0);
	begin = clock_now_ns();
	inv = netns_collect(k);
	print_message("# %zu links in %.1f ms\n", inv->n_links,
		      (double)(clock_now_ns() - begin) / NSEC_PER_MSEC);
	assert_int_equal(inv->n_links, 2 * PAIRS + 3);
	for (size_t i = 1; i < inv->n_links; i++)
		assert_true(inv->links[i - 1].ifindex < inv->links[i].ifindex);
	inv_free(inv);
}

/* While links come and go, the stable ones are in every inventory: an interrupted dump is
 * repeated. */
static void test_links_in_motion(void **state)
{
	enum { STEADY = 150, ROUNDS = 2 };
	struct kernel *k = *state;
	FILE *batch = popen("ip -batch - >&2", "w");
	unsigned n_collected = 0;
	int status;
	pid_t pid;

	assert_non_null(batch);
	for (int i = 0; i < STEADY; i++)
		fprintf(batch, "link add s%d type bridge\n", i);
	assert_int_equal(pclose(batch), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (int round = 0; round < ROUNDS; round++)
			if (netns_run("for i in 1 2 3 4 5 6 7 8 9 10; do echo link add c$i type "
				      "bridge; "
				      "done | ip -batch - && "
				      "for i in 1 2 3 4 5 6 7 8 9 10; do echo link del c$i; "
				      "done | ip -batch -") != 0)
				_exit(1);
		_exit(0);
	}
	do {
		struct diag d = DIAG_INIT;
		struct inventory *inv;
		unsigned n_steady = 0;

		assert_int_equal(inv_collect(k, &d, &inv), 0);
		for (size_t i = 0; i < inv->n_links; i++) {
			n_steady += inv->links[i].name[0] == 's';
			if (i > 0)
				assert_int_not_equal(inv->links[i].ifindex,
						     inv->links[i - 1].ifindex);
		}
		assert_int_equal(n_steady, STEADY);
		inv_free(inv);
		diag_done(&d);
		n_collected++;
	} while (waitpid(pid, &status, WNOHANG) == 0);
	assert_int_equal(status, 0);
	print_message("# %u inventories of links in motion\n", n_collected);
}

/* The detached sysfs shows this namespace although /sys is that of another one. */
static void test_sysfs_of_this_namespace(void **state)
{
	autoclose int root = sysfs_open();
	char text[32];

	assert_true(root >= 0);
	if (access("/sys/class/net/" LEG, F_OK) == 0)
		skip();
	assert_true(sysfs_read(root, "class/net/" LEG "/mtu", text, sizeof(text)) > 0);
	assert_string_equal(text, "1500");
}

/* A reader without any privilege gets the whole inventory, and clear refusals. */
static void test_unprivileged(void **state)
{
	struct inventory *inv = netns_collect(*state);
	size_t n_links = inv->n_links;
	uint32_t ifindex = inv_link_by_name(inv, LEG)->ifindex;
	int status;
	pid_t pid;

	inv_free(inv);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct diag d = DIAG_INIT;
		struct reason why = {.code = ""};
		struct kernel *k;
		bool good;

		if (setgid(65534) < 0 || setuid(65534) < 0 || kernel_linux_new(&k) < 0 ||
		    inv_collect(k, &d, &inv) < 0)
			_exit(1);
		good = inv->n_links == n_links && inv->n_cores > 0 && d.n == 0 &&
		       kernel_do_link(k, ifindex, KERNEL_LINK_MTU, 1400, &why) == -EPERM &&
		       why.text[0];
		inv_free(inv);
		kernel_free(k);
		_exit(good ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, netns_setup, netns_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_route_lookup),
		CASE(test_a_link_is_found_by_each_of_its_names),
		CASE(test_route_lookup_by_port),
		CASE(test_local_route_is_missing_and_made_again),
		CASE(test_connections),
		CASE(test_settings_are_collected),
		CASE(test_odd_names),
		CASE(test_many_links),
		CASE(test_links_in_motion),
		CASE(test_sysfs_of_this_namespace),
		CASE(test_unprivileged),
	};

	if (!netns_is_possible())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
