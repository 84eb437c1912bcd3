/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds packets that this host refuses to send to peers without a working path or mount, for
 * example a server's answers to clients that cannot connect. */
#include "agent/base/stats_page.h"
#include "agent/health/health_internal.h"
#include <stdio.h>
#include <string.h>

/* The time of several retries of a client. A refusal that ends earlier, such as that of a full
 * queue, is not reported. */
#define REFUSED_NS (3 * NSEC_PER_SEC)

static const char *peer_name(const struct spec *spec, const struct ip_addr *ip)
{
	for (size_t i = 0; spec && i < spec->n_peers; i++)
		for (size_t k = 0; k < spec->peers[i].n_ips; k++)
			if (ip_addr_equal(&spec->peers[i].ips[k], ip))
				return spec->peers[i].name;
	return "a client";
}

/* Returns whether the path to that address is up, or this check has found a reason why it is
 * down. */
static bool is_of_path(const struct health_look *l, const struct launch_path_stats *paths, size_t n,
		       const char *leg, const struct ip_addr *to)
{
	for (size_t i = 0; i < n; i++) {
		const struct launch_path_stats *s = &paths[i];
		struct ip_addr remote;
		char key[HEALTH_KEY_MAX];

		if (strcmp(s->leg, leg) != 0 || ip_addr_parse(s->remote, &remote) < 0 ||
		    !ip_addr_equal(&remote, to))
			continue;
		health_key_path(s->leg, s->peer, key, sizeof(key));
		if (s->up || health_is_noted(l, HEALTH_PATH, key))
			return true;
	}
	return false;
}

/* Adds the first of the port's refusals that no other problem includes. */
static void look_at_port(struct health_look *l, const struct launch_path_stats *paths, size_t n,
			 uint32_t i)
{
	const struct launch_port *p = &l->w->config.ports[i];

	for (unsigned k = 0; k < LAUNCH_REFUSALS_MAX; k++) {
		const struct ip_addr to = l->w->stats->ports[i].refusals[k].to;
		char why[HEALTH_TEXT_MAX];

		if (!to.family || health_is_of_mount(l->w, &to) ||
		    is_of_path(l, paths, n, p->leg, &to) ||
		    !health_explain_refusal(&l->w->config, l->w->stats, p,
					    peer_name(l->in->spec, &to), &to, health_look_arp(l),
					    why, sizeof(why)))
			continue;
		health_note(l, REFUSED_NS, HEALTH_REFUSED, p->leg, why);
		return;
	}
}

void health_look_at_refusals(struct health_look *l)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);

	for (uint32_t i = 0; i < l->w->config.n_ports; i++) {
		const struct launch_port *p = &l->w->config.ports[i];
		const struct plan_leg_info *leg = health_plan_leg(l->in->plan, p->leg);
		struct reason fault;

		/* The leg's own state or fault explains the refusal. */
		if (!carriers_usable(l->in->carriers, p->ifindex) ||
		    (leg && leg->state != PLAN_LEG_USABLE) ||
		    wiring_explains(l->in->wiring, p->leg, &p->ip.addr, &fault))
			continue;
		look_at_port(l, paths, n, i);
	}
}
