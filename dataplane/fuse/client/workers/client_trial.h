/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether all workers of a mount read the kernel's requests, or only the owner. If all
 * read, each core has higher costs: it gets requests in smaller bursts, and all but data requests
 * take a longer way. It is faster if those cores have nothing else to do, and slower if the server
 * or the programs run on them. The kernel's information about cores cannot distinguish these cases,
 * so both ways are tried alternately for a quarter of a second in total, and the faster one is
 * kept, for longer each time the result is confirmed. Pure: knows counts and times.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_TRIAL_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_TRIAL_H

#include "netcfg/base/base.h"

#include <stdbool.h>

#define CLIENT_TRIAL_WINDOW_NS (16 * NSEC_PER_MSEC)
#define CLIENT_TRIAL_WINDOWS 16U
#define CLIENT_TRIAL_REST_MIN_NS NSEC_PER_SEC
#define CLIENT_TRIAL_REST_MAX_NS (16 * NSEC_PER_SEC)
#define CLIENT_TRIAL_LOAD 2000U /* a lower request rate is too little load */

struct client_trial {	      /* zeros: unknown; the owner reads alone */
	bool all;	      /* in force now */
	bool kept;	      /* result of the last trial */
	unsigned n_windows;   /* windows of the trial so far, including the current one; 0: no trial
				 is running */
	uint64_t since_ns;    /* begin of the window */
	uint64_t n, n_behind; /* counts at that time */
	uint64_t rates[2];    /* requests per second, summed over the trial's windows; [all] */
	uint64_t rest_ns, due_ns;
};

static inline bool client_trial_is_due(const struct client_trial *t, uint64_t now_ns)
{
	return PLENUM_UNLIKELY(now_ns - t->since_ns >= CLIENT_TRIAL_WINDOW_NS);
}

/* Call when it is due. n: requests that all workers have read so far; n_behind: of those that
 * the owner has read, the number that came behind another in one burst, which indicates a core
 * that cannot keep up. now_ns never decreases. */
void client_trial_look(struct client_trial *t, uint64_t n, uint64_t n_behind, uint64_t now_ns);

#endif
