/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unmounting without waiting: a file system with data to flush that nobody serves hangs in
 * umount(2), so that runs in a child of its own, which is reaped whenever it ends. Driven by the
 * loop.
 */
#ifndef PLENUM_AGENT_UNMOUNT_H
#define PLENUM_AGENT_UNMOUNT_H

#include "agent/base/loop.h"

struct unmount;

enum unmount_end {
	UNMOUNT_DONE,
	UNMOUNT_FAILED, /* umount(2) refuses; what is mounted stays */
	UNMOUNT_LATE,	/* past its time; UNMOUNT_DONE or UNMOUNT_FAILED follows if ever it ends */
	UNMOUNT_END_MAX
};
/* May free the unmount, but for UNMOUNT_LATE. */
typedef void (*unmount_cb)(void *user, enum unmount_end end);

/* Begins; lazily where the mount is in use. 0 or negative errno. */
int unmount_new(struct loop *l, const char *path, uint64_t late_ns, unmount_cb cb, void *user,
		struct unmount **ret);
/* Ends caring about it; the child ends by itself. Accepts NULL, returns NULL. */
struct unmount *unmount_free(struct unmount *u);

#endif
