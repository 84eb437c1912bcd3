/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record, in the agent's state directory, of the mounts that may hold file locks at this
 * server: their ids and lock epochs. After a reboot, the agent writes the mounts to the new table
 * of locks, so that clients can reclaim their locks. Workers request that a record is written or
 * removed, and get the answer when the file is on disk. Owned by the supervisor, which sends the
 * messages.
 */
#ifndef PLENUM_AGENT_LOCK_RECORDS_H
#define PLENUM_AGENT_LOCK_RECORDS_H

#include "dataplane/launch.h"

#define LOCK_ANSWERS_MAX 512U

struct lock_known;
struct lock_records { /* zeroed: no records */
	char *file;
	struct lock_known *all;
	size_t n;
	bool unsaved; /* the file differs from the records */
	bool checked; /* lock_records_check() was done */
	/* The answers to send when the file has been saved. */
	struct {
		uint32_t worker_id;
		struct launch_msg msg;
	} answers[LOCK_ANSWERS_MAX];
	unsigned n_answers;
};

/* Reads the file in the agent's state directory. Returns 0, also if the file does not exist.
 * Returns an error of state_file_read() if the file cannot be used; no mount is recorded then. */
int lock_records_load(struct lock_records *x, const char *state_dir);
void lock_records_done(struct lock_records *x);
/*
 * Call before a worker gets the table of locks behind fd. If the table is new, writes the recorded
 * mounts to it, so that their clients reclaim their locks. Otherwise removes the records of mounts
 * that the table does not have. Only the first successful call does this. Returns 0 or negative
 * errno.
 */
int lock_records_check(struct lock_records *x, int fd);
/* Handles LAUNCH_MSG_LOCK_KEEP or LAUNCH_MSG_LOCK_FORGET of a worker. fd: the table of locks. A
 * request that the table contradicts is ignored. Returns whether to call lock_records_save() soon.
 */
bool lock_records_ask(struct lock_records *x, int fd, uint32_t worker_id,
		      const struct launch_msg *msg);
/* Writes the file. Returns 0, or negative errno; after an error the caller must not send the
 * answers. */
int lock_records_save(struct lock_records *x);

#endif
