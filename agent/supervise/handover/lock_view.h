/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies what the table of file locks contains, to show it to operators. Compute workers write the
 * table at any time, and a compromised one may write anything: so the agent neither maps it nor
 * reserves it, and checks every number and text. A lock that changes during the copy may be
 * missing, or have parts of its former state.
 */
#ifndef PLENUM_AGENT_LOCK_VIEW_H
#define PLENUM_AGENT_LOCK_VIEW_H

#include "dataplane/lock_layout.h"

struct lock_view_entry {
	uint64_t id, dev, ino;
	uint64_t start, end; /* first and last byte */
	uint64_t since_ns;   /* clock_now_ns() when it was requested or granted */
	enum lock_state state;
	uint32_t pid; /* at the client */
	bool flock, write;
	bool contended;	 /* other requests wait for the file */
	uint32_t worker; /* it has, or had, the file open as descriptor fd */
	int32_t fd;
	char host[PLENUM_NAME_MAX], export_name[PLENUM_NAME_MAX];
};

struct lock_view {
	struct lock_view_entry *all; /* by export and file, the holders first; on the heap */
	size_t n;
	uint64_t n_omitted; /* further locks of the table */
};

/* Copies at most `max` locks and waiting requests of the table in fd; first those of files for
 * which requests wait. Returns 0; -EPROTO if the table has another layout; or another negative
 * errno. */
int lock_view_read(int fd, size_t max, struct lock_view *ret);
void lock_view_done(struct lock_view *v);
/* Copies the lock with this id. Returns 0, -ENOENT, or another negative errno. */
int lock_view_find(int fd, uint64_t id, struct lock_view_entry *ret);

#endif
