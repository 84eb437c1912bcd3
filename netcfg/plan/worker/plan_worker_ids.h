/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of the worker id of each core. A core determines the id of its worker, and the id
 * determines the worker's data IPs, because peers, firewalls and people rely on the addresses. Both
 * stay the same when entries of the configuration are inserted, removed or reordered, and across
 * reboots. If a worker moves to another core, the new core takes over its id. The agent reads the
 * record before planning, and writes it when a plan comes into force. It is a record file
 * (state_file.h) of the kind "workers" with a line for each worker:
 *
 * 	core 2 worker 1
 */
#ifndef PLENUM_NETCFG_PLAN_WORKER_IDS_H
#define PLENUM_NETCFG_PLAN_WORKER_IDS_H

#include "netcfg/plan/plan.h"

struct plan_worker_id {
	unsigned core;
	uint32_t id;
};

struct plan_worker_ids {
	struct plan_worker_id *entries;
	size_t n;
};

/* Reads the record into p, which may hold an earlier record. If the record is missing, p becomes
 * empty. It also becomes empty if the record is unreadable, with a warning in d that says what is
 * lost. Returns 0 or -ENOMEM. */
int plan_worker_ids_load(struct plan_worker_ids *p, const char *path, struct diag *d);
/* A core of the configuration. moved: an entry of `workers-set:` sets the cores of its entry, and
 * `was` is the core of the file that it replaces (UINT_MAX: unknown). */
struct plan_worker_place {
	unsigned core;
	bool moved;
	unsigned was;
};

/* Finds the recorded id of each core, in the order of the configuration; 0: it has none. A core
 * that is not in the record takes over the id of a recorded core that the configuration no longer
 * has: of the core that it replaces by `workers-set:`; otherwise, if as many cores are new as are
 * gone, of these in order, the cores of `workers-set:` by themselves first. Returns 0 or -ENOMEM.
 */
int plan_worker_ids_match(const struct plan_worker_ids *p, const struct plan_worker_place *places,
			  size_t n, uint32_t *ret_ids);
/* Returns whether the record has the id, and sets *ret to its core. */
bool plan_worker_ids_core(const struct plan_worker_ids *p, uint32_t id, unsigned *ret);
/* Computes the ids that a plan gives to the cores of the configuration, in its order. Sets *ret_ids
 * to a list on the heap. In plan_worker.c. Returns 0 or -ENOMEM. */
int plan_worker_numbers(const struct spec *spec, const struct plan_worker_ids *p,
			uint32_t **ret_ids);
/* Writes the workers of a plan to the record if the record differs. Returns 0 or negative errno. */
int plan_worker_ids_save(struct plan_worker_ids *p, const char *path, const struct plan *plan);
void plan_worker_ids_done(struct plan_worker_ids *p);

#endif
