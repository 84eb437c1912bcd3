/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker that only submits calls, for tests of the I/O helpers: an export in a new directory on
 * disk, and a pool of helpers.
 */
#ifndef PLENUM_TESTS_HELPER_RIG_H
#define PLENUM_TESTS_HELPER_RIG_H

#include "dataplane/fuse/helper/fs_helper.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <sys/stat.h>

#define RIG_ARENA_BYTES (4U << 20)
#define RIG_DEADLINE_MS 20000

struct rig {
	char dir[64];
	int root_fd, state_fd, key_fd;
	uint32_t worker_id;
	struct fs_helper *helpers;
	unsigned mount; /* number of the mount in the journal */
	uint8_t *arena;
	uint64_t unique; /* id of the last request in the journal */
};

void rig_pool_start(struct rig *g);
struct rig *rig_new(void);
void rig_free(struct rig *g);
struct helper_call *rig_call(struct rig *g, enum helper_op op, int fd, const char *name);
void rig_on_done(void *user, struct helper_call *call);

/* Waits until any call is done, and returns it. */
struct helper_call *rig_wait(struct rig *g);

/* Submits a call and waits until it is done. Returns its error. If ret is not NULL, copies the call
 * to *ret, and the caller must close ret->fd; otherwise closes the call's descriptor. */
int rig_do(struct rig *g, struct helper_call *c, struct helper_call *ret);

/* Enters the call in the journal as a new request that must be executed only once. */
void rig_once(struct rig *g, struct helper_call *c);
const char *rig_path(const struct rig *g, const char *name);

/* Sets up a test that begins with a running pool. */
int rig_setup(void **state);
int rig_teardown(void **state);

#endif
