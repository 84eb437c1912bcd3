/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether all cores of a mount read the kernel's requests, or one alone. All cost each core more:
 * requests come to them in smaller groups, and what is not data has a longer way. It gains where
 * those cores have nothing else to do, and loses where the server, or the programs themselves, run
 * there. What the kernel says of cores does not tell the two apart, so both ways are tried in turn,
 * for a quarter of a second together, and what served more is kept, for longer each time that it is
 * found again. Pure: knows counts and times.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_TRIAL_H
#define PLENUM_DATAPLANE_FUSE_FRONT_TRIAL_H

#include "netcfg/base/base.h"

#include <stdbool.h>

#define CLIENT_TRIAL_WINDOW_NS (16 * NSEC_PER_MSEC)
#define CLIENT_TRIAL_WINDOWS 16U
#define CLIENT_TRIAL_REST_MIN_NS NSEC_PER_SEC
#define CLIENT_TRIAL_REST_MAX_NS (16 * NSEC_PER_SEC)
#define CLIENT_TRIAL_LOAD 2000U /* fewer a second are no load */

struct client_trial {	      /* zeros: nothing is known; one core reads */
	bool all;	      /* in force now */
	bool kept;	      /* what was found last */
	unsigned n_windows;   /* of a trial, the one that runs included; 0: none is under way */
	uint64_t since_ns;    /* the window's begin */
	uint64_t n, n_behind; /* as they were then */
	uint64_t rates[2];    /* sums over the trial's windows, a second; [all] */
	uint64_t rest_ns, due_ns;
};

static inline bool client_trial_is_due(const struct client_trial *t, uint64_t now_ns)
{
	return PLENUM_UNLIKELY(now_ns - t->since_ns >= CLIENT_TRIAL_WINDOW_NS);
}

/* To be called when it is due. n: requests that all have read until now; n_behind: of those that
 * the one core has read, how many came with others, behind them, which is what a core that cannot
 * keep up sees. now_ns never goes back. */
void client_trial_look(struct client_trial *t, uint64_t n, uint64_t n_behind, uint64_t now_ns);

#endif
