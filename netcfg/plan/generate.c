/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draft of a configuration. Apart from the inventory because it must not offer what the plan
 * would refuse: it asks plan_guard.h about each link, and at the end plan_build about the whole; a
 * device that is not accepted goes to the comments with the plan's own reason, and the draft is
 * made again.
 */
#include "netcfg/plan/generate.h"
#include "netcfg/base/file.h"
#include "netcfg/plan/plan.h"
#include "netcfg/plan/plan_guard.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEGS_OFFERED 2 /* more is a choice */
/* What workers need of a leg: the packet size that every path carries. */
#define MTU_MIN 1280

struct candidate { /* a device that could be a leg */
	const struct inv_link *link;
	const char *device;	     /* as the file names it */
	const struct inv_addr *addr; /* that a leg would keep; NULL: it has none */
	struct reason why;	     /* set: what is in the way */
	bool shared;		     /* data would use that address beside the host */
};

struct generator {
	const struct inventory *inv;
	const struct inv_link *management; /* NULL: nothing shows which it is */
	struct candidate *candidates;
	size_t n_candidates;
	struct candidate *legs[LEGS_OFFERED];
	size_t n_legs;
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
static const struct inv_link *default_route_find(const struct inventory *inv)
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

/* Where no default route says it, the connection of whoever is logged in does. */
static const struct inv_link *management_find(const struct inventory *inv)
{
	const struct inv_link *link = default_route_find(inv);

	for (size_t i = 0; !link && i < inv->n_conns; i++)
		for (size_t j = 0; inv->conns[i].n_ssh && j < inv->n_addrs; j++)
			if (ip_addr_equal(&inv->conns[i].local, &inv->addrs[j].ip.addr))
				link = inv_link_by_index(inv, inv->addrs[j].ifindex);
	return link && link->kind != INV_LINK_LOOPBACK ? link : NULL;
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

/* ---- which devices ---- */

static bool may_be_data_device(const struct inv_link *l, bool has_hardware)
{
	return l->kind == INV_LINK_PHYSICAL || l->kind == INV_LINK_IPOIB ||
	       (l->kind == INV_LINK_VETH && !has_hardware);
}

/* Links that nobody would make a leg of are not even named. */
static bool is_data_device(const struct generator *g, const struct inv_link *l, bool has_hardware)
{
	const char *management = g->management ? g->management->name : "";
	struct reason unused;

	return may_be_data_device(l, has_hardware) &&
	       !plan_link_refusal(g->inv, management, l, &unused);
}

/* The one device for everything: with no other the host has no choice but to share its address. */
static bool is_only_device(const struct generator *g, const struct inv_link *l, bool has_hardware)
{
	struct reason unused;

	return l && g->n_candidates == 0 && l == default_route_find(g->inv) &&
	       (may_be_data_device(l, has_hardware) || l->kind == INV_LINK_BOND) &&
	       !plan_link_refusal(g->inv, "", l, &unused);
}

static void candidate_judge(const struct generator *g, struct candidate *c)
{
	const struct inv_link *l = c->link;

	/* Nothing is done to a device whose address is shared. */
	if (!c->shared && plan_link_dependent(g->inv, l, &c->why))
		return;
	if (!c->device[0])
		reason_set(&c->why, "unnamed", "its name cannot be written here; rename it");
	else if (!l->up)
		reason_set(&c->why, "down", "it is down; its address and carrier are unknown");
	else if (!l->carrier)
		reason_set(&c->why, "no-carrier", "it has no carrier: is the cable in?");
	else if (l->mtu < MTU_MIN)
		reason_set(&c->why, "mtu", "its mtu is %" PRIu32 "; workers need %u or more",
			   l->mtu, MTU_MIN);
	else if (!c->addr)
		reason_set(&c->why, "no-address",
			   "it has no address: nothing shows which network it is on");
	else if (!g->management)
		reason_set(&c->why, "management",
			   "it may be the management interface: name that above first");
}

static int find_candidates(struct generator *g)
{
	bool has_hardware = false; /* then a veth is a container's, not a leg */

	g->candidates = calloc(g->inv->n_links + 1, sizeof(*g->candidates));
	if (!g->candidates)
		return -ENOMEM;
	for (size_t i = 0; i < g->inv->n_links; i++)
		has_hardware |= g->inv->links[i].kind == INV_LINK_PHYSICAL;
	for (size_t i = 0; i < g->inv->n_links; i++) {
		const struct inv_link *l = &g->inv->links[i];
		struct candidate *c = &g->candidates[g->n_candidates];

		if (!is_data_device(g, l, has_hardware))
			continue;
		*c = (struct candidate){.link = l,
					.device = device_name(g->inv, l),
					.addr = data_address(g->inv, l)};
		candidate_judge(g, c);
		g->n_candidates++;
	}
	if (is_only_device(g, g->management, has_hardware)) {
		const struct inv_link *l = g->management;
		struct candidate *c = &g->candidates[g->n_candidates++];

		*c = (struct candidate){.link = l,
					.device = device_name(g->inv, l),
					.addr = data_address(g->inv, l),
					.shared = true};
		candidate_judge(g, c);
	}
	return 0;
}

static struct ip_prefix subnet_of(const struct candidate *c)
{
	const struct ip_prefix *ip = &c->addr->ip;

	return (struct ip_prefix){ip_addr_network(&ip->addr, ip->len), ip->len};
}

/* Two legs are two networks: devices of one subnet are a choice that nothing here shows. */
static bool shares_subnet(const struct generator *g, const struct candidate *c)
{
	const struct ip_prefix a = subnet_of(c);

	for (size_t i = 0; i < g->n_legs; i++) {
		const struct ip_prefix b = subnet_of(g->legs[i]);

		if (ip_prefix_contains(&a, &b.addr) || ip_prefix_contains(&b, &a.addr))
			return true;
	}
	return false;
}

/* The fastest devices make the legs. */
static void choose_legs(struct generator *g)
{
	uint32_t fastest = 0;

	g->n_legs = 0;
	for (size_t i = 0; i < g->n_candidates; i++)
		if (!reason_is_set(&g->candidates[i].why))
			fastest = MAX_OF(fastest, g->candidates[i].link->speed_mbps);
	for (size_t i = 0; i < g->n_candidates && g->n_legs < LEGS_OFFERED; i++) {
		struct candidate *c = &g->candidates[i];

		if (!reason_is_set(&c->why) && c->link->speed_mbps == fastest &&
		    !shares_subnet(g, c))
			g->legs[g->n_legs++] = c;
	}
}

static bool is_leg(const struct generator *g, const struct candidate *c)
{
	for (size_t i = 0; i < g->n_legs; i++)
		if (g->legs[i] == c)
			return true;
	return false;
}

/* ---- the text ---- */

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
	      "# looked: edit, then `plenum validate FILE` and `plenum plan FILE`.\n\n",
	      f);
	if (name_fits(g->inv->host))
		fprintf(f, "host: \"%s\"\n\n", g->inv->host);
	if (g->management && name_fits(g->management->name))
		fprintf(f,
			"# The interface by which this host is managed. It is never reconfigured.\n"
			"management: {interface: \"%s\"}\n\n",
			g->management->name);
	else
		fprintf(f,
			"# %s\n"
			"# management: {interface: NAME}\n\n",
			g->management
				? "The management interface has a name that cannot be written here."
				: "Nothing shows by which interface this host is managed: write it "
				  "here.");
}

/* "leg-a", "leg-b", ... */
static char leg_letter(size_t i)
{
	return (char)('a' + i);
}

static void put_networks(const struct generator *g)
{
	const bool own = g->n_legs && !g->legs[0]->shared;
	FILE *f = g->out;

	fputs("# The data networks: the addresses this host may use there, and their subnet. The\n"
	      "# workers need one address per core on each leg; no two hosts share an address.\n",
	      f);
	fputs(own ? "networks:\n" : "# networks:\n#   - {name: data-a, range: FIRST-LAST/LENGTH}\n",
	      f);
	for (size_t i = 0; own && i < g->n_legs; i++) {
		const struct inv_link *l = g->legs[i]->link;
		const struct ip_prefix *ip = &g->legs[i]->addr->ip;
		char addr[IP_ADDR_STR_MAX];

		ip_addr_format(&ip->addr, addr, sizeof(addr));
		fprintf(f,
			"  # What the interface has now; widen it: %s-LAST/%u.\n"
			"  - {name: data-%c, range: \"%s-%s/%u\"",
			addr, ip->len, leg_letter(i), addr, addr, ip->len);
		if (l->mtu <= UINT16_MAX)
			fprintf(f, ", mtu: %" PRIu32, l->mtu);
		fputs("}\n", f);
	}
	fputc('\n', f);
}

/* Devices that a leg could be made of, and what is in the way. */
static void put_other_devices(const struct generator *g)
{
	size_t n = g->n_legs;

	for (size_t i = 0; i < g->n_candidates; i++) {
		const struct candidate *c = &g->candidates[i];

		if (is_leg(g, c))
			continue;
		fputs("  # Not taken: ", g->out);
		put_link_comment(g, c->link);
		fputs("  #   ", g->out);
		if (!reason_is_set(&c->why))
			fputs("slower than the legs, on a network of theirs, or one leg too many; "
			      "add it by hand",
			      g->out);
		else
			put_comment_text(g->out, c->why.text);
		fputc('\n', g->out);
		if (c->device[0] && c->shared)
			fprintf(g->out, "  # - {name: leg-a, device: \"%s\", shared-ip: true}\n",
				c->device);
		else if (c->device[0])
			fprintf(g->out, "  # - {name: leg-%c, device: \"%s\", network: data-%c}\n",
				leg_letter(MIN_OF(n, 25)), c->device, leg_letter(MIN_OF(n, 25)));
		n++;
	}
	if (n == 0)
		fputs("  # This host shows no device for data: a physical link that is not the\n"
		      "  # management's and is not a port of a bridge or bond.\n",
		      g->out);
}

/* What is to be known before data share an address, and shows nowhere on the host. */
static void put_shared_leg(const struct generator *g)
{
	const struct candidate *c = g->legs[0];
	char addr[IP_ADDR_STR_MAX];

	ip_addr_format(&c->addr->ip.addr, addr, sizeof(addr));
	fprintf(g->out,
		"  # It is the host's only device, so data share %s with management; nothing\n"
		"  # is changed on it. Nothing here shows whether that network may carry data, "
		"how\n"
		"  # fast it is behind the first switch, or whether a firewall lets UDP through.\n"
		"  - {name: leg-a, device: \"%s\", shared-ip: true, label: auto}\n",
		addr, c->device);
}

static void put_legs(const struct generator *g)
{
	FILE *f = g->out;

	fputs("# The data devices, one per leg: by PCI address, MAC or name. A label names the\n"
	      "# switch behind a device: traffic between hosts prefers legs of one label; with\n"
	      "# auto the switch tells its name by LLDP.\n",
	      f);
	fputs(g->n_legs ? "net:\n" : "# net:\n", f);
	for (size_t i = 0; i < g->n_legs; i++) {
		fputs("  # ", f);
		put_link_comment(g, g->legs[i]->link);
		if (g->legs[i]->shared)
			put_shared_leg(g);
		else
			fprintf(f,
				"  - {name: leg-%c, device: \"%s\", network: data-%c, label: "
				"auto}\n",
				leg_letter(i), g->legs[i]->device, leg_letter(i));
	}
	put_other_devices(g);
	fprintf(f,
		"\n# none, dual-leg: two or more independent legs, or by a bond lacp or "
		"active-backup.\n"
		"%sha: {mode: dual-leg}\n\n",
		g->n_legs >= 2 ? "" : "# ");
}

/* Not core 0, which the kernel likes for itself; an isolated core before others, one near the
 * first leg before the rest. NULL: there is none. */
static const struct inv_core *core_choose(const struct generator *g, const struct inv_core *but)
{
	int node = g->n_legs ? g->legs[0]->link->numa_node : INV_NUMA_NONE;
	const struct inv_core *best = NULL;
	int best_score = -1;

	for (size_t i = 0; i < g->inv->n_cores; i++) {
		const struct inv_core *c = &g->inv->cores[i];
		int score = (node >= 0 && c->numa_node == node ? 2 : 0) + (c->isolated ? 1 : 0);

		if (c->id == 0 || !c->online || c->barred || c == but || score <= best_score)
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
	const struct inv_core *core = core_choose(g, NULL), *other = core_choose(g, core);
	bool ask = core && g->n_legs;
	const char *hash = ask ? "" : "# ";
	FILE *f = g->out;

	fputs("# One worker per core. compute serves directories, frontend mounts those of "
	      "peers.\n",
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
		"#     exports: [{name: NAME, path: /DIRECTORY}]\n",
		hash, hash, hash, core ? core->id : 0, hash);
	if (other)
		fprintf(f,
			"#   - {role: frontend, cores: [%u], mounts: [{path: /DIRECTORY, from: "
			"HOST/NAME}]}\n",
			other->id);
	fputs("\n# Where the other hosts are.\n"
	      "# peers:\n"
	      "#   - {name: HOST, ips: [ADDRESS, ADDRESS]}\n\n"
	      "policy: {on-fallback: degrade}\n",
	      f);
}

static char *compose(struct generator *g)
{
	char *text = NULL;
	size_t len;

	g->out = open_memstream(&text, &len);
	if (!g->out)
		return NULL;
	put_head(g);
	put_networks(g);
	put_legs(g);
	put_workers(g);
	return file_text_end(g->out, &text, 0);
}

/* ---- what the plan says to it ---- */

/* The first error of d stands for them all. */
static void refuse_all(struct generator *g, const struct diag *d)
{
	const char *text = "the plan does not accept it";

	for (size_t i = d->n; i-- > 0;)
		if (d->entries[i].severity == DIAG_ERROR && d->entries[i].text)
			text = d->entries[i].text;
	for (size_t i = 0; i < g->n_legs; i++)
		reason_set(&g->legs[i]->why, "refused", "%.180s", text);
}

/* 1: the plan accepts the text; 0: some legs got a reason, make it again; negative errno. */
static int judge(struct generator *g, const char *text)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *spec = NULL;
	struct plan *plan = NULL;
	int r = spec_parse("draft", text, strlen(text), &d, &spec);
	bool all = true;

	if (r == 0)
		r = plan_build(spec, g->inv, NULL, &d, &plan);
	if (r < 0 && r != -ENOMEM)
		refuse_all(g, &d);
	for (size_t i = 0; r == 0 && i < plan->n_legs; i++) {
		if (plan->legs[i].state == PLAN_LEG_USABLE)
			continue;
		g->legs[i]->why = plan->legs[i].reason;
		all = false;
	}
	plan_free(plan);
	spec_free(spec);
	if (r == -ENOMEM)
		return r;
	return r == 0 && all;
}

char *generate_yaml(const struct inventory *inv)
{
	struct generator g = {.inv = inv, .management = management_find(inv)};
	char *text = NULL;
	int r = find_candidates(&g);

	/* Each turn takes at least one leg off the list. */
	while (r == 0) {
		free(text);
		choose_legs(&g);
		text = compose(&g);
		r = text ? 0 : -ENOMEM;
		if (r == 0 && g.n_legs > 0)
			r = judge(&g, text);
		else if (r == 0)
			break;
	}
	free(g.candidates);
	if (r >= 0)
		return text;
	free(text);
	return NULL;
}
