/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of an apply on its way: what was begun, and how to take it back. A text file of lines,
 * appended to and synced before each step; it exists only while an apply is unfinished, and its
 * writer holds a lock (flock) on it, so a reader can tell a killed writer from a busy one.
 *
 *	plenum-journal 1 boot BOOT-ID netns INODE
 *	begin N sysctl-set KEY WAS WANT			values quoted by '='
 *	begin N link-set IFINDEX NAME mtu WAS WANT
 *	begin N link-set IFINDEX NAME up WAS WANT
 *	begin N addr-add|addr-del IFINDEX NAME ADDRESS/LEN PROTO
 *	begin N route-add|route-del IFINDEX NAME FAMILY TABLE METRIC PROTO SCOPE TYPE DST/LEN
 *GATEWAY SRC begin N rule-add|rule-del FAMILY PRIORITY TABLE PROTO FROM/LEN done N | kept N |
 *rolled-back N
 *
 * N counts from 0 without gaps. NAME, GATEWAY, SRC and FROM may be "-". A last line without its
 * newline was never finished, so what it announces was not begun.
 */
#ifndef PLENUM_NETCFG_APPLY_JOURNAL_H
#define PLENUM_NETCFG_APPLY_JOURNAL_H

#include "netcfg/plan/apply_step.h"

#define APPLY_JOURNAL_VERSION 1

struct apply_journal_entry {
	struct plan_step step;
	enum apply_step_state state;
};

struct apply_journal {
	int fd;
	const char *path; /* borrowed */
	bool stale;	  /* written before a reboot, or in another network namespace */
	size_t bad_line;  /* of a journal that could not be read; 0: none */
	struct apply_journal_entry *entries;
	size_t n, cap;
};

#define APPLY_JOURNAL_INIT \
	{                  \
		.fd = -1   \
	}

/* Makes the file and takes its lock. 0; -EEXIST, -EBUSY, negative errno. */
int apply_journal_create(struct apply_journal *j, const char *path);
/* Reads what a killed process left, and takes its lock. 0; -ENOENT: there is none; -EBUSY: its
 * writer lives; -EBADMSG with j->bad_line; negative errno. */
int apply_journal_open(struct apply_journal *j, const char *path);
/* Announces a step; on disk when it returns. 0; negative errno: the step must not be done. */
int apply_journal_begin(struct apply_journal *j, const struct plan_step *s);
/* Says what became of entry i. Not synced: without it the entry counts as begun. */
int apply_journal_mark(struct apply_journal *j, size_t i, enum apply_step_state state);
/* Removes the file: the apply is finished, one way or the other. */
int apply_journal_remove(struct apply_journal *j);
/* Frees the contents and releases the lock; the file stays. */
void apply_journal_done(struct apply_journal *j);

#endif
