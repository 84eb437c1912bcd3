/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One step of a plan: one change of one kernel object (object.h). Plans are made of steps, the
 * journal records them, and an apply runs them. A value without heap.
 */
#ifndef PLENUM_NETCFG_PLAN_STEP_H
#define PLENUM_NETCFG_PLAN_STEP_H

#include "netcfg/host/kernel.h"

enum plan_verb {
	PLAN_ADD,
	PLAN_DEL,
	PLAN_SET,
	PLAN_RESTORE, /* sets the value found before Plenum first changed it */
	PLAN_VERB_MAX
};

struct object_kind; /* object.h */

struct plan_step {
	const struct object_kind *kind;
	enum plan_verb verb;
	unsigned phase;			/* enum object_phase */
	char leg[PLENUM_NAME_MAX];	/* leg that needs the step; "": the host */
	char ifname[IFNAMSIZ];		/* its interface; "": none */
	char link[KERNEL_LINK_REF_MAX]; /* the link to change; looked up again when the step runs */
	/* The request to the kernel. ifindex and old value are those of the inventory; the step
	 * captures the current ones when it runs. */
	struct kernel_change change;
	char reason[160]; /* one sentence */
	bool disruptive;  /* traffic may stop, so the apply needs a confirmation */
};

#endif
