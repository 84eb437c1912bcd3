/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drafts a configuration that the plan accepts: checks each link with plan_guard.h and the whole
 * draft with plan_build. If the plan rejects a device, the draft is made again with that device in
 * a comment that gives the plan's reason.
 */
#include "netcfg/plan/show/generate.h"
#include "netcfg/base/file.h"
#include "netcfg/plan/plan.h"
#include "netcfg/plan/plan_guard.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEGS_OFFERED 2 /* the administrator may add more legs to the file */
/* Minimum MTU of a leg, because any path must carry packets of this size. */
#define MTU_MIN 1280

struct candidate { /* a device that could be a leg */
	const struct inv_link *link;
	const char *device;	     /* name of the device in the file */
	const struct inv_addr *addr; /* the address that the leg would keep; NULL: none */
	struct reason why;	     /* why the device cannot be a leg; not set if it can */
	bool shared;		     /* data would share that address with the host */
};

struct generator {
	const struct inventory *inv;
	const struct inv_link *management; /* the management interface; NULL: unknown */
	struct candidate *candidates;
	size_t n_candidates;
	struct candidate *legs[LEGS_OFFERED];
	size_t n_legs;
	FILE *out;
};

/* Returns whether the name is valid as an interface or host name in the file. */
static bool name_fits(const char *name)
{
	if (!isalnum((unsigned char)name[0]))
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return false;
	return true;
}

/* Writes the text of a comment, with '?' in place of control characters, which YAML does not allow
 * even in comments. */
static void put_comment_text(FILE *f, const char *text)
{
	for (const char *c = text; *c; c++)
		fputc(*c >= ' ' && *c < 0x7f ? *c : '?', f);
}

/* Returns the interface of the default route in the main table: of an IPv4 route if there is one;
 * if there are several, of the route with the lowest metric. */
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

const struct inv_link *generate_management(const struct inventory *inv)
{
	const struct inv_link *link = default_route_find(inv);

	for (size_t i = 0; !link && i < inv->n_conns; i++)
		for (size_t j = 0; inv->conns[i].n_ssh && j < inv->n_addrs; j++)
			if (ip_addr_equal(&inv->conns[i].local, &inv->addrs[j].ip.addr))
				link = inv_link_by_index(inv, inv->addrs[j].ifindex);
	return link && link->kind != INV_LINK_LOOPBACK ? link : NULL;
}

/* Returns whether workers could use the address in its subnet. */
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

/* Returns the first IPv4 address of a link that a leg could keep, else the first such IPv6 address.
 */
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

/* Returns whether the configuration file accepts the PCI address. Some bridges have longer PCI
 * domains than in "0000:3b:00.0", which the file does not accept. */
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

/* Returns the device's name for the file: its PCI address if possible, because link names may
 * change; "" if it has no valid name. */
static const char *device_name(const struct inventory *inv, const struct inv_link *l)
{
	size_t n_same = 0;

	for (size_t i = 0; l->pci[0] && i < inv->n_links; i++)
		n_same += strcmp(inv->links[i].pci, l->pci) == 0;
	/* A PCI address identifies the device only if no other port has it; some devices have two
	 * ports on one PCI function. */
	if (n_same == 1 && pci_fits(l->pci))
		return l->pci;
	return name_fits(l->name) ? l->name : "";
}

/* ---- candidates ---- */

static bool may_be_data_device(const struct inv_link *l, bool has_hardware)
{
	return l->kind == INV_LINK_PHYSICAL || l->kind == INV_LINK_IPOIB ||
	       (l->kind == INV_LINK_VETH && !has_hardware);
}

/* Returns whether the link could be a leg. The draft does not mention other links, except the
 * host's only device (is_only_device()). */
static bool is_data_device(const struct generator *g, const struct inv_link *l, bool has_hardware)
{
	const char *management = g->management ? g->management->name : "";
	struct reason unused;

	return may_be_data_device(l, has_hardware) &&
	       !plan_link_refusal(g->inv, management, l, &unused);
}

/* Returns whether this is the only device of the host, so that data must share its address. */
static bool is_only_device(const struct generator *g, const struct inv_link *l, bool has_hardware)
{
	struct reason unused;

	return l && g->n_candidates == 0 && l == default_route_find(g->inv) &&
	       (may_be_data_device(l, has_hardware) || l->kind == INV_LINK_BOND) &&
	       !plan_link_refusal(g->inv, "", l, &unused);
}

static void candidate_check(const struct generator *g, struct candidate *c)
{
	const struct inv_link *l = c->link;

	/* The plan changes nothing on a device whose address is shared. */
	if (!c->shared && plan_link_dependent(g->inv, l, &c->why))
		return;
	if (!c->device[0])
		reason_set(&c->why, "unnamed",
			   "the interface's name is not valid in this file; rename the interface");
	else if (!l->up)
		reason_set(&c->why, "down",
			   "the interface is down, so its address and carrier are unknown; bring "
			   "the interface up");
	else if (!l->carrier)
		reason_set(&c->why, "no-carrier", "the interface has no carrier; check the cable");
	else if (l->mtu < MTU_MIN)
		reason_set(&c->why, "mtu",
			   "the interface's MTU is %" PRIu32 "; workers need %u or more", l->mtu,
			   MTU_MIN);
	else if (!c->addr)
		reason_set(&c->why, "no-address",
			   "the interface has no address, so its network is unknown");
	else if (!g->management)
		reason_set(&c->why, "management",
			   "this may be the management interface; name the management interface "
			   "above first");
}

static int find_candidates(struct generator *g)
{
	/* On a host with hardware, veth links belong to containers and are not offered. */
	bool has_hardware = false;

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
		candidate_check(g, c);
		g->n_candidates++;
	}
	if (is_only_device(g, g->management, has_hardware)) {
		const struct inv_link *l = g->management;
		struct candidate *c = &g->candidates[g->n_candidates++];

		*c = (struct candidate){.link = l,
					.device = device_name(g->inv, l),
					.addr = data_address(g->inv, l),
					.shared = true};
		candidate_check(g, c);
	}
	return 0;
}

static struct ip_prefix subnet_of(const struct candidate *c)
{
	const struct ip_prefix *ip = &c->addr->ip;

	return (struct ip_prefix){ip_addr_network(&ip->addr, ip->len), ip->len};
}

/* Returns whether a device that was chosen before is in the same subnet. Each leg needs its own
 * network in the draft, because the host does not show how two legs would share a network. */
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

/* Chooses the fastest devices as legs. */
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

	fputs("# A draft of plenum.yaml(5) for this host. Nothing is changed yet: edit the file,\n"
	      "# then run `plenum validate FILE` and `plenum plan FILE`.\n\n",
	      f);
	if (name_fits(g->inv->host))
		fprintf(f, "host: \"%s\"\n\n", g->inv->host);
	if (g->management && name_fits(g->management->name))
		fprintf(f,
			"# The management interface of this host. Plenum never reconfigures it.\n"
			"management: {interface: \"%s\"}\n\n",
			g->management->name);
	else
		fprintf(f,
			"# %s\n"
			"# management: {interface: NAME}\n\n",
			g->management
				? "The name of the management interface is not valid in this file."
				: "The management interface is unknown: write it here.");
}

/* Returns the letter of the i-th leg's name: 'a' for "leg-a", 'b' for "leg-b" and so on. */
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
			"  # The present address of the interface; extend the range: %s-LAST/%u.\n"
			"  - {name: data-%c, range: \"%s-%s/%u\"",
			addr, ip->len, leg_letter(i), addr, addr, ip->len);
		if (l->mtu <= UINT16_MAX)
			fprintf(f, ", mtu: %" PRIu32, l->mtu);
		fputs("}\n", f);
	}
	fputc('\n', f);
}

/* Lists the devices that are not legs, and why. */
static void put_other_devices(const struct generator *g)
{
	size_t n = g->n_legs;

	for (size_t i = 0; i < g->n_candidates; i++) {
		const struct candidate *c = &g->candidates[i];

		if (is_leg(g, c))
			continue;
		fputs("  # Not used: ", g->out);
		put_link_comment(g, c->link);
		fputs("  #   ", g->out);
		if (!reason_is_set(&c->why))
			fputs("this device is slower than the legs, or on the same network, or one "
			      "leg too many; add the leg by hand",
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
		fputs("  # No device of this host can be a leg. A leg needs a physical link that "
		      "is neither\n"
		      "  # the management interface nor a port of a bridge or bond.\n",
		      g->out);
}

/* Writes the entry of a leg with a shared address, with comments about conditions that the
 * inventory does not show. */
static void put_shared_leg(const struct generator *g)
{
	const struct candidate *c = g->legs[0];
	char addr[IP_ADDR_STR_MAX];

	ip_addr_format(&c->addr->ip.addr, addr, sizeof(addr));
	fprintf(g->out,
		"  # The host's only device. Data and management share the address %s, and Plenum\n"
		"  # changes no addresses on the device. Check that this network may carry data, "
		"how\n"
		"  # fast it is beyond the first switch, and that firewalls pass UDP.\n"
		"  - {name: leg-a, device: \"%s\", shared-ip: true, label: auto}\n",
		addr, c->device);
}

static void put_legs(const struct generator *g)
{
	FILE *f = g->out;

	char modes[SPEC_HA_NAMES_MAX];

	fputs("# The legs, each on a device, given by PCI address, MAC or name. A label names the\n"
	      "# switch behind a device: traffic between hosts prefers legs with the same "
	      "label;\n# with auto the switch announces its name via LLDP.\n",
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
		"\n# none; dual-leg: two or more independent legs; %s: a bond.\n"
		"%sha: {mode: dual-leg}\n\n",
		spec_ha_bond_names(modes), g->n_legs >= 2 ? "" : "# ");
}

/* Chooses a core for the worker: isolated cores first, then cores near the first leg. Never chooses
 * core 0, because the kernel does most of its work there. Returns NULL if no core is left. */
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

	fputs("# One worker per core. compute serves directories, frontend mounts directories of "
	      "peers.\n",
	      f);
	if (!has_free_hugepages(g->inv))
		fputs("# No hugepages are free, so DPDK is not available yet.\n", f);
	if (!core)
		fputs("# This host has only core 0; a worker uses core 0 only if 'cores' is [0].\n",
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
	fputs("\n# The other hosts and their data IPs.\n"
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

/* ---- check by the plan ---- */

/* Makes the first error in d the reason why no device can be a leg. */
static void refuse_all(struct generator *g, const struct diag *d)
{
	const char *text = "the plan rejects this device";

	for (size_t i = d->n; i-- > 0;)
		if (d->entries[i].severity == DIAG_ERROR && d->entries[i].text)
			text = d->entries[i].text;
	for (size_t i = 0; i < g->n_legs; i++)
		reason_set(&g->legs[i]->why, "refused", "%.180s", text);
}

/* Returns 1 if the plan accepts the text; 0 if it rejected some legs, in which case the draft must
 * be made again; or negative errno. */
static int draft_check(struct generator *g, const char *text)
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
	struct generator g = {.inv = inv, .management = generate_management(inv)};
	char *text = NULL;
	int r = find_candidates(&g);

	/* The loop ends, because each iteration removes at least one leg. */
	while (r == 0) {
		free(text);
		choose_legs(&g);
		text = compose(&g);
		r = text ? 0 : -ENOMEM;
		if (r == 0 && g.n_legs > 0)
			r = draft_check(&g, text);
		else if (r == 0)
			break;
	}
	free(g.candidates);
	if (r >= 0)
		return text;
	free(text);
	return NULL;
}
