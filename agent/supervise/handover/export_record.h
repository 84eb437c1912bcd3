/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which folder each export is: the identity of the folder at the time when an operator exported
 * it, kept across restarts and reboots in a record file (state_file.h). A path that later leads
 * to another folder, because of a link, a mount or a rename, is therefore noticed. Owned by the
 * supervisor; opens no exported folder.
 */
#ifndef PLENUM_AGENT_EXPORT_RECORD_H
#define PLENUM_AGENT_EXPORT_RECORD_H

#include "dataplane/launch.h"
#include "netcfg/base/os/folder.h"
#include "netcfg/base/reason.h"

struct export_record {
	char name[PLENUM_NAME_MAX];
	char path[256];	  /* as configured */
	bool former_boot; /* recorded before this boot */
	struct folder_id id;
	/* Of this process, not in the file. */
	struct reason differs; /* set if the path leads to another folder now, or to none; or if
				* the file system is full or does not answer */
	uint64_t look_ns; /* when a child next looks at the folder, though nothing has changed */
	bool taken;	  /* by the reconcile run at hand, instead of the folder before */
};

struct export_records { /* zeroed: none, kept in memory only */
	char *file;
	struct export_record *all;
	size_t n;
};

/* Reads the file in the state directory; none: no records. 0; enum state_error and other
 * negative errno: it cannot be read, and the folders of all exports are recorded again. */
int export_records_load(struct export_records *x, const char *state_dir);
void export_records_done(struct export_records *x);
/*
 * Compares the folder that the path leads to now. 1: it is the recorded one; 0: there was no valid
 * record, and this folder is recorded from now on; -EREMCHG: it is another one, *ret_was is the
 * recorded one. *ret_saved: 0, or negative errno if the record is only in memory.
 */
int export_records_check(struct export_records *x, const char *name, const char *path,
			 const struct folder_id *is, const struct folder_id **ret_was,
			 int *ret_saved);
/* Records this folder instead of any former one. 0; negative errno: only in memory. */
int export_records_put(struct export_records *x, const char *name, const char *path,
		       const struct folder_id *is);
/* The record of the export at this path; NULL: none. */
const struct export_record *export_records_find(const struct export_records *x, const char *name,
						const char *path);
/* Drops the records of exports that none of the n configurations names. 0 or negative errno. */
int export_records_keep(struct export_records *x, const struct launch_config *configs, size_t n);

#endif
