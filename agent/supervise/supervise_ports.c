/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds ports to a running worker, for a leg that was missing when it started, and replaces ports
 * whose device was replaced. The worker's configuration `started` has the ports that the process
 * really has, in the order in which the process numbers them.
 */
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/text.h"
#include <string.h>

const struct launch_port *sup_port_find(const struct launch_config *c, const char *leg)
{
	for (uint32_t i = 0; i < c->n_ports; i++)
		if (strcmp(c->ports[i].leg, leg) == 0)
			return &c->ports[i];
	return NULL;
}

bool sup_port_equal(const struct launch_port *a, const struct launch_port *b)
{
	struct launch_port p = *a;

	memcpy(p.label, b->label, sizeof(p.label));
	return memcmp(&p, b, sizeof(p)) == 0;
}

/* Besides unsuitable ports, two cases need a restart. A worker without a leg has no process. If no
 * leg was to use RDMA when the worker started, it has given up the access that RDMA needs, so a new
 * leg could not use RDMA. */
bool sup_ports_follow(const struct launch_config *is, const struct launch_config *want)
{
	if (!launch_takes_ports(is) || !launch_takes_ports(want) || is->n_ports == 0 ||
	    (launch_takes_rdma(want) && !launch_takes_rdma(is)))
		return false;
	for (uint32_t i = 0; i < is->n_ports; i++) {
		const struct launch_port *p = sup_port_find(want, is->ports[i].leg);

		if (!p || !launch_port_moves(&is->ports[i], p))
			return false;
	}
	return true;
}

void sup_fill_label(const struct sup_worker *w, struct launch_port *port)
{
	const struct label *l = labels_find(w->sup->setup.labels, port->leg);

	if (l)
		memcpy(port->label, l->text, sizeof(port->label));
}

/* Sends the port to the worker if the worker lacks it. If the socket is full, the next heartbeat
 * check retries. */
static void send_missing_port(struct sup_worker *w, const struct launch_port *want)
{
	struct launch_config *has = w->started;
	const struct launch_port *is = sup_port_find(has, want->leg);
	const uint32_t i = is ? (uint32_t)(is - has->ports) : has->n_ports;
	struct launch_port port = *want;

	if ((is && sup_port_equal(is, want)) || i == LAUNCH_PORTS_MAX)
		return;
	sup_fill_label(w, &port);
	if (sup_send_port(w, i, &port) < 0)
		return;
	has->ports[i] = port;
	has->n_ports += !is;
	sup_report(w, LOG_LEVEL_INFO, "received %s (%s) without a restart", port.leg, port.ifname);
	if (!carriers_usable(w->sup->setup.carriers, port.ifindex))
		sup_send(w, LAUNCH_MSG_LINK, 0, i);
}

bool sup_update_ports(struct sup_worker *w)
{
	if (w->state != SUP_UP || !w->started || !launch_takes_ports(w->started))
		return true;
	if (!sup_ports_follow(w->started, &w->config))
		return false;
	for (uint32_t i = 0; i < w->config.n_ports; i++)
		send_missing_port(w, &w->config.ports[i]);
	return true;
}

bool sup_flag_is_valid(const bool *flag)
{
	return *(const unsigned char *)flag <= 1;
}

bool sup_port_is_valid(const struct launch_port *p)
{
	return text_is_clean(p->leg, sizeof(p->leg)) && text_is_clean(p->label, sizeof(p->label)) &&
	       text_is_utf8(p->ifname, sizeof(p->ifname)) &&
	       text_is_utf8(p->device, sizeof(p->device)) && sup_flag_is_valid(&p->rdma) &&
	       sup_flag_is_valid(&p->rdma_asked) && sup_flag_is_valid(&p->rdma_only) &&
	       sup_flag_is_valid(&p->shared);
}

/* Stores the port at the index at which the process has it. */
static void store_port(struct launch_config *c, uint32_t index, const struct launch_port *port)
{
	c->ports[index] = *port;
	c->n_ports = MAX_OF(c->n_ports, index + 1);
}

/* Returns whether an agent can have sent this port: a port of kernel sockets, without a device. If
 * the worker has the leg already, the leg may only have moved to another device. Without this
 * check, a worker could claim a device and keep it from the host. */
static bool may_be_from_agent(const struct launch_config *has, uint32_t index,
			      const struct launch_port *port)
{
	if (!launch_takes_ports(has) || !sup_port_is_valid(port) || port->device[0])
		return false;
	if (index < has->n_ports)
		return launch_port_moves(&has->ports[index], port);
	return index == has->n_ports && index < LAUNCH_PORTS_MAX && !sup_port_find(has, port->leg);
}

void sup_take_port(struct sup_worker *w, uint32_t index, const struct launch_port *port)
{
	struct launch_config *has = w->started;

	if (!has || !may_be_from_agent(has, index, port))
		return;
	store_port(has, index, port);
	if (w->agreed)
		return;
	store_port(&w->config, index, port);
	memset(w->config.ports[index].label, 0, sizeof(w->config.ports[index].label));
}
