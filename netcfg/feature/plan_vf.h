/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The VFs of a leg: their number, why they are unavailable, and their desired state. A DPDK worker
 * has its own VF on each leg whose device offers VFs for its transport. Pure.
 */
#ifndef PLENUM_NETCFG_PLAN_VF_H
#define PLENUM_NETCFG_PLAN_VF_H

#include "netcfg/plan/planner.h"

/* Assigns VFs to the workers that claim one and sets leg->n_vfs, and leg->why_no_vfs if workers
 * get none. Requests that the device can never satisfy are errors in b->d; foreign VFs become the
 * leg's state. */
void plan_vf_check_leg(struct plan_builder *b, struct plan_leg *leg);
/* Offers one more VF to a worker with transport: auto: sets w->vf and leg->n_vfs. False:
 * unavailable, and why. */
bool plan_vf_offer(struct plan_builder *b, struct plan_leg *leg, struct plan_worker *w,
		   struct reason *why);
/* Whether this plan may move the worker to a transport that no apply has accepted. */
bool plan_vf_may_move(const struct plan_builder *b, const struct plan_worker *w);
/* Whether the worker names a VF transport, or an apply has accepted VFs of this device for it. */
bool plan_vf_is_agreed(const struct plan_builder *b, const struct plan_leg *leg,
		       const struct plan_worker *w);
/* Whether workers with that transport can use VFs of the leg's device. */
bool plan_vf_fits(const struct plan_leg *leg, enum spec_transport t);
/* Fills in the worker's VF on this leg: reference, MAC, and PCI address if it exists. False: the
 * worker has none. */
bool plan_vf_take(const struct plan_builder *b, const struct plan_leg *leg,
		  const struct plan_worker *w, struct plan_port *port);
/* The PFs whose VFs the plan creates, in the form of plan_context.made. */
size_t plan_vf_made(const struct plan *p, char made[static PLAN_PORTS_MAX][16]);
/* The MAC of VF number vf of this PF. */
struct mac_addr plan_vf_mac(const struct inv_link *pf, uint32_t vf);
/* Fills in the PCI address of the port's VF if it exists. */
void plan_vf_resolve(struct plan_port *port, const struct inventory *inv);
/* Whether a running worker has the function or one of its VFs open. fn may be NULL. */
bool plan_vf_is_held(const struct plan_builder *b, const struct inv_function *fn);
/* Adds the desired state of all VFs of the leg: number, MAC, VLAN and driver. 0, -ENOMEM. */
int plan_vf_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
