/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between plan_build and the planners in plugins/, one per mode of `ha`. A planner
 * decides which legs the data devices form and what the host needs for them. It sees the host only
 * through the inventory and makes no steps: the plan compares desired and actual state. netcfg
 * knows no planner by name; plugins/ registers its table.
 */
#ifndef PLENUM_NETCFG_PLANNER_H
#define PLENUM_NETCFG_PLANNER_H

#include "netcfg/plan/plan.h"

struct plan_leg {     /* a configured leg; plan.legs has all legs */
	size_t index; /* in spec.nets and plan.legs */
	const struct spec_net *net;
	const struct spec_network *network;
	const struct inv_link *link;   /* the link with the data IPs */
	const struct inv_link *device; /* the device named by the spec: the link itself or the
					  parent of its VLAN */
	char label[PLENUM_NAME_MAX];
	uint32_t table;	  /* routing table used only by this leg */
	uint32_t mtu;	  /* IP packet size in bytes after the plan */
	bool set_mtu;	  /* the plan sets this MTU; otherwise it is the link's current one */
	bool shared;	  /* on the host's own address: the plan changes nothing for it */
	bool same_subnet; /* another leg is in the same subnet */
	/* Number of VFs after the plan; 0: none, and why_no_vfs says why if workers could use
	 * some. */
	uint32_t n_vfs;
	struct reason why_no_vfs;
};

/* The desired state, as the steps that would create it on an empty host. */
struct plan_want {
	struct plan_step *steps;
	size_t n, cap;
};

/* A data device that is, or becomes, a port of a bond. */
struct plan_member {
	const struct spec_net *net;
	uint32_t ifindex; /* 0: the device is missing */
	char ifname[IFNAMSIZ];
	enum plan_leg_state state;
	struct reason reason;
	bool taken_over; /* becomes a port of our bond; addresses of other programs move to the bond
			  */
};

/* The bond formed by the data devices (plan_bond.h); name "": no bond. */
struct plan_bond {
	char name[IFNAMSIZ];
	struct inv_bond_setting setting;
	struct plan_member members[PLAN_PORTS_MAX]; /* in the order of given->nets */
	size_t n_members;
	enum plan_leg_state state; /* state of its leg as far as the members determine it */
	struct reason reason;
	struct spec spec; /* the spec with the bond as its only data device */
	struct spec_net net;
};

struct plan_builder {
	const struct spec *spec;  /* the spec to plan: with a bond, bond.spec */
	const struct spec *given; /* the spec as written */
	/* The actual host plus links that the plan creates (plan_project.h). */
	const struct inventory *inv;
	struct inventory *projected;	/* NULL: the plan creates no links */
	const struct plan_context *ctx; /* never NULL */
	struct diag *d;
	struct plan *plan; /* its workers are complete before `want` is called */
	struct plan_leg legs[PLAN_PORTS_MAX];
	size_t n_legs;
	struct plan_bond bond;
	/* The host's networks of legs on its own addresses. */
	struct spec_network shared[PLAN_PORTS_MAX];
	struct plan_want want;
	unsigned forced_used; /* one bit for each of ctx->forced that overrode a check */
};

struct planner_ops {
	enum spec_ha mode;
	/* Checks the spec alone, errors into d; NULL: no checks. */
	void (*check)(const struct spec *spec, struct diag *d);
	/* Adds the links that the mode creates to b->inv (plan_project.h); NULL: none. 0, -ENOMEM.
	 */
	int (*links)(struct plan_builder *b);
	/* Called before legs: reasons for degraded objects of the mode, and checks that need a
	 * host. NULL: none. */
	void (*reasons)(struct plan_builder *b);
	/* Fills legs from spec->nets. Errors of the spec go to d; problems of the host become leg
	 * states. NULL: every data device is a leg. 0, -ENOMEM. */
	int (*legs)(struct plan_builder *b);
	/* Adds the desired state; called only if d has no error. NULL: that of every leg. 0,
	 * -ENOMEM. */
	int (*want)(struct plan_builder *b);
};

/* Registers the table of all planners, which must stay valid; call once, before the first plan. */
void planner_table_set(const struct planner_ops *const *table, size_t n);
const struct planner_ops *planner_find(enum spec_ha mode);

/*
 * For planners, in the order of spec->nets: adds the leg of spec->nets[i] with its state to the
 * plan, and to b->legs if it can be configured. 0, also after an error in d.
 */
int planner_leg_add(struct plan_builder *b, size_t i);
/* The same for every data device. */
int planner_legs_add(struct plan_builder *b);
/* Adds only the row of the plan, for a leg that cannot be configured. */
void planner_leg_show(struct plan_builder *b, size_t i);
/* The network with that name; NULL: not defined. */
const struct spec_network *planner_network_find(const struct spec *spec, const char *name);
/* Lowers the state of leg i, never raises it; the first reason of a state stays. With
 * policy.on-fallback: refuse, an unconfigured leg is also an error in d. */
void planner_leg_set_state(struct plan_builder *b, size_t i, enum plan_leg_state state,
			   const struct reason *why);
/* Adds everything that a leg with its own addresses needs: kernel settings, link, addresses,
 * source routes and rules. 0, -ENOMEM. */
int planner_want_leg(struct plan_builder *b, const struct plan_leg *leg);
/* The same for every leg. */
int planner_want_legs(struct plan_builder *b);
/* Appends a desired step for an object of that kind (object.h) on the leg's link; the caller fills
 * in the change. NULL: out of memory. */
struct plan_step *planner_want_add(struct plan_builder *b, const struct object_kind *kind,
				   const struct plan_leg *leg);
/* Sets the link of the step. */
void planner_step_on(struct plan_step *s, const struct inv_link *link);
/* Whether Plenum added this address: by its protocol number or, on kernels that do not keep it, by
 * the record. */
bool plan_addr_is_ours(const struct plan_builder *b, const struct inv_addr *have);

/* Whether the link belongs to a leg of the spec that cannot be configured now. */
bool plan_link_waits(const struct plan_builder *b, const struct inv_link *link);
/* Whether a running worker has the function or one of its VFs open. fn may be NULL. */
bool plan_function_is_held(const struct plan_builder *b, const struct inv_function *fn);
/* Whether other programs use a link of ours, so that removing it would cut them off. */
bool plan_link_serves_others(const struct plan_builder *b, const struct inv_link *link);

/* Used only by plan_build. Add the workers with their ports and addresses; compute the steps from
 * desired and actual state. 0, -ENOMEM; contradictions go to d. */
int plan_workers_build(struct plan_builder *b);
int plan_diff_build(struct plan_builder *b);
/* Appends a zeroed step to a growing array; NULL: out of memory. */
struct plan_step *plan_step_append(struct plan_step **steps, size_t *n, size_t *cap);

#endif
