/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Durations of recent requests of mounts and exports. Workers count durations in their statistics
 * pages since their start. This module keeps copies of the counts from some seconds ago, so that
 * the difference is a window of the last five to ten seconds. It only reads the pages. The entries
 * of a worker have indexes. The entries of a frontend worker are the mounts that it owns, then the
 * mounts that it helps to serve as a mount worker. The entries of a server are its exports.
 */
#ifndef PLENUM_AGENT_LATENCY_H
#define PLENUM_AGENT_LATENCY_H

#include "agent/supervise/supervise.h"

#define LATENCY_LOOK_NS (5 * NSEC_PER_SEC) /* age at which the next sample is taken */

struct latency_sample {
	uint64_t taken_ns; /* 0: no sample */
	struct launch_latencies *entries;
};

struct latency_worker { /* samples of a worker's process */
	uint32_t id;
	pid_t pid;
	bool seen;
	size_t n;
	struct latency_sample older, newer;
};

struct latency {
	struct latency_worker *workers;
	size_t n;
};

/* The requests of one class in the window, added up over workers. Zeroed: no requests. */
struct latency_window {
	uint64_t requests, buckets[LAUNCH_LATENCY_LIMITS + 1];
	uint64_t ns; /* length of the longest window of the workers */
};

void latency_done(struct latency *l);
/* Copies the counts of the workers whose last sample is old enough. Call about once a second. If
 * memory is short for a worker's sample, the worker has no window. */
void latency_look(struct latency *l, const struct sup *sup, uint64_t now_ns);
/* Returns the number of entries of a running worker, or 0 if the worker does not run. */
size_t latency_count(const struct sup_worker *w);
/* Returns the path of the mount or the name of the export. */
const char *latency_name(const struct sup_worker *w, size_t entry);
/* Copies the counts of the entry since the worker's start. */
void latency_total(const struct sup_worker *w, size_t entry, struct launch_latencies *ret);
/* Adds the requests that the entry had since the beginning of the window to `windows`, one per
 * class. `total` has the present counts of the entry. Returns false if the worker has no window
 * yet. */
bool latency_add(const struct latency *l, const struct sup_worker *w, size_t entry,
		 const struct launch_latencies *total, uint64_t now_ns,
		 struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX]);
/* Returns the duration that `percent` of the requests did not exceed, interpolated within its
 * bucket, or 0 without requests. For the last bucket, which has no upper limit, returns its lower
 * limit. */
uint64_t latency_quantile_ns(const struct latency_window *w, unsigned percent);
/* Returns "read", "write", "sync" or "metadata". */
const char *latency_class_to_string(enum launch_request_class c);

#endif
