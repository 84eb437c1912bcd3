/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a mode of `ha` is made of: the contract between plan_build and the planners in plugins/.
 * A planner says which legs the data devices make and what the host shall have for them; it never
 * looks at the host except through the inventory, and never makes steps: the plan compares what is
 * wanted with what is there. netcfg knows no planner by name; plugins/ hands its table in.
 */
#ifndef PLENUM_NETCFG_PLANNER_H
#define PLENUM_NETCFG_PLANNER_H

#include "netcfg/plan/plan.h"

struct plan_leg {     /* one that is configured; plan.legs has them all */
	size_t index; /* in spec.nets and plan.legs */
	const struct spec_net *net;
	const struct spec_network *network;
	const struct inv_link *link;   /* that has the addresses */
	const struct inv_link *device; /* that the spec means: the link, or what its VLAN is on */
	char label[PLENUM_NAME_MAX];
	uint32_t table;	  /* routing table of this leg alone */
	uint32_t mtu;	  /* bytes of IP packet once the plan is done */
	bool set_mtu;	  /* the plan gives the link this MTU; else it is the link's own */
	bool shared;	  /* on the host's own address: nothing is done for it */
	bool same_subnet; /* another leg lives in the same subnet */
	/* The VFs that the link has once the plan is done; 0: none, and why_no_vfs, where workers
	 * could have used some. */
	uint32_t n_vfs;
	struct reason why_no_vfs;
};

/* The wanted state, as the steps that would make it on an empty host. */
struct plan_want {
	struct plan_step *steps;
	size_t n, cap;
};

/* A data device that is a port of a bond, as it is or as it shall be. */
struct plan_member {
	const struct spec_net *net;
	uint32_t ifindex; /* 0: it is not there */
	char ifname[IFNAMSIZ];
	enum plan_leg_state state;
	struct reason reason;
	bool taken_over; /* it becomes a port of ours, and what others have on it moves */
};

/* The bond that the data devices make (plan_bond.h); name "": they make none. */
struct plan_bond {
	char name[IFNAMSIZ];
	struct inv_bond_setting setting;
	struct plan_member members[PLAN_PORTS_MAX]; /* in the order of given->nets */
	size_t n_members;
	enum plan_leg_state state; /* of its leg, as far as the members tell */
	struct reason reason;
	struct spec spec; /* the file's, with the bond as its one data device */
	struct spec_net net;
};

struct plan_builder {
	const struct spec *spec;  /* what is planned: where devices are one bond, that */
	const struct spec *given; /* as the file has it */
	/* What is there, and the links that the plan makes (plan_project.h). */
	const struct inventory *inv;
	struct inventory *projected;	/* NULL: it makes none */
	const struct plan_context *ctx; /* never NULL */
	struct diag *d;
	struct plan *plan; /* its workers are complete when `want` is called */
	struct plan_leg legs[PLAN_PORTS_MAX];
	size_t n_legs;
	struct plan_bond bond;
	/* Of legs on the host's own addresses: what the host itself says of their networks. */
	struct spec_network shared[PLAN_PORTS_MAX];
	struct plan_want want;
	unsigned forced_used; /* a bit for each of ctx->forced that was in the way */
};

struct planner_ops {
	enum spec_ha mode;
	/* What the mode says of the file alone, into d; NULL: nothing. */
	void (*check)(const struct spec *spec, struct diag *d);
	/* Adds the links that the mode makes to b->inv (plan_project.h); NULL: it makes none. 0,
	 * -ENOMEM. */
	int (*links)(struct plan_builder *b);
	/* Before the legs: why the mode's own objects are less than they could be, and the rules
	 * that need a host. NULL: there are none. */
	void (*reasons)(struct plan_builder *b);
	/* Fills legs from spec->nets; what the spec says wrongly goes to d, what the host lacks to
	 * the legs' states. 0, -ENOMEM. */
	int (*legs)(struct plan_builder *b);
	/* Adds what the host shall have; called only when d has no error. 0, -ENOMEM. */
	int (*want)(struct plan_builder *b);
};

/* The table (borrowed for good) of all planners; to be called once, before the first plan. */
void planner_table_set(const struct planner_ops *const *table, size_t n);
const struct planner_ops *planner_find(enum spec_ha mode);

/*
 * For planners, in the order of spec->nets. Adds the leg of spec->nets[i] to the plan with its
 * state, and to b->legs where it can be configured. 0, also when d got an error.
 */
int planner_leg_add(struct plan_builder *b, size_t i);
/* The row of the plan alone, for one that cannot be configured. */
void planner_leg_show(struct plan_builder *b, size_t i);
/* The network of that name; NULL: there is none. */
const struct spec_network *planner_network_find(const struct spec *spec, const char *name);
/* Makes the state of leg i worse, never better; the first reason of a state stays. Where
 * policy.on-fallback is refuse, a leg that is not configured is an error in d too. */
void planner_leg_set_state(struct plan_builder *b, size_t i, enum plan_leg_state state,
			   const struct reason *why);
/* All that a leg with addresses of its own wants: kernel settings, link, addresses, source routes
 * and rules. 0, -ENOMEM. */
int planner_want_leg(struct plan_builder *b, const struct plan_leg *leg);
/* A step at the end of what is wanted that makes an object of that kind (object.h) on the leg's
 * link; the caller completes its change. NULL: out of memory. */
struct plan_step *planner_want_add(struct plan_builder *b, const struct object_kind *kind,
				   const struct plan_leg *leg);
/* Makes the step one on that link. */
void planner_step_on(struct plan_step *s, const struct inv_link *link);
/* Whether we made this address: by its protocol number, or where the kernel does not keep that, by
 * the record. */
bool plan_addr_is_ours(const struct plan_builder *b, const struct inv_addr *have);

/* Whether the link is that of a leg which is in the spec and only cannot be configured now. */
bool plan_link_waits(const struct plan_builder *b, const struct inv_link *link);
/* Whether others have come to use a link of ours: taking it away would cut them off. */
bool plan_link_serves_others(const struct plan_builder *b, const struct inv_link *link);

/* Used by plan_build alone: the workers with their ports and addresses; and the steps from what is
 * wanted and what is there. 0, -ENOMEM; contradictions go to d. */
int plan_workers_build(struct plan_builder *b);
int plan_diff_build(struct plan_builder *b);
/* A zeroed element at the end of a growing array of steps; NULL: out of memory. */
struct plan_step *plan_step_append(struct plan_step **steps, size_t *n, size_t *cap);

#endif
