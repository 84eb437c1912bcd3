/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of the last hour for plots: traffic, round trip and loss of each leg, peer, mount and
 * export, and the latency of mounts and exports, one sample each 30 seconds. They are in memory
 * only, so they begin with the agent. Part of the monitor.
 */
#ifndef PLENUM_AGENT_SAMPLES_H
#define PLENUM_AGENT_SAMPLES_H

#include "netcfg/base/base.h"
#include <jansson.h>

#define SAMPLES_STEP_NS (30 * NSEC_PER_SEC)
#define SAMPLES_FIRST_NS (1 * NSEC_PER_SEC)
#define SAMPLES_KEPT 120 /* an hour */
/* Maximum number of objects of each kind, about half a MB of samples. The limit is per kind, so
 * that many peers leave room for legs and mounts. Further objects get no samples. */
#define SAMPLES_OBJECTS_MAX 256

#define SAMPLES_KINDS 4 /* legs, peers, mounts and exports */

struct agent;
struct status;
struct loop_source;
struct samples_object;

struct samples {
	struct loop_source *timer;
	struct samples_object **objects; /* sorted by kind and name */
	size_t n_objects;
	size_t n_of_kind[SAMPLES_KINDS];
	uint64_t n;	/* number of samples since the start */
	uint64_t at_ns; /* time of the latest sample */
};

/* Starts the timer. Returns 0 or negative errno. */
int samples_init(struct agent *a);
void samples_done(struct samples *s);
/* Adds a sample. If samples are missing since the latest one, for example after the host was
 * suspended, they are unknown. */
void samples_add(struct samples *s, const struct status *st, uint64_t now_ns);
/* Returns all samples, a new reference, or NULL if memory is short. */
json_t *samples_to_json(const struct samples *s, uint64_t now_ns);

#endif
