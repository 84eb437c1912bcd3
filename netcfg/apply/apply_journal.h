/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An apply on its way: what was begun, and how to roll it back. A text file of lines, appended to
 * and synced before each step; it exists only while an apply is neither committed nor rolled back,
 * and its writer holds a lock (flock) on it, so a reader can tell a killed writer from a busy one.
 *
 *	plenum-journal 2 boot BOOT-ID netns INODE
 *	record PATH					of the owned values; absent: none is kept
 *	begin N sysctl-set|sysctl-restore LINK KEY WAS VALUE	values after a '='
 *	begin N link-set|link-restore LINK mtu|up WAS VALUE
 *	begin N addr-add|addr-del LINK ADDRESS/LEN PROTO NO-PREFIX-ROUTE OPTIMISTIC
 *	begin N route-add|route-del LINK FAMILY TABLE METRIC PROTO SCOPE TYPE DST/LEN GATEWAY SRC
 *	begin N rule-add|rule-del LINK FAMILY PRIORITY TABLE PROTO FROM/LEN
 *	done N | kept N | rolled-back N
 *	commit
 *
 * N counts from 0 without gaps. LINK is a name (or another reference of kernel.h), never an
 * ifindex, which another link may get; ":" is none. GATEWAY, SRC and FROM may be "-". A kind's own
 * words are its object_<kind>.c's. A last line without its newline was never finished, so what it
 * announces was not begun. A journal whose last line is `commit` is not rolled back: only the
 * record may still have to follow.
 */
#ifndef PLENUM_NETCFG_APPLY_JOURNAL_H
#define PLENUM_NETCFG_APPLY_JOURNAL_H

#include "netcfg/apply/apply_step.h"
#include <sys/types.h>

#define APPLY_JOURNAL_VERSION 2

struct apply_journal_entry {
	struct plan_step step;
	enum apply_step_state state;
};

struct apply_journal {
	int fd;
	char *path, *record; /* record: NULL: none is kept */
	off_t bytes;	     /* of whole lines in the file */
	bool stale;	     /* written before a reboot, or in another network namespace */
	bool committed;
	size_t bad_line; /* of a journal that could not be read; 0: none */
	struct apply_journal_entry *entries;
	size_t n;
};

#define APPLY_JOURNAL_INIT \
	{                  \
		.fd = -1   \
	}

/* Makes the file and takes its lock. 0; -EEXIST, -EBUSY, negative errno. */
int apply_journal_create(struct apply_journal *j, const char *path, const char *record);
/* Reads what a killed process left, and takes its lock. 0; -ENOENT: there is none; -EBUSY: its
 * writer lives; -EBADMSG with j->bad_line; negative errno. */
int apply_journal_open(struct apply_journal *j, const char *path);
/* Announces a step; on disk when it returns. 0; negative errno: the step must not be done. */
int apply_journal_begin(struct apply_journal *j, const struct plan_step *s);
/* Says what became of entry i. Not synced: without it the entry counts as begun. */
int apply_journal_mark(struct apply_journal *j, size_t i, enum apply_step_state state);
/* From here on the apply is not rolled back. On disk when it returns. 0; negative errno. */
int apply_journal_commit(struct apply_journal *j);
/* Removes the file: the apply is finished, one way or the other. */
int apply_journal_remove(const struct apply_journal *j);
/* Frees the contents and releases the lock; the file stays. */
void apply_journal_done(struct apply_journal *j);

#endif
