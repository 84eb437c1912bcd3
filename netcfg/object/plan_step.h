/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One step of a plan: one change of one kernel object (object.h). A plan consists of steps, an
 * apply runs them, and the journal records them. A step has no heap memory.
 */
#ifndef PLENUM_NETCFG_PLAN_STEP_H
#define PLENUM_NETCFG_PLAN_STEP_H

#include "netcfg/host/kernel.h"

enum plan_verb {
	PLAN_ADD,
	PLAN_DEL,
	PLAN_SET,
	PLAN_RESTORE, /* sets the value that the host had before Plenum first changed it */
	PLAN_VERB_MAX
};

struct object_kind; /* defined in object.h */

struct plan_step {
	const struct object_kind *kind;
	enum plan_verb verb;
	unsigned phase;		   /* enum object_phase */
	char leg[PLENUM_NAME_MAX]; /* the leg that needs the step; "": the host */
	char ifname[IFNAMSIZ];	   /* the leg's interface; "": none */
	/* reference to the link to change, which is looked up again when the step runs */
	char link[KERNEL_LINK_REF_MAX];
	/* The request to the kernel. Its ifindex and old value are from the inventory; when the
	 * step runs, it reads the current values. */
	struct kernel_change change;
	char reason[160]; /* one sentence */
	bool disruptive;  /* traffic may stop, so the apply must be confirmed */
};

#endif
