/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the kernel's notifications: passes carrier changes on and requests a reconcile. */
#include "agent/monitor/kernel_events.h"
#include "agent/agent.h"
#include "agent/legs/leg_links.h"
#include "agent/legs/leg_wiring.h"
#include "agent/lldp/lldp.h"
#include <string.h>

/* Returns whether the link belongs to a leg or is the device below a leg. */
static bool is_leg(const struct agent *a, const char *ifname, uint32_t ifindex)
{
	/* A leg's link may be a VLAN that the agent created, so the spec does not name it. The spec
	 * does not name a device that was selected by match either. */
	for (size_t i = 0; a->running.plan && i < a->running.plan->n_legs; i++) {
		const struct plan_leg_info *leg = &a->running.plan->legs[i];

		if (leg->ifindex == ifindex || (ifname[0] && strcmp(leg->ifname, ifname) == 0) ||
		    (ifname[0] && leg->match[0] && strcmp(leg->device, ifname) == 0))
			return true;
	}
	for (size_t i = 0; a->running.inv && i < a->running.spec->n_nets; i++) {
		const char *device = a->running.spec->nets[i].device;
		const struct inv_link *link = inv_link_find(a->running.inv, device);

		if (link ? link->ifindex == ifindex : device[0] && strcmp(device, ifname) == 0)
			return true;
	}
	return false;
}

/* Returns the severity of a lost carrier. A loss is normal while the agent itself changes links,
 * and on a link that is not in use. */
static enum log_level severity_of_loss(const struct agent *a, uint32_t ifindex)
{
	for (size_t i = 0; a->running.plan && i < a->running.plan->n_legs; i++)
		if (a->running.plan->legs[i].ifindex == ifindex &&
		    a->running.plan->legs[i].state == PLAN_LEG_DISABLED)
			return LOG_LEVEL_NOTICE;
	return a->reconcile.applier ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING;
}

/*
 * Sends carrier changes to the workers at once, without the debounce time, because a worker must
 * leave a dead leg within milliseconds.
 */
static void forward_carrier(struct agent *a, const char *ifname, uint32_t ifindex, bool usable)
{
	sup_link_changed(a->sup, ifindex, usable);
	if (!usable)
		lldp_carrier_lost(a->lldp, ifindex);
	leg_wiring_carrier(a, ifindex, usable);
	leg_links_carrier(a);
	agent_check_health(a);
	if (is_leg(a, ifname, ifindex))
		events_add(&a->events, usable ? LOG_LEVEL_NOTICE : severity_of_loss(a, ifindex),
			   ifname, "carrier %s", usable ? "up" : "lost");
}

static void on_new_carrier(void *user, const struct inv_link *link, bool usable)
{
	forward_carrier(user, link->name, link->ifindex, usable);
}

void kernel_events_take_carriers(struct agent *a, const struct inventory *inv)
{
	if (carriers_take(&a->carriers, inv, on_new_carrier, a) < 0)
		log_warning("out of memory: some carrier states are unknown");
}

static void note_carrier(struct agent *a, const struct kernel_event *e)
{
	bool up = !e->removed && e->up;

	if (carriers_set(&a->carriers, e->ifindex, up, up && e->carrier) > 0)
		forward_carrier(a, e->ifname, e->ifindex, up && e->carrier);
}

static void on_kernel_event(void *user, const struct kernel_event *e)
{
	struct agent *a = user;
	bool leg = e->ifindex && is_leg(a, e->ifname, e->ifindex);

	if (e->ifindex && e->type == KERNEL_EVENT_LINK)
		note_carrier(a, e);
	/* While the agent is degraded, a new link, or the end of udev's work on a link, may be the
	 * missing device. A changed address of another link may also have removed the reason why a
	 * leg was not usable. */
	if (a->state == AGENT_DEGRADED &&
	    (e->type == KERNEL_EVENT_LINK || e->type == KERNEL_EVENT_UDEV ||
	     e->type == KERNEL_EVENT_ADDR))
		reconcile_arm(a, leg ? drift_delay_ns(&a->drift) : RECONCILE_DEBOUNCE_NS);
	else if (leg || !e->ifindex)
		reconcile_arm(a, drift_delay_ns(&a->drift));
}

void kernel_events_read(struct agent *a)
{
	int r = a->kernel->ops->watch_read(a->kernel, on_kernel_event, a);

	if (r < 0 && r != -EAGAIN && r != -EINTR) {
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "cannot read kernel notifications: %s", strerror(-r));
		reconcile_arm(a, drift_delay_ns(&a->drift));
	}
}
