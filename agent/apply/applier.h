/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The applier: one apply in a process of its own, which owns the journal and writes to the kernel:
 * apply_run, apply_verify, where asked for the wait for a confirmation, then apply_commit or
 * apply_rollback. The monitor only hears how it goes. The process keeps CAP_NET_ADMIN alone, holds
 * none of the monitor's descriptors, has a unit of its own where systemd runs, and outlives the
 * monitor: what it began it ends, committed or rolled back. The next monitor finds it by its
 * socket, and what became of it, where it has ended by then, by the journal or the outcome that it
 * left. Where it is killed, another such process rolls back what its journal says, before the end
 * is reported; so whoever started it sees one end, with the host as wanted or as before, or `stuck`
 * with the reason.
 *
 * One at a time is the caller's business. Called by the walk.
 */
#ifndef PLENUM_AGENT_APPLIER_H
#define PLENUM_AGENT_APPLIER_H

#include "agent/api/clients.h"
#include "agent/base/loop.h"
#include "netcfg/apply/apply.h"
#include <sys/types.h>

#define APPLIER_UNREACHABLE_MAX 512

enum applier_stage {
	APPLIER_RECOVERING,
	APPLIER_APPLYING,
	APPLIER_VERIFYING,
	APPLIER_PROBING, /* whether who answered before still does */
	APPLIER_WAITING, /* for a confirmation */
	APPLIER_ROLLING_BACK,
	APPLIER_STAGE_MAX
};
const char *applier_stage_to_string(enum applier_stage s);

/* Where the kernel object of the applier's process comes from; tests bring a host in memory. */
struct applier_host {
	int (*open)(void *user, struct kernel **ret); /* NULL: kernel_linux_new */
	/* Before the process ends, for what the test wants to keep; NULL: kernel_free. */
	void (*close)(void *user, struct kernel *k);
	void *user;
};
int applier_open_kernel(const struct applier_host *host, struct kernel **ret);
void applier_close_kernel(const struct applier_host *host, struct kernel *k);

struct applier_result {
	/*
	 * 0: the host is as wanted, or, for a recovery, nothing is left to roll back. -EAGAIN: an
	 * earlier apply had left a journal, which is rolled back now, so that the plan has to be
	 * made anew. -EBUSY: a live process has the journal, nothing was changed. -EINTR: it was
	 * killed. -ECANCELED: it was not confirmed, or has cut somebody off, and is rolled back.
	 * Others as apply_run, apply_verify and apply_commit give them.
	 */
	int error;
	bool stuck;	    /* the host is between the two; the reason is in the diag */
	size_t failed_step; /* number of the plan's step that the kernel refused, from 1; 0: none */
	/* Of a recovery: what was found was committed already, so that the host is as wanted. */
	bool committed;
	char by[CLIENTS_BY_MAX]; /* who confirmed it, or had it rolled back; "": nobody */
	uint64_t n_writes, n_rolled_back;
	/* Data IPs that were found to be other hosts'; only while on_end runs. Where there are any,
	 * what was applied is another plan than the task's: it has to be made anew. */
	const struct plan_conflicts *conflicts;
};

struct applier_task {
	struct loop *loop;
	const struct applier_host *host;
	const char *journal;
	/* What to apply; plan NULL: only recover what the journal says. */
	const struct spec *spec;
	const struct plan *plan;
	const struct plan_context *ctx;
	uint64_t verify_ns; /* how long the host may take to be as wanted */
	/* What ran before: who answers on its legs must answer afterwards, within probe_ns. NULL:
	 * nobody is asked. */
	const struct spec *former;
	uint64_t probe_ns;
	/* How long it waits for a confirmation, by CLOCK_BOOTTIME; 0: it does not. patient: who
	 * does not answer within probe_ns has all that time to do so, since his own host may have
	 * to change, too; before he does it is not confirmed. */
	unsigned confirm_s;
	bool patient;
	/* Where a later monitor finds it, and its outcome, a line "NUMBER ERROR TEXT"; NULL: none
	 * of both is made. */
	const char *socket, *outcome;
	uint64_t number; /* of the apply, for the outcome */
	/* All is done and verified, and it waits, until that time of CLOCK_BOOTTIME; conflicts: as
	 * of a result. */
	void (*on_wait)(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts);
	/* A confirmation was not taken: why says who does not answer yet. */
	void (*on_not_yet)(void *user, const char *why);
	/* It has ended; the reasons are in d. The applier is freed. */
	void (*on_end)(void *user, const struct applier_result *res, const struct diag *d);
	void *user;
};

struct applier;
/* What the task points to is needed until this returns, but for loop, host and the paths: until the
 * end. 0 and *ret; negative errno where nothing was started. */
int applier_start(const struct applier_task *task, struct applier **ret);
/* The one that an earlier monitor started, by its socket. 0 and *ret: it reports as if it were
 * ours; -ENOENT, -ECONNREFUSED: none lives; other negative errno. */
int applier_adopt(const struct applier_task *task, struct applier **ret);
/* To one that waits: it is to keep what it did, or to roll it back. 0: it will report its end;
 * negative errno: it has ended, as will be reported too. */
int applier_order(const struct applier *ap, bool keep, const char *by);
/* Lets it go on alone; on_end is not called. Accepts NULL, returns NULL. */
struct applier *applier_forget(struct applier *ap);
enum applier_stage applier_stage(const struct applier *ap);
/* Who does not answer yet, of one that waits; "": nobody is missed. */
const char *applier_unreachable(const struct applier *ap);
pid_t applier_pid(const struct applier *ap);

#endif
