/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The FUSE mounts of this host. The monitor opens /dev/fuse, mounts, and keeps the descriptor as
 * long as the mount exists. So the mount survives its worker: requests wait in the kernel until the
 * successor serves the same descriptor. The monitor never reads or writes a FUSE descriptor, and
 * never enters a mount, because that could block for ever.
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

/* Long enough for a file system that has to flush its data. */
#define MOUNTS_UNMOUNT_LIMIT_NS (3 * NSEC_PER_SEC)

struct mounts;

/* How a mount differs from those of the configuration. */
struct mounts_rule {
	bool by_command;     /* an operator made it by command */
	bool needs_server;   /* attach the mount only when its server serves it */
	bool by_agent;	     /* the agent is unmounting it for a client */
	unsigned attributes; /* further attributes for fsmount(2) */
};

struct mounts_setup {
	struct rundir *rundir;
	struct loop *loop;
	struct events *events;
	/* Called when an unmount has ended, has failed, or takes too long; may be NULL. */
	void (*on_change)(void *user);
	/* Called when another process has unmounted a mount of this worker, which then needs a new
	 * mount; may be NULL. */
	void (*on_lost)(void *user, uint32_t worker_id);
	/* Returns the rule for the mount at that path; NULL: no mount has one. */
	struct mounts_rule (*rule)(void *user, const char *path);
	/* Called when a mount made by command has ended because it was unmounted; may be NULL. */
	void (*on_ended)(void *user, const char *path);
	/* Called when a mount stays attached although it was to be unmounted; may be NULL. */
	void (*on_failed)(void *user, const char *path, const char *why);
	void *user;
};

int mounts_new(const struct mounts_setup *setup, struct mounts **ret);
/* Closes the descriptors but does not unmount: mounts_keep() does that. Accepts NULL, returns
 * NULL. */
struct mounts *mounts_free(struct mounts *m);
/*
 * Sets the descriptors (borrowed) and the id of *want to those of the mount that `want` names, for
 * the worker that is to serve it. Creates the mount if it does not exist. The mount is attached
 * after mounts_note_answer(), when its path is an existing, empty directory and not a mount point.
 * Until then the worker serves it without users, and mounts_why() names an obstacle at the path.
 * Returns 0, or negative errno, with a sentence in why if the errno alone is not clear enough.
 */
int mounts_get(struct mounts *m, struct launch_mount *want, uint32_t worker_id, struct reason *why);
/* Like mounts_get(), for a mount worker: a further worker of a mount that another worker serves.
 * Never creates a mount. Returns -ENOENT if the mount does not exist at present. */
int mounts_get_shared(struct mounts *m, struct launch_mount *want);
/* Returns whether the mount of this mount worker exists and has its descriptors; if so, ret has its
 * id. */
bool mounts_shared_id(const struct mounts *m, const struct launch_mount *want, uint8_t ret[16]);
/* Adopts the eventfd by which the workers of a mount wake each other, if the mount has none yet.
 * Returns 0 if this module owns fd now, or -ENOENT; the caller then keeps fd. */
int mounts_adopt_bell(struct mounts *m, int fd, const uint8_t id[16]);
/* The state of a mount's server, as far as the worker of the mount knows it. */
enum mounts_answer {
	MOUNTS_SERVED,	/* the server serves the mount */
	MOUNTS_REFUSED, /* the server refuses the mount until an operator changes a configuration */
	/* The server has not answered for a while, or refuses for a reason that passes by
	 * itself. */
	MOUNTS_SILENT,
};
/* Records the answer of the server. A new mount is attached when its server serves it. It is also
 * attached if the server is silent: programs then wait for the server, and write nothing into the
 * directory below. While the server refuses a new mount, the mount is not attached. An attached
 * mount stays. */
void mounts_note_answer(struct mounts *m, const struct launch_mount *what,
			enum mounts_answer answer);
/* Returns whether a new mount is not attached because no answer of its server is recorded yet. If
 * its worker does not start, the mount is attached after MOUNTS_ANSWER_LIMIT_NS. */
bool mounts_await_answer(const struct mounts *m);
#define MOUNTS_ANSWER_LIMIT_NS (10 * NSEC_PER_SEC)
/* Returns whether a new mount at that path is not attached because its server refuses the mount or
 * has not answered yet. */
bool mounts_is_held_back(const struct mounts *m, const char *path);
/* Returns whether a worker has served the mount since this agent mounted or adopted it. */
bool mounts_was_served(const struct mounts *m, const struct launch_mount *what);
/* Returns whether a mount at that path cannot be attached yet because an earlier one is still being
 * unmounted. */
bool mounts_waits(const struct mounts *m, const char *path);
/* Returns whether a mount is attached at that path, and programs reach it. */
bool mounts_is_attached(const struct mounts *m, const char *path);
/* Returns whether the mount at that path is not attached because its server refuses it. */
bool mounts_is_refused(const struct mounts *m, const char *path);
/* Returns whether there is a mount at that path, also one that is being unmounted. */
bool mounts_has_path(const struct mounts *m, const char *path);
/* Returns the path of the attached mount as mountinfo(5) shows it, or NULL if it is not attached.
 * Borrowed. */
const char *mounts_real_path(const struct mounts *m, const char *path);
/* Writes the paths of up to max attached mounts, as mountinfo(5) shows them, to ret. Borrowed.
 * Returns their number. */
size_t mounts_real_paths(const struct mounts *m, const char **ret, size_t max);
/* Returns the configured path of the mount that is attached at that path of mountinfo(5), or
 * NULL. */
const char *mounts_at(const struct mounts *m, const char *real);
/* Returns whether a mount made by command is no longer at its path, although programs may still use
 * its file system. The mount ends when no program uses it. */
bool mounts_is_displaced(const struct mounts *m, const char *path);
/* Returns whether another process has unmounted the mount of that path since an earlier agent
 * recorded it, and no program uses it. Call after the mounts were adopted, and before
 * mounts_clean(). */
bool mounts_ended_before(const struct mounts *m, const char *path);
/* Looks now for mounts that other processes have unmounted. Without this call, the agent notices
 * them a moment later. */
void mounts_look(struct mounts *m);
/* Returns why programs do not reach the mount of that path: it is not attached, or another file
 * system hides it. Returns NULL if programs reach the mount, if the mount waits until an earlier
 * mount there has ended, or if it does not exist. */
const char *mounts_why(const struct mounts *m, const char *path);
/* Adopts a mount of the record if it is still mounted there. Uses the descriptor that an earlier
 * agent or its worker kept. Returns 0 if this module owns fd now. Returns -ENOENT if fd belongs to
 * no mount, or -ENOMEM; the caller then keeps fd. */
int mounts_adopt(struct mounts *m, int fd, const uint8_t id[16]);
/* Adopts the state of a mount that is adopted or still in the record. */
int mounts_adopt_state(struct mounts *m, int fd, const uint8_t id[16]);
/* Adopts a stored descriptor; its name shows to which mount it belongs, and whether it is of the
 * mount or of the mount's state. */
int mounts_adopt_stored(struct mounts *m, int fd, const char *name);
bool mounts_has(const struct mounts *m, const uint8_t id[16]);
/* Writes the configured path of the mount to buf; "": the mount does not exist. */
void mounts_path(const struct mounts *m, const uint8_t id[16], char *buf, size_t size);
/* Sets the worker of an adopted mount. */
void mounts_serve(struct mounts *m, const uint8_t id[16], uint32_t worker_id);
/* Begins to unmount the recorded mounts that were not adopted. */
void mounts_clean(struct mounts *m);
/* Begins to unmount all mounts that none of the n configurations names. */
void mounts_keep(struct mounts *m, const struct launch_config *configs, size_t n);
/* Begins to unmount a mount. Programs that still use it get errors. */
void mounts_drop(struct mounts *m, const char *path);
/* Returns whether a mount of that worker (0: of any) is being unmounted. The worker must serve the
 * mount until it is unmounted or MOUNTS_UNMOUNT_LIMIT_NS have passed. */
bool mounts_leaving(const struct mounts *m, uint32_t worker_id);
/* Returns whether that mount is being unmounted; for its mount workers. */
bool mounts_leaving_id(const struct mounts *m, const uint8_t id[16]);

#endif
