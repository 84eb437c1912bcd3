/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens a folder that an operator has named by its path, and tells it from any other folder. On the
 * way, only symbolic links are followed that root alone could have made or replaced: anybody else
 * who may write in a parent could otherwise lead a privileged process to any folder. Holds no
 * state. Except for folder_look(), a file system that does not answer blocks the caller.
 */
#ifndef PLENUM_NETCFG_FOLDER_H
#define PLENUM_NETCFG_FOLDER_H

#include "netcfg/base/base.h"

#define FOLDER_HANDLE_MAX 128 /* of the kernel: MAX_HANDLE_SZ */
#define FOLDER_LINK_MAX 256

struct folder_id {
	uint64_t dev, ino; /* st_dev, st_ino */
	uint64_t fs_type;
	uint8_t uuid[16]; /* of the file system, if has_uuid */
	bool has_uuid;
	int32_t handle_type;
	uint32_t handle_len; /* 0: the file system has no file handles */
	uint8_t handle[FOLDER_HANDLE_MAX];
};

struct folder_room { /* of its file system; totals of 0: not known, or without a limit */
	uint64_t bytes, free_bytes; /* free: for users */
	uint64_t inodes, free_inodes;
};

/* A descriptor, O_DIRECTORY | O_RDONLY; negative errno. -ELOOP: `link` (FOLDER_LINK_MAX bytes) is a
 * symbolic link on the way that others than root could have made. */
int folder_open(const char *path, char *link);
/* 0 or negative errno. */
int folder_identify(int fd, struct folder_id *ret);
/* 0 or negative errno. */
int folder_measure(int fd, struct folder_room *ret);
/* Whether users cannot write there: less than 1 MiB and 1 % of the space, or no inode, is free. */
bool folder_is_full(const struct folder_room *room);
/* Whether both are the same folder. same_boot: device numbers of both are of the same boot. */
bool folder_is_same(const struct folder_id *a, const struct folder_id *b, bool same_boot);
/* Whether the folder ends with this boot: its file system is in memory. */
bool folder_is_in_memory(const struct folder_id *id);
/* Looks where the path leads now, without links, from the kernel's cache alone: never blocks. 0;
 * -EAGAIN: the cache does not tell; other negative errno as folder_open(). */
int folder_look(const char *path, uint64_t *ret_dev, uint64_t *ret_ino);

/* "device 8:1, inode 2", for messages; returns buf. */
/* The UUID of the file system that fd is on. False: it has none, or does not tell it. */
bool folder_uuid(int fd, uint8_t ret[16]);
#define FOLDER_TEXT_MAX 64
const char *folder_text(uint64_t dev, uint64_t ino, char buf[static FOLDER_TEXT_MAX]);

#endif
