/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unmounts without blocking: umount(2) of a file system with data to flush and without a server
 * hangs, so it runs in a child process, which is reaped whenever it exits. Driven by the event
 * loop.
 */
#ifndef PLENUM_AGENT_UNMOUNT_H
#define PLENUM_AGENT_UNMOUNT_H

#include "agent/base/loop.h"

struct unmount;

enum unmount_end {
	UNMOUNT_DONE,
	UNMOUNT_FAILED, /* umount(2) failed; the file system stays mounted */
	UNMOUNT_LATE,	/* past its time limit; UNMOUNT_DONE or UNMOUNT_FAILED may follow */
	UNMOUNT_END_MAX
};
/* May free the unmount, except on UNMOUNT_LATE. */
typedef void (*unmount_cb)(void *user, enum unmount_end end);

/* Begins. A mount that is in use is detached; if it is the file system of that device number, its
 * connection ends too. 0 or negative errno. */
int unmount_new(struct loop *l, const char *path, unsigned major, unsigned minor, uint64_t late_ns,
		unmount_cb cb, void *user, struct unmount **ret);
/* Stops watching; the child exits by itself. Accepts NULL, returns NULL. */
struct unmount *unmount_free(struct unmount *u);

#endif
