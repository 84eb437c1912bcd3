/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One step: doing it, and taking it back. Knows when the kernel's "exists already" or "not there"
 * means that the host is as wanted. Owns nothing; called by apply and by recovery only.
 */
#ifndef PLENUM_NETCFG_APPLY_STEP_H
#define PLENUM_NETCFG_APPLY_STEP_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

enum apply_step_state {
	APPLY_STEP_BEGUN, /* may or may not have happened */
	APPLY_STEP_DONE,
	APPLY_STEP_KEPT, /* the host was so already: not ours to undo */
	APPLY_STEP_ROLLED_BACK,
	APPLY_STEP_STATE_MAX
};

/* 0 and DONE or KEPT in *ret; negative errno with the kernel's text in why (KERNEL_WHY_MAX). */
int apply_step_do(struct kernel *k, const struct plan_step *s, enum apply_step_state *ret,
		  char *why);
/* Takes back a step in state BEGUN or DONE; for one only BEGUN it looks first whether it happened.
 * 0 also where there is nothing to take back; negative errno with why. */
int apply_step_undo(struct kernel *k, const struct plan_step *s, enum apply_step_state state,
		    char *why);

#endif
