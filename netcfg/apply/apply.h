/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a plan's steps via kernel_ops. Each step and its inverse is journalled before it is done;
 * the first failure stops the run and rolls back in reverse order. After the last step the journal
 * stays until the caller has verified the host and calls apply_commit() or apply_rollback().
 * apply_recover() rolls back the journal of a killed process at the next start. There is no other
 * rollback: it inverts steps that were DONE, never steps that were KEPT because the host was
 * already as desired.
 */
#ifndef PLENUM_NETCFG_APPLY_H
#define PLENUM_NETCFG_APPLY_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

struct apply_outcome {
	size_t n_done;	      /* steps done */
	size_t n_rolled_back; /* of those, inverted after a failure */
	int error;	      /* 0, or the failing step's negative errno */
	size_t failed_step;   /* its index; SIZE_MAX: none */
	struct reason why;    /* the text alone: the step and the kernel's answer */
	bool stuck; /* the rollback failed too: the host is partially configured; `why` names the
		       step */
	bool committed; /* recovery: the journal was committed, so its steps stay */
};

/* An apply in progress: owns the journal and its lock, borrows the kernel. */
struct apply;

/*
 * Runs the plan. `journal` is the path of a file that is created and kept locked until the apply
 * ends (format: apply_journal.h); an empty plan creates none. 0 and *ret, to be passed to
 * apply_commit or apply_rollback; else the failing step's negative errno, with everything rolled
 * back unless out->stuck, and *ret NULL. -EEXIST: an unfinished apply left a journal, recover
 * first; -EBUSY: another process is applying. These, and other journal errors, change nothing.
 * *out is always written.
 */
int apply_run(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
	      struct apply_outcome *out);
/*
 * The same, but stops before the first address is added, so that the caller can probe for
 * duplicate addresses. Ends like apply_run, or continues with apply_go_on.
 */
int apply_run_links(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
		    struct apply_outcome *out);
/* Continues under the same journal: with the rest of the same plan or, if is_new, with the steps
 * of a newer plan. 0; otherwise like apply_run, with everything rolled back and a freed. */
int apply_go_on(struct apply *a, const struct plan *p, bool is_new, struct apply_outcome *out);
/* Commits: updates the record of owned values, removes the journal and frees a. 0, with out->why
 * if the record or the journal's removal failed; negative errno: the journal could not be written,
 * so everything was rolled back. */
int apply_commit(struct apply *a, struct apply_outcome *out);
/* Restores the host as before the apply and frees a. 0; negative errno with out->stuck and the
 * reason: the journal stays for apply_recover. */
int apply_rollback(struct apply *a, struct apply_outcome *out);
/*
 * Rolls back an uncommitted journal and removes it. 0: nothing to do or rolled back; -EBUSY: its
 * writer is alive; -EBADMSG: not a journal of this version; a step's negative errno (the journal
 * then stays). A journal from before a reboot or of another network namespace needs no rollback:
 * it is removed, and out->why says so. *out is always written.
 */
int apply_recover(struct kernel *k, const char *journal, struct apply_outcome *out);
/*
 * Verifies the host: collects, plans in the same context (NULL: nothing runs) and expects no step
 * and no address in duplicate address detection, until deadline_ns of clock_now_ns(). A missing
 * carrier is not a failure: the other leg covers it. 0; -ETIMEDOUT with the remaining steps as
 * errors in d; -EADDRINUSE: another host uses one of the addresses; plan_build's errors.
 */
int apply_verify(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		 uint64_t deadline_ns, struct diag *d);

#endif
