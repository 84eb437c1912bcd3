/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles events at the ports of a running worker: link changes, address probes, and devices that
 * the host removes. */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <stdio.h>

#define ANNOUNCE_GAP_NS (100 * NSEC_PER_MSEC)
#define PROBE_LOOK_NS (10 * NSEC_PER_MSEC)

void worker_announce(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (!w->port_open[i] || !w->ports[i].ops->announce ||
		    worker_port(w, worker_way(w, i)) != i ||
		    w->now_ns - w->announce_ns[i] < ANNOUNCE_GAP_NS)
			continue;
		w->announce_ns[i] = w->now_ns;
		w->ports[i].ops->announce(&w->ports[i]);
	}
}

void worker_link_judge(struct worker *w, unsigned i)
{
	bool up = w->port_open[i] && !w->carrier_lost[i] && !w->link_lost[i];

	if (up == w->port_up[i])
		return;
	w->port_up[i] = up;
	log_notice("%s: link %s", w->cfg->ports[i].leg, up ? "up" : "down");
	if (w->cfg->failover)
		worker_backup_look(w);
	else
		rudp_port_set_up(w->rudp, i, up, w->now_ns);
	worker_announce(w);
}

/* Ends the worker as if the ports had failed at the start: a worker without any port is useless,
 * and the next worker tries again. */
static void end_without_ports(struct worker *w, const char *reason)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i])
			return;
	log_err("%s", reason);
	worker_send(w, LAUNCH_MSG_FAILED, -EADDRNOTAVAIL, 0, reason);
	w->exit_status = LAUNCH_EXIT_TRANSPORT;
	w->stopped = true;
}

/* Ends the address probe of a port. Changes only the reason of the probe: the leg keeps the reasons
 * from when the port was opened. */
static void probe_end(struct worker *w, unsigned i, int result, const struct reason *reason)
{
	struct worker_legs_why why = w->open_why;

	w->unprobed[i] = w->asks[i] = false;
	w->probed |= result == 0;
	if (result < 0) {
		w->ports[i].ops->close(&w->ports[i]);
		w->port_open[i] = false;
		worker_link_judge(w, i);
		worker_legs_add(w, &why, i, reason);
	}
	worker_leg_explain(w, i, why.leg[i].text);
	if (result < 0)
		end_without_ports(w, why.leg[i].text);
}

void worker_probe_look(struct worker *w, unsigned i)
{
	struct reason reason = {.code = ""};
	int r = 0;

	if (!w->asks[i] || !w->port_up[i])
		return;
	/* If several ports share an address, only one port probes the address: the other ports
	 * would find that this worker itself uses the address. */
	if (w->cfg->failover && !w->probed && worker_port(w, 0) != i)
		return;
	if (!w->cfg->failover || !w->probed)
		r = w->ports[i].ops->probe(&w->ports[i], &reason);
	if (r == -EAGAIN)
		w->port_tick_ns[i] = MIN_OF(w->port_tick_ns[i], w->now_ns + PROBE_LOOK_NS);
	else
		probe_end(w, i, r, &reason);
}

void worker_probe_begin(struct worker *w, unsigned i, bool has_link)
{
	w->asks[i] = w->unprobed[i] && has_link;
	worker_probe_look(w, i);
}

/* Reads the link state from the device. Some ports detect the carrier without the agent: a VF, for
 * example, reports the carrier of its PF. */
void worker_link_look(struct worker *w, unsigned i)
{
	bool lost = w->ports[i].ops->link && !w->ports[i].ops->link(&w->ports[i]);

	if (lost == w->link_lost[i])
		return;
	w->link_lost[i] = lost;
	worker_link_judge(w, i);
	worker_probe_begin(w, i, !lost);
}

void worker_release_report(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->released[i])
			worker_send(w, LAUNCH_MSG_RELEASED, 0, i, w->cfg->ports[i].device);
}

/*
 * Closes the port if the host wants its device back. The removal or unbinding of a VF waits in the
 * kernel until no process has the device open. Often this is a rollback of an apply, which must not
 * wait for a worker that has no agent.
 */
void worker_release_look(struct worker *w, unsigned i)
{
	const struct launch_port *port = &w->cfg->ports[i];
	char why[LAUNCH_REASON_MAX];

	if (!w->port_open[i] || !w->ports[i].ops->wanted_back ||
	    !w->ports[i].ops->wanted_back(&w->ports[i]))
		return;
	w->released[i] = true;
	w->ports[i].ops->close(&w->ports[i]);
	w->port_open[i] = false;
	snprintf(why, sizeof(why), "device-taken: %.20s: the host reclaimed %.32s", port->leg,
		 port->device);
	worker_release_report(w);
	worker_link_judge(w, i);
	worker_leg_explain(w, i, why);
	w->stats_ns = 0;
}
