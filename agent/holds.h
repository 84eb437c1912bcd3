/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that workers have the agent hold over their death: while one is open, an open file
 * that has lost its last name stays in existence, and the worker's successor finds it by its kernel
 * file handle. The service manager holds them over the agent's own death. Only O_PATH descriptors
 * are taken: closing one of them never waits for a file system. One set a worker.
 */
#ifndef PLENUM_AGENT_HOLDS_H
#define PLENUM_AGENT_HOLDS_H

#include "netcfg/base/base.h"

#define HOLDS_MAX 256U /* a worker */

struct hold {
	uint32_t index;
	uint64_t key;
	int fd;
	struct hold *next;
};

struct holds { /* zeroed: none */
	struct hold *first;
	unsigned n;
};

/* Takes fd in any case; the former one of that name is closed. -ENOSPC: the worker has enough;
 * -EBADF: no O_PATH descriptor; -ENOMEM. */
int holds_add(struct holds *h, uint32_t worker_id, uint32_t index, uint64_t key, int fd);
void holds_drop(struct holds *h, uint32_t worker_id, uint32_t index, uint64_t key);
/* Lets go of all, for good; holds_done leaves them to the service manager. */
void holds_clear(struct holds *h, uint32_t worker_id);
void holds_done(struct holds *h);
/* Whether the name under which the service manager kept a descriptor is one of a hold. */
bool holds_parse_name(const char *name, uint32_t *ret_worker_id, uint32_t *ret_index,
		      uint64_t *ret_key);

#endif
