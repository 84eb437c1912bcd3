/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The open files of a mount: maps the kernel's file handles to the server's, and keeps what is
 * needed to reopen the files. The records are in the mount's state; the queue of files to close at
 * the server is in process memory. One thread uses them. This module does not depend on messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_FILES_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_FILES_H

#include "dataplane/fuse/client/tables/client_nodes.h"

#define CLIENT_FILE_NONE UINT32_MAX

struct client_files {
	struct client_state *state;
	struct client_nodes *nodes;
	uint32_t free;
	uint32_t closing_first, closing_last;
	uint32_t n_closing; /* number of files in the queue */
	uint32_t n_open;    /* number of files that the kernel has open, without directories */
	uint32_t n_shut;    /* number of files that the kernel has closed, and whose record is still
			       in use, because they may be open at the server */
	uint64_t n_dropped; /* count of records freed since the start */
	/* The predecessor's open files whose opened_by is set: a hash table by opened_by with the
	 * indexes of the files plus one. NULL: the flag is not set for any file. */
	uint32_t *adopted;
	uint32_t adopted_mask; /* size of the table minus one */
};

/* Adopts the records in the state. Each record pins its node. Returns 0 or -ENOMEM. */
int client_files_init(struct client_files *t, struct client_state *s, struct client_nodes *nodes);
void client_files_done(struct client_files *t);

/* Creates the record of an open file of that node. Takes these members from `as`: server_fh,
 * incarnation, open_flags, uid, gid, opened_by, and CLIENT_FILE_DIR, _CACHED and _DIRECT of its
 * flags. Returns NULL if the table is full. */
struct client_file *client_file_new(struct client_files *t, struct client_node *node,
				    const struct client_file *as);
/* Finds the record of a file by the server's handle. A predecessor may have created the record for
 * a request whose answer the kernel never got. Searches the whole table, so use it only for resent
 * requests. */
struct client_file *client_file_of_server_fh(const struct client_files *t, uint64_t server_fh,
					     uint64_t incarnation);
/* Finds the file that a predecessor opened, without the server, for a request that the kernel has
 * resent. The kernel resends only requests of a predecessor. opened_by: value of
 * client_file.opened_by, which identifies the request. */
struct client_file *client_file_opened_by(const struct client_files *t, uint64_t nodeid,
					  uint32_t opened_by);
/* Finds a file by the kernel's handle. Returns NULL if the handle was never valid, or is not valid
 * any more. */
struct client_file *client_file_get(const struct client_files *t, uint64_t fh);
uint64_t client_file_fh(const struct client_files *t, const struct client_file *file);
uint32_t client_file_index(const struct client_files *t, const struct client_file *file);
struct client_file *client_file_at(const struct client_files *t, uint32_t i);
/* Call when the server has reopened the file under another handle. */
void client_file_reopened(struct client_file *file, uint64_t server_fh, uint64_t incarnation);
/* Call when the file cannot be reopened at the server. error: for a local directory, the result of
 * reading it from now on: 0 (it appears empty) or a negative errno. */
void client_file_kill(struct client_file *file, int error);
/* Returns the index of the next file, from index `from` on, that must be reopened because this
 * incarnation of the server does not have it open; CLIENT_FILE_NONE if there is none. */
uint32_t client_file_next_stale(const struct client_files *t, uint32_t from, uint64_t incarnation);
/* Call when the kernel has closed the file: queues it for a RELEASE to the server. */
void client_file_close(struct client_files *t, struct client_file *file);
/* Like client_file_close(), but does not queue the file. A later client_file_close() queues it. */
void client_file_keep(struct client_files *t, struct client_file *file);
/* Gives the file of client_file_keep() to another open by the kernel, under a new handle of the
 * kernel. opened_by: value of client_file.opened_by. */
void client_file_reuse(struct client_files *t, struct client_file *file, uint32_t opened_by);
/* Takes the next file from the queue of closed files; NULL if the queue is empty. */
struct client_file *client_file_closing_take(struct client_files *t);
/* Frees the record of a file that the server has closed or no longer knows. */
void client_file_drop(struct client_files *t, struct client_file *file);

#endif
