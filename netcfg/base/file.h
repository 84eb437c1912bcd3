/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small files that must be whole: read at once up to a limit, and replaced so that a reader sees
 * the old text or the new one, even after a kill or a power failure at any moment. The new text is
 * written and synced beside the old one (PATH.new), renamed over it, and the folder is synced. A
 * replaced file keeps its mode and owner; a symbolic link is followed and its target replaced.
 * Holds no state; the caller ensures one writer per path.
 */
#ifndef PLENUM_NETCFG_FILE_H
#define PLENUM_NETCFG_FILE_H

#include "netcfg/base/base.h"
#include <stdio.h>
#include <sys/types.h>

/* The whole file with a NUL behind it, on the heap. -EFBIG: it has more than bytes_max bytes. */
int file_read(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len);
/* The same from the descriptor's offset on. */
int file_read_fd(int fd, size_t bytes_max, char **ret_text, size_t *ret_len);
/* Replaces the file, or makes it with `mode`. 0 or negative errno with the old file untouched. */
int file_write(const char *path, const char *text, size_t len, mode_t mode);

/* The same in two steps, for a change with a point of no return: errors such as a full disk or
 * missing permission occur in the first step. */
int file_prepare(const char *path, const char *text, size_t len, mode_t mode);
int file_commit(const char *path);
void file_abandon(const char *path); /* also where nothing was prepared */

/* Writes until all bytes are written. 0 or negative errno. */
int file_write_all(int fd, const void *data, size_t len);
/* Writes a value to a kernel file (sysfs, procfs) below the folder dir in one write(2); -EIO
 * where the kernel took only a part. 0 or negative errno. */
int file_put_value(int dir, const char *path, const char *value);

/* Closes the stream that open_memstream() opened with `text`. Returns the text (heap), or NULL
 * where r is an error or memory ran out. */
char *file_text_end(FILE *f, char **text, int r);

/* Makes renames and removals in path's folder durable. */
int file_sync_folder(const char *path);

#endif
