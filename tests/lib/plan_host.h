/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host for tests of plan and apply: eth0 with the default route, the loopback, and two plain
 * legs veth0 and veth1; four cores; 64 free hugepages; with a matching configuration.
 */
#ifndef PLENUM_TESTS_TEST_PLAN_HOST_H
#define PLENUM_TESTS_TEST_PLAN_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/host/inventory_build.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan.h"
#include "tests/lib/kernel_fake.h"
#include <stdio.h>
#include <string.h>

#define HOST_ETH0 2
#define HOST_VETH0 3
#define HOST_VETH1 4

#define HOST_YAML                                                                       \
	"host: host-a\n"                                                                \
	"management: {interface: eth0}\n"                                               \
	"networks:\n"                                                                   \
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16, gateway: 10.10.0.1, mtu: " \
	"9000}\n"                                                                       \
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16, mtu: 9000}\n"              \
	"net:\n"                                                                        \
	"  - {name: leg-a, device: veth0, network: data-a, label: switch-a}\n"          \
	"  - {name: leg-b, device: veth1, network: data-b, label: switch-b}\n"          \
	"ha: {mode: dual-leg}\n"                                                        \
	"workers:\n"                                                                    \
	"  - {role: compute, cores: [1], transport: udp, exports: [{name: x, path: /srv}]}\n"

static inline struct ip_prefix host_prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, &p), 0);
	return p;
}

static inline struct ip_addr host_addr(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, &a), 0);
	return a;
}

static inline void host_add_sysctls(struct inventory *inv, const char *conf)
{
	static const struct {
		const char *family, *key, *value;
	} sysctls[] = {
		{"ipv4", "arp_announce", "0"}, {"ipv4", "arp_filter", "0"},
		{"ipv4", "arp_ignore", "0"},   {"ipv4", "ignore_routes_with_linkdown", "0"},
		{"ipv4", "rp_filter", "0"},    {"ipv4", "promote_secondaries", "0"},
		{"ipv4", "forwarding", "0"},   {"ipv6", "accept_dad", "1"},
		{"ipv6", "disable_ipv6", "0"},
	};
	char key[96];

	for (size_t i = 0; i < ARRAY_SIZE(sysctls); i++) {
		bool all = strcmp(conf, "all") == 0;

		snprintf(key, sizeof(key), "net/%s/conf/%s/%s", sysctls[i].family, conf,
			 sysctls[i].key);
		assert_int_equal(inv_sysctl_add(inv, key, all ? "0" : sysctls[i].value), 0);
	}
}

static inline void host_add_link(struct inventory *inv, uint32_t ifindex, const char *name,
				 enum inv_link_kind kind, bool up)
{
	struct inv_link *l = inv_link_add(inv);

	assert_non_null(l);
	l->ifindex = ifindex;
	l->kind = kind;
	inv_text_set(l->name, sizeof(l->name), name);
	inv_text_set(l->driver, sizeof(l->driver), kind == INV_LINK_VETH ? "veth" : "");
	l->mac = (struct mac_addr){{2, 0, 0, 0, 0, (uint8_t)ifindex}};
	l->mtu = 1500;
	l->mtu_min = 68;
	l->mtu_max = 65535;
	l->up = l->carrier = up;
	host_add_sysctls(inv, name);
}

static inline void host_add_core(struct inventory *inv, unsigned id, bool online)
{
	struct inv_core *c = inv_core_add(inv);

	assert_non_null(c);
	c->id = id;
	c->online = online;
}

static inline void host_add_route(struct inventory *inv, uint32_t table, uint8_t proto,
				  const char *dst, const char *gateway, uint32_t oif)
{
	struct inv_route *r = inv_route_add(inv);

	assert_non_null(r);
	r->table = table;
	r->proto = proto;
	r->oif = oif;
	r->dst = host_prefix(dst);
	if (gateway)
		r->gateway = host_addr(gateway);
	kernel_route_normalize(r);
}

static inline struct inventory *host_new(void)
{
	struct inventory *inv = inv_new();
	struct inv_hugepages *h;

	assert_non_null(inv);
	host_add_sysctls(inv, "all");
	host_add_link(inv, 1, "lo", INV_LINK_LOOPBACK, true);
	host_add_link(inv, HOST_ETH0, "eth0", INV_LINK_PHYSICAL, true);
	host_add_link(inv, HOST_VETH0, "veth0", INV_LINK_VETH, false);
	host_add_link(inv, HOST_VETH1, "veth1", INV_LINK_VETH, true);
	host_add_route(inv, 254, 3, "0.0.0.0/0", "192.0.2.1", HOST_ETH0);
	for (unsigned i = 0; i < 4; i++)
		host_add_core(inv, i, i != 3);
	h = inv_hugepages_add(inv);
	assert_non_null(h);
	h->size_kib = 2048;
	h->total = h->free = 64;
	inv_text_set(inv->host, sizeof(inv->host), "host-a");
	return inv;
}

/* op: "addr-add" */
static inline bool step_is(const struct plan_step *s, const char *op)
{
	char text[32];

	return strcmp(object_op(s, text, sizeof(text)), op) == 0;
}

static inline struct spec *host_spec(const char *yaml)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	if (spec_parse("host.yaml", yaml, strlen(yaml), &d, &s) < 0)
		diag_print(&d, stderr);
	diag_done(&d);
	assert_non_null(s);
	return s;
}

#endif
