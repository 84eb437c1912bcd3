/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's files other than the configuration: the lock that keeps a second agent from starting,
 * and the record of worker processes and mounts. These outlive the agent, and the next agent adopts
 * them. The record is in the run directory and is lost at a reboot, like the objects in it. The
 * epoch is in the state directory and persists. Called by the monitor only.
 */
#ifndef PLENUM_AGENT_RUNDIR_H
#define PLENUM_AGENT_RUNDIR_H

#include "agent/base/events.h"
#include "agent/base/run_lock.h"
#include "dataplane/launch.h"
#include "netcfg/base/reason.h"
#include <sys/types.h>

/*
 * Version of the record, a record file (state_file.h) of the kind "record". In every version the
 * line of a process begins with "process PID START", and a mount is a line "mount MAJOR:MINOR ..."
 * followed by a line "at PATH". An agent reads these parts from a record of any version; they
 * suffice to end the process or the mount. It reads the other parts from its own version only.
 */
#define RUNDIR_RECORD_VERSION 2

struct rundir_fuse {
	int fd, state_fd; /* fd: number of the descriptor in the process; state_fd -1: unknown */
	uint8_t id[16];
};

struct rundir_state {
	int fd; /* number of the descriptor in the process */
	char export[PLENUM_NAME_MAX];
};

struct rundir_process {
	pid_t pid;
	/* field 22 of /proc/PID/stat; differs if another process has this pid now */
	uint64_t start_time;
	uint32_t worker_id, launch_version; /* 0, 0: not in the record */
	uint64_t n_restarts;
	uint64_t died_ms; /* wall clock time of the worker's last death; 0: none is known */
	char died_of[LAUNCH_REASON_MAX * 2];
	/* The mounts whose descriptors the process has. */
	struct rundir_fuse fuse[LAUNCH_MOUNTS_MAX];
	uint32_t n_fuse;
	/* The mounts of other workers whose descriptors the process has. */
	struct rundir_fuse shared[LAUNCH_SHARED_MOUNTS_MAX];
	uint32_t n_shared;
	/* States of the exports that the process serves. */
	struct rundir_state states[LAUNCH_EXPORTS_MAX];
	uint32_t n_states;
	bool adopted; /* the supervisor has adopted the process */
};

struct rundir_mount {
	unsigned major, minor; /* device number of the mounted file system */
	/* The mount without its descriptors, except the descriptor of its state if this agent has
	 * adopted the state. */
	struct launch_mount what;
	char *path; /* path as mountinfo(5) shows it */
	/* The agent is attaching or unmounting this mount: if the mount is missing, no other
	 * process has unmounted it. */
	bool by_agent;
	bool adopted; /* the mount's descriptor was adopted, so the mount stays mounted */
};

struct rundir {
	char *run, *state; /* absolute paths of the two directories */
	struct run_lock lock;
	uint32_t epoch;
	unsigned record_version; /* version of the record that was read; 0: unknown */
	/* Result of reading the record: 0, enum state_error, or another negative errno. */
	int record_error;
	struct rundir_process *processes;
	size_t n_processes;
	struct rundir_mount *mounts;
	size_t n_mounts;
	bool unsaved; /* the record in memory differs from the file */
};

/*
 * Creates the directories, takes the lock and reads the record. Returns 0; -EBUSY if another agent
 * runs, with its pid in *ret_owner (0: unknown); or another negative errno, with the path in why if
 * the errno alone is not clear enough.
 */
int rundir_open(const char *run, const char *state, struct rundir *ret, pid_t *ret_owner,
		struct reason *why);
void rundir_done(struct rundir *rd);
/* Creates the run directory, and the lock and the record in it, again if they were removed. Returns
 * 0 if they existed, 1 if they were created, -EBUSY if another agent has taken the directory
 * meanwhile, or another negative errno. */
int rundir_restore(struct rundir *rd);
/* Kills the recorded processes that were not adopted, waits for them, and removes them from the
 * record. */
void rundir_clean(struct rundir *rd, struct events *ev);
/* Opens a pidfd of a recorded process. Returns the pidfd, which is the caller's, -ESRCH if the
 * process has exited, or another negative errno. */
int rundir_open_process(const struct rundir_process *p);

/*
 * Each of the next five functions writes the record before it returns. Returns 0, or negative errno
 * if the record could not be written: the change is then only in memory, and the next write or
 * rundir_save_again() retries. rundir_add_process() reads the start time of the process p and adds
 * p; it replaces an entry with the same pid.
 */
int rundir_add_process(struct rundir *rd, const struct rundir_process *p);
int rundir_del_process(struct rundir *rd, pid_t pid);
int rundir_add_mount(struct rundir *rd, unsigned major, unsigned minor, const char *path,
		     const struct launch_mount *what, bool by_agent);
int rundir_mark_mount(struct rundir *rd, const char *path, bool by_agent);
int rundir_del_mount(struct rundir *rd, const char *path);
/* Writes the record if an earlier write failed. Until that succeeds, a new agent would not find the
 * running workers. Returns 0, or negative errno if it failed again. */
int rundir_save_again(struct rundir *rd);

/* Returns the next epoch. It grows across restarts and, because it includes the clock, even if the
 * state directory is lost. */
uint32_t rundir_next_epoch(struct rundir *rd);
/* Opens the key that signs the file handles of clients (launch.h). The key is created once and kept
 * as long as the state directory, because another key would make all open files of all clients
 * stale. Returns a descriptor, -EUCLEAN if the file is not a key, or another negative errno. */
int rundir_open_key(const struct rundir *rd);

#endif
