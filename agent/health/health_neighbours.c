/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds permanent neighbour entries that lead to another MAC address than that of the peer. A
 * server with such an entry has no path to the client: the server receives the client's packets,
 * but its answers do not arrive. */
#include "agent/base/stats_page.h"
#include "agent/health/health_internal.h"
#include <stdio.h>
#include <string.h>

#define NEIGHBOUR_NS (3 * NSEC_PER_SEC) /* the time of a failover */

static bool is_up(const struct launch_path_stats *paths, size_t n, const char *leg, const char *ip)
{
	for (size_t i = 0; i < n; i++)
		if (paths[i].up && strcmp(paths[i].leg, leg) == 0 &&
		    strcmp(paths[i].remote, ip) == 0)
			return true;
	return false;
}

/* Examines one peer. q: a question about an address of the peer that was answered on the port's
 * leg. */
static void look_at_peer(struct health_look *l, const struct launch_port *p,
			 const struct wiring_ask *q)
{
	char ip[IP_ADDR_STR_MAX], mac[MAC_ADDR_STR_MAX], fixed[HEALTH_MAC_MAX];
	char key[HEALTH_KEY_MAX], text[HEALTH_TEXT_MAX];
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);

	ip_addr_format(&q->ip, ip, sizeof(ip));
	mac_addr_format(&q->by, mac, sizeof(mac));
	health_key_path(p->leg, q->peer, key, sizeof(key));
	if (is_up(paths, n, p->leg, ip) || health_is_noted(l, HEALTH_PATH, key) ||
	    health_is_of_mount(l->w, &q->ip) ||
	    health_arp_find(health_look_arp(l), ip, p->ifname, fixed) != HEALTH_ARP_FIXED ||
	    strcmp(fixed, mac) == 0)
		return;
	snprintf(text, sizeof(text),
		 "neighbour-fixed: %.40s's %s answers ARP on %.15s with MAC address %s, but %.15s "
		 "has a permanent neighbour entry with MAC address %s for it: remove the entry "
		 "(ip neigh del)",
		 q->peer, ip, p->ifname, mac, p->ifname, fixed);
	health_note(l, NEIGHBOUR_NS, HEALTH_PATH, key, text);
}

void health_look_at_neighbours(struct health_look *l)
{
	const struct launch_config *c = &l->w->config;
	const struct wiring_ask *q;

	/* Other transports do not use the kernel's neighbour entries. */
	for (uint32_t i = 0; c->transport == LAUNCH_UDP && i < c->n_ports; i++)
		for (size_t n = 0; (q = wiring_peer_heard(l->in->wiring, c->ports[i].leg, n)); n++)
			if (q->ip.family == AF_INET)
				look_at_peer(l, &c->ports[i], q);
}
