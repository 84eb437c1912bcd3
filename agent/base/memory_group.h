/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory limit of the agent's control group, which its workers share, such as MemoryMax= of the
 * unit: how close it is, and whether the kernel has killed a process of the group for lack of
 * memory. Control groups of version 2; without them nothing is ever reported. Owns no descriptors.
 */
#ifndef PLENUM_AGENT_MEMORY_GROUP_H
#define PLENUM_AGENT_MEMORY_GROUP_H

#include "netcfg/base/base.h"
#include "netcfg/base/reason.h"

#define MEMORY_GROUP_PERCENT 90U /* from here on the limit is near */
/* How long a kill stays a reason: the worker is up again at once, and is killed again later. */
#define MEMORY_GROUP_KILL_NS (300 * NSEC_PER_SEC)

struct memory_group {
	char root[160];	    /* folder of the control groups */
	char name[256];	    /* the agent's group in it, "" or "/system.slice/..." */
	bool is_known;	    /* false: no group of version 2 with a memory controller */
	uint64_t n_kills;   /* counters of the kernel at the last call: kills for any reason, */
	uint64_t n_limits;  /* and limits reached, of this group and those above it */
	uint64_t killed_ns; /* time of the last kill; 0: none */
	uint64_t read_ns;   /* when `near` was read; 0: never */
	struct reason kill, near;
};

/* Finds the group of this process; kills before this call do not count. root: "" or, in tests, a
 * folder with proc and sys. */
void memory_group_open(struct memory_group *g, const char *root);
/* Whether the kernel has killed a process of the group since the last call, with the reason. */
bool memory_group_has_killed(struct memory_group *g, struct reason *why);
/* The reason that the limit is near, or that the kernel has killed a process lately; without
 * either, an empty one. Reads the files at most every few seconds. */
const struct reason *memory_group_look(struct memory_group *g, uint64_t now_ns);

#endif
