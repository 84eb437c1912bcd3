/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of the other ends of the cables: labels, switches, crossed cables, and the hosts that have
 * an address. A switch is known by name only if it sends LLDP. ARP and neighbour discovery show in
 * any case which addresses a cable leads to.
 */
#include "agent/ctl/doctor/doctor.h"

#include <string.h>

/* ---- questions ---- */

/* Adds a request for an address. Without a carrier it cannot be sent, which the check leg-carrier
 * reports. */
static struct doctor_arp *add(struct doctor_host *p, enum doctor_arp_kind kind, const char *leg,
			      uint32_t ifindex, const struct ip_addr *ip)
{
	const struct inv_link *l = inv_link_by_index(p->inv, ifindex);
	struct doctor_arp *a = &p->arps[p->n_arps];

	if (!l || !l->up || !l->carrier || p->n_arps == DOCTOR_ARPS_MAX)
		return NULL;
	for (size_t i = 0; i < p->n_arps; i++)
		if (p->arps[i].kind == kind && p->arps[i].q.ifindex == ifindex &&
		    ip_addr_equal(&p->arps[i].q.ip, ip))
			return NULL;
	*a = (struct doctor_arp){.kind = kind, .q = {.ifindex = ifindex, .ip = *ip, .mac = l->mac}};
	snprintf(a->leg, sizeof(a->leg), "%s", leg);
	p->n_arps++;
	return a;
}

/* Returns whether the ports are in one subnet. Legs in one subnet may receive each other's
 * packets. */
static bool share_subnet(const struct plan_port *a, const struct plan_port *b)
{
	return ip_prefix_contains(&a->ip, &b->ip.addr) || ip_prefix_contains(&b->ip, &a->ip.addr);
}

static void add_own(struct doctor_host *p)
{
	for (size_t i = 0; i < p->plan->n_workers; i++)
		for (size_t j = 0; j < p->plan->workers[i].n_ports; j++) {
			const struct plan_port *port = &p->plan->workers[i].ports[j];

			if (doctor_kernel_has(p, port))
				add(p, DOCTOR_ARP_OWN, port->leg, port->ifindex, &port->ip.addr);
		}
}

static void add_other_legs(struct doctor_host *p)
{
	for (size_t i = 0; i < p->plan->n_legs; i++)
		for (size_t j = 0; j < p->plan->n_legs; j++) {
			const struct plan_port *a = doctor_leg_port(p, p->plan->legs[i].name);
			const struct plan_port *b = doctor_leg_port(p, p->plan->legs[j].name);
			struct doctor_arp *e;

			if (i == j || !a || !b || a->ifindex == b->ifindex || share_subnet(a, b))
				continue;
			e = add(p, DOCTOR_ARP_OTHER_LEG, a->leg, a->ifindex, &b->ip.addr);
			if (e)
				snprintf(e->other, sizeof(e->other), "%s", b->leg);
		}
}

static void add_echoes(struct doctor_host *p)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct plan_port *port = doctor_leg_port(p, p->plan->legs[i].name);
		const struct inv_bond *b = port ? doctor_link_bond(p, port->ifindex) : NULL;

		if (b && doctor_bond_is_static(b))
			add(p, DOCTOR_ARP_ECHO, port->leg, port->ifindex, &port->ip.addr);
	}
}

static bool leg_answers(const struct doctor_host *p, const char *leg)
{
	for (size_t i = 0; i < p->n_probes; i++)
		if (p->probes[i].peer[0] && strcmp(p->probes[i].leg, leg) == 0 &&
		    doctor_peer_answers(p, &p->probes[i]))
			return true;
	return false;
}

static bool any_answers(const struct doctor_host *p, const char *peer)
{
	for (size_t i = 0; i < p->n_probes; i++)
		if (strcmp(p->probes[i].peer, peer) == 0 && doctor_peer_answers(p, &p->probes[i]))
			return true;
	return false;
}

/* Adds requests for a leg on which no peer answers, because its cable may lead to another leg's
 * network. */
static void add_peer_legs(struct doctor_host *p, const struct doctor_probe *e)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct plan_port *port = doctor_leg_port(p, p->plan->legs[i].name);
		struct doctor_arp *a;

		if (!port || strcmp(port->leg, e->leg) == 0 ||
		    ip_prefix_contains(&port->ip, &e->to) || leg_answers(p, port->leg))
			continue;
		a = add(p, DOCTOR_ARP_PEER_LEG, port->leg, port->ifindex, &e->to);
		if (!a)
			continue;
		snprintf(a->peer, sizeof(a->peer), "%s", e->peer);
		snprintf(a->other, sizeof(a->other), "%s", e->leg);
	}
}

static void add_peers(struct doctor_host *p)
{
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		struct doctor_arp *a;

		if (e->by_gateway)
			continue;
		a = e->held ? NULL : add(p, DOCTOR_ARP_PEER, e->leg, e->ifindex, &e->to);
		if (a) {
			a->q.from = e->from;
			snprintf(a->peer, sizeof(a->peer), "%s", e->peer);
		}
		if (e->peer[0])
			add_peer_legs(p, e);
	}
}

/* Lists the MAC addresses of this host, including those of workers' VFs. */
static struct mac_addr *own_macs(const struct doctor_host *p, size_t *ret_n)
{
	struct mac_addr *list;
	size_t n = p->inv->n_links;

	for (size_t i = 0; i < p->plan->n_workers; i++)
		n += p->plan->workers[i].n_ports;
	list = calloc(n + 1, sizeof(*list));
	n = 0;
	for (size_t i = 0; list && i < p->inv->n_links; i++)
		list[n++] = p->inv->links[i].mac;
	for (size_t i = 0; list && i < p->plan->n_workers; i++)
		for (size_t j = 0; j < p->plan->workers[i].n_ports; j++)
			list[n++] = p->plan->workers[i].ports[j].mac;
	*ret_n = n;
	return list;
}

/* Returns whether an answer from a MAC address of this host counts for a request of that kind. */
static bool counts_own(enum doctor_arp_kind kind)
{
	return kind == DOCTOR_ARP_OTHER_LEG || kind == DOCTOR_ARP_ECHO;
}

/* Sends ARP and neighbour discovery requests of one group. With own_counts, this is the group for
 * which an answer from a MAC address of this host counts; otherwise the other group. */
static int ask(struct doctor_host *p, bool own_counts, const struct mac_addr *own, size_t n_own)
{
	struct kernel_probe q[DOCTOR_ARPS_MAX];
	struct doctor_arp *of[DOCTOR_ARPS_MAX];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < p->n_arps; i++) {
		if (counts_own(p->arps[i].kind) != own_counts)
			continue;
		of[n] = &p->arps[i];
		q[n++] = p->arps[i].q;
	}
	if (n == 0)
		return 0;
	r = p->kernel->ops->probe(p->kernel, q, n, own, own_counts ? 0 : n_own);
	for (size_t i = 0; r == 0 && i < n; i++)
		of[i]->q = q[i];
	return r;
}

void doctor_send_arps(struct doctor_host *p)
{
	static const struct kernel_change address = {.kind = KERNEL_ADDR};
	autofree struct mac_addr *own = NULL;
	size_t n_own;
	int r;

	if (!p->plan)
		return;
	add_own(p);
	add_other_legs(p);
	add_echoes(p);
	add_peers(p);
	own = own_macs(p, &n_own);
	p->kernel->ops->prepare(p->kernel, &address);
	r = own ? ask(p, false, own, n_own) : -ENOMEM;
	if (r == 0)
		r = ask(p, true, own, n_own);
	if (r < 0)
		snprintf(p->no_arps, sizeof(p->no_arps),
			 "ARP and neighbour discovery cannot be sent: %s",
			 r == -EBADF ? "needs root (CAP_NET_RAW)" : strerror(-r));
}

/* ---- labels and switches ---- */

/* Loops over pairs of legs of the plan that are in use and are not ports of one bond. */
#define EACH_PAIR(p, i, j)                                                 \
	for (size_t i = 0; i < (p)->plan->n_legs; i++)                     \
		for (size_t j = i + 1; j < (p)->plan->n_legs; j++)         \
			if (plan_leg_is_configured(&(p)->plan->legs[i]) && \
			    plan_leg_is_configured(&(p)->plan->legs[j]) && \
			    !(p)->plan->legs[i].bond[0] && !(p)->plan->legs[j].bond[0])

/* Returns the label in use, from the configuration or from the switch. */
static const char *label_of(const struct doctor_host *p, size_t leg)
{
	const char *label = p->plan->legs[leg].label;

	return strcmp(label, SPEC_LABEL_AUTO) == 0 ? doctor_leg_text(p, leg, "label") : label;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* Returns whether a path from any leg carries load to that address of the peer. If so, the address
 * is in use. That this leg carries no load to it then only means that the peer has fewer legs. */
static bool is_carried(const struct doctor_host *p, const char *remote)
{
	const json_t *path;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path)
		if (json_is_true(json_object_get(path, "up")) &&
		    !json_is_true(json_object_get(path, "standby")) &&
		    strcmp(text_of(path, "remote"), remote) == 0)
			return true;
	return false;
}

/* Returns whether all paths from the leg to the peer are standby while another leg carries the
 * load: the peer has no leg with this label. */
static bool is_standby(const struct doctor_host *p, const char *leg, const char *peer)
{
	bool any = false, carried = false;
	const json_t *path;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path) {
		if (!json_is_true(json_object_get(path, "up")) ||
		    strcmp(text_of(path, "peer"), peer) != 0)
			continue;
		if (strcmp(text_of(path, "leg"), leg) != 0)
			carried = carried || !json_is_true(json_object_get(path, "standby"));
		else if (json_is_true(json_object_get(path, "standby")))
			any = any || !is_carried(p, text_of(path, "remote"));
		else
			return false;
	}
	return any && carried;
}

static void check_standby(const struct doctor_host *p, struct doctor_result *r)
{
	const json_t *path;
	size_t i;

	for (size_t k = 0; k < p->plan->n_legs && p->plan->hold_s == 0; k++) {
		const char *leg = p->plan->legs[k].name;

		json_array_foreach (json_object_get(p->status, "paths"), i, path) {
			const char *peer = text_of(path, "peer");

			if (strcmp(text_of(path, "leg"), leg) != 0 || !is_standby(p, leg, peer))
				continue;
			doctor_report(r, DOCTOR_WARN,
				      "leg %s carries no load to %s: no leg of %s has this leg's "
				      "label, %s",
				      leg, peer, peer, label_of(p, k)[0] ? label_of(p, k) : "-");
			doctor_advise(r,
				      "plenum net label %s SWITCH, with the label that the leg of "
				      "%s at the same switch has; plenum apply",
				      leg, peer);
		}
	}
}

static void run_labels(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	EACH_PAIR(p, i, j)
	{
		const char *a = label_of(p, i), *b = label_of(p, j);

		if (!a[0] || strcmp(a, b) != 0)
			continue;
		doctor_report(r, DOCTOR_WARN, "legs %s and %s have the same label, %s",
			      p->plan->legs[i].name, p->plan->legs[j].name, a);
		doctor_advise(r, "plenum net label %s SWITCH; plenum apply", p->plan->legs[j].name);
	}
	check_standby(p, r);
	if (json_array_size(json_object_get(p->status, "paths")) == 0 && p->plan->n_legs > 1) {
		doctor_report(r, DOCTOR_UNKNOWN,
			      "no worker has a session: whether peers share the labels is not "
			      "known");
		if (!p->status)
			doctor_blame(r, "agent-answers");
	}
	doctor_report(r, DOCTOR_PASS,
		      "no two legs have the same label, and peers share all labels");
}

static bool has_pair(const struct doctor_host *p)
{
	EACH_PAIR(p, i, j)
	return true;
	return false;
}

static void check_segments(const struct doctor_host *p, struct doctor_result *r)
{
	for (size_t i = 0; i < p->n_arps; i++) {
		const struct doctor_arp *a = &p->arps[i];

		if (a->kind != DOCTOR_ARP_OTHER_LEG || !a->q.taken)
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "leg %s hears leg %s of this host: both are in one layer-2 network, "
			      "at one switch or at switches that are linked",
			      a->leg, a->other);
		doctor_advise(r,
			      "connect leg %s to a switch without a link to that of leg %s, or put "
			      "them into separate VLANs",
			      a->leg, a->other);
	}
}

static void run_diverse(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	if (!has_pair(p)) {
		doctor_report(r, DOCTOR_PASS, "fewer than two separate legs are in use");
		return;
	}
	EACH_PAIR(p, i, j)
	{
		const char *a = doctor_leg_text(p, i, "switch");
		const char *b = doctor_leg_text(p, j, "switch");

		if (*a && strcmp(a, b) == 0) {
			doctor_report(
				r, DOCTOR_WARN,
				"legs %s and %s are at the same switch, %s: its failure stops "
				"both",
				p->plan->legs[i].name, p->plan->legs[j].name, a);
			doctor_advise(r, "connect leg %s to another switch", p->plan->legs[j].name);
		} else if (!*a || !*b) {
			check_segments(p, r);
			doctor_report(r, DOCTOR_UNKNOWN,
				      "no switch reports its name via LLDP on leg %s",
				      p->plan->legs[*a ? j : i].name);
		}
	}
	doctor_report(r, DOCTOR_PASS, "no two legs are at the same switch");
}

/* ---- crossed cables ---- */

/* Reports if the label of a leg is the name of the switch at another leg. */
static void check_switches(const struct doctor_host *p, struct doctor_result *r)
{
	EACH_PAIR(p, i, j)
	{
		const struct plan_leg_info *a = &p->plan->legs[i], *b = &p->plan->legs[j];
		const char *at_a = doctor_leg_text(p, i, "switch");
		const char *at_b = doctor_leg_text(p, j, "switch");

		if (!*at_a || !*at_b || strcmp(a->label, at_b) != 0 || strcmp(b->label, at_a) != 0)
			continue;
		doctor_report(
			r, DOCTOR_FAIL,
			"cables are crossed: leg %s, label %s, is at switch %s, and %s, label "
			"%s, at %s",
			a->name, a->label, at_a, b->name, b->label, at_b);
		doctor_advise(
			r,
			"swap the cables of %s and %s, or correct the labels: 'plenum net label "
			"%s %s', 'plenum net label %s %s', 'plenum apply'",
			a->ifname, b->ifname, a->name, at_a, b->name, at_b);
	}
}

static const struct doctor_arp *find_arp(const struct doctor_host *p, enum doctor_arp_kind kind,
					 const char *leg, const char *peer)
{
	for (size_t i = 0; i < p->n_arps; i++)
		if (p->arps[i].kind == kind && strcmp(p->arps[i].leg, leg) == 0 &&
		    strcmp(p->arps[i].peer, peer) == 0)
			return &p->arps[i];
	return NULL;
}

/*
 * Linux answers a request for any of its addresses on any link, so one answer proves nothing. The
 * cable of this leg leads to the other leg's network only if both of these conditions are true.
 * Nothing answers here for the address that the peer has on this leg. If the address on the other
 * leg is answered on both legs, both answers come from the same MAC address.
 */
static bool leads_elsewhere(const struct doctor_host *p, const struct doctor_arp *a)
{
	const struct doctor_arp *here = find_arp(p, DOCTOR_ARP_PEER, a->leg, a->peer);
	const struct doctor_arp *there = find_arp(p, DOCTOR_ARP_PEER, a->other, a->peer);

	return a->kind == DOCTOR_ARP_PEER_LEG && a->q.taken && !(here && here->q.taken) &&
	       !(there && there->q.taken && memcmp(&there->q.by, &a->q.by, sizeof(a->q.by)) != 0);
}

bool doctor_is_crossed(const struct doctor_host *p, const char *leg)
{
	for (size_t i = 0; i < p->n_arps; i++)
		if (strcmp(p->arps[i].leg, leg) == 0 && leads_elsewhere(p, &p->arps[i]))
			return true;
	return false;
}

/* Reports cables that lead to another leg's network, according to the addresses that answer. */
static void check_addresses(const struct doctor_host *p, struct doctor_result *r)
{
	for (size_t i = 0; i < p->n_arps; i++) {
		const struct doctor_arp *a = &p->arps[i];
		char ip[IP_ADDR_STR_MAX];

		if (!leads_elsewhere(p, a))
			continue;
		doctor_report(r, DOCTOR_FAIL,
			      "cables are crossed: the cable of leg %s leads to the network of leg "
			      "%s, where %s of %s answers",
			      a->leg, a->other, ip_addr_format(&a->q.ip, ip, sizeof(ip)), a->peer);
		doctor_advise(r, "swap the cables of legs %s and %s, here or on %s", a->leg,
			      a->other, a->peer);
	}
}

/* Returns whether the leg's cable is known to be right: the leg's switch has the name in the leg's
 * label, or a peer answers on the leg. */
static bool is_proven(const struct doctor_host *p, size_t i)
{
	const char *at = doctor_leg_text(p, i, "switch");

	return (*at && strcmp(at, label_of(p, i)) == 0) || leg_answers(p, p->plan->legs[i].name);
}

static void run_crossed(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	check_switches(p, r);
	check_addresses(p, r);
	for (size_t i = 0; i < p->plan->n_legs && has_pair(p); i++) {
		const struct plan_leg_info *leg = &p->plan->legs[i];

		if (!plan_leg_is_configured(leg) || leg->bond[0] || is_proven(p, i))
			continue;
		doctor_report(r, DOCTOR_UNKNOWN,
			      "leg %s: no peer answers there, and no switch reports the leg's "
			      "label as its name via LLDP%s%s",
			      leg->name, p->no_arps[0] ? "; " : "", p->no_arps);
	}
	doctor_report(r, DOCTOR_PASS, "each cable leads to the network of its leg");
}

/* ---- address conflicts ---- */

/* Reports other hosts that use an address for which workers of this host answer ARP. The workers
 * have counted the packets in which such hosts claimed it. */
static void check_claims(const struct doctor_host *p, struct doctor_result *r)
{
	const json_t *process, *port;
	size_t i, j;

	json_array_foreach (json_object_get(p->processes, "processes"), i, process)
		json_array_foreach (json_object_get(process, "ports"), j, port) {
			const json_int_t n = json_integer_value(
				json_object_get(json_object_get(port, "counters"), "conflicts"));

			if (n <= 0)
				continue;
			doctor_report(r, DOCTOR_FAIL,
				      "worker %" JSON_INTEGER_FORMAT
				      " saw another host claim its address on leg %s",
				      json_integer_value(json_object_get(process, "id")),
				      text_of(port, "leg"));
			doctor_advise(r,
				      "find that host by its ARP packets: plenum capture --leg %s",
				      text_of(port, "leg"));
		}
}

static void run_duplicate(const struct doctor_host *p, const struct doctor_check *c,
			  struct doctor_result *r)
{
	char text[IP_ADDR_STR_MAX], mac[MAC_ADDR_STR_MAX];

	for (size_t i = 0; i < p->inv->n_addrs; i++) {
		if (!p->inv->addrs[i].dad_failed)
			continue;
		doctor_report(r, DOCTOR_FAIL, "another host has address %s",
			      ip_addr_format(&p->inv->addrs[i].ip.addr, text, sizeof(text)));
		doctor_advise(r, "give one of the two hosts another range (networks[].range)");
	}
	for (size_t i = 0; i < p->n_arps; i++) {
		const struct doctor_arp *a = &p->arps[i];

		if (a->kind != DOCTOR_ARP_OWN || !a->q.taken)
			continue;
		doctor_report(r, DOCTOR_FAIL,
			      "another host, with MAC address %s, uses the address %s of leg %s",
			      mac_addr_format(&a->q.by, mac, sizeof(mac)),
			      ip_addr_format(&a->q.ip, text, sizeof(text)), a->leg);
		doctor_advise(r, "remove the address from that host, or give one of the two "
				 "another range (networks[].range)");
	}
	check_claims(p, r);
	if (p->no_arps[0])
		doctor_report(r, DOCTOR_UNKNOWN, "%s", p->no_arps);
	doctor_report(r, DOCTOR_PASS, "no other host uses a data IP of this host");
}

/* ---- neighbours ---- */

struct entry {
	char ip[48], mac[32], ifname[IFNAMSIZ];
	unsigned flags;
};
#define ENTRY_COMPLETE 2U
#define ENTRY_PERMANENT 4U

/* Parses a line such as "10.10.0.1  0x1  0x2  02:00:00:00:00:99  *  veth0". */
static bool parse_entry(const char *line, struct entry *ret)
{
	return sscanf(line, "%47s %*s %x %31s %*s %15s", ret->ip, &ret->flags, ret->mac,
		      ret->ifname) == 4;
}

static bool find_entry(const char *table, const char *ip, const char *ifname, struct entry *ret)
{
	for (const char *line = table; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (parse_entry(line, ret) && strcmp(ret->ip, ip) == 0 &&
		    strcmp(ret->ifname, ifname) == 0)
			return true;
	}
	return false;
}

/* Checks the kernel's entry for the address: the kernel sends packets to the entry's MAC address,
 * even if another host has the address now. */
static void check_entry(const char *table, const struct doctor_arp *a, const char *ip,
			const char *ifname, struct doctor_result *r)
{
	char mac[MAC_ADDR_STR_MAX];
	struct entry e;

	if (!find_entry(table, ip, ifname, &e) || !(e.flags & ENTRY_COMPLETE))
		return;
	mac_addr_format(&a->q.by, mac, sizeof(mac));
	if (strcasecmp(mac, e.mac) == 0)
		return;
	doctor_report(r, DOCTOR_FAIL,
		      "%s answers ARP on %s with MAC address %s, but the kernel's %s entry for it "
		      "is %s",
		      ip, ifname, mac, e.flags & ENTRY_PERMANENT ? "permanent" : "neighbour",
		      e.mac);
	doctor_advise(r, "ip neigh del %s dev %s", ip, ifname);
}

static void run_arp(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	autofree char *table = doctor_read_all(p, "/proc/net/arp");
	size_t n = 0;

	for (size_t i = 0; i < p->n_arps && !p->no_arps[0]; i++) {
		const struct doctor_arp *a = &p->arps[i];
		const struct inv_link *l = inv_link_by_index(p->inv, a->q.ifindex);
		char ip[IP_ADDR_STR_MAX];

		if (a->kind != DOCTOR_ARP_PEER || !l)
			continue;
		n++;
		ip_addr_format(&a->q.ip, ip, sizeof(ip));
		if (a->q.taken) {
			check_entry(table, a, ip, l->name, r);
			continue;
		}
		doctor_report(r, DOCTOR_WARN,
			      "no host on %s answers ARP or neighbour discovery for %s, %s%s",
			      l->name, ip, a->peer[0] ? "an address of " : "the gateway", a->peer);
		doctor_advise(r, "check that %s is up and connected to the network of leg %s", ip,
			      a->leg);
		if (doctor_is_crossed(p, a->leg))
			doctor_blame(r, "leg-crossed");
		else if (a->peer[0] && !leg_answers(p, a->leg))
			doctor_blame(r, any_answers(p, a->peer) ? "peer-legs" : "peer-answers");
	}
	if (p->no_arps[0])
		doctor_report(r, DOCTOR_UNKNOWN, "%s", p->no_arps);
	else if (n == 0)
		doctor_report(r, p->spec->n_peers ? DOCTOR_UNKNOWN : DOCTOR_PASS,
			      "no peer or gateway is in the subnet of a leg that the kernel has");
	doctor_report(r, table ? DOCTOR_PASS : DOCTOR_UNKNOWN,
		      table ? "all peers and gateways on legs answer, from the MAC addresses that "
			      "the kernel uses"
			    : "/proc/net/arp cannot be read");
}

static const struct doctor_check checks[] = {
	{"leg-labels", "Each leg has its own label, and every peer has a leg with that label",
	 DOCTOR_NEEDS_PLAN, run_labels, NULL},
	{"leg-diverse", "No two legs are at the same switch",
	 DOCTOR_NEEDS_PLAN | DOCTOR_NEEDS_AGENT, run_diverse, NULL},
	{"leg-crossed", "No cables are crossed", DOCTOR_NEEDS_PLAN, run_crossed, NULL},
	{"address-duplicate", "No other host has one of our addresses", DOCTOR_NEEDS_PLAN,
	 run_duplicate, NULL},
	{"arp-answers", "Peers and gateways on legs answer ARP, as the kernel remembers them",
	 DOCTOR_NEEDS_PLAN, run_arp, NULL},
};

const struct doctor_subject doctor_wiring = DOCTOR_SUBJECT("wiring and neighbours", checks);
