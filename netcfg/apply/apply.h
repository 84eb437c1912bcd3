/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the steps of a plan via kernel_ops. Each step is written to the journal, with the data for
 * its inverse, before it runs. The first failure stops the apply and rolls it back in reverse
 * order. After the last step the journal stays until the caller has verified the host and calls
 * apply_commit() or apply_rollback(). If the process is killed, apply_recover() rolls back its
 * journal at the next start. These three kinds of rollback (after a failed step, by
 * apply_rollback() and by apply_recover()) do the same: they invert the steps that were DONE, never
 * those that were KEPT because the host was already as desired.
 */
#ifndef PLENUM_NETCFG_APPLY_H
#define PLENUM_NETCFG_APPLY_H

#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan.h"

struct apply_outcome {
	size_t n_done;	      /* count of steps that were done */
	size_t n_rolled_back; /* count of steps that a rollback inverted */
	int error;	      /* 0, or the negative errno of the failing step */
	size_t failed_step;   /* index of the failing step; SIZE_MAX: none */
	struct reason why;    /* the failed step and the kernel's error, as a text without a code */
	/* the rollback failed too, so the host is partially configured; `why` names the step */
	bool stuck;
	bool committed; /* set by recoveries: the journal was committed, so its steps stay */
};

/* An apply in progress. It owns the journal and its lock, and borrows the kernel. */
struct apply;

/*
 * Runs the plan. `journal` is the path of a file that is created and kept locked until the apply
 * ends (format: apply_journal.h); an empty plan creates none. Returns 0 and *ret, which must be
 * passed to apply_commit or apply_rollback. If a step fails, returns its negative errno and sets
 * *ret to NULL; everything is then rolled back, or out->stuck is set. Returns -EEXIST if an
 * unfinished apply left a journal, so that the caller must recover first, or -EBUSY if another
 * process is applying. After these and other errors of the journal, the host is unchanged. *out is
 * always written.
 */
int apply_run(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
	      struct apply_outcome *out);
/*
 * Runs the plan like apply_run, but stops before the first address is added, so that the caller can
 * probe for duplicate addresses. The caller then continues with apply_go_on, or ends the apply as
 * after apply_run.
 */
int apply_run_links(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
		    struct apply_outcome *out);
/* Continues after apply_run_links, in the same journal, with the remaining steps of the same plan
 * or, if is_new, with the steps of a newer plan. Returns 0. If a step fails, everything is rolled
 * back, `a` is freed, and the result is as for apply_run. */
int apply_go_on(struct apply *a, const struct plan *p, bool is_new, struct apply_outcome *out);
/* Commits the apply: updates the record of owned values, removes the journal and frees a. Returns
 * 0; out->why is then set if updating the record or removing the journal failed. If the journal
 * cannot be written, rolls everything back and returns negative errno. */
int apply_commit(struct apply *a, struct apply_outcome *out);
/* Restores the host's state before the apply and frees a. Returns 0. On failure, sets out->stuck
 * and the reason, keeps the journal for apply_recover and returns negative errno. */
int apply_rollback(struct apply *a, struct apply_outcome *out);
/*
 * Rolls back an uncommitted journal and removes it. Returns 0, also without a journal. Returns
 * -EBUSY if the process that writes the journal is alive, or -EBADMSG if the file is not a journal
 * of this version. If a step fails, returns its negative errno and keeps the journal. A journal
 * from before a reboot or of another network namespace needs no rollback: it is removed, and
 * out->why says so. *out is always written.
 */
int apply_recover(struct kernel *k, const char *journal, struct apply_outcome *out);
/*
 * Verifies that the host is as the spec wants it. Repeatedly collects the inventory and plans in
 * the same context (NULL: nothing runs). Stops when the plan has no step and no address is in
 * duplicate address detection, or at deadline_ns (clock_now_ns()). A missing carrier is not a
 * failure, because the other legs carry the data. Returns 0, -ETIMEDOUT with the remaining steps as
 * errors in d, -EADDRINUSE if another host uses one of the addresses, or an error of plan_build.
 */
int apply_verify(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		 uint64_t deadline_ns, struct diag *d);

#endif
