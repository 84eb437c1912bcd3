/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tracks changes by other programs to what the agent manages. The reconcile repairs them; this
 * module describes them in events, counts them per leg and paces the repairs. A program that keeps
 * changing the same things becomes a problem that names the likely culprit and the setting that
 * stops it. Changes for which the kernel sends no notification are polled. Part of the monitor.
 */
#ifndef PLENUM_AGENT_DRIFT_H
#define PLENUM_AGENT_DRIFT_H

#include "agent/base/loop.h"
#include "netcfg/plan/plan.h"

struct agent;

#define DRIFT_LOOK_NS (5 * NSEC_PER_SEC)
/* This many repairs of one leg within the window are a fight; it ends after a window without any.
 */
#define DRIFT_FIGHT 5
#define DRIFT_WINDOW_NS (60 * NSEC_PER_SEC)
/* Token bucket: this many repairs at once, then one per refill time. */
#define DRIFT_BURST 120
#define DRIFT_REFILL_NS (10 * NSEC_PER_SEC)
#define DRIFT_VERIFY_NS (100 * NSEC_PER_MSEC) /* for settings that take effect at once */
#define DRIFT_TEXTS_MAX 8		      /* events per repair; the rest is one count */
#define DRIFT_TEXT_MAX 200

struct drift_place { /* a leg; "": the host's own settings */
	char leg[PLENUM_NAME_MAX], ifname[IFNAMSIZ];
	uint32_t ifindex;
	uint64_t at_ns[DRIFT_FIGHT]; /* ring of the last repairs */
	uint64_t n;
	char last[DRIFT_TEXT_MAX];
	uint64_t looked_ns; /* last search for the responsible manager, before it was a fight */
	char who[320];	    /* the likely culprit; "": no fight */
};

struct drift {
	struct drift_place places[PLAN_PORTS_MAX + 1];
	size_t n_places;
	uint64_t spent_ns; /* the bucket's debt: DRIFT_REFILL_NS per repair, up to this time */
	const char *root;  /* for managers.h; NULL: this host */
	struct loop_source *timer;
};

int drift_init(struct agent *a);
void drift_done(struct drift *d);
/* Called before the repair p: reports and counts what other programs changed since the last
 * reconcile. */
void drift_note(struct agent *a, const struct plan *p);
/* Delay of the reconcile that a notification triggers. */
uint64_t drift_delay_ns(const struct drift *d);
/* How long the repair p may take to verify: short, so that a program that undoes it at once does
 * not block the agent. */
uint64_t drift_verify_ns(const struct plan *p);
/* Polls what the kernel does not notify of, and ends fights that are over. */
void drift_look(struct agent *a);

#endif
