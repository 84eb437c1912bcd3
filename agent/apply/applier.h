/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The applier carries out one apply in a separate process. That process owns the journal and makes
 * the kernel changes: apply_run, apply_verify, optionally the wait for a confirmation, then
 * apply_commit or apply_rollback. It reports its progress to the monitor. It keeps only
 * CAP_NET_ADMIN, inherits none of the monitor's descriptors, and runs in its own systemd scope if
 * systemd runs. It outlives the monitor, and always completes with a commit or a rollback. The next
 * monitor finds the applier by the applier's socket. If the applier has ended meanwhile, the next
 * monitor reads the result from the journal or the outcome file. If the applier is killed, another
 * process rolls back its journal before the end is reported. So the caller gets exactly one result:
 * the host is as desired, or as before, or `stuck` with the reason.
 *
 * Only one applier may run; the caller ensures that. Called by the reconcile.
 */
#ifndef PLENUM_AGENT_APPLIER_H
#define PLENUM_AGENT_APPLIER_H

#include "agent/base/loop.h"
#include "agent/base/privsep.h"
#include "netcfg/apply/apply.h"
#include <sys/types.h>

#define APPLIER_UNREACHABLE_MAX 512

enum applier_stage {
	APPLIER_RECOVERING,
	APPLIER_APPLYING,
	APPLIER_VERIFYING,
	APPLIER_PROBING, /* checks that peers still answer */
	APPLIER_WAITING, /* waits for a confirmation */
	APPLIER_ROLLING_BACK,
	APPLIER_STAGE_MAX
};
const char *applier_stage_to_string(enum applier_stage s);

/* How the applier's process opens the kernel; tests provide a host in memory. */
struct applier_host {
	int (*open)(void *user, struct kernel **ret); /* NULL: use kernel_linux_new */
	/* Called before the process ends. NULL: use kernel_free. */
	void (*close)(void *user, struct kernel *k);
	void *user;
};
int applier_open_kernel(const struct applier_host *host, struct kernel **ret);
void applier_close_kernel(const struct applier_host *host, struct kernel *k);

struct applier_result {
	/*
	 * 0: the host is as desired or, for a recovery, nothing is left to roll back. -EAGAIN: the
	 * journal of an earlier apply was rolled back first, so the plan must be made again.
	 * -EBUSY: another running process owns the journal, and nothing was changed. -EINTR: the
	 * applier was killed. -ECANCELED: rolled back, because the apply was not confirmed or peers
	 * stopped answering. Other errors as from apply_run, apply_verify and apply_commit.
	 */
	int error;
	bool stuck; /* the host is only partially configured; the diag has the reason */
	/* An error ended the apply at an unknown step, for example during the search for addresses
	 * that other hosts use, so some steps were not done. */
	bool unclear;
	size_t failed_step; /* index from 1 of the plan step that the kernel refused; 0: none */
	/* Only of a recovery: the apply had been committed, so the host is as desired. */
	bool committed;
	/* The client that confirmed the apply or rolled it back; "": none. */
	char by[REQUESTER_MAX];
	uint64_t n_writes, n_rolled_back;
	/* Data IPs that other hosts use; valid only during on_end. If there are any, the applied
	 * plan differs from the plan of the task, and the caller must make a new plan. */
	const struct plan_conflicts *conflicts;
};

struct applier_task {
	struct loop *loop;
	const struct applier_host *host;
	const char *journal;
	/* The apply; plan NULL: only recover the journal. */
	const struct spec *spec;
	const struct plan *plan;
	const struct plan_context *ctx;
	uint64_t verify_ns; /* time limit for the host to reach the desired state */
	/* The previous spec. Peers that answer on its legs before the apply must answer afterwards
	 * within probe_ns. NULL: do not check peers. */
	const struct spec *former;
	uint64_t probe_ns;
	/* Seconds to wait for a confirmation, by CLOCK_BOOTTIME; 0: do not wait. patient: give
	 * peers that do not answer within probe_ns the whole time to answer, because their hosts
	 * may need a change too. The applier accepts no confirmation before all peers answer. */
	unsigned confirm_s;
	bool patient;
	/* Path of the applier's socket for a later monitor, and path of the outcome file
	 * (apply_records.h). NULL: no socket, or no file. */
	const char *socket, *outcome;
	uint64_t number; /* ID of the apply, for the outcome file */
	/* Called when all steps are done and verified. The applier then waits for a confirmation
	 * until until_ns of CLOCK_BOOTTIME. conflicts: as in applier_result. */
	void (*on_wait)(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts);
	/* Called when the applier has refused a confirmation; why names the peer that does not
	 * answer. */
	void (*on_not_yet)(void *user, const char *why);
	/* Called when the applier has ended; d has the reasons of a failure. The applier is freed
	 * after the call. */
	void (*on_end)(void *user, const struct applier_result *res, const struct diag *d);
	void *user;
};

struct applier;
/* Starts the process. The pointers in the task must stay valid during the call; loop, host and the
 * paths must stay valid until the applier is freed. Returns 0 and *ret, or negative errno if
 * nothing was started. */
int applier_start(const struct applier_task *task, struct applier **ret);
/* Connects to an applier that an earlier monitor started. Returns 0 and *ret, which reports like an
 * applier of this monitor. Returns -ENOENT or -ECONNREFUSED if no applier is running, or another
 * negative errno. */
int applier_adopt(const struct applier_task *task, struct applier **ret);
/* Orders a waiting applier to keep its apply or to roll it back. Returns 0, or negative errno if
 * the applier has already ended. In both cases on_end is called later. */
int applier_order(const struct applier *ap, bool keep, const char *by);
/* Disconnects. The process continues without the monitor, and on_end is not called. Accepts NULL,
 * returns NULL. */
struct applier *applier_forget(struct applier *ap);
enum applier_stage applier_stage(const struct applier *ap);
/* Returns the peer from which a waiting applier still needs an answer, or "" if it needs no answer.
 */
const char *applier_unreachable(const struct applier *ap);
pid_t applier_pid(const struct applier *ap);

#endif
