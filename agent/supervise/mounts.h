/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The FUSE mounts of this host. The monitor opens /dev/fuse, mounts, and keeps the descriptor for
 * as long as the mount exists, so that a worker's death does not end it: requests wait in the
 * kernel until the successor serves the same descriptor. Never reads or writes a FUSE descriptor,
 * and never looks into a mount, which could wait for ever.
 */
#ifndef PLENUM_AGENT_MOUNTS_H
#define PLENUM_AGENT_MOUNTS_H

#include "agent/base/loop.h"
#include "agent/supervise/rundir.h"
#include "dataplane/launch.h"

#define MOUNTS_SUBTYPE "plenum"
#define MOUNTS_FSTYPE "fuse." MOUNTS_SUBTYPE
#define MOUNTS_MAX_READ 1048576
#define MOUNTS_WHY_MAX (LAUNCH_REASON_MAX * 2)

#define MOUNTS_PATIENCE_NS (3 * NSEC_PER_SEC) /* with a file system that has to flush */

struct mounts;
struct mounts_setup {
	struct rundir *rundir;
	struct loop *loop;
	struct events *events;
	/* A mount is gone that was to go; may be NULL. */
	void (*on_change)(void *user);
	/* Somebody else unmounted a mount of this worker, which needs another; may be NULL. */
	void (*on_lost)(void *user, uint32_t worker_id);
	void *user;
};

int mounts_new(const struct mounts_setup *setup, struct mounts **ret);
/* Closes the descriptors without unmounting; see mounts_keep. Accepts NULL, returns NULL. */
struct mounts *mounts_free(struct mounts *m);
/*
 * The descriptors (borrowed) and id of the mount that `want` names, to be served by that worker;
 * makes it where that has not been done. It is put into its place once that is an existing, empty
 * directory and no mount point; until then it is served all the same, and mounts_why says what is
 * lacking. Negative errno with one sentence in why (MOUNTS_WHY_MAX bytes).
 */
int mounts_get(struct mounts *m, struct launch_mount *want, uint32_t worker_id, char *why);
/* The same for a lane of a mount that another worker has; nothing is made. -ENOENT: there is no
 * such mount at present. */
int mounts_get_lane(struct mounts *m, struct launch_mount *want);
/* Whether there is one for a lane to be had, and its id. */
bool mounts_lane_id(const struct mounts *m, const struct launch_mount *want, uint8_t ret[16]);
/* By which a mount and its lanes wake each other: taken over, if the mount has none. 0: fd is ours;
 * -ENOENT. */
int mounts_adopt_bell(struct mounts *m, int fd, const uint8_t id[16]);
/* Why the mount of that path is not in its place; NULL: it is, or there is none. */
const char *mounts_why(const struct mounts *m, const char *path);
/* Takes over a mount of the record with the descriptor that a predecessor, or its worker, has kept,
 * if it is still mounted there. 0: fd is ours; -ENOENT: it is no mount's, still the caller's. */
int mounts_adopt(struct mounts *m, int fd, const uint8_t id[16]);
/* The same for the state of a mount, adopted or still in the record. */
int mounts_adopt_state(struct mounts *m, int fd, const uint8_t id[16]);
/* Both by the name under which the service manager kept the descriptor. */
int mounts_adopt_stored(struct mounts *m, int fd, const char *name);
bool mounts_has(const struct mounts *m, const uint8_t id[16]);
/* Its path as configured into buf; "" where there is no such mount. */
void mounts_path(const struct mounts *m, const uint8_t id[16], char *buf, size_t size);
/* An adopted mount is served by that adopted worker. */
void mounts_serve(struct mounts *m, const uint8_t id[16], uint32_t worker_id);
/* Unmounts what the record names and nobody adopted. */
void mounts_clean(struct mounts *m);
/* Begins to unmount those that are in none of the n configurations. */
void mounts_keep(struct mounts *m, const struct launch_config *configs, size_t n);
/* Begins to unmount one; whoever still uses it gets errors. */
void mounts_drop(struct mounts *m, const char *path);
/* Whether a mount of that worker (0: any) is being unmounted; it wants to be served until then, or
 * until it has taken MOUNTS_PATIENCE_NS. */
bool mounts_leaving(const struct mounts *m, uint32_t worker_id);
/* The same of one mount that a worker has, for those who have lanes of it. */
bool mounts_leaving_id(const struct mounts *m, const uint8_t id[16]);

#endif
