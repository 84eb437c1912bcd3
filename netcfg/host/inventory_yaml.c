/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A first plenum.yaml from what is there. Only what the host shows is written as configuration;
 * what the administrator alone knows (addresses of bare devices, exports, peers) stands in comments
 * as an example. The result always validates.
 */
#include "netcfg/host/inventory.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The smallest MTU that a network may ask for. */
#define MTU_MIN 576

/* Why a link is or is not offered as a data device. */
enum offer { OFFER_LEG, OFFER_BARE, OFFER_NO_CARRIER, OFFER_DOWN, OFFER_UNNAMED, OFFER_NONE };

struct generator {
	const struct inventory *inv;
	const struct inv_link *management; /* NULL: none known */
	const struct inv_link *legs[PLENUM_LEGS_MAX];
	const struct inv_addr *leg_addrs[PLENUM_LEGS_MAX];
	size_t n_legs;
	size_t n_bare;	   /* devices that become legs once they are given a network */
	bool has_hardware; /* a physical link exists: then a veth is a container's, not a leg */
	FILE *out;
};

/* As an interface name and as a host name in the file. */
static bool name_fits(const char *name)
{
	if (!isalnum((unsigned char)name[0]))
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return false;
	return true;
}

/* For comments: YAML takes no control characters even there. */
static void put_comment_text(FILE *f, const char *text)
{
	for (const char *c = text; *c; c++)
		fputc(*c >= ' ' && *c < 0x7f ? *c : '?', f);
}

/* The interface of the best default route. */
static const struct inv_link *management_find(const struct inventory *inv)
{
	const struct inv_route *best = NULL;

	for (size_t i = 0; i < inv->n_routes; i++) {
		const struct inv_route *r = &inv->routes[i];

		if (r->dst.len != 0 || r->type != INV_ROUTE_UNICAST || r->table != INV_TABLE_MAIN ||
		    !r->oif)
			continue;
		if (!best || (r->family == AF_INET && best->family != AF_INET) ||
		    (r->family == best->family && r->metric < best->metric))
			best = r;
	}
	return best ? inv_link_by_index(inv, best->oif) : NULL;
}

/* Whether a default route leaves through the link: then it is no data device either. */
static bool has_default_route(const struct inventory *inv, const struct inv_link *l)
{
	for (size_t i = 0; i < inv->n_routes; i++)
		if (inv->routes[i].dst.len == 0 && inv->routes[i].oif == l->ifindex &&
		    inv->routes[i].table == INV_TABLE_MAIN)
			return true;
	return false;
}

/* Whether the management interface is the link or stands on it, as a VLAN does. */
static bool carries_management(const struct generator *g, const struct inv_link *l)
{
	const struct inv_link *above = g->management;

	for (int depth = 0; above && depth < 8; depth++) {
		if (above->ifindex == l->ifindex)
			return true;
		above = above->lower ? inv_link_by_index(g->inv, above->lower) : NULL;
	}
	return false;
}

/* An address that workers could have in the subnet it says it is in. */
static bool address_fits(const struct ip_prefix *ip)
{
	const uint8_t *b = ip->addr.bytes;
	struct ip_addr base = ip_addr_network(&ip->addr, ip->len), broadcast;

	if (ip->addr.family == AF_INET6)
		return ip->len < 128 && b[0] != 0xff && b[0] != 0 &&
		       !(b[0] == 0xfe && (b[1] & 0xc0) == 0x80);
	if (ip->addr.family != AF_INET || ip->len < 1 || ip->len > 30 || b[0] == 0 || b[0] == 127 ||
	    b[0] >= 224 || (b[0] == 169 && b[1] == 254))
		return false;
	return !ip_addr_equal(&ip->addr, &base) &&
	       !(ip_addr_add(&base, (UINT64_C(1) << (32 - ip->len)) - 1, &broadcast) &&
		 ip_addr_equal(&ip->addr, &broadcast));
}

/* The first IPv4 address of a link that a leg could keep, else its first IPv6 one. */
static const struct inv_addr *data_address(const struct inventory *inv, const struct inv_link *l)
{
	const struct inv_addr *best = NULL;

	for (size_t i = 0; i < inv->n_addrs; i++) {
		const struct inv_addr *a = &inv->addrs[i];

		if (a->ifindex == l->ifindex && !a->dad_failed && address_fits(&a->ip) &&
		    (!best || a->ip.addr.family < best->ip.addr.family))
			best = a;
	}
	return best;
}

/* "0000:3b:00.0"; some bridges make longer domains, which the file does not take. */
static bool pci_fits(const char *pci)
{
	static const char form[] = "xxxx:xx:xx.o";

	for (size_t i = 0; i < sizeof(form); i++) {
		bool fits = form[i] == 'x'   ? isxdigit((unsigned char)pci[i]) != 0
			    : form[i] == 'o' ? pci[i] >= '0' && pci[i] <= '7'
					     : pci[i] == form[i];

		if (!fits)
			return false;
	}
	return true;
}

/* How the file names the device: by PCI address where it has one, for names change. "": not at
 * all. */
static const char *device_name(const struct inventory *inv, const struct inv_link *l)
{
	size_t n_same = 0;

	for (size_t i = 0; l->pci[0] && i < inv->n_links; i++)
		n_same += strcmp(inv->links[i].pci, l->pci) == 0;
	/* Some devices have two ports on one PCI function. */
	if (n_same == 1 && pci_fits(l->pci))
		return l->pci;
	return name_fits(l->name) ? l->name : "";
}

static enum offer link_offer(const struct generator *g, const struct inv_link *l)
{
	if (l->kind != INV_LINK_PHYSICAL && l->kind != INV_LINK_IPOIB &&
	    (l->kind != INV_LINK_VETH || g->has_hardware))
		return OFFER_NONE;
	if (l->master || carries_management(g, l) || has_default_route(g->inv, l))
		return OFFER_NONE;
	if (!device_name(g->inv, l)[0])
		return OFFER_UNNAMED;
	if (!l->up)
		return OFFER_DOWN;
	if (!l->carrier)
		return OFFER_NO_CARRIER;
	return data_address(g->inv, l) ? OFFER_LEG : OFFER_BARE;
}

static void put_link_comment(const struct generator *g, const struct inv_link *l)
{
	FILE *f = g->out;

	put_comment_text(f, l->name);
	fprintf(f, ", %s", inv_link_kind_to_string(l->kind));
	if (l->driver[0]) {
		fputs(", ", f);
		put_comment_text(f, l->driver);
	}
	if (l->pci[0]) {
		fputs(", PCI ", f);
		put_comment_text(f, l->pci);
	}
	if (l->numa_node >= 0)
		fprintf(f, ", NUMA node %d", l->numa_node);
	if (l->speed_mbps)
		fprintf(f, ", %" PRIu32 " Mb/s", l->speed_mbps);
	if (l->max_vfs)
		fprintf(f, ", up to %" PRIu32 " VFs", l->max_vfs);
	if (l->rdma[0]) {
		fputs(", RDMA ", f);
		put_comment_text(f, l->rdma);
	}
	fputc('\n', f);
}

static void put_head(const struct generator *g)
{
	FILE *f = g->out;

	fputs("# plenum.yaml(5), made from what this host shows. Nothing is changed before you "
	      "have\n"
	      "# looked: edit, then `plenum validate FILE` and `plenum plan`.\n\n",
	      f);
	if (name_fits(g->inv->host))
		fprintf(f, "host: \"%s\"\n\n", g->inv->host);
	if (g->management && name_fits(g->management->name))
		fprintf(f,
			"# The interface of the default route. It is never reconfigured.\n"
			"management: {interface: \"%s\"}\n\n",
			g->management->name);
	else
		fputs("# No default route leaves through an interface that could be named here.\n"
		      "# management: {interface: eth0}\n\n",
		      f);
}

/* "leg-a", "leg-b", ... */
static char leg_letter(size_t i)
{
	return (char)('a' + i);
}

static void put_networks(const struct generator *g)
{
	FILE *f = g->out;

	fputs("# The data networks: the addresses this host may use there, and their subnet. The\n"
	      "# workers need one address a core on each leg; no two hosts share an address.\n",
	      f);
	if (g->n_legs)
		fputs("networks:\n", f);
	for (size_t i = 0; i < g->n_legs; i++) {
		const struct ip_prefix *ip = &g->leg_addrs[i]->ip;
		uint32_t mtu_min = ip->addr.family == AF_INET6 ? IP6_MTU_MIN : MTU_MIN;
		char addr[IP_ADDR_STR_MAX];

		ip_addr_format(&ip->addr, addr, sizeof(addr));
		fprintf(f,
			"  # What the interface has now; widen it: %s-LAST/%u.\n"
			"  - {name: data-%c, range: \"%s-%s/%u\"",
			addr, ip->len, leg_letter(i), addr, addr, ip->len);
		if (g->legs[i]->mtu >= mtu_min && g->legs[i]->mtu <= UINT16_MAX)
			fprintf(f, ", mtu: %" PRIu32, g->legs[i]->mtu);
		fputs("}\n", f);
	}
	if (g->n_legs == 0)
		fputs("# networks:\n", f);
	for (size_t i = g->n_legs; i < MAX_OF(g->n_legs + g->n_bare, 2); i++)
		fprintf(f, "  # - {name: data-%c, range: 10.%zu.1.10-10.%zu.1.19/24, mtu: 9000}\n",
			leg_letter(i), 10 * (i + 1), 10 * (i + 1));
	fputc('\n', f);
}

/* Devices that a leg could be made of, and what is in the way. */
static void put_other_devices(const struct generator *g)
{
	static const char *const reasons[OFFER_NONE] = {
		[OFFER_LEG] = "one leg too many here; add it by hand",
		[OFFER_BARE] = "has no address: set its network above, then take the # away",
		[OFFER_NO_CARRIER] = "has no carrier: is the cable in?",
		[OFFER_DOWN] = "is down",
		[OFFER_UNNAMED] = "has a name that cannot be written here; rename it",
	};
	size_t next = g->n_legs;

	for (size_t i = 0; i < g->inv->n_links; i++) {
		const struct inv_link *l = &g->inv->links[i];
		enum offer offer = link_offer(g, l);
		bool taken = false;

		for (size_t leg = 0; leg < g->n_legs; leg++)
			taken |= g->legs[leg] == l;
		if (offer == OFFER_NONE || taken)
			continue;
		fputs("  # ", g->out);
		put_link_comment(g, l);
		fprintf(g->out, "  #   %s\n", reasons[offer]);
		if (offer != OFFER_UNNAMED && next < PLENUM_LEGS_MAX) {
			fprintf(g->out, "  # - {name: leg-%c, device: \"%s\", network: data-%c}\n",
				leg_letter(next), device_name(g->inv, l), leg_letter(next));
			next++;
		}
	}
	if (next == 0)
		fputs("  # This host shows no device for data: a physical link that is not the\n"
		      "  # management's and is no port of a bridge or bond.\n",
		      g->out);
}

static void put_legs(const struct generator *g)
{
	FILE *f = g->out;

	fputs("# The data devices, one a leg: by PCI address, MAC or name. The label names the\n"
	      "# switch behind the device; legs of one label carry the traffic between hosts.\n",
	      f);
	if (g->n_legs)
		fputs("net:\n", f);
	else
		fputs("# net:\n", f);
	for (size_t i = 0; i < g->n_legs; i++) {
		fputs("  # ", f);
		put_link_comment(g, g->legs[i]);
		fprintf(f,
			"  - {name: leg-%c, device: \"%s\", network: data-%c, label: switch-%c}\n",
			leg_letter(i), device_name(g->inv, g->legs[i]), leg_letter(i),
			leg_letter(i));
	}
	put_other_devices(g);
	fprintf(f,
		"\n# none, dual-leg (two or more independent legs), active-backup or lacp.\n"
		"%sha: {mode: dual-leg}\n\n",
		g->n_legs >= 2 ? "" : "# ");
}

/* Not core 0, which the kernel likes for itself; an isolated core before others, one near the
 * first leg before the rest. NULL: there is none. */
static const struct inv_core *core_choose(const struct generator *g)
{
	int node = g->n_legs ? g->legs[0]->numa_node : INV_NUMA_NONE;
	const struct inv_core *best = NULL;
	int best_score = -1;

	for (size_t i = 0; i < g->inv->n_cores; i++) {
		const struct inv_core *c = &g->inv->cores[i];
		int score = (node >= 0 && c->numa_node == node ? 2 : 0) + (c->isolated ? 1 : 0);

		if (c->id == 0 || !c->online || score <= best_score)
			continue;
		best = c;
		best_score = score;
	}
	return best;
}

static bool has_free_hugepages(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_hugepages; i++)
		if (inv->hugepages[i].free)
			return true;
	return false;
}

static void put_workers(const struct generator *g)
{
	const struct inv_core *core = core_choose(g);
	const char *hash = core && g->n_legs ? "" : "# ";
	FILE *f = g->out;

	fputs("# One worker a core. compute serves directories, frontend mounts those of peers.\n",
	      f);
	if (!has_free_hugepages(g->inv))
		fputs("# No hugepages are free here: DPDK cannot be had until there are some.\n",
		      f);
	if (!core)
		fputs("# This host has no core besides core 0; a worker takes that one only where\n"
		      "# it is written as [0].\n",
		      f);
	fprintf(f,
		"%sworkers:\n"
		"%s  - role: compute\n"
		"%s    cores: [%u]\n"
		"%s    transport: auto\n"
		"#     exports: [{name: scratch, path: /srv/scratch}]\n"
		"#   - {role: frontend, cores: [3], mounts: [{path: /mnt/scratch, "
		"from: storage-01/scratch}]}\n\n"
		"# Where the other hosts are, without a cluster.\n"
		"# peers:\n"
		"#   - {name: storage-01, ips: [10.10.1.20, 10.20.1.20]}\n\n"
		"policy: {on-fallback: degrade}\n",
		hash, hash, hash, core ? core->id : 0, hash);
}

/* The fastest devices make the legs, two of them at most: more is a choice. */
static void choose_legs(struct generator *g)
{
	uint32_t fastest = 0;

	for (size_t i = 0; i < g->inv->n_links; i++)
		if (link_offer(g, &g->inv->links[i]) == OFFER_LEG)
			fastest = MAX_OF(fastest, g->inv->links[i].speed_mbps);
	for (size_t i = 0; i < g->inv->n_links; i++) {
		const struct inv_link *l = &g->inv->links[i];
		enum offer offer = link_offer(g, l);
		const struct inv_addr *a = data_address(g->inv, l);

		if (offer == OFFER_LEG && g->n_legs < 2 && l->speed_mbps == fastest &&
		    (g->n_legs == 0 || !ip_addr_equal(&a->ip.addr, &g->leg_addrs[0]->ip.addr))) {
			g->leg_addrs[g->n_legs] = a;
			g->legs[g->n_legs++] = l;
		} else if (offer != OFFER_NONE && offer != OFFER_UNNAMED) {
			g->n_bare++;
		}
	}
	g->n_bare = MIN_OF(g->n_bare, PLENUM_LEGS_MAX - g->n_legs);
}

char *inv_generate_yaml(const struct inventory *inv)
{
	struct generator g = {.inv = inv, .management = management_find(inv)};
	char *text = NULL;
	size_t len;

	g.out = open_memstream(&text, &len);
	if (!g.out)
		return NULL;
	for (size_t i = 0; i < inv->n_links; i++)
		g.has_hardware |= inv->links[i].kind == INV_LINK_PHYSICAL;
	choose_legs(&g);
	put_head(&g);
	put_networks(&g);
	put_legs(&g);
	put_workers(&g);
	if (fclose(g.out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
