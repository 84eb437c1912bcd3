/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds legs that become available while the worker runs, and handles legs whose device was
 * replaced. Only this file changes the configuration of the running worker.
 */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <string.h>

static bool text_ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* Returns why the worker cannot accept the port, or NULL if it can. */
static const char *refuse(const struct worker *w, unsigned index, const struct launch_port *p)
{
	const struct launch_config *cfg = w->cfg;

	if (!launch_takes_ports(cfg) || !w->ops->reopens)
		return "this transport opens devices only when the worker starts";
	if (index > cfg->n_ports || index >= LAUNCH_PORTS_MAX)
		return "its number is out of sequence";
	if (!text_ends(p->leg, sizeof(p->leg)) || !text_ends(p->label, sizeof(p->label)) ||
	    !text_ends(p->ifname, sizeof(p->ifname)) || !text_ends(p->device, sizeof(p->device)))
		return "the message is malformed";
	if (index < cfg->n_ports && !launch_port_moves(&cfg->ports[index], p))
		return "its address differs from that of the existing port";
	return NULL;
}

static int port_add(struct worker *w, const struct launch_port *p)
{
	const struct rudp_port_info info = worker_port_info(p, false);
	const unsigned i = w->cfg->n_ports;
	int r = rudp_port_add(w->rudp, &info, w->now_ns);

	if (r < 0)
		return r;
	w->port_open[i] = w->port_up[i] = w->carrier_lost[i] = w->link_lost[i] = false;
	port_rdma_leg_add(w->rdma, p);
	w->rdma_reported[i] = port_rdma_reason(w->rdma, i); /* Store the state of the new leg. Do
							       not report an event, because nothing
							       has changed. */
	w->cfg->ports[i] = *p;
	w->cfg->n_ports++;
	/*
	 * Inform the role, because data of the mounts may be waiting for RDMA on this leg.
	 */
	if (w->rdma && w->role->rdma_came)
		w->role->rdma_came(w);
	worker_fault_port(w);
	return 0;
}

/* Replaces the device of a port. Meanwhile, rudp retransmits unacknowledged packets on the other
 * ports. */
static void port_move(struct worker *w, unsigned i, const struct launch_port *p)
{
	if (w->port_open[i])
		w->ports[i].ops->close(&w->ports[i]);
	w->port_open[i] = w->carrier_lost[i] = w->link_lost[i] = false;
	w->cfg->ports[i] = *p;
	worker_link_judge(w, i);
}

void worker_port_take(struct worker *w, unsigned index, const struct launch_port *port)
{
	const char *why = refuse(w, index, port);
	int r = 0;

	if (why) {
		log_warning("rejected a new port: %s", why);
		return;
	}
	if (index == w->cfg->n_ports)
		r = port_add(w, port);
	else if (memcmp(&w->cfg->ports[index], port, sizeof(*port)) != 0)
		port_move(w, index, port);
	if (r < 0) {
		log_warning("%s: rejected the new port: %s", port->leg, strerror(-r));
		return;
	}
	log_notice("%s: available now, on %s", port->leg, port->ifname);
	w->came[index] = true;
	w->port_retry_ns = 0; /* open the port in this turn */
	worker_send_port(w, index, port);
}

void worker_ports_report(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->came[i])
			worker_send_port(w, i, &w->cfg->ports[i]);
}
