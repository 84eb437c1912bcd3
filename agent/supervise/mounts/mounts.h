/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The FUSE mounts of this host. The monitor opens /dev/fuse, mounts, and keeps the descriptor as
 * long as the mount exists, so that the mount survives its worker: requests wait in the kernel
 * until the successor serves the same descriptor. Never reads or writes a FUSE descriptor, and
 * never enters a mount, which could block for ever.
 */
#ifndef PLENUM_AGENT_MOUNTS_H
#define PLENUM_AGENT_MOUNTS_H

#include "agent/base/loop.h"
#include "agent/supervise/handover/rundir.h"
#include "dataplane/launch.h"
#include "netcfg/base/reason.h"

#define MOUNTS_SUBTYPE "plenum"
#define MOUNTS_FSTYPE "fuse." MOUNTS_SUBTYPE
#define MOUNTS_MAX_READ 1048576

#define MOUNTS_UNMOUNT_LIMIT_NS (3 * NSEC_PER_SEC) /* a file system may have to flush its data */

struct mounts;
struct mounts_setup {
	struct rundir *rundir;
	struct loop *loop;
	struct events *events;
	/* A mount that was to be unmounted is gone; may be NULL. */
	void (*on_change)(void *user);
	/* Another process unmounted a mount of this worker, which needs a new one; may be NULL. */
	void (*on_lost)(void *user, uint32_t worker_id);
	void *user;
};

int mounts_new(const struct mounts_setup *setup, struct mounts **ret);
/* Closes the descriptors without unmounting; see mounts_keep. Accepts NULL, returns NULL. */
struct mounts *mounts_free(struct mounts *m);
/*
 * The descriptors (borrowed) and id of the mount that `want` names, which that worker is to serve;
 * creates the mount if it does not exist. The mount is attached once its path is an existing, empty
 * directory and not a mount point; until then it is served without users, and mounts_why says what
 * is missing. Negative errno with one sentence in why, unless it says all.
 */
int mounts_get(struct mounts *m, struct launch_mount *want, uint32_t worker_id, struct reason *why);
/* The same for a mount worker, a second worker of a mount that another worker serves; never creates
 * a mount. -ENOENT: there is no such mount at present. */
int mounts_get_shared(struct mounts *m, struct launch_mount *want);
/* Whether another worker serves this mount worker's mount, and the id of the mount. */
bool mounts_shared_id(const struct mounts *m, const struct launch_mount *want, uint8_t ret[16]);
/* Adopts the eventfd by which the workers of a mount wake each other, if the mount has none. 0: fd
 * is ours; -ENOENT. */
int mounts_adopt_bell(struct mounts *m, int fd, const uint8_t id[16]);
/* Notes that the mount is served; whether it was since this agent mounted or adopted it. */
void mounts_note_served(struct mounts *m, const struct launch_mount *what);
bool mounts_was_served(const struct mounts *m, const struct launch_mount *what);
/* Whether a mount is attached at that path only once the former one, which is being unmounted, has
 * ended. */
bool mounts_waits(const struct mounts *m, const char *path);
/* Why programs do not reach the mount of that path: it is not attached, or another file system
 * covers it. NULL: they do, it waits for a former mount there to end, or there is none. */
const char *mounts_why(const struct mounts *m, const char *path);
/* Adopts a mount of the record with the descriptor that an earlier agent or its worker has kept, if
 * it is still mounted there. 0: fd is ours; -ENOENT: it belongs to no mount and is still the
 * caller's. */
int mounts_adopt(struct mounts *m, int fd, const uint8_t id[16]);
/* The same for the state of a mount, which is adopted or still in the record. */
int mounts_adopt_state(struct mounts *m, int fd, const uint8_t id[16]);
/* The same for either, by the name under which the descriptor was stored. */
int mounts_adopt_stored(struct mounts *m, int fd, const char *name);
bool mounts_has(const struct mounts *m, const uint8_t id[16]);
/* Writes its path as configured to buf; "" if there is no such mount. */
void mounts_path(const struct mounts *m, const uint8_t id[16], char *buf, size_t size);
/* Notes that an adopted mount is served by that adopted worker. */
void mounts_serve(struct mounts *m, const uint8_t id[16], uint32_t worker_id);
/* Unmounts the recorded mounts that were not adopted. */
void mounts_clean(struct mounts *m);
/* Begins to unmount the mounts that none of the n configurations names. */
void mounts_keep(struct mounts *m, const struct launch_config *configs, size_t n);
/* Begins to unmount one; programs that still use it get errors. */
void mounts_drop(struct mounts *m, const char *path);
/* Whether a mount of that worker (0: any) is being unmounted. The worker must serve it until it is
 * unmounted, or until MOUNTS_UNMOUNT_LIMIT_NS have passed. */
bool mounts_leaving(const struct mounts *m, uint32_t worker_id);
/* The same for one mount, for its mount workers. */
bool mounts_leaving_id(const struct mounts *m, const uint8_t id[16]);

#endif
