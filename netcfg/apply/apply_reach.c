/* SPDX-License-Identifier: BSD-3-Clause */
/* Pings the peers and gateways of a configuration before and after a change. In contrast, verify.c
 * checks only this host. */
#include "netcfg/apply/apply_reach.h"
#include "netcfg/plan/plan_pools.h"
#include "netcfg/plan/planner.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define SMALL_BYTES 84 /* the default of ping(8), with headers */
#define BEFORE_NS NSEC_PER_SEC
#define ROUND_NS NSEC_PER_SEC
#define LOOK_AGAIN_MS 200

/* The host as planned for one configuration. */
struct view {
	const struct spec *spec;
	struct spec resolved; /* *spec, with the gateways of pools */
	struct inventory *inv;
	struct plan *plan;
};

static void view_done(struct view *v)
{
	plan_free(v->plan);
	inv_free(v->inv);
	free(v->resolved.networks);
}

static int view_take(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		     struct view *ret)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct plan_context c = *ctx;
	int r;

	c.needs_pools = false;
	*ret = (struct view){.spec = spec};
	r = plan_pools_resolve(spec, ctx->pools, &ret->resolved);
	if (r < 0)
		return r;
	ret->spec = &ret->resolved;
	r = inv_collect(k, &d, &ret->inv);
	return r < 0 ? r : plan_build(spec, ret->inv, &c, &d, &ret->plan);
}

static const struct plan_leg_info *leg_find(const struct view *v, const char *name)
{
	for (size_t i = 0; i < v->plan->n_legs; i++)
		if (strcmp(v->plan->legs[i].name, name) == 0)
			return &v->plan->legs[i];
	return NULL;
}

/* Returns a port of the leg whose data IP the kernel has, or NULL if workers answer for all data
 * IPs of the leg. */
static const struct plan_port *port_find(const struct view *v, const char *leg)
{
	for (size_t i = 0; i < v->plan->n_workers; i++)
		for (size_t j = 0; j < v->plan->workers[i].n_ports; j++) {
			const struct plan_port *p = &v->plan->workers[i].ports[j];

			if (strcmp(p->leg, leg) != 0)
				continue;
			for (size_t a = 0; a < v->inv->n_addrs; a++)
				if (v->inv->addrs[a].ifindex == p->ifindex &&
				    ip_addr_equal(&v->inv->addrs[a].ip.addr, &p->ip.addr))
					return p;
		}
	return NULL;
}

static struct kernel_ping ping_make(const struct plan_port *port, const struct ip_addr *to,
				    bool full)
{
	return (struct kernel_ping){.ifindex = port->ifindex,
				    .from = port->ip.addr,
				    .to = *to,
				    .bytes = full ? port->mtu : SMALL_BYTES};
}

/* ---- before ---- */

struct asked {
	struct apply_reach_target targets[APPLY_REACH_MAX];
	/* each target gets a small and a full-size ping */
	struct kernel_ping pings[2 * APPLY_REACH_MAX];
	size_t n;
};

static void ask(struct asked *a, const struct plan_port *port, const struct ip_addr *to,
		bool gateway)
{
	struct apply_reach_target *t;

	if (a->n == APPLY_REACH_MAX || to->family != port->ip.addr.family)
		return;
	t = &a->targets[a->n];
	*t = (struct apply_reach_target){.to = *to, .gateway = gateway};
	memcpy(t->leg, port->leg, sizeof(t->leg));
	a->pings[2 * a->n] = ping_make(port, to, false);
	a->pings[2 * a->n + 1] = ping_make(port, to, true);
	a->n++;
}

static void ask_of_leg(struct asked *a, const struct view *v, const struct plan_leg_info *leg)
{
	const struct spec_network *network = planner_network_find(v->spec, leg->network);
	const struct plan_port *port = port_find(v, leg->name);

	if (!port || !network)
		return;
	ask(a, port, &network->gateway, true);
	for (size_t i = 0; i < v->spec->n_peers; i++)
		for (size_t j = 0; j < v->spec->peers[i].n_ips; j++)
			ask(a, port, &v->spec->peers[i].ips[j], false);
}

int apply_reach_before(struct kernel *k, const struct spec *running, const struct plan_context *ctx,
		       struct apply_reach *ret)
{
	PLENUM_CLEANUP(view_done) struct view v = {.spec = NULL};
	autofree struct asked *a = calloc(1, sizeof(*a));
	int r;

	ret->n = 0;
	if (!a)
		return -ENOMEM;
	if (!running || !k->ops->ping)
		return 0;
	r = view_take(k, running, ctx, &v);
	if (r < 0)
		return r;
	for (size_t i = 0; i < v.plan->n_legs; i++)
		if (plan_leg_is_configured(&v.plan->legs[i]))
			ask_of_leg(a, &v, &v.plan->legs[i]);
	r = a->n > 0 ? k->ops->ping(k, a->pings, 2 * a->n, BEFORE_NS) : 0;
	for (size_t i = 0; i < a->n && r == 0; i++) {
		a->targets[i].full = a->pings[2 * i + 1].answered;
		if (a->targets[i].full || a->pings[2 * i].answered)
			ret->targets[ret->n++] = a->targets[i];
	}
	return r;
}

/* ---- after ---- */

enum demand { DEMAND_NONE, DEMAND_ANSWER, DEMAND_LOST };

static const struct spec_peer *peer_find(const struct spec *spec, const struct ip_addr *ip)
{
	for (size_t i = 0; i < spec->n_peers; i++)
		for (size_t j = 0; j < spec->peers[i].n_ips; j++)
			if (ip_addr_equal(&spec->peers[i].ips[j], ip))
				return &spec->peers[i];
	return NULL;
}

/* Returns the leg that now carries the traffic of the target's leg: the same leg, or the bond whose
 * port its device became. If the leg has disappeared, returns any leg in the target's subnet, or
 * NULL if no leg is in that subnet. */
static const struct plan_leg_info *leg_now(const struct view *v, const struct apply_reach_target *t)
{
	const struct plan_leg_info *leg = leg_find(v, t->leg);

	if (leg)
		return leg->bond[0] ? leg_find(v, leg->bond) : leg;
	for (size_t i = 0; i < v->plan->n_legs; i++) {
		const struct plan_port *port = port_find(v, v->plan->legs[i].name);

		if (port && ip_prefix_contains(&port->ip, &t->to))
			return &v->plan->legs[i];
	}
	return NULL;
}

/* Returns what the new configuration requires of a target that answered before, and the ping that
 * checks this in *ret. */
static enum demand demand_of(const struct view *v, const struct apply_reach_target *t,
			     struct kernel_ping *ret)
{
	const struct plan_leg_info *leg = leg_now(v, t);
	const struct spec_network *network =
		leg ? planner_network_find(v->spec, leg->network) : NULL;
	const struct plan_port *port = leg ? port_find(v, leg->name) : NULL;
	const struct ip_addr *to = t->gateway && network ? &network->gateway : &t->to;

	if (!network || !to->family || (!t->gateway && !peer_find(v->spec, &t->to)))
		return DEMAND_NONE; /* the target is not in the new configuration */
	if (leg->state == PLAN_LEG_DISABLED)
		return DEMAND_NONE;
	if (!plan_leg_is_configured(leg))
		return DEMAND_LOST;
	if (!port)
		/* workers have the leg's data IPs, so the kernel cannot ping from them */
		return DEMAND_NONE;
	if (port->ip.addr.family != to->family)
		return DEMAND_LOST;
	*ret = ping_make(port, to, t->full);
	return DEMAND_ANSWER;
}

static void report_lost(const struct view *v, const struct apply_reach_target *t,
			const struct kernel_ping *p, struct diag *d)
{
	const struct spec_peer *peer = t->gateway ? NULL : peer_find(v->spec, &t->to);
	char who[IP_ADDR_STR_MAX], frames[48] = "";

	ip_addr_format(p->to.family ? &p->to : &t->to, who, sizeof(who));
	if (p->bytes > SMALL_BYTES)
		snprintf(frames, sizeof(frames), " with frames of %u bytes", p->bytes);
	diag_add(d, DIAG_ERROR, NULL, NULL,
		 "%s %s no longer answers on %s%s, as it did before the change; fix the cause, or "
		 "use plenum apply --force " PLAN_FORCE_PROBES,
		 t->gateway ? "gateway"
		 : peer	    ? peer->name
			    : "peer",
		 who, t->leg, frames);
}

/* Sends one round of pings and returns the number of targets that have not answered. */
static int count_lost(struct kernel *k, const struct view *v, const struct apply_reach *before,
		      struct diag *d)
{
	struct kernel_ping pings[APPLY_REACH_MAX];
	enum demand demands[APPLY_REACH_MAX];
	size_t at[APPLY_REACH_MAX], n = 0;
	int r = 0, n_lost = 0;

	for (size_t i = 0; i < before->n; i++) {
		at[i] = n;
		pings[n] = (struct kernel_ping){.ifindex = 0};
		demands[i] = demand_of(v, &before->targets[i], &pings[n]);
		n += demands[i] == DEMAND_ANSWER;
	}
	if (n > 0)
		r = k->ops->ping(k, pings, n, ROUND_NS);
	else
		/* wait, because a leg that can be pinged may still become available */
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	if (r < 0)
		return r;
	for (size_t i = 0; i < before->n; i++) {
		static const struct kernel_ping none;
		const struct kernel_ping *p = demands[i] == DEMAND_ANSWER ? &pings[at[i]] : &none;

		if (demands[i] == DEMAND_NONE || p->answered)
			continue;
		report_lost(v, &before->targets[i], p, d);
		n_lost++;
	}
	return n_lost;
}

int apply_reach_after(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		      const struct apply_reach *before, uint64_t deadline_ns, struct diag *d)
{
	for (;;) {
		PLENUM_CLEANUP(view_done) struct view v = {.spec = NULL};
		PLENUM_CLEANUP(diag_done) struct diag found = DIAG_INIT;
		int r = before->n > 0 ? view_take(k, spec, ctx, &v) : 0;

		if (r == 0 && before->n > 0)
			r = count_lost(k, &v, before, &found);
		if (r <= 0)
			return r;
		if (clock_now_ns() >= deadline_ns) {
			diag_append(d, &found);
			return -EHOSTUNREACH;
		}
	}
}
