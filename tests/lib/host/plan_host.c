/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements plan_host.h. */
#include "tests/lib/host/plan_host.h"

struct ip_prefix host_prefix(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(text, &p), 0);
	return p;
}

struct ip_addr host_addr(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, &a), 0);
	return a;
}

void host_add_sysctls(struct inventory *inv, const char *conf)
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

void host_add_link(struct inventory *inv, uint32_t ifindex, const char *name,
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

static void host_add_core(struct inventory *inv, unsigned id, bool online)
{
	struct inv_core *c = inv_core_add(inv);

	assert_non_null(c);
	c->id = id;
	c->online = online;
}

void host_add_route(struct inventory *inv, uint32_t table, uint8_t proto, const char *dst,
		    const char *gateway, uint32_t oif)
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

struct inventory *host_new(void)
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

bool step_is(const struct plan_step *s, const char *op)
{
	char text[32];

	return strcmp(object_op(s, text, sizeof(text)), op) == 0;
}

struct spec *host_spec(const char *yaml)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	if (spec_parse("host.yaml", yaml, strlen(yaml), &d, &s) < 0)
		diag_print(&d, stderr);
	diag_done(&d);
	assert_non_null(s);
	return s;
}

struct plan *host_plan_of(const char *yaml, const struct inventory *inv, struct spec **ret_spec)
{
	struct spec *s = host_spec(yaml);
	struct diag d = DIAG_INIT;
	struct plan *p = NULL;

	if (plan_build(s, inv, NULL, &d, &p) < 0)
		diag_print(&d, stderr);
	assert_non_null(p);
	assert_false(diag_has_errors(&d));
	diag_done(&d);
	*ret_spec = s;
	return p;
}

void host_expect_leg(const char *yaml, const struct inventory *inv, size_t i,
		     enum plan_leg_state state, const char *code, const char *text)
{
	struct spec *s;
	struct plan *p = host_plan_of(yaml, inv, &s);
	char reason[REASON_FORMAT_MAX];

	assert_int_equal(p->n_legs, 2);
	reason_format(&p->legs[i].reason, reason, sizeof(reason));
	if (p->legs[i].state != state || strcmp(p->legs[i].reason.code, code) != 0 ||
	    !strstr(reason, text))
		fail_msg("leg %zu is %s: %s", i, plan_leg_state_to_string(p->legs[i].state),
			 reason);
	for (size_t j = 0; j < p->n_steps && !plan_leg_is_configured(&p->legs[i]); j++)
		assert_string_not_equal(p->steps[j].leg, p->legs[i].name);
	plan_free(p);
	spec_free(s);
}
