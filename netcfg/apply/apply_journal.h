/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of an apply in progress: the steps that have begun, and the data to roll them back.
 * It is a text file; a line is appended and synced before each step. It exists only until the apply
 * is committed or rolled back. The process that writes it holds a lock (flock) on it, so a reader
 * can find out whether that process still runs.
 *
 *	plenum-journal 2 boot BOOT-ID netns INODE
 *	record PATH					the record of owned values; absent: none
 *	begin N KIND-VERB LINK WORD...
 *	done N | kept N | rolled-back N
 *	commit
 *
 * N counts from 0 without gaps. KIND is the name of an object_kind, VERB is add or del for an
 * object, set or restore for a value. LINK is a name (or another reference of kernel.h), never an
 * ifindex, which another link may get later; ":" means no link. The words after it are written and
 * parsed by the kind's file, object_<kind>.c. A kept step changed nothing, because the host was
 * already as desired, so it is not rolled back. A last line without a newline is incomplete, so its
 * step has not begun. A journal whose last line is `commit` is not rolled back; only the record of
 * owned values may still need an update.
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
	/* `record` is the path of the record of owned values; NULL: no record is kept */
	char *path, *record;
	off_t bytes; /* total size of the complete lines in the file */
	bool stale;  /* written before a reboot, or in another network namespace */
	bool committed;
	size_t bad_line; /* number of the first invalid line; 0: all are valid */
	struct apply_journal_entry *entries;
	size_t n;
};

#define APPLY_JOURNAL_INIT \
	{                  \
		.fd = -1   \
	}

/* Creates and locks the file. Returns 0, -EEXIST if there is an unlocked journal, -EBUSY if another
 * process holds its lock, or another negative errno. */
int apply_journal_create(struct apply_journal *j, const char *path, const char *record);
/* Reads and locks the journal of a killed process. Returns 0; -ENOENT if there is no journal;
 * -EBUSY if the process that writes it is alive; -EBADMSG with j->bad_line if a line is invalid; or
 * another negative errno. */
int apply_journal_open(struct apply_journal *j, const char *path);
/* Records that a step begins. The line is on disk when the function returns. Returns 0, or negative
 * errno; the step must then not run. */
int apply_journal_begin(struct apply_journal *j, const struct plan_step *s);
/* Records the state of entry i. The line is not synced; if a power failure loses it, the step
 * counts as begun. */
int apply_journal_mark(struct apply_journal *j, size_t i, enum apply_step_state state);
/* Records that the apply is committed and must not be rolled back any more. The line is on disk
 * when the function returns. Returns 0 or negative errno. */
int apply_journal_commit(struct apply_journal *j);
/* Removes the file after a commit or rollback. */
int apply_journal_remove(const struct apply_journal *j);
/* Frees the contents and releases the lock. The file stays. */
void apply_journal_done(struct apply_journal *j);

#endif
