/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a plan's steps via kernel_ops. Every step and its inverse is written to the journal before
 * it is done; the first failure stops the run and rolls back what was done, last first. When all
 * steps are done the journal stays until the caller has verified the host and says
 * apply_commit(), or apply_rollback(). A journal left by a killed process at any moment before that
 * is rolled back at the next start, by apply_recover(). There is no other rollback than this: it
 * inverts what was DONE, never what was KEPT because the host was so already.
 */
#ifndef PLENUM_NETCFG_APPLY_H
#define PLENUM_NETCFG_APPLY_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

struct apply_outcome {
	size_t n_done;		  /* steps done */
	size_t n_rolled_back;	  /* of those, inverted after a failure */
	int error;		  /* 0, or the failing step's negative errno */
	size_t failed_step;	  /* its index; SIZE_MAX: none failed */
	char why[KERNEL_WHY_MAX]; /* kernel's text */
	bool stuck;	/* the rollback failed too: the host is between; the text names it */
	bool committed; /* of a recovery: what was left was committed, and is kept */
};

/* An apply on its way: owns the journal and its lock, borrows the kernel. */
struct apply;

/*
 * Runs the plan. `journal` is the path of a file that is made and kept locked until the apply ends
 * (its format: apply_journal.h); an empty plan makes none. 0 and *ret, which ends with
 * apply_commit or apply_rollback; else the failing step's negative errno, with everything rolled
 * back unless out->stuck, and *ret NULL. -EEXIST: an unfinished apply has left a journal, recover
 * first; -EBUSY: another process is applying. Both change nothing, as does any other error of the
 * journal's file. *out is always written.
 */
int apply_run(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
	      struct apply_outcome *out);
/*
 * The same up to the links, before the first address is added: who applies can look then whether
 * others have them. Ends as apply_run does, or goes on with apply_go_on.
 */
int apply_run_links(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
		    struct apply_outcome *out);
/* Goes on under the same journal: with the rest of the same plan, or with the steps of a plan that
 * was made anew since. 0; else as apply_run, with all of a rolled back and freed. */
int apply_go_on(struct apply *a, const struct plan *p, bool anew, struct apply_outcome *out);
/* The host is verified: updates the record of owned values, removes the journal, and frees a. 0,
 * with out->why where the record or the journal's removal failed; negative errno: the journal could
 * not be written, so all was rolled back. */
int apply_commit(struct apply *a, struct apply_outcome *out);
/* Makes the host as it was before the apply, and frees a. 0; negative errno with out->stuck and the
 * reason: the journal is kept for apply_recover. */
int apply_rollback(struct apply *a, struct apply_outcome *out);
/*
 * Rolls back what a journal says was begun and not committed, and removes it. 0: nothing to do or
 * rolled back; -EBUSY: its writer is alive; -EBADMSG: it is not a journal of this version; a
 * step's negative errno (then it is kept). A journal from before a reboot, or of another network
 * namespace, has nothing left to roll back: it is removed, and out->why says so. *out is always
 * written.
 */
int apply_recover(struct kernel *k, const char *journal, struct apply_outcome *out);
/*
 * Whether the host now is as wanted: collects, plans in the same context (NULL: nothing runs), and
 * expects no step and no address in duplicate detection, until deadline_ns on the clock of
 * clock_now_ns(). A missing carrier is no reason to fail: the other leg is there for that. 0;
 * -ETIMEDOUT with the remaining steps as errors in d; -EADDRINUSE: another host has one of the
 * addresses; plan_build's errors.
 */
int apply_verify(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		 uint64_t deadline_ns, struct diag *d);

#endif
