/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records which folder each export is: the identity that the folder had when an operator exported
 * it. The records are in a record file (state_file.h) that persists across restarts and reboots.
 * With them, the agent notices when the path of an export leads to another folder, because of a
 * link, a mount or a rename. Owned by the supervisor. Opens no exported folder.
 */
#ifndef PLENUM_AGENT_EXPORT_RECORD_H
#define PLENUM_AGENT_EXPORT_RECORD_H

#include "dataplane/launch.h"
#include "netcfg/base/os/folder.h"
#include "netcfg/base/reason.h"

struct export_record {
	char name[PLENUM_NAME_MAX];
	char path[256];	  /* path of the export as configured */
	bool former_boot; /* recorded before the host's last boot */
	struct folder_id id;
	/* The members below are not in the file. */
	/* Set if the path leads to another folder or to none, or if the file system is full or does
	 * not answer. */
	struct reason differs;
	/* Time of the next check by a child process, even if nothing seems to have changed. */
	uint64_t look_ns;
	bool taken; /* the current reconcile run has replaced the recorded folder by this folder */
};

struct export_records { /* zeroed: no records, kept in memory only */
	char *file;
	struct export_record *all;
	size_t n;
};

/* Reads the file in the state directory. If the file does not exist, the list of records is empty.
 * Returns 0, or enum state_error or another negative errno if the file cannot be read; the folders
 * of all exports are then recorded again. */
int export_records_load(struct export_records *x, const char *state_dir);
void export_records_done(struct export_records *x);
/*
 * Compares the folder that the export's path leads to now, `is`, with the export's record. Returns
 * 1 if it is the recorded folder. Returns 0 if the export had no valid record; `is` is recorded
 * now. Returns -EREMCHG if it is another folder; *ret_was is the recorded one. *ret_saved is 0, or
 * negative errno if the record could not be written and is only in memory.
 */
int export_records_check(struct export_records *x, const char *name, const char *path,
			 const struct folder_id *is, const struct folder_id **ret_was,
			 int *ret_saved);
/* Records the folder `is` and replaces an earlier record of the export. Returns 0, or negative
 * errno if the record could not be written and is only in memory. */
int export_records_put(struct export_records *x, const char *name, const char *path,
		       const struct folder_id *is);
/* Returns the record of the export at this path, or NULL if that path has no record. */
const struct export_record *export_records_find(const struct export_records *x, const char *name,
						const char *path);
/* Drops the records of exports that none of the n configurations names. Returns 0 or negative
 * errno. */
int export_records_keep(struct export_records *x, const struct launch_config *configs, size_t n);

#endif
