/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which workers have a kernel interface by AF_XDP. Apart from the workers, since it asks what the
 * interface and the others on it allow. What only the kernel can tell, a worker finds when it
 * starts, and uses AF_PACKET then.
 */
#include "netcfg/plan/plan_kernel_port.h"
#include "netcfg/plan/nic_use.h"
#include <stdio.h>
#include <string.h>

/* The one before it that has the interface so; NULL: none. Each has a program of its own, and a
 * kernel interface takes one. */
static const struct plan_worker *other_find(const struct plan *p, size_t worker, uint32_t ifindex)
{
	for (size_t i = 0; i < worker; i++)
		for (size_t j = 0; j < p->workers[i].n_ports; j++)
			if (p->workers[i].ports[j].ifindex == ifindex &&
			    p->workers[i].ports[j].kernel_port != PLAN_AF_PACKET)
				return &p->workers[i];
	return NULL;
}

/* True and why, where AF_XDP cannot be. */
static bool is_impossible(const struct plan_builder *b, const struct plan_leg *leg, size_t worker,
			  const struct plan_port *port, char *why, size_t size)
{
	const struct plan_worker *other = other_find(b->plan, worker, port->ifindex);

	if (port->mtu > PLENUM_AF_XDP_MTU_MAX)
		snprintf(why, size, "AF_XDP takes an MTU of up to %u, not %u",
			 PLENUM_AF_XDP_MTU_MAX, port->mtu);
	else if (other)
		snprintf(why, size, "AF_XDP takes one worker an interface, and worker %u has it",
			 other->id);
	else if (strcmp(leg->device->af_xdp, "none") == 0)
		snprintf(why, size, "the kernel has no AF_XDP");
	else
		return false;
	return true;
}

/* A VLAN or bond is none, whatever is below it. */
static bool does_zero_copy(const struct plan_builder *b, const struct plan_leg *leg)
{
	return leg->link->ifindex == leg->device->ifindex &&
	       strcmp(nic_af_xdp(b->inv, leg->link), "zero-copy") == 0;
}

/* The note that a worker on a kernel interface has is of its first one, and says how. */
static void note_how(struct plan_worker *w, const struct plan_leg *leg, const char *why_not)
{
	const struct inv_link *link = leg->link;

	if (strcmp(w->reason.code, "kernel-interface") == 0 &&
	    strncmp(w->reason.text, link->name, strlen(link->name)) == 0)
		reason_set(&w->reason, "kernel-interface",
			   "%.15s (%.31s) has no VF for the worker, %s shares it%s%s", link->name,
			   link->driver[0] ? link->driver : inv_link_kind_to_string(link->kind),
			   why_not ? "DPDK" : "AF_XDP", why_not ? ": " : "",
			   why_not ? why_not : "");
}

void plan_kernel_port_choose(struct plan_builder *b, const struct plan_leg *leg, size_t worker,
			     struct plan_port *port)
{
	enum spec_kernel_port asked = leg->net->kernel_port;
	struct plan_worker *w = &b->plan->workers[worker];
	char why[96];

	if (asked == SPEC_KERNEL_PORT_AF_PACKET ||
	    (asked == SPEC_KERNEL_PORT_AUTO && !does_zero_copy(b, leg)))
		return;
	if (!is_impossible(b, leg, worker, port, why, sizeof(why))) {
		port->kernel_port =
			asked == SPEC_KERNEL_PORT_AUTO ? PLAN_AF_XDP_ZERO_COPY : PLAN_AF_XDP;
		note_how(w, leg, NULL);
		return;
	}
	if (asked == SPEC_KERNEL_PORT_AUTO) {
		note_how(w, leg, why);
		return;
	}
	reason_set(&w->reason, "no-af-xdp", "%.15s is shared by AF_PACKET: %s", leg->link->name,
		   why);
	if (b->spec->on_fallback == SPEC_FALLBACK_REFUSE)
		diag_add(b->d, DIAG_ERROR, &leg->net->pos, "kernel-port",
			 "worker %u cannot have it: %s, and policy.on-fallback is refuse; write "
			 "kernel-port: af-packet",
			 w->id, why);
}
