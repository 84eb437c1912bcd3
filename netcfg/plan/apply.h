/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a plan's steps through kernel_ops. Every step and its undo is written to the journal before
 * it is done; the first failure stops the run and undoes what was done, last first. A journal left
 * by a killed process is finished the same way at the next start.
 */
#ifndef PLENUM_NETCFG_APPLY_H
#define PLENUM_NETCFG_APPLY_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

struct apply_outcome {
	size_t n_done;	 /* steps done */
	size_t n_undone; /* of those, undone after a failure */
	int error;	 /* 0, or the failing step's negative errno */
	size_t failed_step;
	char why[KERNEL_WHY_MAX]; /* kernel's text */
	bool stuck;		  /* an undo failed too: the host is between; the text names it */
};

/*
 * Runs the plan. `journal` is the path of a file that is made, kept locked, and removed at the end
 * (its format: apply_journal.h); an empty plan makes none. 0; else the failing step's negative
 * errno, with everything undone unless ret->stuck. -EEXIST: an unfinished apply has left a journal,
 * recover first; -EBUSY: another process is applying. Both change nothing, as does any other error
 * of the journal's file. *ret is always written.
 */
int apply_run(struct kernel *k, const struct plan *p, const char *journal,
	      struct apply_outcome *ret);
/*
 * Undoes what a journal says was begun and not finished, and removes it. 0: nothing to do or
 * undone; -EBUSY: its writer is alive; -EBADMSG: it is not a journal of this version; an undo's
 * negative errno (then it is kept). A journal from before a reboot, or of another network
 * namespace, has nothing left to undo: it is removed, and ret->why says so. *ret is always written.
 */
int apply_recover(struct kernel *k, const char *journal, struct apply_outcome *ret);
/*
 * Whether the host now is as wanted: collects, plans, and expects no step and no address in
 * duplicate detection, until deadline_ns on the clock of clock_now_ns(). A missing carrier is no
 * reason to fail: the other leg is there for that. 0; -ETIMEDOUT with the remaining steps as errors
 * in d; -EADDRINUSE: another host has one of the addresses; plan_build's errors.
 */
int apply_verify(struct kernel *k, const struct spec *spec, uint64_t deadline_ns, struct diag *d);
/* The same while the workers of `running` live; see plan_build_running. */
int apply_verify_running(struct kernel *k, const struct spec *spec, const struct plan *running,
			 uint64_t deadline_ns, struct diag *d);

#endif
