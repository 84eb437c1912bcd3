/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of peers: chooses the addresses to ask through each leg, and sends packets to data ports
 * and echo requests. */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"

#include "netcfg/host/kernel.h"
#include "netcfg/plan/planner.h"
#include <string.h>

#define SMALL_BYTES 84 /* bytes of a packet that ping(8) sends */
#define WAIT_NS NSEC_PER_SEC
#define DSCP_USUAL 24 /* default of RoCE */
#define ECT0 2
#define TRIES 3 /* three echo requests: small, full-size, and marked */

bool doctor_kernel_has(const struct doctor_host *p, const struct plan_port *port)
{
	for (size_t i = 0; i < p->inv->n_addrs; i++)
		if (p->inv->addrs[i].ifindex == port->ifindex &&
		    ip_addr_equal(&p->inv->addrs[i].ip.addr, &port->ip.addr))
			return true;
	return false;
}

const struct plan_port *doctor_leg_port(const struct doctor_host *p, const char *leg)
{
	const struct plan_port *found = NULL;

	for (size_t i = 0; i < p->plan->n_workers; i++)
		for (size_t j = 0; j < p->plan->workers[i].n_ports; j++) {
			const struct plan_port *port = &p->plan->workers[i].ports[j];

			if (strcmp(port->leg, leg) != 0)
				continue;
			if (doctor_kernel_has(p, port))
				return port;
			found = found ? found : port;
		}
	return found;
}

static struct doctor_probe *add(struct doctor_host *p, const struct plan_port *port,
				const char *peer, const struct ip_addr *to)
{
	struct doctor_probe *e = &p->probes[p->n_probes];

	if (to->family != port->ip.addr.family)
		return NULL;
	if (p->n_probes == DOCTOR_PROBES_MAX) {
		p->n_skipped++;
		return NULL;
	}
	*e = (struct doctor_probe){.from = port->ip.addr,
				   .to = *to,
				   .ifindex = port->ifindex,
				   .bytes = port->mtu,
				   .held = !doctor_kernel_has(p, port),
				   .by_gateway = !ip_prefix_contains(&port->ip, to)};
	e->port.port = p->spec->port;
	snprintf(e->leg, sizeof(e->leg), "%s", port->leg);
	snprintf(e->peer, sizeof(e->peer), "%s", peer);
	p->n_probes++;
	return e;
}

static void add_configured(struct doctor_host *p, const struct plan_port *port,
			   const struct spec_peer *peer, const struct ip_addr *to)
{
	struct doctor_probe *e = add(p, port, peer->name, to);

	if (e && peer->port)
		e->port.port = peer->port;
}

/* Adds probes of a peer. Its address in the leg's subnet is reached only through that leg. A peer
 * without such an address is reached through the leg's gateway. */
static void add_peer(struct doctor_host *p, const struct plan_port *port,
		     const struct spec_peer *peer)
{
	bool near = false;

	for (size_t i = 0; i < peer->n_ips; i++) {
		if (!ip_prefix_contains(&port->ip, &peer->ips[i]))
			continue;
		add_configured(p, port, peer, &peer->ips[i]);
		near = true;
	}
	for (size_t i = 0; i < peer->n_ips && !near && port->gateway.family; i++)
		add_configured(p, port, peer, &peer->ips[i]);
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
	const struct plan_port *port = doctor_leg_port(p, leg->name);
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
	if (!p->peer[0] && port->gateway.family && doctor_kernel_has(p, port))
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
		any = any || doctor_leg_port(p, p->plan->legs[i].name);
		add_leg(p, &p->plan->legs[i]);
	}
	if (p->n_probes > 0)
		return;
	if (!any)
		snprintf(p->no_probes, sizeof(p->no_probes), "no worker has a leg");
	else if (p->peer[0])
		snprintf(p->no_probes, sizeof(p->no_probes), "no leg leads to '%.63s'", p->peer);
}

/* Returns the TOS byte of the lossless traffic of the leg. */
static uint8_t tos_of(const struct doctor_host *p, const char *leg)
{
	uint32_t dscp = DSCP_USUAL;

	for (size_t i = 0; i < p->spec->n_nets; i++)
		if (strcmp(p->spec->nets[i].name, leg) == 0 && p->spec->nets[i].dcb.n_dscp)
			dscp = p->spec->nets[i].dcb.dscp[0].dscp;
	return (uint8_t)(dscp << 2 | ECT0);
}

/* ---- sending ---- */

/* Makes the three echo requests of a probe. */
static void make_pings(struct doctor_host *p, struct doctor_probe *e, struct kernel_ping *ret)
{
	e->tos = tos_of(p, e->leg);
	for (size_t j = 0; j < TRIES; j++)
		ret[j] = (struct kernel_ping){.ifindex = e->ifindex,
					      .from = e->from,
					      .to = e->to,
					      .bytes = j == 1 ? e->bytes : SMALL_BYTES,
					      .tos = j == 2 ? e->tos : 0};
}

static void send_echoes(struct doctor_host *p)
{
	static const struct kernel_change nothing = {.kind = KERNEL_LINK};
	struct kernel_ping pings[TRIES * DOCTOR_PROBES_MAX];
	struct doctor_probe *of[DOCTOR_PROBES_MAX];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < p->n_probes; i++) {
		if (p->probes[i].held)
			continue;
		of[n] = &p->probes[i];
		make_pings(p, of[n], &pings[TRIES * n]);
		n++;
	}
	if (n == 0)
		return;
	p->kernel->ops->prepare(p->kernel, &nothing);
	r = p->kernel->ops->ping(p->kernel, pings, TRIES * n, WAIT_NS);
	for (size_t i = 0; r == 0 && i < n; i++) {
		of[i]->echoes = true;
		of[i]->small = pings[TRIES * i].answered;
		of[i]->full = pings[TRIES * i + 1].answered;
		of[i]->marked = pings[TRIES * i + 2].answered;
		of[i]->answered_tos = pings[TRIES * i + 2].answered_tos;
	}
	if (r < 0)
		snprintf(p->no_echoes, sizeof(p->no_echoes), "echo requests cannot be sent: %s",
			 r == -EBADF ? "needs root (CAP_NET_RAW)" : strerror(-r));
}

/* Sends packets to data ports. If no agent is running, no worker is about to start, so the doctor
 * may use the data port for a moment. */
static void send_hellos(struct doctor_host *p)
{
	struct port_probe probes[2 * DOCTOR_PROBES_MAX];
	struct doctor_probe *of[DOCTOR_PROBES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < p->n_probes; i++) {
		struct doctor_probe *e = &p->probes[i];

		if (e->held || !e->peer[0])
			continue;
		for (size_t j = 0; j < 2; j++)
			probes[2 * n + j] = (struct port_probe){.from = e->from,
								.to = e->to,
								.ifindex = e->ifindex,
								.port = e->port.port,
								.own_port = !p->status,
								.bytes = j ? e->bytes : 0,
								.n_packets = DOCTOR_PACKETS};
		of[n++] = e;
	}
	if (n == 0 || port_probe_run(probes, 2 * n, WAIT_NS / 2) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		of[i]->port = probes[2 * i];
		of[i]->port_full = probes[2 * i + 1];
	}
}

void doctor_send_probes(struct doctor_host *p)
{
	doctor_find_probes(p);
	send_hellos(p);
	send_echoes(p);
}
