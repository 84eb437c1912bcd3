/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by mounts.c, mounts_adopt.c and mounts_look.c. */
#ifndef PLENUM_AGENT_MOUNTS_INTERNAL_H
#define PLENUM_AGENT_MOUNTS_INTERNAL_H

#include "agent/base/child/async_open.h"
#include "agent/supervise/mounts/mount_spare.h"
#include "agent/supervise/mounts/mountinfo.h"
#include "agent/supervise/mounts/mounts.h"
#include "agent/supervise/mounts/unmount.h"

/* Unmounting a tree causes many changes; all within this time are examined together. */
#define MOUNTS_LOOK_NS (50 * NSEC_PER_MSEC)
#define MOUNTS_PLACE_NS NSEC_PER_SEC /* time between checks whether a mount point is usable */

struct mount_point {
	struct launch_mount what; /* configured path, export, peer, id and descriptors */
	char real[sizeof(((struct launch_mount *)0)->path)];
	unsigned major, minor;
	uint32_t worker_id;	 /* the worker that serves the mount */
	struct unmount *leaving; /* the unmount in progress; NULL: none */
	int mnt_fd;		 /* the mount while it is not attached; else -1 */
	int spare_fd; /* spare mount (mount_spare.h), to attach the file system again; -1: none */
	/* Request for the spare of an adopted mount; NULL: none. */
	struct mount_spare_request *spare;
	int bell_fd; /* eventfd shared with its mount workers; -1: not created yet */
	/* Why programs do not reach the mount: it is not attached yet, or is hidden. */
	struct reason why;
	bool may_attach; /* the server has accepted the mount once, or is silent */
	bool refused;	 /* the mount is not attached, because the server refuses it */
	bool was_served;
	/* A mount that a command made is no longer at its path, but programs may still use its file
	 * system. */
	bool displaced;
	bool by_agent;			 /* the agent has unmounted it for a client */
	uint64_t displaced_ns;		 /* time at which the agent noticed that it is displaced */
	struct loop_source *gone_source; /* waits until the kernel has ended the file system */
	uint64_t made_ns;		 /* time at which the mount was made; 0: it was adopted */
	struct mounts *mounts;
	struct mount_point *next;
};

struct mounts {
	struct mounts_setup setup;
	struct mount_point *points;
	struct async_open dirs; /* opens the directories of mount points */
	int info_fd; /* /proc/self/mountinfo, which polls as changed after each mount and unmount */
	struct loop_source *info_source, *look_timer, *place_timer;
};

void mounts_say(const struct mounts *m, enum log_level level, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
struct mounts_rule mounts_rule_of(const struct mounts *m, const char *path);
/* Attaches all mounts that may be attached. */
void mounts_place_all(struct mounts *m);
/* Returns what mountinfo(5) shows of the mount with that device number. */
struct mountinfo mount_point_info(unsigned major, unsigned minor);
/* Attaches the mount if possible. */
void mount_point_place(struct mounts *m, struct mount_point *p);
/* Removes the mount from the list and the record, closes its descriptors, and frees p. */
void mount_point_remove(struct mount_point *p);
/* Requests a spare mount for an attached mount. */
void mount_point_ask_spare(struct mount_point *p);
/* Returns an entry that is initialised as an attached mount, or NULL. */
struct mount_point *mount_point_new(void);
/* Adds the entry to the list, which then owns it. */
void mount_point_add(struct mounts *m, struct mount_point *p);
struct mount_point *mount_point_find(const struct mounts *m, const uint8_t id[16]);
/* Returns the mount in the record of an earlier agent, or NULL. */
struct rundir_mount *mount_point_record(struct mounts *m, const uint8_t id[16]);
/* Returns whether the recorded mount is still mounted at its path. */
bool mount_point_is_recorded(const struct rundir_mount *rm);
/* Names of a mount's descriptors in the descriptor store, where they outlive the agent. The memfd
 * of the state has the same name as the state's descriptor; the name shows to which mount the state
 * belongs. */
#define MOUNT_FD_NAME_MAX 48
const char *mount_point_fd_name(const struct launch_mount *w, char *buf);
const char *mount_point_state_name(const struct launch_mount *w, char *buf);

#endif
