/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads small files whole, up to a limit, and replaces files atomically: a reader sees the complete
 * old text or the complete new text, even after a kill or a power failure at any moment. The new
 * text is written and synced to PATH.new, which is then renamed to PATH; at last the folder is
 * synced. A replaced file keeps its mode and owner; if PATH is a symbolic link, its target is
 * replaced. The functions hold no state; the caller ensures that each path has one writer at a
 * time.
 */
#ifndef PLENUM_NETCFG_FILE_H
#define PLENUM_NETCFG_FILE_H

#include "netcfg/base/base.h"
#include <stdio.h>
#include <sys/types.h>

/* Reads the whole file into *ret_text on the heap, with a NUL after it. Returns 0, -EFBIG if the
 * file has more than bytes_max bytes, or another negative errno. */
int file_read(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len);
/* Like file_read(), but reads an open file, from the descriptor's offset to the end. */
int file_read_fd(int fd, size_t bytes_max, char **ret_text, size_t *ret_len);
/* Replaces the file, or creates it with `mode`. Returns 0, or negative errno and leaves the old
 * file unchanged. */
int file_write(const char *path, const char *text, size_t len, mode_t mode);

/* Replace the file like file_write(), in two steps. Errors such as a full disk or a missing
 * permission occur in file_prepare(); file_commit() only renames. */
int file_prepare(const char *path, const char *text, size_t len, mode_t mode);
int file_commit(const char *path);
void file_abandon(const char *path); /* removes the prepared file, if there is one */

/* Repeats write(2) until all bytes are written. Returns 0 or negative errno. */
int file_write_all(int fd, const void *data, size_t len);
/* Writes a value to a kernel file (sysfs, procfs) below the folder `dir` in one write(2). Returns
 * 0, -EIO if the kernel accepted only a part of the value, or another negative errno. */
int file_put_value(int dir, const char *path, const char *value);

/* Closes a stream of open_memstream() that writes to *text. Returns the text (heap), or NULL if the
 * caller failed (r < 0) or memory ran out. */
char *file_text_end(FILE *f, char **text, int r);

/* Makes renames and removals in the folder of `path` durable. */
int file_sync_folder(const char *path);

#endif
