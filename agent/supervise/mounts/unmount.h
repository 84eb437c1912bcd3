/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unmounts without blocking the agent. umount(2) hangs if a file system has data to flush and no
 * server, so it runs in a child process, which is reaped whenever it exits. Driven by the event
 * loop.
 */
#ifndef PLENUM_AGENT_UNMOUNT_H
#define PLENUM_AGENT_UNMOUNT_H

#include "agent/base/loop.h"

struct unmount;

enum unmount_end {
	UNMOUNT_DONE,
	UNMOUNT_FAILED, /* umount(2) failed, and the file system is still mounted */
	UNMOUNT_LATE,	/* the time limit has passed; UNMOUNT_DONE or UNMOUNT_FAILED may follow */
	UNMOUNT_END_MAX
};
/* The callback may free the unmount, unless `end` is UNMOUNT_LATE. */
typedef void (*unmount_cb)(void *user, enum unmount_end end);

/* Begins to unmount. A mount in use is detached. If the file system at the path has that device
 * number, its FUSE connection is ended too. Returns 0 or negative errno. */
int unmount_new(struct loop *l, const char *path, unsigned major, unsigned minor, uint64_t late_ns,
		unmount_cb cb, void *user, struct unmount **ret);
/* Forgets the unmount; its child exits later. Accepts NULL, returns NULL. */
struct unmount *unmount_free(struct unmount *u);

#endif
