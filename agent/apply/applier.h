/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The applier runs one apply in a separate process, which owns the journal and writes to the
 * kernel: apply_run, apply_verify, optionally the wait for a confirmation, then apply_commit or
 * apply_rollback. The monitor receives its progress. The process keeps only CAP_NET_ADMIN, inherits
 * none of the monitor's descriptors, runs in its own systemd scope where systemd runs, and outlives
 * the monitor: it always finishes, committed or rolled back. The next monitor finds it by its
 * socket, or, if it has ended, learns the result from the journal or the outcome file. If it is
 * killed, another process rolls back its journal before the end is reported; so the caller sees one
 * end: the host as desired, as before, or `stuck` with the reason.
 *
 * One at a time; the caller ensures that. Called by the reconcile.
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
	APPLIER_PROBING, /* checking that peers still answer */
	APPLIER_WAITING, /* for a confirmation */
	APPLIER_ROLLING_BACK,
	APPLIER_STAGE_MAX
};
const char *applier_stage_to_string(enum applier_stage s);

/* Opens the kernel in the applier's process; tests provide a host in memory. */
struct applier_host {
	int (*open)(void *user, struct kernel **ret); /* NULL: kernel_linux_new */
	/* Called before the process ends; NULL: kernel_free. */
	void (*close)(void *user, struct kernel *k);
	void *user;
};
int applier_open_kernel(const struct applier_host *host, struct kernel **ret);
void applier_close_kernel(const struct applier_host *host, struct kernel *k);

struct applier_result {
	/*
	 * 0: the host is as desired, or, for a recovery, nothing is left to roll back. -EAGAIN: the
	 * journal of an earlier apply was rolled back first, so the plan must be made again.
	 * -EBUSY: a running process owns the journal, nothing was changed. -EINTR: it was killed.
	 * -ECANCELED: not confirmed, or peers were cut off; rolled back. Others as of apply_run,
	 * apply_verify and apply_commit.
	 */
	int error;
	bool stuck;	    /* the host is partially configured; the reason is in the diag */
	size_t failed_step; /* number of the plan step that the kernel refused, from 1; 0: none */
	/* Recovery only: the apply was committed already, so the host is as desired. */
	bool committed;
	char by[REQUESTER_MAX]; /* the client that confirmed or rolled it back; "": none */
	uint64_t n_writes, n_rolled_back;
	/* Data IPs found in use by other hosts; valid only while on_end runs. If there are any,
	 * another plan than the task's was applied, and the caller must plan again. */
	const struct plan_conflicts *conflicts;
};

struct applier_task {
	struct loop *loop;
	const struct applier_host *host;
	const char *journal;
	/* What to apply; plan NULL: only recover the journal. */
	const struct spec *spec;
	const struct plan *plan;
	const struct plan_context *ctx;
	uint64_t verify_ns; /* time limit for the host to reach the desired state */
	/* The previous spec: peers that answer on its legs must answer afterwards, within probe_ns.
	 * NULL: no probes. */
	const struct spec *former;
	uint64_t probe_ns;
	/* How long to wait for a confirmation, by CLOCK_BOOTTIME; 0: no wait. patient: peers that
	 * do not answer within probe_ns may take the whole time, since their own host may have to
	 * change too; until they answer, no confirmation is accepted. */
	unsigned confirm_s;
	bool patient;
	/* The applier's socket for a later monitor, and the outcome file (apply_records.h); NULL:
	 * neither. */
	const char *socket, *outcome;
	uint64_t number; /* the apply's number, for the outcome */
	/* All steps are done and verified, and it waits until that time of CLOCK_BOOTTIME;
	 * conflicts: as in applier_result. */
	void (*on_wait)(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts);
	/* A confirmation was refused: why names the peer that does not answer. */
	void (*on_not_yet)(void *user, const char *why);
	/* The applier has ended; reasons are in d. The applier is freed afterwards. */
	void (*on_end)(void *user, const struct applier_result *res, const struct diag *d);
	void *user;
};

struct applier;
/* The task's pointers must stay valid until this returns; loop, host and paths until the end. 0 and
 * *ret; negative errno where nothing was started. */
int applier_start(const struct applier_task *task, struct applier **ret);
/* Connects to an applier that an earlier monitor started. 0 and *ret: it reports like our own;
 * -ENOENT, -ECONNREFUSED: none runs; other negative errno. */
int applier_adopt(const struct applier_task *task, struct applier **ret);
/* Orders a waiting applier to keep or to roll back its apply. 0: its end will be reported; negative
 * errno: it has ended, which will be reported too. */
int applier_order(const struct applier *ap, bool keep, const char *by);
/* Disconnects; the process continues alone and on_end is not called. Accepts NULL, returns NULL. */
struct applier *applier_forget(struct applier *ap);
enum applier_stage applier_stage(const struct applier *ap);
/* The peer that a waiting applier still misses; "": none. */
const char *applier_unreachable(const struct applier *ap);
pid_t applier_pid(const struct applier *ap);

#endif
