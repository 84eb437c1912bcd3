/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements inv_host.h. */
#include "tests/lib/host/inv_host.h"
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct ip_prefix inv_host_prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, &p), 0);
	return p;
}

struct inv_link *inv_host_link_add(struct inventory *inv, const char *name, enum inv_link_kind kind)
{
	struct inv_link *l = inv_link_add(inv);

	assert_non_null(l);
	l->ifindex = (uint32_t)inv->n_links;
	inv_text_set(l->name, sizeof(l->name), name);
	l->kind = kind;
	l->mtu = 9000;
	l->up = l->carrier = l->initialized = true;
	return l;
}

void inv_host_addr_add(struct inventory *inv, uint32_t ifindex, const char *text)
{
	struct inv_addr *a = inv_addr_add(inv);

	assert_non_null(a);
	a->ifindex = ifindex;
	a->ip = inv_host_prefix(text);
}

void inv_host_default_route_add(struct inventory *inv, uint32_t oif, uint32_t metric)
{
	struct inv_route *r = inv_route_add(inv);

	assert_non_null(r);
	*r = (struct inv_route){.table = RT_TABLE_MAIN,
				.metric = metric,
				.family = AF_INET,
				.type = RTN_UNICAST,
				.proto = RTPROT_STATIC,
				.dst = inv_host_prefix("0.0.0.0/0"),
				.oif = oif};
	assert_int_equal(ip_addr_parse("192.0.2.1", &r->gateway), 0);
}

struct inventory *inv_host_new(void)
{
	struct inventory *inv = inv_new();

	assert_non_null(inv);
	inv->number = 42;
	inv_text_set(inv->host, sizeof(inv->host), "storage-07");
	inv_text_set(inv->kernel_release, sizeof(inv->kernel_release), "6.1.0");
	inv_host_link_add(inv, "eth0", INV_LINK_PHYSICAL);
	for (int port = 0; port < 2; port++) {
		struct inv_link *l =
			inv_host_link_add(inv, port ? "ens1f1" : "ens1f0", INV_LINK_PHYSICAL);

		inv_text_set(l->pci, sizeof(l->pci), port ? "0000:3b:00.1" : "0000:3b:00.0");
		inv_text_set(l->driver, sizeof(l->driver), "ice");
		l->mac = (struct mac_addr){{2, 0, 0, 0, 0, (uint8_t)port}};
		l->permanent_mac = (struct mac_addr){{2, 0, 0, 0, 1, (uint8_t)port}};
		l->speed_mbps = 100000;
		l->numa_node = 1;
		l->max_vfs = 64;
	}
	inv_host_addr_add(inv, 1, "192.0.2.7/24");
	inv_host_addr_add(inv, 2, "10.10.1.7/16");
	inv_host_addr_add(inv, 3, "fe80::1/64");
	inv_host_addr_add(inv, 3, "10.20.1.7/16");
	inv_host_default_route_add(inv, 1, 100);
	*inv_rule_add(inv) = (struct inv_rule){.priority = 5,
					       .table = 70,
					       .family = AF_INET,
					       .from = inv_host_prefix("10.10.1.7/32")};
	for (unsigned i = 0; i < 4; i++)
		*inv_core_add(inv) = (struct inv_core){
			.id = i, .numa_node = i / 2 ? 1 : 0, .online = true, .isolated = i == 2};
	*inv_hugepages_add(inv) = (struct inv_hugepages){2048, INV_NUMA_NONE, 512, 500};
	assert_int_equal(inv_sysctl_add(inv, "net/ipv4/conf/all/rp_filter", "1"), 0);
	return inv;
}
