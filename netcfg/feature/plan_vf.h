/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The VFs of a leg: how many it shall have, why it cannot have them, and what the host shall have
 * so that workers can take them. A worker on DPDK has a VF of its own on each leg whose device
 * gives any that serve its transport. Pure, as the plan is. Called by the makers of legs and
 * workers only.
 */
#ifndef PLENUM_NETCFG_PLAN_VF_H
#define PLENUM_NETCFG_PLAN_VF_H

#include "netcfg/plan/planner.h"

/* Gives each worker that claims one its VF of the leg, and fills leg->n_vfs, and leg->why_no_vfs
 * where somebody goes without; what the spec asks for and the device can never give goes to b->d,
 * what others have made of its VFs to the leg's state. */
void plan_vf_check_leg(struct plan_builder *b, struct plan_leg *leg);
/* One more, for a worker that nobody has asked any for by name: into w->vf and leg->n_vfs. False:
 * it cannot have one, and why. */
bool plan_vf_offer(struct plan_builder *b, struct plan_leg *leg, struct plan_worker *w,
		   struct reason *why);
/* Whether this plan may take the worker to what nobody has agreed to. */
bool plan_vf_may_move(const struct plan_builder *b, const struct plan_worker *w);
/* Whether VFs of this leg's device are what the worker asks for by name, or was agreed to. */
bool plan_vf_is_agreed(const struct plan_builder *b, const struct plan_leg *leg,
		       const struct plan_worker *w);
/* Whether workers that send so can use VFs of the leg's device. */
bool plan_vf_fits(const struct plan_leg *leg, enum spec_transport t);
/* The VF that a worker has on this leg, into port: its reference, MAC, and address where it is
 * there already. False: there is none for it. */
bool plan_vf_take(const struct plan_builder *b, const struct plan_leg *leg,
		  const struct plan_worker *w, struct plan_port *port);
/* The PFs whose VFs the plan makes, into made, as plan_context.made has them. */
size_t plan_vf_made(const struct plan *p, char made[static PLAN_PORTS_MAX][16]);
/* The address that VF number vf of this PF is given. */
struct mac_addr plan_vf_mac(const struct inv_link *pf, uint32_t vf);
/* Fills in the address of the port's VF, if it is there. */
void plan_vf_resolve(struct plan_port *port, const struct inventory *inv);
/* A living worker has the function open, or a VF of it. NULL: no function. */
bool plan_vf_is_held(const struct plan_builder *b, const struct inv_function *fn);
/* Wants all VFs of the leg, with MAC, VLAN and driver. 0, -ENOMEM. */
int plan_vf_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
