/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small files that must be whole: read at once up to a limit, and replaced so that whoever looks,
 * at whatever moment a kill or a power failure comes, sees the old text or the new one. The new
 * text is written and synced beside the old (PATH.new), takes its place by one rename, and the
 * folder is synced. A file that is replaced keeps its mode and owner; one that is reached by a
 * symbolic link is replaced where it lies. Holds no state; one writer per path is the caller's to
 * see to.
 */
#ifndef PLENUM_NETCFG_FILE_H
#define PLENUM_NETCFG_FILE_H

#include "netcfg/base/base.h"
#include <stdio.h>
#include <sys/types.h>

/* The whole file with a NUL behind it, on the heap. -EFBIG: it has more than bytes_max bytes. */
int file_read(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len);
/* Replaces the file, or makes it with `mode`. 0 or negative errno with the old file untouched. */
int file_write(const char *path, const char *text, size_t len, mode_t mode);

/* The same in two steps, for a change that has a point of no return: what can fail for lack of
 * space or of permission fails in the first. */
int file_prepare(const char *path, const char *text, size_t len, mode_t mode);
int file_commit(const char *path);
void file_abandon(const char *path); /* also where nothing was prepared */

/* Goes on until all is written. 0 or negative errno. */
int file_write_all(int fd, const void *data, size_t len);
/* To a file of the kernel's, below the folder dir: it takes the whole value by one call, or -EIO. 0
 * or negative errno. */
int file_put_value(int dir, const char *path, const char *value);

/* Ends what open_memstream() began with `text`. The text, on the heap; NULL: r is an error, or
 * memory ran out while it was written. */
char *file_text_end(FILE *f, char **text, int r);

/* Makes durable what was renamed or removed in the folder that holds path. */
int file_sync_folder(const char *path);

#endif
