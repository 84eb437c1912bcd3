/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the requests of mounts and exports took lately. Workers count durations in their
 * statistics pages since their start; this module keeps what they had counted a moment ago, so that
 * the difference is a window of the last five to ten seconds. It reads pages and changes nothing
 * else. A worker's entries are numbered: its mounts, then the mounts that it shares as a mount
 * worker; or its exports.
 */
#ifndef PLENUM_AGENT_LATENCY_H
#define PLENUM_AGENT_LATENCY_H

#include "agent/supervise/supervise.h"

#define LATENCY_LOOK_NS (5 * NSEC_PER_SEC) /* age at which a sample begins to be replaced */

struct latency_sample {
	uint64_t taken_ns; /* 0: none */
	struct launch_latencies *entries;
};

struct latency_worker { /* a process of a worker */
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

/* The requests of one class in the window; of several workers, added up. Zeros: none. */
struct latency_window {
	uint64_t requests, buckets[LAUNCH_LATENCY_LIMITS + 1];
	uint64_t ns; /* length of the window, the longest of the workers' */
};

void latency_done(struct latency *l);
/* Takes samples where they are due; call about once a second. Without memory a worker has no
 * window. */
void latency_look(struct latency *l, const struct sup *sup, uint64_t now_ns);
/* The entries of a running worker; 0: it does not run. */
size_t latency_count(const struct sup_worker *w);
/* Path of the mount, or name of the export. */
const char *latency_name(const struct sup_worker *w, size_t entry);
/* What the worker has counted in the entry since its start. */
void latency_total(const struct sup_worker *w, size_t entry, struct launch_latencies *ret);
/* Adds to the windows, one for each class, what the worker has counted in the entry since the
 * window began, up to `total`. False: the worker has no window yet. */
bool latency_add(const struct latency *l, const struct sup_worker *w, size_t entry,
		 const struct launch_latencies *total, uint64_t now_ns,
		 struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX]);
/* The duration that `percent` of the requests did not exceed, interpolated within its bucket; in
 * the last bucket, which has no end, the last limit. 0: there are none. */
uint64_t latency_quantile_ns(const struct latency_window *w, unsigned percent);
/* "read", "write", "sync", "metadata". */
const char *latency_class_to_string(enum launch_request_class c);

#endif
