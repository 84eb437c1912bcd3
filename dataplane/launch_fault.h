/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of the interface between agent and worker (launch.h): faults that a worker injects into
 * its packets, with the effect of a faulty network. */
#ifndef PLENUM_DATAPLANE_LAUNCH_FAULT_H
#define PLENUM_DATAPLANE_LAUNCH_FAULT_H

#include "netcfg/base/base.h"
#include <string.h>

#define LAUNCH_FAULTS_MAX 8
#define LAUNCH_FAULT_S_MAX 3600
#define LAUNCH_FAULT_PPM 1000000U
#define LAUNCH_FAULT_DELAY_US_MAX 1000000U
enum launch_fault_way { LAUNCH_FAULT_IN = 1, LAUNCH_FAULT_OUT = 2 };
struct launch_fault {
	uint32_t id;   /* ID of the fault, unique on this host; 0: no fault */
	uint32_t ways; /* bits of enum launch_fault_way */
	uint32_t drop_ppm, duplicate_ppm, reorder_ppm; /* how many packets of a million, in each
							  direction, are dropped, duplicated or
							  reordered */
	uint32_t delay_us;			       /* delay in each direction */
	uint64_t until_ns;	    /* clock_now_ns() at which the fault expires; 0: at once */
	char leg[PLENUM_NAME_MAX];  /* the leg that the fault affects; "": all legs */
	char peer[PLENUM_NAME_MAX]; /* name of a host, or one of its addresses; "": all peers */
};

/* Returns whether the fault is valid, by the checks that both the agent and the worker make. Does
 * not check the duration. */
static inline bool launch_fault_is_valid(const struct launch_fault *f)
{
	return f->id && f->ways && !(f->ways & ~(uint32_t)(LAUNCH_FAULT_IN | LAUNCH_FAULT_OUT)) &&
	       memchr(f->leg, '\0', sizeof(f->leg)) && memchr(f->peer, '\0', sizeof(f->peer)) &&
	       f->drop_ppm <= LAUNCH_FAULT_PPM && f->duplicate_ppm <= LAUNCH_FAULT_PPM &&
	       f->reorder_ppm <= LAUNCH_FAULT_PPM && f->delay_us <= LAUNCH_FAULT_DELAY_US_MAX;
}

#endif
