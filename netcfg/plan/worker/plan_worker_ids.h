/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of the worker id of each core. A core determines the id of its worker, and the id
 * determines the worker's data IPs. Peers, firewalls and people rely on these addresses. So both
 * stay the same when entries of the configuration are inserted, removed or reordered, and across
 * reboots. If a worker moves to another core, the new core takes over its id. The agent reads the
 * record before planning, and writes it when a plan comes into force. It is a record file
 * (state_file.h) of the kind "workers" with a line for each worker:
 *
 *	core 2 worker 1
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
/* A core of the configuration. If `moved` is set, an entry of `workers-set:` has set the core, and
 * `was` is the core in the file that it replaces (UINT_MAX: unknown). */
struct plan_worker_place {
	unsigned core;
	bool moved;
	unsigned was;
};

/* Finds the id of each core, in the order of the configuration; 0: the core has none. A core in the
 * record keeps its id. A core of a `workers-set:` entry takes over the id of the core that it
 * replaces. After that, the remaining new cores take over the ids of cores that are no longer
 * configured, in order, but only if there are as many of both; cores of `workers-set:` entries come
 * first. Returns 0 or -ENOMEM. */
int plan_worker_ids_match(const struct plan_worker_ids *p, const struct plan_worker_place *places,
			  size_t n, uint32_t *ret_ids);
/* Returns whether the record has the id, and sets *ret to its core. */
bool plan_worker_ids_core(const struct plan_worker_ids *p, uint32_t id, unsigned *ret);
/* Computes the id that a plan gives to each core of the configuration, in its order. *ret_ids is a
 * list on the heap. In plan_worker.c. Returns 0 or -ENOMEM. */
int plan_worker_numbers(const struct spec *spec, const struct plan_worker_ids *p,
			uint32_t **ret_ids);
/* Writes the workers of a plan to the record if the record differs. Returns 0 or negative errno. */
int plan_worker_ids_save(struct plan_worker_ids *p, const char *path, const struct plan *plan);
void plan_worker_ids_done(struct plan_worker_ids *p);

#endif
