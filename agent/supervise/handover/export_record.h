/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records which folder each export is: the identity that the folder had when an operator exported
 * it, in a record file (state_file.h) that persists across restarts and reboots. With it, the agent
 * notices a path that leads to another folder later, because of a link, a mount or a rename. Owned
 * by the supervisor. Opens no exported folder.
 */
#ifndef PLENUM_AGENT_EXPORT_RECORD_H
#define PLENUM_AGENT_EXPORT_RECORD_H

#include "dataplane/launch.h"
#include "netcfg/base/os/folder.h"
#include "netcfg/base/reason.h"

struct export_record {
	char name[PLENUM_NAME_MAX];
	char path[256];	  /* as configured */
	bool former_boot; /* recorded before the host's last boot */
	struct folder_id id;
	/* Members that are not in the file. */
	/* Set if the path leads to another folder or to none, or if the file system is full or does
	 * not answer. */
	struct reason differs;
	/* Time of the next check by a child process, even if nothing seems to have changed. */
	uint64_t look_ns;
	bool taken; /* the current reconcile run exports this folder instead of the one before */
};

struct export_records { /* zeroed: no records, kept in memory only */
	char *file;
	struct export_record *all;
	size_t n;
};

/* Reads the file in the state directory; without a file there are no records. 0; enum state_error
 * or other negative errno: the file cannot be read, and the folders of all exports will be recorded
 * again. */
int export_records_load(struct export_records *x, const char *state_dir);
void export_records_done(struct export_records *x);
/*
 * Compares the folder that the export's path leads to now with the record. 1: it is the recorded
 * one; 0: there was no valid record, and this folder is recorded from now on; -EREMCHG: it is
 * another one, and *ret_was is the recorded one. *ret_saved: 0, or negative errno if the record is
 * only in memory.
 */
int export_records_check(struct export_records *x, const char *name, const char *path,
			 const struct folder_id *is, const struct folder_id **ret_was,
			 int *ret_saved);
/* Records this folder and replaces an earlier record of the export. 0; negative errno: the record
 * is only in memory. */
int export_records_put(struct export_records *x, const char *name, const char *path,
		       const struct folder_id *is);
/* The record of the export at this path; NULL: none. */
const struct export_record *export_records_find(const struct export_records *x, const char *name,
						const char *path);
/* Drops the records of exports that none of the n configurations names. 0 or negative errno. */
int export_records_keep(struct export_records *x, const struct launch_config *configs, size_t n);

#endif
