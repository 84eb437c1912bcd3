/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces names, numbers and addresses of an inventory, except those that affect the plan.
 */
#include "netcfg/plan/show/snapshot.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/vec.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/kernel.h"
#include "netcfg/plan/nic_use.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

struct mac_pair {
	struct mac_addr from, to;
};

struct redaction {
	const struct spec *spec;
	const uint64_t *key;
	struct ip_prefix *kept;
	size_t n_kept;
	struct mac_pair *macs;
	size_t n_macs;
	uint32_t last_mac;
	bool out_of_memory;
};

static void redaction_done(struct redaction *r)
{
	free(r->kept);
	free(r->macs);
}

/* ---- addresses ---- */

/* Prefixes that do not identify a host. */
static const char *const common[] = {"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3",
				     "::/127",	  "fe80::/10",	 "ff00::/8"};

static void keep(struct redaction *r, const struct ip_prefix *p)
{
	struct ip_prefix *kept = vec_add(&r->kept, &r->n_kept, sizeof(*kept));

	if (kept)
		*kept = (struct ip_prefix){ip_addr_network(&p->addr, p->len), p->len};
	else
		r->out_of_memory = true;
}

/* Keeps the addresses in the smallest prefix that covers the range of a leg with `shared-ip`, so
 * that the plan still finds the host address that the leg uses. */
static void keep_shared(struct redaction *r, const struct spec_net *n)
{
	for (size_t i = 0; n->shared_ip && i < n->n_ips; i++) {
		const struct ip_addr *last = &n->ips[i].last;
		struct ip_prefix p = {n->ips[i].first, (uint8_t)ip_addr_bits(last)};

		while (p.len > 0 && !ip_prefix_contains(&p, last))
			p.len--;
		keep(r, &p);
	}
}

static void keep_networks(struct redaction *r)
{
	struct ip_prefix p;

	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (ip_prefix_parse(common[i], &p) == 0)
			keep(r, &p);
	for (size_t i = 0; r->spec && i < r->spec->n_networks; i++) {
		const struct spec_network *n = &r->spec->networks[i];

		p = (struct ip_prefix){n->range.first, n->range.prefix_len};
		keep(r, &p);
	}
	for (size_t i = 0; r->spec && i < r->spec->n_nets; i++) {
		const struct spec_match *m = &r->spec->nets[i].match;

		keep_shared(r, &r->spec->nets[i]);
		for (size_t k = 0; k < m->n_subnets; k++)
			keep(r, &m->subnets[k]);
	}
}

/* Returns whether the address bit that follows the prefix stays unchanged, because the prefix lies
 * within a kept prefix or contains one. */
static bool bit_stays(const struct redaction *r, const struct ip_prefix *p)
{
	for (size_t i = 0; i < r->n_kept; i++) {
		const struct ip_prefix *k = &r->kept[i];

		if (k->addr.family == p->addr.family &&
		    (p->len < k->len ? ip_prefix_contains(p, &k->addr)
				     : ip_prefix_contains(k, &p->addr)))
			return true;
	}
	return false;
}

/* Flips each bit depending on a keyed hash of the bits before it. So if two addresses have a common
 * prefix, their replacements have a common prefix of the same length. */
static struct ip_addr map_addr(const struct redaction *r, const struct ip_addr *a)
{
	struct ip_addr to = *a;

	for (unsigned i = 0; i < ip_addr_bits(a); i++) {
		const struct ip_prefix p = {ip_addr_network(a, i), (uint8_t)i};
		uint8_t text[sizeof(p.addr.bytes) + 2] = {(uint8_t)(a->family == AF_INET6 ? 6 : 4),
							  (uint8_t)i};

		if (bit_stays(r, &p))
			continue;
		memcpy(text + 2, p.addr.bytes, ip_addr_bits(a) / 8);
		if (hash_keyed(r->key, text, sizeof(text)) & 1)
			to.bytes[i / 8] ^= (uint8_t)(0x80 >> (i % 8));
	}
	return to;
}

/* ---- MAC addresses ---- */

static bool mac_is_none(const struct mac_addr *m)
{
	static const struct mac_addr none, all = {{255, 255, 255, 255, 255, 255}};

	return memcmp(m, &none, sizeof(none)) == 0 || memcmp(m, &all, sizeof(all)) == 0;
}

static void mac_pair_add(struct redaction *r, const struct mac_addr *from,
			 const struct mac_addr *to)
{
	struct mac_pair *pair = vec_add(&r->macs, &r->n_macs, sizeof(*pair));

	if (pair)
		*pair = (struct mac_pair){*from, *to};
	else
		r->out_of_memory = true;
}

/* Replaces a MAC address: keeps the vendor's half, and makes the other half a sequence number. */
static struct mac_addr map_mac(struct redaction *r, const struct mac_addr *m)
{
	struct mac_addr to = *m;

	if (mac_is_none(m))
		return to;
	for (size_t i = 0; i < r->n_macs; i++)
		if (memcmp(&r->macs[i].from, m, sizeof(*m)) == 0)
			return r->macs[i].to;
	r->last_mac++;
	to.bytes[3] = (uint8_t)(r->last_mac >> 16);
	to.bytes[4] = (uint8_t)(r->last_mac >> 8);
	to.bytes[5] = (uint8_t)r->last_mac;
	mac_pair_add(r, m, &to);
	return to;
}

/* Replaces an IP address. An IPv6 address that contains a MAC address gets the replacement of that
 * MAC address. */
static void map_ip(struct redaction *r, struct ip_addr *a)
{
	struct mac_addr m;

	if (!a->family)
		return;
	if (a->family == AF_INET6 && a->bytes[11] == 0xff && a->bytes[12] == 0xfe) {
		memcpy(m.bytes, a->bytes + 8, 3);
		memcpy(m.bytes + 3, a->bytes + 13, 3);
		m.bytes[0] ^= 2;
		m = map_mac(r, &m);
		m.bytes[0] ^= 2;
		memcpy(a->bytes + 8, m.bytes, 3);
		memcpy(a->bytes + 13, m.bytes + 3, 3);
	}
	*a = map_addr(r, a);
}

static void map_prefix(struct redaction *r, struct ip_prefix *p)
{
	const struct ip_addr network = ip_addr_network(&p->addr, p->len);
	bool of_network = ip_addr_equal(&network, &p->addr);

	map_ip(r, &p->addr);
	if (p->addr.family && of_network)
		p->addr = ip_addr_network(&p->addr, p->len);
}

/* ---- names ---- */

static void name_set(char *field, size_t size, const char *what, size_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%s-%zu", what, number);
	inv_text_set(field, size, text);
}

/* Returns the index of the first link with the same text. */
static size_t first_equal(const struct inventory *inv, size_t i, size_t offset)
{
	const char *text = (const char *)&inv->links[i] + offset;

	for (size_t j = 0; j < i; j++)
		if (strcmp((const char *)&inv->links[j] + offset, text) == 0)
			return j;
	return i;
}

static void map_texts(const struct inventory *was, struct inventory *inv)
{
	inv_text_set(inv->host, sizeof(inv->host), "host");
	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *l = &inv->links[i];

		if (l->alias[0] && !kernel_link_is_ours(l))
			name_set(l->alias, sizeof(l->alias), "alias",
				 first_equal(was, i, offsetof(struct inv_link, alias)));
		if (l->switch_id[0])
			name_set(l->switch_id, sizeof(l->switch_id), "switch",
				 first_equal(was, i, offsetof(struct inv_link, switch_id)));
	}
	for (size_t i = 0; i < inv->n_devlinks; i++)
		if (inv->devlinks[i].serial[0])
			name_set(inv->devlinks[i].serial, sizeof(inv->devlinks[i].serial), "serial",
				 i);
	for (size_t i = 0; i < inv->n_mounts; i++)
		if (strcmp(inv->mounts[i].path, "/") != 0)
			name_set(inv->mounts[i].path, sizeof(inv->mounts[i].path), "/mount", i);
}

/* ---- snapshot_make ---- */

static bool mac_fits(const char *pattern, const struct mac_addr *m)
{
	char text[MAC_ADDR_STR_MAX];

	return fnmatch(pattern, mac_addr_format(m, text, sizeof(text)), FNM_CASEFOLD) == 0;
}

/* Keeps a MAC address that a leg's `match` selects by more than the vendor's half, so that the plan
 * selects the same device. */
static void keep_matched(struct redaction *r, const char *pattern, const struct mac_addr *m)
{
	const struct mac_addr vendor = {{m->bytes[0], m->bytes[1], m->bytes[2]}};

	if (pattern[0] && mac_fits(pattern, m) && !mac_fits(pattern, &vendor))
		mac_pair_add(r, m, m);
}

static void keep_macs(struct redaction *r, const struct inventory *inv)
{
	struct mac_addr m;

	for (size_t i = 0; r->spec && i < r->spec->n_nets; i++) {
		const struct spec_net *n = &r->spec->nets[i];

		if (mac_addr_parse(n->device, &m) == 0)
			mac_pair_add(r, &m, &m);
		for (size_t k = 0; k < inv->n_links; k++) {
			keep_matched(r, n->match.mac, &inv->links[k].mac);
			keep_matched(r, n->match.mac, &inv->links[k].permanent_mac);
		}
	}
}

/* The agent derives the MAC addresses of VFs from the MAC address of their PF. The replacements for
 * the addresses of VFs are therefore derived from the replacement for the address of the PF. */
static void map_vf_macs(struct redaction *r, const struct inventory *was,
			const struct inventory *inv)
{
	for (size_t i = 0; i < was->n_vfs; i++) {
		const struct inv_vf *vf = &was->vfs[i];
		const struct inv_link *pf = inv_link_by_index(was, vf->ifindex);
		const struct inv_link *pf_now = inv_link_by_index(inv, vf->ifindex);
		struct mac_addr given, to;

		if (!pf || !pf_now)
			continue;
		given = nic_vf_mac(pf, vf->vf);
		to = nic_vf_mac(pf_now, vf->vf);
		if (memcmp(&given, &vf->mac, sizeof(given)) == 0)
			mac_pair_add(r, &given, &to);
	}
}

static bool link_is_vf(const struct inv_link *l)
{
	return l->kind == INV_LINK_VF || l->physfn[0];
}

static void map_links(struct redaction *r, struct inventory *inv, bool vfs)
{
	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *l = &inv->links[i];

		if (link_is_vf(l) != vfs)
			continue;
		l->permanent_mac = map_mac(r, &l->permanent_mac);
		l->mac = map_mac(r, &l->mac);
	}
}

static void map_numbers(struct redaction *r, const struct inventory *was, struct inventory *inv)
{
	map_links(r, inv, false);
	map_vf_macs(r, was, inv);
	map_links(r, inv, true);
	for (size_t i = 0; i < inv->n_vfs; i++)
		inv->vfs[i].mac = map_mac(r, &inv->vfs[i].mac);
	for (size_t i = 0; i < inv->n_addrs; i++)
		map_prefix(r, &inv->addrs[i].ip);
	for (size_t i = 0; i < inv->n_routes; i++) {
		map_prefix(r, &inv->routes[i].dst);
		map_ip(r, &inv->routes[i].gateway);
		map_ip(r, &inv->routes[i].src);
	}
	for (size_t i = 0; i < inv->n_rules; i++)
		map_prefix(r, &inv->rules[i].from);
	for (size_t i = 0; i < inv->n_gids; i++)
		map_ip(r, &inv->gids[i].gid);
	for (size_t i = 0; i < inv->n_conns; i++)
		map_ip(r, &inv->conns[i].local);
	for (size_t i = 0; i < inv->n_mounts; i++)
		map_ip(r, &inv->mounts[i].server);
}

int snapshot_make(const struct inventory *inv, const struct spec *spec, const uint64_t key[2],
		  struct inventory **ret)
{
	PLENUM_CLEANUP(redaction_done) struct redaction r = {.spec = spec, .key = key};
	struct inventory *copy = NULL;
	int res = inv_copy(inv, &copy);

	if (res < 0)
		return res;
	keep_networks(&r);
	keep_macs(&r, inv);
	map_texts(inv, copy);
	map_numbers(&r, inv, copy);
	if (r.out_of_memory) {
		inv_free(copy);
		return -ENOMEM;
	}
	inv_sort(copy);
	*ret = copy;
	return 0;
}
