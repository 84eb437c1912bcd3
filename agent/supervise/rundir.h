/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's files that are not configuration: the lock that keeps a second agent out, and the
 * record of what outlives an agent (worker processes and mounts), by which the next one takes them
 * over. The record is in the run directory and goes with a reboot, as does what it names; the epoch
 * is in the state directory and stays. Called by the monitor only.
 */
#ifndef PLENUM_AGENT_RUNDIR_H
#define PLENUM_AGENT_RUNDIR_H

#include "agent/base/events.h"
#include "dataplane/launch.h"
#include <sys/types.h>

/*
 * The record's first line is its version. In every version a process's line begins with "process
 * PID START" and a mount is a line "mount MAJOR:MINOR ..." followed by a line "at PATH": that much
 * is understood of any record, and is enough to end what it names. The rest is this version's
 * alone.
 */
#define RUNDIR_RECORD_VERSION 2

struct rundir_fuse {
	int fd, state_fd; /* of the process; the second -1: not said */
	uint8_t id[16];
};

struct rundir_state {
	int fd; /* of the process */
	char export[PLENUM_NAME_MAX];
};

struct rundir_process {
	pid_t pid;
	uint64_t start_time; /* /proc/PID/stat field 22: tells a reused pid from the recorded one */
	uint32_t worker_id, launch_version; /* 0, 0: the record does not say */
	uint64_t n_restarts;
	struct rundir_fuse fuse[LAUNCH_MOUNTS_MAX]; /* mounts whose descriptors it has */
	uint32_t n_fuse;
	struct rundir_fuse lanes[LAUNCH_CARRIED_MAX]; /* and of those that others serve */
	uint32_t n_lanes;
	struct rundir_state states[LAUNCH_EXPORTS_MAX]; /* of its exports */
	uint32_t n_states;
	bool adopted; /* somebody cares for it */
};

struct rundir_mount {
	unsigned major, minor;	  /* of the mounted file system */
	struct launch_mount what; /* without descriptors, but for a state that was found */
	char *path;		  /* as mountinfo(5) writes it */
	bool adopted;		  /* its descriptor has come to us: it goes on */
};

struct rundir {
	char *run, *state; /* absolute paths of the two directories */
	int lock_fd;
	uint32_t epoch;
	unsigned record_version; /* of the record that was there; 0: there was none */
	struct rundir_process *processes;
	size_t n_processes;
	struct rundir_mount *mounts;
	size_t n_mounts;
	bool unsaved; /* the record is not what it should be */
};

/*
 * Makes the directories, takes the lock (RUN/plenumd.pid holds our pid while it is locked) and
 * reads the record. 0; -EBUSY where another agent runs, its pid in *ret_owner (one that has just
 * been killed is waited for until its last child has let go); other negative errno with the path
 * concerned in why (why_size bytes).
 */
int rundir_open(const char *run, const char *state, struct rundir *ret, pid_t *ret_owner, char *why,
		size_t why_size);
void rundir_done(struct rundir *rd);
/* Ends the processes of the record that nobody adopted, waits for them, and takes them off it. */
void rundir_clean(struct rundir *rd, struct events *ev);
/* A pidfd (the caller's) of the process as it was recorded; -ESRCH: it has ended. */
int rundir_open_process(const struct rundir_process *p);

/* Each writes the record before it returns: 0, or negative errno where only our memory has it now:
 * the next write tries again, and rundir_save_again. p's start time is found here; it replaces what
 * is there of that pid.
 */
int rundir_add_process(struct rundir *rd, const struct rundir_process *p);
int rundir_del_process(struct rundir *rd, pid_t pid);
int rundir_add_mount(struct rundir *rd, unsigned major, unsigned minor, const char *path,
		     const struct launch_mount *what);
int rundir_del_mount(struct rundir *rd, const char *path);
/* Writes the record where it could not be written: an agent that came now would not find what runs.
 * 0; negative errno: still not. */
int rundir_save_again(struct rundir *rd);

/* The next epoch, kept across restarts and, by the clock, across a lost state directory. */
uint32_t rundir_next_epoch(struct rundir *rd);
/* Opens the key of the file handles that clients keep (launch.h), made once for as long as the
 * state directory lasts: a new one would make every open file of every client stale. A descriptor;
 * negative errno, -EUCLEAN: what is there is no key. */
int rundir_open_key(const struct rundir *rd);
/* DIR/NAME as a heap string, NULL: out of memory. */
char *rundir_path(const char *dir, const char *name);
/* Start time of a live process in clock ticks since boot; -ESRCH where there is none. */
int rundir_process_start(pid_t pid, uint64_t *ret);
/* Whether there is a process of that pid that has not ended. */
bool rundir_process_lives(pid_t pid);

#endif
