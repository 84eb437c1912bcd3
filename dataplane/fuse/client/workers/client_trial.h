/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether all workers of a mount read the kernel's requests, or only the owner. If all
 * workers read, each core has higher costs: it gets requests in smaller bursts, and must forward
 * requests without file data. In total, reading by all workers is faster if their cores have
 * nothing else to do, but slower if the server or the programs run on these cores. The kernel
 * offers no information that distinguishes these cases. So both modes are tried in turns, for a
 * quarter of a second in total. The mount keeps the faster mode until the next trial, for longer
 * each time a trial confirms it. This module works only with counts and times.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_TRIAL_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_TRIAL_H

#include "netcfg/base/base.h"

#include <stdbool.h>

#define CLIENT_TRIAL_WINDOW_NS (16 * NSEC_PER_MSEC)
#define CLIENT_TRIAL_WINDOWS 16U
#define CLIENT_TRIAL_REST_MIN_NS NSEC_PER_SEC
#define CLIENT_TRIAL_REST_MAX_NS (16 * NSEC_PER_SEC)
/* Requests per second below which there is too little load for a trial. */
#define CLIENT_TRIAL_LOAD 2000U

struct client_trial {	      /* all zeros: no trial has been made, and only the owner reads */
	bool all;	      /* whether all workers read now */
	bool kept;	      /* result of the last trial: whether all workers should read */
	unsigned n_windows;   /* count of windows of the trial so far, including the current one; 0:
				 no trial is running */
	uint64_t since_ns;    /* when the window began */
	uint64_t n, n_behind; /* values of n and n_behind at since_ns */
	uint64_t rates[2];    /* requests per second, summed over the trial's windows; index 1: all
				 workers read */
	uint64_t rest_ns, due_ns;
};

static inline bool client_trial_is_due(const struct client_trial *t, uint64_t now_ns)
{
	return PLENUM_UNLIKELY(now_ns - t->since_ns >= CLIENT_TRIAL_WINDOW_NS);
}

/* Call at due_ns or later. n: count of requests that all workers have read so far. n_behind: how
 * many of the requests that the owner has read followed another request in the same burst. Many
 * such requests show that the owner's core does not keep up. now_ns must never decrease. */
void client_trial_look(struct client_trial *t, uint64_t n, uint64_t n_behind, uint64_t now_ns);

#endif
