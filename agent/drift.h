/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Foreign changes of what is ours. The walk repairs them; here they are put into words, counted by
 * leg and paced: whoever changes the same again and again is a problem that names who it may be and
 * the setting that ends it, and does not have us repair it as often as it likes. What the kernel
 * notifies nobody of is looked at every few seconds. Driven by walk and loop; part of the monitor.
 */
#ifndef PLENUM_AGENT_DRIFT_H
#define PLENUM_AGENT_DRIFT_H

#include "agent/base/loop.h"
#include "netcfg/plan/plan.h"

struct agent;

#define DRIFT_LOOK_NS (5 * NSEC_PER_SEC)
/* So many repairs of one leg within that time are a fight; it is over when none came for as long.
 */
#define DRIFT_FIGHT 5
#define DRIFT_WINDOW_NS (60 * NSEC_PER_SEC)
/* So many repairs come at once, then one in that time. */
#define DRIFT_BURST 120
#define DRIFT_REFILL_NS (10 * NSEC_PER_SEC)
#define DRIFT_VERIFY_NS (100 * NSEC_PER_MSEC) /* of what has its effect at once */
#define DRIFT_TEXTS_MAX 8		      /* of one repair; more are a number */
#define DRIFT_TEXT_MAX 200

struct drift_place { /* a leg; "": the host */
	char leg[PLENUM_NAME_MAX], ifname[IFNAMSIZ];
	uint32_t ifindex;
	uint64_t at_ns[DRIFT_FIGHT]; /* the last repairs, in turn */
	uint64_t n;
	char last[DRIFT_TEXT_MAX];
	uint64_t looked_ns; /* when it was looked who may be that, before it was a fight */
	char who[320];	    /* "": it is no fight */
};

struct drift {
	struct drift_place places[PLAN_PORTS_MAX + 1];
	size_t n_places;
	uint64_t spent_ns; /* until then the repairs are paid for, each with DRIFT_REFILL_NS */
	const char *root;  /* managers.h; NULL: the host's */
	struct loop_source *timer;
};

int drift_init(struct agent *a);
void drift_done(struct drift *d);
/* p is about to repair the host: says what somebody has changed since the last walk, and counts it.
 */
void drift_note(struct agent *a, const struct plan *p);
/* How long what a notification is about waits for its walk. */
uint64_t drift_delay_ns(const struct drift *d);
/* How long the host may take to be as wanted after the repair p: whoever undoes it meanwhile shall
 * not be waited for. */
uint64_t drift_verify_ns(const struct plan *p);
/* Looks at what nobody is notified of, and whether fights are over. */
void drift_look(struct agent *a);

#endif
