/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains why a peer or a path does not answer, and what an operator can check. */
#include "agent/base/stats_page.h"
#include "agent/health/health.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ARP_COMPLETE 2	/* kernel flag ATF_COM */
#define ARP_PERMANENT 4 /* kernel flag ATF_PERM */
/* A refusal older than this is not taken as the cause of an outage. Silent paths are probed at
 * least twice a second, so a continuing refusal is never older. The report of an outage is
 * delayed by PATH_NS, which is longer, so a refusal that ended before the outage is not taken as
 * its cause. */
#define REFUSED_NS (2 * NSEC_PER_SEC)

enum health_arp health_arp_find(const char *table, const char *ip, const char *ifname,
				char ret_mac[HEALTH_MAC_MAX])
{
	const char *line = table;

	ret_mac[0] = '\0';
	while (line && (line = strchr(line, '\n'))) {
		char address[64], device[32];
		unsigned flags;

		line++;
		if (sscanf(line, "%63s 0x%*x 0x%x %17s %*s %31s", address, &flags, ret_mac,
			   device) != 4 ||
		    strcmp(address, ip) != 0 || strcmp(device, ifname) != 0)
			continue;
		if (flags & ARP_PERMANENT)
			return HEALTH_ARP_FIXED;
		return flags & ARP_COMPLETE ? HEALTH_ARP_ANSWERS : HEALTH_ARP_SILENT;
	}
	return HEALTH_ARP_UNKNOWN;
}

/* Returns the address that must answer ARP: the peer's address or, if the peer is in another
 * subnet, the gateway. */
static const struct ip_addr *next_hop(const struct launch_port *p, const struct ip_addr *to)
{
	if (p->ip.addr.family == to->family && ip_prefix_contains(&p->ip, to))
		return to;
	return p->gateway.family == to->family ? &p->gateway : NULL;
}

static enum health_arp look_up(const struct launch_config *c, const struct launch_port *p,
			       const struct ip_addr *hop, const char *arp_table,
			       char ret_mac[HEALTH_MAC_MAX])
{
	char ip[IP_ADDR_STR_MAX];

	if (c->transport != LAUNCH_UDP || hop->family != AF_INET)
		return HEALTH_ARP_UNKNOWN;
	return health_arp_find(arp_table, ip_addr_format(hop, ip, sizeof(ip)), p->ifname, ret_mac);
}

/* Possible causes, for a peer that is silent and for a peer that answers on another path. */
struct causes {
	const char *silent, *known, *unknown; /* one text for each result of ARP */
};

static const struct causes of_peer = {
	.silent = "the host is down, has another address or netmask, or is behind another switch "
		  "or VLAN",
	.known = "plenumd does not run there, or another host has taken the address, or a "
		 "firewall drops the packets",
	.unknown = "the host is down, or a firewall drops the packets",
};

static const struct causes of_path = {
	.silent = "the peer's leg is down, has another address or netmask, or is behind another "
		  "switch or VLAN",
	.known = "the peer's leg or the route to it is down, or another host has taken the "
		 "address, or a firewall drops the packets",
	.unknown = "the peer's leg or the route to it is down, or a firewall drops the packets",
};

const struct plan_leg_info *health_plan_leg(const struct plan *p, const char *name)
{
	for (size_t i = 0; p && i < p->n_legs; i++)
		if (strcmp(p->legs[i].name, name) == 0)
			return &p->legs[i];
	return NULL;
}

/* Returns a sentence about a possible cause on this host that only the firewall's rules could
 * prove, or "" if there is none. */
static const char *explain_mark(const struct plan *plan, const char *leg, char *buf, size_t size)
{
	const struct plan_leg_info *info = health_plan_leg(plan, leg);

	snprintf(buf, size, "%s", "");
	if (info && info->mark)
		snprintf(buf, size,
			 "routing rule %u of this host leads packets with mark 0x%x elsewhere, or ",
			 info->mark_rule, info->mark);
	return buf;
}

static void explain(const struct plan *plan, const struct launch_port *p, const char *peer,
		    const struct ip_addr *to, const struct ip_addr *hop, enum health_arp arp,
		    const char *mac, unsigned udp_port, const struct causes *may, char *buf,
		    size_t size)
{
	char ip[IP_ADDR_STR_MAX], via[IP_ADDR_STR_MAX + 16] = "", mark[96];

	ip_addr_format(to, ip, sizeof(ip));
	explain_mark(plan, p->leg, mark, sizeof(mark));
	if (hop != to) {
		char gateway[IP_ADDR_STR_MAX];

		snprintf(via, sizeof(via), " (via %s)",
			 ip_addr_format(hop, gateway, sizeof(gateway)));
	}
	if (arp == HEALTH_ARP_SILENT)
		snprintf(buf, size, "no-neighbour: no ARP reply for %.40s's %s%s on %.15s: %s%s",
			 peer, ip, via, p->ifname, mark, may->silent);
	else if (arp == HEALTH_ARP_FIXED)
		snprintf(buf, size,
			 "neighbour-fixed: UDP port %u of %.40s's %s%s does not answer, and %.15s "
			 "has a permanent neighbour entry with MAC address %s for it; if this MAC "
			 "address is wrong, remove the entry (ip neigh del)",
			 udp_port, peer, ip, via, p->ifname, mac);
	else if (arp == HEALTH_ARP_ANSWERS)
		snprintf(buf, size,
			 "no-answer: %.40s's %s%s answers ARP on %.15s, but its UDP port %u does "
			 "not answer: %s%s (MAC address %s)",
			 peer, ip, via, p->ifname, udp_port, mark, may->known, mac);
	else
		snprintf(buf, size,
			 "no-answer: %.40s does not answer at %s%s, UDP port %u, via %.40s: %s%s",
			 peer, ip, via, udp_port, p->leg, mark, may->unknown);
}

/* Returns what an operator can check after this error. */
static const char *refusal_hint(int error)
{
	switch (error) {
	case EPERM:
		return "a firewall of this host drops the packets (nft list ruleset)";
	case EACCES:
		return "the route has the type prohibit (ip route get)";
	case ENETUNREACH:
		return "there is no route from the leg's address (ip route get)";
	case EHOSTUNREACH:
		return "the route has the type unreachable (ip route get)";
	case EINVAL:
		return "the route has the type blackhole (ip route get)";
	default:
		return "see ip route get, nft list ruleset and tc -s qdisc";
	}
}

/* Returns whether this host itself refuses to send. arp: state of the next hop. The kernel also
 * refuses with EHOSTUNREACH while the next hop does not answer ARP, but that is not a fault of this
 * host. */
static bool explain_refusal(const struct launch_config *c, const struct launch_stats *page,
			    const struct launch_port *p, const char *peer, const struct ip_addr *to,
			    enum health_arp arp, char *buf, size_t size)
{
	struct launch_refusal r;
	char ip[IP_ADDR_STR_MAX];
	int error;

	if (!page || !stats_page_refusal(page, (uint32_t)(p - c->ports), to, REFUSED_NS, &r))
		return false;
	error = (int)(r.error & 0xfff);
	if (error == EHOSTUNREACH && arp == HEALTH_ARP_SILENT)
		return false;
	snprintf(buf, size,
		 "send-refused: this host refuses to send from %.20s (%.15s) to %.40s's %s: %s: %s",
		 p->leg, p->ifname, peer, ip_addr_format(to, ip, sizeof(ip)), strerror(error),
		 refusal_hint(error));
	return true;
}

bool health_explain_refusal(const struct launch_config *c, const struct launch_stats *page,
			    const struct launch_port *p, const char *peer, const struct ip_addr *to,
			    const char *arp_table, char *buf, size_t size)
{
	const struct ip_addr *hop = next_hop(p, to);
	char mac[HEALTH_MAC_MAX];

	return hop &&
	       explain_refusal(c, page, p, peer, to, look_up(c, p, hop, arp_table, mac), buf, size);
}

void health_explain_path(const struct launch_config *c, const struct launch_stats *page,
			 const struct plan *plan, const struct launch_port *port, const char *peer,
			 const char *remote, const char *arp_table, char *buf, size_t size)
{
	char mac[HEALTH_MAC_MAX] = "";
	const struct ip_addr *hop;
	enum health_arp arp;
	struct ip_addr to;

	if (ip_addr_parse(remote, &to) < 0) {
		snprintf(buf, size, "no-answer: %.40s does not answer via %.40s", peer, port->leg);
		return;
	}
	hop = next_hop(port, &to);
	hop = hop ? hop : &to;
	arp = look_up(c, port, hop, arp_table, mac);
	if (explain_refusal(c, page, port, peer, &to, arp, buf, size))
		return;
	explain(plan, port, peer, &to, hop, arp, mac, port->udp_port, &of_path, buf, size);
}

static bool any_carrier(const struct launch_config *c, const struct carriers *carriers)
{
	for (uint32_t i = 0; i < c->n_ports; i++)
		if (carriers_usable(carriers, c->ports[i].ifindex))
			return true;
	return false;
}

static void explain_no_way(const struct launch_mount *m, char *buf, size_t size)
{
	char ip[IP_ADDR_STR_MAX] = "?";

	if (m->n_addrs)
		ip_addr_format(&m->addrs[0].ip, ip, sizeof(ip));
	snprintf(buf, size,
		 "no-way: %.60s's address %s%s not in the subnet of any leg of this worker, and "
		 "the worker's networks have no gateway: check the range's netmask and the peer's "
		 "address",
		 m->peer, ip, m->n_addrs > 1 ? " (like its others) is" : " is");
}

/* Examines each pair of a leg with a carrier and an address that is reached through this leg.
 * Explains the silence by the pair that shows most about the cause. */
void health_explain_silence(const struct launch_config *c, const struct launch_stats *page,
			    const struct plan *plan, const struct launch_mount *m,
			    const struct carriers *carriers, const char *arp_table, char *buf,
			    size_t size)
{
	enum health_arp best = HEALTH_ARP_UNKNOWN;
	bool found = false;

	if (!any_carrier(c, carriers)) {
		snprintf(buf, size,
			 "no-carrier: no leg of the worker has a carrier: a cable is missing, or a "
			 "switch port is down");
		return;
	}
	for (uint32_t i = 0; i < m->n_addrs; i++)
		for (uint32_t j = 0; j < c->n_ports; j++) {
			const struct ip_addr *to = &m->addrs[i].ip;
			const struct ip_addr *hop = next_hop(&c->ports[j], to);
			char mac[HEALTH_MAC_MAX] = "";
			enum health_arp arp;

			if (!hop || !carriers_usable(carriers, c->ports[j].ifindex))
				continue;
			arp = look_up(c, &c->ports[j], hop, arp_table, mac);
			if (explain_refusal(c, page, &c->ports[j], m->peer, to, arp, buf, size))
				return;
			if (found && arp <= best)
				continue;
			found = true;
			best = arp;
			explain(plan, &c->ports[j], m->peer, to, hop, arp, mac, m->addrs[i].port,
				&of_peer, buf, size);
		}
	if (!found)
		explain_no_way(m, buf, size);
}

/* ---- labels ---- */

static bool carries(const struct launch_path_stats *s)
{
	return s->up && !s->standby;
}

/* Returns whether a path from any leg carries load to that address of the peer. If so, the address
 * is in use: that another leg carries no load to it only means that the peer has fewer legs. */
static bool is_carried(const struct launch_path_stats *paths, size_t n, const char *remote)
{
	for (size_t i = 0; i < n; i++)
		if (carries(&paths[i]) && strcmp(paths[i].remote, remote) == 0)
			return true;
	return false;
}

bool health_label_is_unshared(const struct launch_path_stats *paths, size_t n, const char *leg,
			      const char *peer, bool mounts)
{
	/* address of the peer's leg on the other side of a standby path */
	const char *stands_by = NULL;
	bool others = false;

	for (size_t i = 0; i < n; i++) {
		const struct launch_path_stats *s = &paths[i];
		const bool is_of_leg = strcmp(s->leg, leg) == 0;

		if (is_of_leg && !s->up && !s->standby && strcmp(s->peer, peer) == 0)
			return false; /* the leg of the peer with this label is down */
		if (!s->up)
			continue;
		if (is_of_leg && carries(s) && (!mounts || strcmp(s->peer, peer) == 0))
			return false;
		if (strcmp(s->peer, peer) != 0)
			continue;
		if (is_of_leg && !is_carried(paths, n, s->remote))
			stands_by = s->remote;
	}
	/* A path that is not standby shows another leg of the peer even while it is down. */
	for (size_t i = 0; stands_by && i < n; i++)
		others |= (paths[i].up || !paths[i].standby) && strcmp(paths[i].peer, peer) == 0 &&
			  strcmp(paths[i].leg, leg) != 0 && strcmp(paths[i].remote, stands_by) != 0;
	return others;
}

void health_explain_loss(const struct launch_path_stats *s, char *buf, size_t size)
{
	double out = (double)health_loss_ppm(s, true) / 10000;
	double in = (double)health_loss_ppm(s, false) / 10000;
	const char *rest = s->avoided ? "; other legs carry its load" : "";

	if (in > 0 && out > 0)
		snprintf(buf, size,
			 "path-loss: %.63s loses %.*f %% of packets from %.63s, and %.*f %% of "
			 "packets to this peer%s",
			 s->leg, in < 10, in, s->peer, out < 10, out, rest);
	else
		snprintf(buf, size, "path-loss: %.63s loses %.*f %% of packets %s %.63s%s", s->leg,
			 in + out<10, in + out, in> 0 ? "from" : "to", s->peer, rest);
}

void health_explain_slow(const struct launch_path_stats *s, char *buf, size_t size)
{
	snprintf(buf, size,
		 "path-slow: %.63s has a round trip of %.1f ms to %.63s, %s%.63s %.2f ms", s->leg,
		 (double)s->slow_ns / NSEC_PER_MSEC, s->peer, s->slow_than[0] ? "" : "usually",
		 s->slow_than, (double)s->slow_than_ns / NSEC_PER_MSEC);
}

const char *health_mount_reason(const struct health *h, uint32_t worker, const char *path)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->entries[i].worker == worker && h->entries[i].kind == HEALTH_MOUNT &&
		    strcmp(h->entries[i].key, path) == 0)
			return h->entries[i].text;
	return NULL;
}
