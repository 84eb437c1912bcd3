/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens a folder by the path that an operator configured, and distinguishes it from any other
 * folder. A symbolic link on the path is followed only if no user but root could have made or
 * replaced it: otherwise a user who may write to a parent folder could lead a privileged process to
 * any folder. Also removes a folder with its content. The functions hold no state. All but
 * folder_look() block while a file system does not answer.
 */
#ifndef PLENUM_NETCFG_FOLDER_H
#define PLENUM_NETCFG_FOLDER_H

#include "netcfg/base/base.h"

#define FOLDER_HANDLE_MAX 128 /* MAX_HANDLE_SZ of the kernel */
#define FOLDER_LINK_MAX 256

struct folder_id {
	uint64_t dev, ino; /* device and inode, as in struct stat */
	uint64_t fs_type;
	uint8_t uuid[16]; /* UUID of the file system, valid if has_uuid */
	bool has_uuid;
	int32_t handle_type;
	uint32_t handle_len; /* length of the file handle; 0: the file system has no file handles */
	uint8_t handle[FOLDER_HANDLE_MAX];
};

struct folder_room { /* space of a file system; a total of 0 is unknown or unlimited */
	uint64_t bytes, free_bytes; /* free_bytes: available to users other than root */
	uint64_t inodes, free_inodes;
};

/* Returns a descriptor (O_DIRECTORY | O_RDONLY) or negative errno. If a user other than root could
 * have made a symbolic link on the path, returns -ELOOP and sets `link` (FOLDER_LINK_MAX bytes) to
 * that link's path. */
int folder_open(const char *path, char *link);
/* Sets *ret to the identity of the folder that fd is open on. Returns 0 or negative errno. */
int folder_identify(int fd, struct folder_id *ret);
/* Sets *ret to the space and inodes of the file system of fd. Returns 0 or negative errno.
 */
int folder_measure(int fd, struct folder_room *ret);
/* Returns whether users cannot write to the file system: no inode is free, or the free space is
 * below both 1 MiB and 1 % of the total. */
bool folder_is_full(const struct folder_room *room);
/* Returns whether both ids are of the same folder. Set same_boot if the ids were made in one boot,
 * so that their device numbers are comparable. */
bool folder_is_same(const struct folder_id *a, const struct folder_id *b, bool same_boot);
/* Returns whether the folder's file system is in memory, so that a reboot deletes the folder. */
bool folder_is_in_memory(const struct folder_id *id);
/* Finds out which folder the path leads to now, without following links. Asks only the kernel's
 * cache, so it never blocks. Returns 0, -EAGAIN if the cache does not hold the answer, or another
 * negative errno as folder_open() does. */
int folder_look(const char *path, uint64_t *ret_dev, uint64_t *ret_ino);

/* Removes the folder and everything below it, except other file systems that are mounted there.
 * Does not follow symbolic links. Returns 0, also if the folder does not exist, or negative errno
 * at the first name that cannot be removed; the rest is then left. */
int folder_remove(const char *path);

/* Reads the UUID of the file system that fd is on. Returns false if the file system has no UUID or
 * does not report it. */
bool folder_uuid(int fd, uint8_t ret[16]);
/* Formats a device and inode number for messages, such as "device 8:1, inode 2". Returns buf. */
#define FOLDER_TEXT_MAX 64
const char *folder_text(uint64_t dev, uint64_t ino, char buf[static FOLDER_TEXT_MAX]);

#endif
