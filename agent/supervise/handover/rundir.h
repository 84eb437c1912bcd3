/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's files other than the configuration: the lock that keeps a second agent out, and the
 * record of the worker processes and mounts, which outlive the agent and which the next one adopts.
 * The record is in the run directory and ends with a reboot, like the objects that it names; the
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
 * The record is a record file (state_file.h) of the kind "record". In every version a process's
 * line begins with "process PID START" and a mount is a line "mount MAJOR:MINOR ..." followed by a
 * line "at PATH". This much is read from any record, and is enough to end the objects. The rest is
 * read from this version only.
 */
#define RUNDIR_RECORD_VERSION 2

struct rundir_fuse {
	int fd, state_fd; /* numbers in the process; state_fd -1: unknown */
	uint8_t id[16];
};

struct rundir_state {
	int fd; /* number in the process */
	char export[PLENUM_NAME_MAX];
};

struct rundir_process {
	pid_t pid;
	uint64_t start_time; /* /proc/PID/stat field 22: distinguishes a reused pid from the
			      * recorded process */
	uint32_t worker_id, launch_version; /* 0, 0: not in the record */
	uint64_t n_restarts;
	uint64_t died_ms; /* of the worker's last death, wall clock; 0: none is known */
	char died_of[LAUNCH_REASON_MAX * 2];
	struct rundir_fuse fuse[LAUNCH_MOUNTS_MAX]; /* mounts whose descriptors the process has */
	uint32_t n_fuse;
	struct rundir_fuse shared[LAUNCH_SHARED_MOUNTS_MAX]; /* the same for mounts that other
							      * workers serve */
	uint32_t n_shared;
	struct rundir_state states[LAUNCH_EXPORTS_MAX]; /* states of the process's exports */
	uint32_t n_states;
	bool adopted; /* it is supervised */
};

struct rundir_mount {
	unsigned major, minor;	  /* of the mounted file system */
	struct launch_mount what; /* without descriptors, except for an adopted state */
	char *path;		  /* path as mountinfo(5) shows it */
	bool adopted;		  /* its descriptor was adopted: it stays mounted */
};

struct rundir {
	char *run, *state; /* absolute paths of the two directories */
	struct run_lock lock;
	uint32_t epoch;
	unsigned record_version; /* version of the record that was read; 0: unknown */
	int record_error; /* 0: it was read in full; enum state_error; other negative errno */
	struct rundir_process *processes;
	size_t n_processes;
	struct rundir_mount *mounts;
	size_t n_mounts;
	bool unsaved; /* the record on disk is out of date */
};

/*
 * Creates the directories, takes the lock and reads the record. 0; -EBUSY if another agent runs,
 * with its pid in *ret_owner (0: unknown); other negative errno with the path concerned in why,
 * unless the errno says all.
 */
int rundir_open(const char *run, const char *state, struct rundir *ret, pid_t *ret_owner,
		struct reason *why);
void rundir_done(struct rundir *rd);
/* Creates the run directory, its lock and its record again if they were removed. 0: they are there;
 * 1: done; -EBUSY: another agent has taken the directory meanwhile; other negative errno. */
int rundir_restore(struct rundir *rd);
/* Kills the recorded processes that were not adopted, waits for them, and removes them from the
 * record. */
void rundir_clean(struct rundir *rd, struct events *ev);
/* A pidfd (the caller's) of the recorded process; -ESRCH: it has exited. */
int rundir_open_process(const struct rundir_process *p);

/* Each writes the record before it returns: 0, or negative errno if the change is only in memory;
 * the next write and rundir_save_again retry it. The start time of p is filled in here; an entry of
 * the same pid is replaced. */
int rundir_add_process(struct rundir *rd, const struct rundir_process *p);
int rundir_del_process(struct rundir *rd, pid_t pid);
int rundir_add_mount(struct rundir *rd, unsigned major, unsigned minor, const char *path,
		     const struct launch_mount *what);
int rundir_del_mount(struct rundir *rd, const char *path);
/* Writes the record if an earlier write failed: until then a new agent would not find the running
 * workers. 0; negative errno: it failed again. */
int rundir_save_again(struct rundir *rd);

/* The next epoch; it persists across restarts and, via the clock, across the loss of the state
 * directory. */
uint32_t rundir_next_epoch(struct rundir *rd);
/* Opens the key of the file handles that clients keep (launch.h). It is created once and kept as
 * long as the state directory: a new key would make every open file of every client stale. A
 * descriptor; negative errno, -EUCLEAN: the file is not a key. */
int rundir_open_key(const struct rundir *rd);

#endif
