/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mounts that operators make by command (`plenum mount`, mount(8)). They are not in the
 * configuration; the reconcile adds them to the workers' desired configurations, so that an apply
 * or reload keeps them. Owns the list and its file in the run directory. The file has only mounts
 * that a server has served: the next agent keeps these mounts. It unmounts a mount whose request
 * was not completed, because the file does not have that mount. The file is lost at a reboot, like
 * the mounts. Used by the monitor only.
 */
#ifndef PLENUM_AGENT_COMMAND_MOUNTS_H
#define PLENUM_AGENT_COMMAND_MOUNTS_H

#include "agent/base/loop.h"
#include "agent/supervise/mounts/mounts.h"
#include "dataplane/launch.h"
#include "netcfg/base/reason.h"
#include "netcfg/spec/spec.h"

#define COMMAND_MOUNTS_MAX 128

enum command_mount_state {
	COMMAND_MOUNT_NEW,    /* requested; the server has not served it yet */
	COMMAND_MOUNT_KEPT,   /* the server has served it; the mount is in the file */
	COMMAND_MOUNT_ENDING, /* no longer desired; being unmounted */
};

struct control_unmount;
struct command_mount {
	/* The mount; members for addresses, descriptors and the id are not set. */
	struct launch_mount what;
	bool no_exec, no_atime; /* mount options that only this host's kernel needs */
	uint32_t worker;	/* worker that serves the mount, if that worker can */
	enum command_mount_state state;
	uint64_t client; /* the client that waits for the result; 0: none */
	uint64_t due_ns; /* latest time of the answer to that client */
	/* The error to send to the client; code NULL: there is no error. */
	unsigned status;
	const char *code;
	struct reason why;
	struct control_unmount *unmount; /* the attempt to unmount it; NULL: none */
};

struct command_mounts {
	char *path; /* path of the file; owned */
	struct command_mount *list;
	size_t n;
	bool changed; /* the workers' desired configurations do not have the change yet */
	bool unsaved; /* the file differs from the list */
	struct loop_source *timer;
};

/* Reads the file in the run directory. A file that cannot be used counts as empty, with the reason
 * in why. Returns 0 or -ENOMEM. */
int command_mounts_open(struct command_mounts *cm, const char *run_dir, struct reason *why);
void command_mounts_done(struct command_mounts *cm);
/* Writes the mounts that are kept to the file. Returns 0 or negative errno; `unsaved` is then
 * set. */
int command_mounts_save(struct command_mounts *cm);
/* Forgets all mounts, because the agent is stopped with its mounts. */
void command_mounts_clear(struct command_mounts *cm);

/* Returns the mount at that path, or NULL. Valid until the list changes. */
struct command_mount *command_mounts_find(const struct command_mounts *cm, const char *path);
/* Adds an empty entry. Returns NULL if memory is short. */
struct command_mount *command_mounts_add(struct command_mounts *cm);
void command_mounts_remove(struct command_mounts *cm, struct command_mount *e);
/* Makes the timer fire soon. */
void command_mounts_wake(struct command_mounts *cm);
/* Ends the mount: it is no longer desired, and no longer in the file. */
void command_mounts_end(struct command_mounts *cm, struct command_mount *e);
/* Ends the mount, and sets the error that its client gets, unless an error is set already. code:
 * static text. */
void command_mounts_fail(struct command_mounts *cm, struct command_mount *e, unsigned status,
			 const char *code, const struct reason *why);
/* Returns whether the mount at that path was made by command, and is not in the configuration. */
bool command_mounts_made(const struct command_mounts *cm, const struct spec *spec,
			 const char *path);
bool command_mounts_is_configured(const struct spec *spec, const char *path);

/* Returns whether mount points may have that path: absolute, in the shortest form, and not "/". */
bool command_mounts_path_is_valid(const char *path);

/* Returns the rule for the mount at that path. */
struct mounts_rule command_mounts_rule(const struct command_mounts *cm, const char *path);

#endif
