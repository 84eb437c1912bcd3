/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One step: doing it, and doing its inverse. Knows when the kernel's "exists already" or "not
 * there" means that the host is as wanted. Owns nothing; called by apply and by recovery only.
 */
#ifndef PLENUM_NETCFG_APPLY_STEP_H
#define PLENUM_NETCFG_APPLY_STEP_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

enum apply_step_state {
	APPLY_STEP_BEGUN, /* may or may not have happened */
	APPLY_STEP_DONE,
	APPLY_STEP_KEPT, /* the host was so already: not ours to roll back */
	APPLY_STEP_ROLLED_BACK,
	APPLY_STEP_STATE_MAX
};

/* Finds the link or the function that the step is done on. 0; -ENODEV: it is not there. */
int apply_step_find(struct kernel *k, struct plan_step *s);
/* Finds the step's place and reads its old value, both into s: what the journal is told before
 * anything is done. 0; negative errno with why (KERNEL_WHY_MAX). */
int apply_step_capture(struct kernel *k, struct plan_step *s, char *why);
/* Does a captured step. 0 and DONE or KEPT in *ret; negative errno with the kernel's text in why.
 */
int apply_step_do(struct kernel *k, const struct plan_step *s, enum apply_step_state *ret,
		  char *why);
/* Does the inverse of a step in state BEGUN or DONE; for one only BEGUN it looks first whether it
 * happened. 0 also where there is nothing to do; negative errno with why. */
int apply_step_roll_back(struct kernel *k, const struct plan_step *s, enum apply_step_state state,
			 char *why);

#endif
