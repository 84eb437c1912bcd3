/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory limit of the agent's control group, such as MemoryMax= of the unit, which the workers
 * share. Reports whether the limit is near, and whether the kernel has killed a process of the
 * group for lack of memory. Supports control groups of version 2 only. Owns no descriptors.
 */
#ifndef PLENUM_AGENT_MEMORY_GROUP_H
#define PLENUM_AGENT_MEMORY_GROUP_H

#include "netcfg/base/base.h"
#include "netcfg/base/reason.h"

#define MEMORY_GROUP_PERCENT 90U /* above this share of the limit, the limit counts as near */
/* For this time a kill is reported as a reason. The worker is restarted at once, but may be killed
 * again. */
#define MEMORY_GROUP_KILL_NS (300 * NSEC_PER_SEC)

struct memory_group {
	char root[160]; /* folder in which control groups are mounted */
	char name[256]; /* the agent's group below root: "" or "/system.slice/..." */
	bool is_known;	/* false: the host has no control group of version 2 with a memory
			   controller */
	/* The kernel's count of killed processes at the last call, for any reason. */
	uint64_t n_kills;
	uint64_t n_limits;  /* how often the group or one of its parents has reached its limit, as
			       the kernel counts */
	uint64_t killed_ns; /* time of the last kill; 0: none is known */
	uint64_t read_ns;   /* time at which `near` was determined; 0: never */
	struct reason kill, near;
};

/* Finds the control group of this process. Earlier kills are ignored. root: "" or, in tests, a
 * folder with proc and sys. */
void memory_group_open(struct memory_group *g, const char *root);
/* Returns whether the kernel has killed a process of the group since the last call. If so, why has
 * the reason. */
bool memory_group_has_killed(struct memory_group *g, struct reason *why);
/* Returns the reason that the limit is near, or that the kernel has killed a process recently;
 * otherwise an empty reason. Reads the files at most every few seconds. */
const struct reason *memory_group_look(struct memory_group *g, uint64_t now_ns);

#endif
