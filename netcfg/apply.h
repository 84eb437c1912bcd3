/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a plan's steps through kernel_ops. Every step and its undo is written to the journal before
 * it is done; the first failure stops the run and undoes what was done, last first. A journal left
 * by a killed process is finished the same way at the next start.
 */
#ifndef PLENUM_NETCFG_APPLY_H
#define PLENUM_NETCFG_APPLY_H

#include "netcfg/kernel.h"
#include "netcfg/plan.h"

struct apply_outcome {
	size_t n_done;	 /* steps done */
	size_t n_undone; /* of those, undone after a failure */
	int error;	 /* 0, or the failing step's negative errno */
	size_t failed_step;
	char why[KERNEL_WHY_MAX]; /* kernel's text */
	bool stuck;		  /* an undo failed too: the host is between; the text names it */
};

/* 0; the failing step's negative errno. journal: path of a file that is made, synced and removed.
 */
int apply_run(struct kernel *k, const struct plan *p, const char *journal,
	      struct apply_outcome *ret);
/* Undoes what a journal says was begun and not finished. 0: nothing to do or undone; negative
 * errno. */
int apply_recover(struct kernel *k, const char *journal, struct apply_outcome *ret);
/*
 * Whether the host now is as wanted: collects, plans, and expects no step, until deadline_ns
 * (addresses in duplicate detection and carriers take their time). 0; -ETIMEDOUT with the remaining
 * steps as errors in d.
 */
int apply_verify(struct kernel *k, const struct spec *spec, uint64_t deadline_ns, struct diag *d);

#endif
