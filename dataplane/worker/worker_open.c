/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the ports, and verifies that no other host has their addresses. */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <string.h>
#include <sys/fsuid.h>

#define PORT_RETRY_NS (2 * NSEC_PER_SEC)

int worker_ops_get(struct worker *w, struct reason *why)
{
	bool all_xdp = w->cfg->transport != LAUNCH_UDP;

	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		all_xdp &= launch_port_is_xdp(&w->cfg->ports[i]);
	if (!all_xdp)
		return port_ops_get(w->cfg->transport, &w->ops, why);
	/* If all ports use AF_XDP, start without DPDK and its memory, which are needed only if a
	 * port falls back to AF_PACKET. */
	w->ops = &port_xdp_ops;
	return 0;
}

/* Opens a port by port_ops.open of its back end. If AF_XDP fails, the port falls back to
 * AF_PACKET. */
static int port_open(struct worker *w, unsigned i, struct reason *why)
{
	struct port *p = &w->ports[i];
	struct reason xdp;
	int r;

	*p = (struct port){.ops = w->ops, .index = i};
	if (w->cfg->transport == LAUNCH_UDP || !launch_port_is_xdp(&w->cfg->ports[i]))
		return p->ops->open(p, w->cfg, i, why);
	p->ops = &port_xdp_ops;
	if (p->ops->open(p, w->cfg, i, &xdp) == 0)
		return 0;
	log_warning("%s", xdp.text);
	r = port_ops_get(w->cfg->transport, &p->ops, why);
	if (r < 0) {
		p->ops = w->ops;
		return r;
	}
	r = p->ops->open(p, w->cfg, i, why);
	if (r == 0)
		reason_set(why, "no-af-xdp", "AF_PACKET is used: %s", xdp.text);
	return r;
}

unsigned worker_ports_open(struct worker *w, struct worker_legs_why *ret_why)
{
	struct reason why;
	unsigned n = 0;
	int user = -1;

	*ret_why = w->port_why; /* keep the reasons of ports that are not tried now */
	/* Open the sockets as the user that the worker has later. port_udp opens more sockets on
	 * the same UDP port later, which the kernel allows only to the user that opened the first
	 * one. */
	if (w->cfg->transport == LAUNCH_UDP)
		user = setfsuid(w->sandbox.uid);
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (w->port_open[i] || w->released[i]) {
			n += w->port_open[i];
			continue;
		}
		reason_clear(&why);
		reason_clear(&ret_why->leg[i]);
		w->port_open[i] = port_open(w, i, &why) == 0;
		n += w->port_open[i];
		if (reason_is_set(&why)) /* a port that was opened may have a limitation */
			worker_legs_add(w, ret_why, i, &why);
	}
	if (user >= 0)
		setfsuid((uid_t)user);
	w->port_retry_ns = n < w->cfg->n_ports && w->ops->reopens ? clock_now_ns() + PORT_RETRY_NS
								  : UINT64_MAX;
	return n;
}

/* Ends joining a port with result r: closes the port if r is negative, and adds the reason to its
 * leg. Returns r. */
static int join_end(struct worker *w, unsigned i, int r, const struct reason *reason,
		    struct worker_legs_why *why)
{
	if (r < 0) {
		w->ports[i].ops->close(&w->ports[i]);
		w->port_open[i] = false;
	}
	w->unprobed[i] = r > 0;
	w->probed |= r == 0;
	if (reason_is_set(reason))
		worker_legs_add(w, why, i, reason);
	return r;
}

/* Calls port_ops.join() once and returns its result. */
static int join_look(struct worker *w, unsigned i, struct worker_legs_why *why)
{
	struct reason reason = {.code = ""};
	struct port *p = &w->ports[i];
	int r = p->ops->join ? p->ops->join(p, w->cfg, i, &reason) : 0;

	return r == -EAGAIN || r == -EINPROGRESS ? r : join_end(w, i, r, &reason, why);
}

int worker_port_join(struct worker *w, unsigned i, struct worker_legs_why *why)
{
	struct reason reason = {.code = ""};
	int r = port_join(&w->ports[i], w->cfg, i, &reason);

	return join_end(w, i, r, &reason, why);
}

/* Serves a port that has joined while other ports are still probing: answers its neighbours and
 * empties its rings. Drops datagrams, because the transport does not run yet. Returns whether more
 * frames may be waiting. */
static bool port_keep(struct worker *w, unsigned i)
{
	struct port_rx pkts[PORT_BURST_MAX];
	struct port *p = &w->ports[i];
	int n = p->ops->rx(p, pkts, PORT_BURST_MAX);

	if (p->ops->tick)
		(void)p->ops->tick(p, clock_now_ns());
	return n == PORT_BURST_MAX;
}

/* All ports probe at the same time, because most of the time of a probe is spent waiting for the
 * objections of other hosts. */
unsigned worker_ports_join(struct worker *w, struct worker_legs_why *ret_why)
{
	bool waits[LAUNCH_PORTS_MAX], any, more;
	unsigned n = 0;
	int r;

	*ret_why = w->open_why = w->port_why;
	memcpy(waits, w->port_open, sizeof(waits));
	do {
		any = more = false;
		for (unsigned i = 0; i < w->cfg->n_ports; i++) {
			if (!waits[i]) {
				more |= w->port_open[i] && port_keep(w, i);
				continue;
			}
			r = join_look(w, i, ret_why);
			more |= r == -EINPROGRESS;
			waits[i] = r == -EAGAIN || r == -EINPROGRESS;
			any |= waits[i];
			n += r >= 0;
			if (r >= 0 || waits[i])
				continue;
			w->port_up[i] = false;
			rudp_port_set_up(w->rudp, i, false, clock_now_ns());
		}
		if (any && !more)
			port_join_rest();
	} while (any);
	return n;
}
