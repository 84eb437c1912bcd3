/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the plan and the features of a leg in netcfg/feature: VLAN, VFs, DCB, RoCE
 * and the like. A feature is one const table row; the plan loops over the rows and knows none by
 * name. plugins_register() hands the table in. Functions that a feature does not need are NULL.
 */
#ifndef PLENUM_NETCFG_PLAN_FEATURE_H
#define PLENUM_NETCFG_PLAN_FEATURE_H

#include "netcfg/plan/planner.h"

/* When a feature adds its desired state, relative to the rest of a leg. */
enum plan_stage {
	PLAN_STAGE_DEVICE, /* first, and also for legs on the host's own address */
	PLAN_STAGE_BEFORE_LINK,
	PLAN_STAGE_AFTER_LINK, /* after the MTU and state of the leg's link */
	PLAN_STAGE_MAX
};

struct plan_feature {
	const char *name;
	/* Adds links that legs need and the plan will create to b->inv (plan_project.h). 0,
	 * -ENOMEM. */
	int (*project)(struct plan_builder *b);
	/* True and why if the leg's MTU is impossible on its device. */
	bool (*refuse_mtu)(const struct plan_leg *leg, struct reason *why);
	/* Degrades leg i (planner_leg_set_state) if its device cannot do what the spec asks for,
	 * and adds needs. */
	void (*check_leg)(struct plan_builder *b, size_t i, const struct plan_leg *leg);
	/* Adds the desired state of the leg. 0, -ENOMEM. */
	int (*want[PLAN_STAGE_MAX])(struct plan_builder *b, const struct plan_leg *leg);
	/* Gives each worker that claims a queue of the leg's device one, such as a VF; also sets
	 * leg->n_vfs and leg->why_no_vfs. */
	void (*claim)(struct plan_builder *b, struct plan_leg *leg);
	/* Offers one more to a worker with transport: auto. False: none, and why. */
	bool (*offer)(struct plan_builder *b, struct plan_leg *leg, struct plan_worker *w,
		      struct reason *why);
	/* Fills in the port of a worker that has one. False: it has none. */
	bool (*take)(const struct plan_builder *b, const struct plan_leg *leg,
		     const struct plan_worker *w, struct plan_port *port);
	/* Fills in values of a port that exist only after the steps. */
	void (*resolve)(struct plan_port *port, const struct inventory *inv);
	/* Whether an address that the kernel has is not completely usable yet. */
	bool (*addr_is_pending)(const struct inventory *inv, const struct inv_addr *a);
};

/* Registers the table of all features in the order in which they are called; it must stay valid.
 * Call once, before the first plan. */
void plan_features_set(const struct plan_feature *const *table, size_t n);

/* Each calls the function of that name of all features that have one. */
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
/* For the verification of an applied plan: whether a feature still waits for the address. */
bool plan_features_addr_is_pending(const struct inventory *inv, const struct inv_addr *a);

#endif
