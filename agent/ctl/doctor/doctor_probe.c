/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of peers for the checks: chooses which address to ping via which leg, and sends the echo
 * requests. */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"

#include "netcfg/host/kernel.h"
#include "netcfg/plan/planner.h"
#include <string.h>

#define SMALL_BYTES 84 /* what ping(8) sends */
#define WAIT_NS NSEC_PER_SEC
#define DSCP_USUAL 24 /* default of RoCE */
#define ECT0 2
#define TRIES 3 /* small, full, marked */

/* A port of the leg whose data IP is an address of the kernel; NULL: the workers hold all data IPs
 * of the leg themselves. */
static const struct plan_port *find_port(const struct doctor_host *p, const char *leg)
{
	for (size_t i = 0; i < p->plan->n_workers; i++)
		for (size_t j = 0; j < p->plan->workers[i].n_ports; j++) {
			const struct plan_port *port = &p->plan->workers[i].ports[j];

			if (strcmp(port->leg, leg) != 0)
				continue;
			for (size_t k = 0; k < p->inv->n_addrs; k++)
				if (p->inv->addrs[k].ifindex == port->ifindex &&
				    ip_addr_equal(&p->inv->addrs[k].ip.addr, &port->ip.addr))
					return port;
		}
	return NULL;
}

static void add(struct doctor_host *p, const struct plan_port *port, const char *peer,
		const struct ip_addr *to)
{
	struct doctor_probe *e = &p->probes[p->n_probes];

	if (to->family != port->ip.addr.family)
		return;
	if (p->n_probes == DOCTOR_PROBES_MAX) {
		p->n_skipped++;
		return;
	}
	*e = (struct doctor_probe){
		.from = port->ip.addr, .to = *to, .ifindex = port->ifindex, .bytes = port->mtu};
	snprintf(e->leg, sizeof(e->leg), "%s", port->leg);
	snprintf(e->peer, sizeof(e->peer), "%s", peer);
	p->n_probes++;
}

/* An address in the leg's subnet is reached via that leg only. A peer without one is reached via
 * the leg's gateway. */
static void add_peer(struct doctor_host *p, const struct plan_port *port,
		     const struct spec_peer *peer)
{
	bool near = false;

	for (size_t i = 0; i < peer->n_ips; i++) {
		if (!ip_prefix_contains(&port->ip, &peer->ips[i]))
			continue;
		add(p, port, peer->name, &peer->ips[i]);
		near = true;
	}
	for (size_t i = 0; i < peer->n_ips && !near && port->gateway.family; i++)
		add(p, port, peer->name, &peer->ips[i]);
}

static bool is_in_spec(const struct doctor_host *p)
{
	for (size_t i = 0; i < p->spec->n_peers; i++)
		if (strcmp(p->spec->peers[i].name, p->peer) == 0)
			return true;
	return false;
}

/* A peer with a session has one path for each of its addresses on the leg. */
static void add_client(struct doctor_host *p, const struct plan_port *port)
{
	const json_t *path;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path) {
		struct ip_addr to;
		bool is_new = true;

		if (strcmp(ctl_text(path, "peer"), p->peer) != 0 ||
		    strcmp(ctl_text(path, "leg"), port->leg) != 0 ||
		    ip_addr_parse(ctl_text(path, "remote"), &to) < 0)
			continue;
		for (size_t j = 0; j < p->n_probes; j++)
			is_new = is_new && (strcmp(p->probes[j].leg, port->leg) != 0 ||
					    !ip_addr_equal(&p->probes[j].to, &to));
		if (is_new)
			add(p, port, p->peer, &to);
	}
}

static void add_leg(struct doctor_host *p, const struct plan_leg_info *leg)
{
	const struct plan_port *port = find_port(p, leg->name);
	struct ip_addr to;

	if (!port)
		return;
	for (size_t i = 0; i < p->spec->n_peers; i++)
		if (!p->peer[0] || strcmp(p->spec->peers[i].name, p->peer) == 0)
			add_peer(p, port, &p->spec->peers[i]);
	if (p->peer[0] && ip_addr_parse(p->peer, &to) == 0 &&
	    (ip_prefix_contains(&port->ip, &to) || port->gateway.family))
		add(p, port, p->peer, &to);
	if (p->peer[0] && !is_in_spec(p))
		add_client(p, port);
	if (!p->peer[0] && port->gateway.family)
		add(p, port, "", &port->gateway);
}

bool doctor_knows_peer(const struct doctor_host *p)
{
	const json_t *path;
	struct ip_addr to;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path)
		if (strcmp(ctl_text(path, "peer"), p->peer) == 0)
			return true;
	return is_in_spec(p) || ip_addr_parse(p->peer, &to) == 0;
}

void doctor_find_probes(struct doctor_host *p)
{
	bool any = false;

	if (!p->plan) {
		snprintf(p->no_probes, sizeof(p->no_probes), "no plan: see config-plan");
		return;
	}
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		if (!plan_leg_is_configured(&p->plan->legs[i]) || p->plan->legs[i].bond[0])
			continue;
		any = any || find_port(p, p->plan->legs[i].name);
		add_leg(p, &p->plan->legs[i]);
	}
	if (p->n_probes > 0)
		return;
	if (!any)
		snprintf(p->no_probes, sizeof(p->no_probes),
			 "no data IP is an address of the kernel now: nothing to send echo "
			 "requests from");
	else if (p->peer[0])
		snprintf(p->no_probes, sizeof(p->no_probes), "no leg leads to '%.63s'", p->peer);
}

/* The TOS byte of the leg's lossless traffic. */
static uint8_t tos_of(const struct doctor_host *p, const char *leg)
{
	uint32_t dscp = DSCP_USUAL;

	for (size_t i = 0; i < p->spec->n_nets; i++)
		if (strcmp(p->spec->nets[i].name, leg) == 0 && p->spec->nets[i].dcb.n_dscp)
			dscp = p->spec->nets[i].dcb.dscp[0].dscp;
	return (uint8_t)(dscp << 2 | ECT0);
}

void doctor_send_probes(struct doctor_host *p)
{
	static const struct kernel_change nothing = {.kind = KERNEL_LINK};
	struct kernel_ping pings[TRIES * DOCTOR_PROBES_MAX];
	int r;

	doctor_find_probes(p);
	if (p->n_probes == 0)
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		struct doctor_probe *e = &p->probes[i];

		e->tos = tos_of(p, e->leg);
		for (size_t j = 0; j < TRIES; j++)
			pings[TRIES * i + j] =
				(struct kernel_ping){.ifindex = e->ifindex,
						     .from = e->from,
						     .to = e->to,
						     .bytes = j == 1 ? e->bytes : SMALL_BYTES,
						     .tos = j == 2 ? e->tos : 0};
	}
	p->kernel->ops->prepare(p->kernel, &nothing);
	r = p->kernel->ops->ping(p->kernel, pings, TRIES * p->n_probes, WAIT_NS);
	for (size_t i = 0; r == 0 && i < p->n_probes; i++) {
		p->probes[i].small = pings[TRIES * i].answered;
		p->probes[i].full = pings[TRIES * i + 1].answered;
		p->probes[i].marked = pings[TRIES * i + 2].answered;
		p->probes[i].answered_tos = pings[TRIES * i + 2].answered_tos;
	}
	if (r == 0)
		return;
	p->n_probes = 0;
	snprintf(p->no_probes, sizeof(p->no_probes), "echo requests cannot be sent: %s",
		 r == -EBADF ? "needs root (CAP_NET_RAW)" : strerror(-r));
}
