/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of which worker is on which core. A worker's number goes with its core, and its data
 * addresses with its number, whatever is inserted, removed or reordered in the file, and over a
 * reboot: peers, firewalls and people know it by them. Read before planning; written by the agent
 * once a plan runs. A text file, one line a worker below its first:
 *
 *	plenum-workers 1
 *	core 2 worker 1
 */
#ifndef PLENUM_NETCFG_PLAN_PLACES_H
#define PLENUM_NETCFG_PLAN_PLACES_H

#include "netcfg/plan/plan.h"

#define PLAN_PLACES_VERSION 1

struct plan_place {
	unsigned core;
	uint32_t id;
};

struct plan_worker_ids {
	struct plan_place *entries;
	size_t n;
};

/* Reads the record; one that is absent is empty, and so is one that cannot be read: then a warning
 * in d says what is lost by it. p may hold an earlier one. 0, -ENOMEM. */
int plan_worker_ids_load(struct plan_worker_ids *p, const char *path, struct diag *d);
/* Writes the workers of a plan to it, unless it says that already. 0, negative errno. */
int plan_worker_ids_save(struct plan_worker_ids *p, const char *path, const struct plan *plan);
void plan_worker_ids_done(struct plan_worker_ids *p);

#endif
