/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs one step, or its inverse. Decides when the kernel's "exists already" or "not found" means
 * that the host is as desired. Called only by apply and recovery.
 */
#ifndef PLENUM_NETCFG_APPLY_STEP_H
#define PLENUM_NETCFG_APPLY_STEP_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

enum apply_step_state {
	APPLY_STEP_BEGUN, /* may or may not have happened */
	APPLY_STEP_DONE,
	APPLY_STEP_KEPT, /* the host was already as desired: not rolled back */
	APPLY_STEP_ROLLED_BACK,
	APPLY_STEP_STATE_MAX
};

/* Looks up the link or function and reads the old value into s: the data that the journal needs
 * before the step. 0; negative errno with why. */
int apply_step_capture(struct kernel *k, struct plan_step *s, struct reason *why);
/* Runs a captured step. 0 and DONE or KEPT in *ret; negative errno with the kernel's text in why.
 */
int apply_step_do(struct kernel *k, const struct plan_step *s, enum apply_step_state *ret,
		  struct reason *why);
/* Runs the inverse of a step in state BEGUN or DONE; for one only BEGUN it first checks whether
 * the step took effect. 0 also if there is nothing to do; negative errno with why. */
int apply_step_roll_back(struct kernel *k, const struct plan_step *s, enum apply_step_state state,
			 struct reason *why);

#endif
