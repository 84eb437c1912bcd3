/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs one step or its inverse. If the kernel reports "exists already" or "not found", these
 * functions decide whether the host is as desired. Only apply and recovery call this.
 */
#ifndef PLENUM_NETCFG_APPLY_STEP_H
#define PLENUM_NETCFG_APPLY_STEP_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

enum apply_step_state {
	APPLY_STEP_BEGUN, /* the step has begun, and it is unknown whether the step took effect */
	APPLY_STEP_DONE,
	APPLY_STEP_KEPT, /* the host was already as desired, so the step is never rolled back */
	APPLY_STEP_ROLLED_BACK,
	APPLY_STEP_STATE_MAX
};

/* Looks up the link or function and reads the old value into s, because the journal needs both
 * before the step runs. Returns 0, or negative errno with the reason in why. */
int apply_step_capture(struct kernel *k, struct plan_step *s, struct reason *why);
/* Runs a step after apply_step_capture. Returns 0 and the state DONE or KEPT in *ret, or negative
 * errno with the kernel's text in why. */
int apply_step_do(struct kernel *k, const struct plan_step *s, enum apply_step_state *ret,
		  struct reason *why);
/* Runs the inverse of a step in state BEGUN or DONE. If the step was only BEGUN, it first checks
 * whether the step took effect. Returns 0, also if there is nothing to do, or negative errno with
 * the reason in why. */
int apply_step_roll_back(struct kernel *k, const struct plan_step *s, enum apply_step_state state,
			 struct reason *why);

#endif
