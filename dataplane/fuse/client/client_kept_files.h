/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that stay open at the server for a second after the kernel has closed them, so that the
 * next open needs no request. Only dataplane/fuse/client/ includes this header.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_KEPT_FILES_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_KEPT_FILES_H

#include "dataplane/fuse/client/tables/client_files.h"
#include "netcfg/base/list.h"

struct fuse_client;
struct client_slot;

#define CLIENT_KEPT_FILES_MAX 512U
#define CLIENT_KEPT_CHAINS 512U
#define CLIENT_OPENED_FILES 1024U
#define CLIENT_KEPT_NAMES 2048U

/* A file that the kernel has closed, and that is still open at the server. */
struct client_kept_file {
	struct list by_age;  /* in client_kept_files.by_age or .unused */
	struct list by_node; /* in the chain of the file's node */
	uint64_t nodeid;
	uint64_t until_ns; /* when to close the file at the server */
	uint32_t file;	   /* index of the file */
	/* Of the node, when the server opened the file: number of changes by this client, and the
	 * ctime. */
	uint32_t n_changes;
	uint64_t ctime_ns;
};

/* The answer of the server when it opened a file for reading. */
struct client_opened_file {
	uint64_t fh; /* the kernel's handle; 0: the entry is unused */
	uint64_t ctime_ns;
	uint32_t n_changes;
};

/* The node that a name had when the client looked it up. */
struct client_kept_name {
	uint64_t hash; /* of the directory and the name; 0: the entry is unused */
	uint64_t nodeid;
};

struct client_kept_files {
	struct client_kept_file items[CLIENT_KEPT_FILES_MAX];
	struct list by_age; /* the kept files, the oldest first */
	struct list unused;
	struct list by_node[CLIENT_KEPT_CHAINS]; /* the newest first */
	uint64_t stopped_until_ns; /* the server has no room: keep no files until then */
	struct client_opened_file
		opened[CLIENT_OPENED_FILES];		  /* indexed by the index of the file */
	struct client_kept_name names[CLIENT_KEPT_NAMES]; /* by hash */
};

/* Call when the server has opened the file for the request in slot s. */
void client_kept_files_opened(struct fuse_client *f, const struct client_slot *s,
			      const struct client_file *file);
/* Call when the kernel has closed the file. Returns false if the file is not kept; the caller must
 * then close it. */
bool client_kept_files_add(struct fuse_client *f, struct client_file *file, uint64_t now_ns);
/* Call when the answer to the LOOKUP in slot s shows that a leased file has that name. */
void client_kept_files_named(struct fuse_client *f, const struct client_slot *s,
			     const struct client_node *node);
/* Call before a request is sent that removes or moves a name: queues the kept files of the file
 * that loses the name to be closed at the server; all kept files, if it is unknown which file that
 * is. */
void client_kept_files_removal(struct fuse_client *f, const struct client_slot *s);
/* Call when the server cannot open more files: queues all kept files to be closed at the server,
 * and keeps none for a while. */
void client_kept_files_stop(struct fuse_client *f, uint64_t now_ns);
/* Call when the server has refused the request in slot s with ENFILE, so that it has executed
 * nothing. Returns true if the request waits to be sent once more, because the server may have room
 * after it has closed files that the programs have closed already. */
bool client_kept_files_retry(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);

#endif
