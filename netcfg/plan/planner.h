/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface between plan_build and the planners in plugins/, one for each mode of `ha`. A planner
 * decides which legs the data devices form and what the host needs for them. It reads only the
 * inventory and adds only desired state. plan_build then compares the desired with the actual state
 * and makes the steps. netcfg names no planner; plugins/ registers the table.
 */
#ifndef PLENUM_NETCFG_PLANNER_H
#define PLENUM_NETCFG_PLANNER_H

#include "netcfg/plan/plan.h"

struct plan_leg {     /* a configured leg; plan.legs also has the other legs */
	size_t index; /* index in spec.nets and plan.legs */
	const struct spec_net *net;
	const struct spec_network *network;
	const struct inv_link *link; /* the link with the data IPs */
	/* the device that the spec names: `link` itself, or the parent of `link` if that is a
	 * VLAN */
	const struct inv_link *device;
	char label[PLENUM_NAME_MAX];
	uint32_t table;	  /* routing table that only this leg uses */
	uint32_t mtu;	  /* IP packet size in bytes, after the plan is applied */
	bool set_mtu;	  /* the plan sets the MTU of the link; otherwise the link already has
			     the MTU */
	bool shared;	  /* the leg uses the host's own address, so the plan changes nothing
			     for it */
	bool same_subnet; /* another leg is in the same subnet */
	/* Count of the leg's VFs after the plan is applied. If it is 0 although workers could use
	 * VFs, why_no_vfs tells the reason. */
	uint32_t n_vfs;
	struct reason why_no_vfs;
};

/* The desired state, as the steps that would create this state on a host without any of it. */
struct plan_want {
	struct plan_step *steps;
	size_t n, cap;
};

/* A data device that is, or becomes, a port of a bond. */
struct plan_member {
	const struct spec_net *net;
	uint32_t ifindex; /* ifindex of the device; 0: the device is missing */
	char ifname[IFNAMSIZ];
	enum plan_leg_state state;
	struct reason reason;
	/* the device becomes a port of Plenum's bond, and addresses of other programs move to the
	 * bond */
	bool taken_over;
};

/* The bond that the data devices form (plan_bond.h). name "": they form no bond. */
struct plan_bond {
	char name[IFNAMSIZ];
	struct inv_bond_setting setting;
	struct plan_member members[PLAN_PORTS_MAX]; /* the members in the order of given->nets */
	size_t n_members;
	/* state of the bond's leg, which follows from the states of the members */
	enum plan_leg_state state;
	struct reason reason;
	struct spec spec; /* the spec with the bond as its only data device */
	struct spec_net net;
};

/* The device that `match` selected for a leg (plan_match.h). */
struct plan_pick {
	uint32_t ifindex; /* 0: none */
	bool in_service;  /* the leg is in service on the device */
	/* The worst state that the leg can have, if not PLAN_LEG_USABLE, and the reason. */
	enum plan_leg_state state;
	struct reason why;
};

struct plan_builder {
	/* the spec to plan: bond.spec if there is a bond, otherwise `given` */
	const struct spec *spec;
	const struct spec *given; /* the spec as the operator wrote it */
	/* The actual host plus the links that the plan creates (plan_project.h). */
	const struct inventory *inv;
	/* owned copy of the inventory with the links that the plan creates; NULL: the plan creates
	 * no links */
	struct inventory *projected;
	const struct plan_context *ctx; /* never NULL */
	struct diag *d;
	struct plan *plan; /* the plan; its workers are complete before `want` is called */
	struct plan_leg legs[PLAN_PORTS_MAX];
	size_t n_legs;
	struct plan_pick picks[PLAN_PORTS_MAX]; /* in the order of given->nets */
	struct plan_bond bond;
	/* networks of the host's own addresses, for the legs that share these addresses */
	struct spec_network shared[PLAN_PORTS_MAX];
	struct plan_want want;
	unsigned forced_used; /* bit i is set if ctx->forced[i] overrode a check */
};

struct planner_ops {
	enum spec_ha mode;
	/* Checks the spec without a host, and adds errors to d. NULL if the mode has no such
	 * checks. */
	void (*check)(const struct spec *spec, struct diag *d);
	/* Adds the links that the mode creates to b->inv (plan_project.h). Returns 0 or -ENOMEM.
	 * NULL if the mode creates no links. */
	int (*links)(struct plan_builder *b);
	/* Called before `legs`: sets the reasons for degraded objects of the mode, and makes checks
	 * that need a host. NULL if the mode needs neither. */
	void (*reasons)(struct plan_builder *b);
	/* Adds the legs from spec->nets to plan.legs and b->legs. Errors of the spec go to d;
	 * problems of the host become states of legs. Returns 0 or -ENOMEM. If NULL, every data
	 * device is a leg. */
	int (*legs)(struct plan_builder *b);
	/* Adds the desired state; called only if d has no error. Returns 0 or -ENOMEM. If NULL, the
	 * desired state of every leg is added. */
	int (*want)(struct plan_builder *b);
};

/* Registers the table of all planners. The table must stay valid. Call it once, before the first
 * plan. */
void planner_table_set(const struct planner_ops *const *table, size_t n);
const struct planner_ops *planner_find(enum spec_ha mode);

/*
 * Planners call this function for each device in the order of spec->nets. It adds the leg of
 * spec->nets[i] with its state to the plan, and to b->legs if it can be configured. Returns 0, even
 * after an error in d, or -ENOMEM.
 */
int planner_leg_add(struct plan_builder *b, size_t i);
/* Calls planner_leg_add for every data device. */
int planner_legs_add(struct plan_builder *b);
/* Adds only the entry of plan.legs, for a leg that cannot be configured. */
void planner_leg_show(struct plan_builder *b, size_t i);
/* Returns the network with that name, or NULL if it is not defined. */
const struct spec_network *planner_network_find(const struct spec *spec, const char *name);
/* Sets the state and the reason of leg i if the new state is worse than the present one; otherwise
 * nothing changes. With policy.on-fallback: refuse, a leg that is not configured is also an error
 * in d. */
void planner_leg_set_state(struct plan_builder *b, size_t i, enum plan_leg_state state,
			   const struct reason *why);
/* Adds the desired state of a leg with its own addresses: kernel settings, link, addresses, routes
 * by source address and their rules. Returns 0 or -ENOMEM. */
int planner_want_leg(struct plan_builder *b, const struct plan_leg *leg);
/* Calls planner_want_leg for every leg. */
int planner_want_legs(struct plan_builder *b);
/* Appends a desired step for an object of that kind (object.h) on the leg's link; the caller sets
 * the change. Returns NULL if out of memory. */
struct plan_step *planner_want_add(struct plan_builder *b, const struct object_kind *kind,
				   const struct plan_leg *leg);
/* Sets the link of the step. */
void planner_step_on(struct plan_step *s, const struct inv_link *link);
/* Returns whether Plenum added this address, according to its protocol number or, if the kernel
 * does not store that, to the record of owned values. */
bool plan_addr_is_ours(const struct plan_builder *b, const struct inv_addr *have);

/* Returns whether the link belongs to a leg of the spec that cannot be configured now. */
bool plan_link_waits(const struct plan_builder *b, const struct inv_link *link);
/* Returns whether a running worker has opened the function or one of its VFs. fn may be NULL. */
bool plan_function_is_held(const struct plan_builder *b, const struct inv_function *fn);
/* Returns whether other programs use a link that Plenum created, so that its removal would cut them
 * off. */
bool plan_link_serves_others(const struct plan_builder *b, const struct inv_link *link);

/* Only plan_build calls these two functions. plan_workers_build adds the workers with their ports
 * and addresses; plan_diff_build computes the steps from desired and actual state. They return 0 or
 * -ENOMEM; contradictions go to d. */
int plan_workers_build(struct plan_builder *b);
int plan_diff_build(struct plan_builder *b);
/* Appends a zeroed step to a growing array; returns NULL if out of memory. */
struct plan_step *plan_step_append(struct plan_step **steps, size_t *n, size_t *cap);

#endif
