/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies the contents of the table of file locks, to show them to operators. Compute workers may
 * change the table at any time, and a compromised worker may write any bytes to it. So the agent
 * does not map the table, and it checks every number and text. A lock that changes during the copy
 * may be missing, or may have parts of its previous state.
 */
#ifndef PLENUM_AGENT_LOCK_VIEW_H
#define PLENUM_AGENT_LOCK_VIEW_H

#include "dataplane/lock_layout.h"

struct lock_view_entry {
	uint64_t id, dev, ino;
	uint64_t start, end; /* first and last byte of the lock */
	uint64_t since_ns;   /* time (clock_now_ns()) at which the lock was requested or granted */
	enum lock_state state;
	uint32_t pid; /* pid of the program at the client */
	bool flock, write;
	bool contended;	 /* requests wait for a lock of the same file */
	uint32_t worker; /* worker that has, or had, the file open as its descriptor fd */
	int32_t fd;
	char host[PLENUM_NAME_MAX], export_name[PLENUM_NAME_MAX];
};

struct lock_view {
	/* Sorted by export and file, with the holders of a file first; on the heap. */
	struct lock_view_entry *all;
	size_t n;
	uint64_t n_omitted; /* count of locks in the table that the list does not have */
};

/* Copies at most `max` locks and waiting requests of the table in fd, first those of files for
 * which requests wait. Returns 0, -EPROTO if the table has another version, or another negative
 * errno. */
int lock_view_read(int fd, size_t max, struct lock_view *ret);
void lock_view_done(struct lock_view *v);
/* Copies the lock with this id. Returns 0, -ENOENT, or another negative errno. */
int lock_view_find(int fd, uint64_t id, struct lock_view_entry *ret);

#endif
