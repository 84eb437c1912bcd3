/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which workers use AF_XDP on a kernel interface: workers whose configuration asks for
 * AF_XDP, on interfaces that support it. If the kernel refuses AF_XDP when a worker starts, that
 * worker uses AF_PACKET.
 */
#include "netcfg/plan/worker/plan_kernel_port.h"
#include "netcfg/plan/nic_use.h"
#include <stdio.h>
#include <string.h>

/* Returns the earlier worker with AF_XDP on this interface, or NULL. Each worker has its own XDP
 * program, and a kernel interface accepts only one program. */
static const struct plan_worker *other_find(const struct plan *p, size_t worker, uint32_t ifindex)
{
	for (size_t i = 0; i < worker; i++)
		for (size_t j = 0; j < p->workers[i].n_ports; j++)
			if (p->workers[i].ports[j].ifindex == ifindex &&
			    p->workers[i].ports[j].kernel_port == PLAN_AF_XDP)
				return &p->workers[i];
	return NULL;
}

static bool is_device(const struct inv_link *l)
{
	return l->kind == INV_LINK_PHYSICAL || l->kind == INV_LINK_VF || l->kind == INV_LINK_VETH;
}

/* Returns whether the link is a bond, a bridge or similar. Packets arrive on its ports, so AF_XDP
 * sockets on the link itself receive nothing. */
static bool is_stacked(const struct plan_leg *leg)
{
	return !is_device(leg->device) ||
	       (leg->link->kind != INV_LINK_VLAN && !is_device(leg->link));
}

/* Returns true and sets why if no worker can use AF_XDP on the leg. */
static bool is_impossible(const struct plan_builder *b, const struct plan_leg *leg,
			  struct reason *why)
{
	if (b->plan->hold_s)
		reason_set_text(why, "AF_XDP does not support active-backup");
	else if (is_stacked(leg))
		reason_set_text(why, "AF_XDP needs a device or its VLAN, but %.15s is a %.15s",
				leg->device->name, inv_link_kind_to_string(leg->device->kind));
	else if (leg->mtu > PLENUM_AF_XDP_MTU_MAX)
		reason_set_text(why, "AF_XDP supports an MTU of at most %u, not %u",
				PLENUM_AF_XDP_MTU_MAX, leg->mtu);
	else if (strcmp(leg->device->af_xdp, "none") == 0)
		reason_set_text(why, "the kernel does not support AF_XDP");
	else
		return false;
	return true;
}

/* Returns true and sets why if another worker uses AF_XDP on the interface. */
static bool is_taken(const struct plan_builder *b, size_t worker, const struct plan_port *port,
		     struct reason *why)
{
	const struct plan_worker *other = other_find(b->plan, worker, port->ifindex);

	if (other)
		reason_set_text(
			why,
			"AF_XDP supports one worker per interface, and worker %u uses AF_XDP there",
			other->id);
	return other != NULL;
}

bool plan_kernel_port_is_all_af_xdp(const struct plan_builder *b)
{
	for (size_t i = 0; i < b->spec->n_nets; i++)
		if (b->spec->nets[i].enabled &&
		    b->spec->nets[i].kernel_port != SPEC_KERNEL_PORT_AF_XDP)
			return false;
	for (size_t i = 0; i < b->n_legs; i++)
		if (b->legs[i].n_vfs || is_impossible(b, &b->legs[i], NULL))
			return false;
	return true;
}

/* Returns whether AF_XDP works without copies on the leg. A VLAN never supports that, even if its
 * parent does. */
static bool does_zero_copy(const struct plan_builder *b, const struct plan_leg *leg)
{
	return leg->link->ifindex == leg->device->ifindex &&
	       strcmp(nic_af_xdp(b->inv, leg->link), "zero-copy") == 0;
}

void plan_kernel_port_note(struct reason *ret, const struct plan_leg *leg, const char *how)
{
	const struct inv_link *link = leg->device;

	reason_set(ret, "kernel-interface", "%.15s (%.31s) has no VF for the worker; %s",
		   link->name, link->driver[0] ? link->driver : inv_link_kind_to_string(link->kind),
		   how);
}

/* Replaces a reason of the worker that says that DPDK shares this leg's interface, by a reason that
 * says how DPDK shares it. */
static void note_access(struct plan_worker *w, const struct plan_leg *leg, const char *how)
{
	struct reason as_is;

	plan_kernel_port_note(&as_is, leg, PLAN_KERNEL_PORT_SHARES);
	if (reason_equal(&w->reason, &as_is))
		plan_kernel_port_note(&w->reason, leg, how);
}

/* Appends the reason of a leg to the worker's reason if it fits. */
static void append_reason(struct plan_worker *w, const struct plan_leg *leg, const char *why)
{
	struct reason *r = &w->reason;

	if (strcmp(r->code, "no-af-xdp") == 0)
		reason_append(r, "%.15s: %s", leg->link->name, why);
	else
		reason_set(r, "no-af-xdp", "%.15s uses AF_PACKET: %s", leg->link->name, why);
}

void plan_kernel_port_choose(struct plan_builder *b, const struct plan_leg *leg, size_t worker,
			     struct plan_port *port)
{
	enum spec_kernel_port asked = leg->net->kernel_port;
	struct plan_worker *w = &b->plan->workers[worker];
	struct reason why;
	bool can = !is_impossible(b, leg, &why) && !is_taken(b, worker, port, &why);

	if (asked == SPEC_KERNEL_PORT_AUTO && can && does_zero_copy(b, leg))
		note_access(w, leg,
			    PLAN_KERNEL_PORT_SHARES "; kernel-port: af-xdp would avoid copies");
	if (asked != SPEC_KERNEL_PORT_AF_XDP)
		return;
	if (can) {
		port->kernel_port = PLAN_AF_XDP;
		note_access(w, leg, "AF_XDP shares the interface");
		return;
	}
	append_reason(w, leg, why.text);
	if (b->spec->on_fallback == SPEC_FALLBACK_REFUSE && w->asked != SPEC_TRANSPORT_AUTO)
		diag_add(b->d, DIAG_ERROR, &leg->net->pos, "kernel-port",
			 "worker %u cannot use AF_XDP: %s, and policy.on-fallback is refuse; write "
			 "kernel-port: af-packet",
			 w->id, why.text);
}
