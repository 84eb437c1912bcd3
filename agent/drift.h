/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tracks changes that other programs make to objects managed by the agent. A reconcile repairs
 * these changes; this module reports them as events, counts them per leg and limits the rate of
 * repairs. If a program keeps changing the same objects, a problem names the program that probably
 * does it and the setting that stops it. The module polls settings for which the kernel sends no
 * notification. Part of the monitor.
 */
#ifndef PLENUM_AGENT_DRIFT_H
#define PLENUM_AGENT_DRIFT_H

#include "agent/base/loop.h"
#include "netcfg/plan/plan.h"

struct agent;

#define DRIFT_LOOK_NS (5 * NSEC_PER_SEC)
/* DRIFT_FIGHT repairs of one leg within DRIFT_WINDOW_NS mean that another program keeps undoing the
 * agent's changes: a fight. It ends after a window without a repair. */
#define DRIFT_FIGHT 5
#define DRIFT_WINDOW_NS (60 * NSEC_PER_SEC)
/* Rate limit of repairs, a token bucket: a burst of DRIFT_BURST, then one repair per
 * DRIFT_REFILL_NS. */
#define DRIFT_BURST 120
#define DRIFT_REFILL_NS (10 * NSEC_PER_SEC)
/* Time limit for the verification of settings that take effect at once. */
#define DRIFT_VERIFY_NS (100 * NSEC_PER_MSEC)
#define DRIFT_NOTED_MAX 32 /* maximum number of changes of a repair that are remembered */
/* Maximum number of events per repair; one more event counts the changes without an event. */
#define DRIFT_TEXTS_MAX 8
#define DRIFT_TEXT_MAX 200

struct drift_place { /* a leg; leg "": the host's own settings */
	char leg[PLENUM_NAME_MAX], ifname[IFNAMSIZ];
	uint32_t ifindex;
	uint64_t at_ns[DRIFT_FIGHT]; /* ring of the times of the latest repairs */
	uint64_t n;
	char last[DRIFT_TEXT_MAX];
	/* Time of the last event that named the network manager although no fight had begun; 0: no
	 * such event. */
	uint64_t looked_ns;
	char who[320]; /* the program that probably makes the changes; "": no fight */
};

struct drift {
	struct drift_place places[PLAN_PORTS_MAX + 1];
	size_t n_places;
	/* State of the token bucket: each repair moves this time DRIFT_REFILL_NS ahead. */
	uint64_t spent_ns;
	/* Hashes of the changes that the last repair had to undo. If the repair failed, the changes
	 * still exist, so no program has made them again. */
	uint64_t noted[DRIFT_NOTED_MAX];
	size_t n_noted;
	bool failed;
	const char *root; /* root directory for managers.h; NULL: this host's */
	struct loop_source *timer;
};

int drift_init(struct agent *a);
void drift_done(struct drift *d);
/* Call before the repair `p`. Reports and counts the changes that other programs made since the
 * last reconcile. */
void drift_note(struct agent *a, const struct plan *p);
/* Call after each repair, with its result in `failed`, and with failed false after any other
 * reconcile that left the host as desired. */
void drift_repaired(struct drift *d, bool failed);
/* Returns the delay between a kernel notification and the reconcile that it triggers. */
uint64_t drift_delay_ns(const struct drift *d);
/* Returns how long verifying the repair `p` may take. The time is short, so that a program that
 * undoes the repair at once does not block the agent. */
uint64_t drift_verify_ns(const struct plan *p);
/* Polls the settings for which the kernel sends no notification, and ends fights that are over. */
void drift_look(struct agent *a);

#endif
