/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface between the plan and the features of a leg in netcfg/feature: VLAN, VFs, DCB, RoCE and
 * others. Each feature is one const table of functions, and the plan calls them in a loop without
 * naming a feature. plugins_register() registers the features. A function that a feature does not
 * need is NULL.
 */
#ifndef PLENUM_NETCFG_PLAN_FEATURE_H
#define PLENUM_NETCFG_PLAN_FEATURE_H

#include "netcfg/plan/planner.h"

/* When a feature adds its desired state, relative to the other parts of the leg's desired state. */
enum plan_stage {
	PLAN_STAGE_DEVICE, /* adds state first, even for legs on the host's own address */
	PLAN_STAGE_BEFORE_LINK,
	PLAN_STAGE_AFTER_LINK, /* adds state after the MTU and state of the leg's link */
	PLAN_STAGE_MAX
};

struct plan_feature {
	const char *name;
	/* Adds links that legs need and the plan will create to b->inv (plan_project.h). Returns 0
	 * or -ENOMEM. */
	int (*project)(struct plan_builder *b);
	/* Returns true and sets why if the device cannot have the leg's MTU. */
	bool (*refuse_mtu)(const struct plan_leg *leg, struct reason *why);
	/* Degrades leg i (planner_leg_set_state) if its device lacks a capability that the spec
	 * asks for, and adds operator actions. */
	void (*check_leg)(struct plan_builder *b, size_t i, const struct plan_leg *leg);
	/* Adds the desired state of the leg. Returns 0 or -ENOMEM. */
	int (*want[PLAN_STAGE_MAX])(struct plan_builder *b, const struct plan_leg *leg);
	/* Assigns a queue of the leg's device, such as a VF, to each worker that claims a queue.
	 * Also sets leg->n_vfs and leg->why_no_vfs. */
	void (*claim)(struct plan_builder *b, struct plan_leg *leg);
	/* Tries to assign one more queue to a worker with transport: auto. Returns false and sets
	 * why if none is left. */
	bool (*offer)(struct plan_builder *b, struct plan_leg *leg, struct plan_worker *w,
		      struct reason *why);
	/* Sets vf, pci and mac of *port to those of the worker's queue of the leg's device. Returns
	 * false if the worker has none. */
	bool (*take)(const struct plan_builder *b, const struct plan_leg *leg,
		     const struct plan_worker *w, struct plan_port *port);
	/* Sets the PCI address of the port, which exists only after the steps. */
	void (*resolve)(struct plan_port *port, const struct inventory *inv);
	/* Returns whether the address exists in the kernel but the feature cannot use it yet, for
	 * example because the address has no GID. */
	bool (*addr_is_pending)(const struct inventory *inv, const struct inv_addr *a);
};

/* Registers the table of all features, whose order is the order of calls. The table must stay
 * valid. Call it once, before the first plan. */
void plan_features_set(const struct plan_feature *const *table, size_t n);

/* Each of these functions calls the member of the same name of all features that have it. */
int plan_features_project(struct plan_builder *b);
bool plan_features_refuse_mtu(const struct plan_leg *leg, struct reason *why);
void plan_features_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
int plan_features_want(struct plan_builder *b, const struct plan_leg *leg, enum plan_stage stage);
void plan_features_claim(struct plan_builder *b, struct plan_leg *leg);
bool plan_features_offer(struct plan_builder *b, struct plan_leg *leg, struct plan_worker *w,
			 struct reason *why);
bool plan_features_take(const struct plan_builder *b, const struct plan_leg *leg,
			const struct plan_worker *w, struct plan_port *port);
void plan_features_resolve(struct plan_port *port, const struct inventory *inv);
/* Returns whether a feature still waits for the address. Used when an applied plan is verified. */
bool plan_features_addr_is_pending(const struct inventory *inv, const struct inv_addr *a);

#endif
