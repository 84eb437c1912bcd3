/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The open files of a mount: maps the kernel's file handles to the server's, and keeps what a
 * reopen needs. The records are in the mount's state; the queue of files to close at the server is
 * in process memory. One thread uses them. It knows nothing of messages.
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
	uint32_t n_closing; /* in the queue */
	uint32_t n_open;    /* of the kernel, without directories */
};

/* Adopts the records of the state; each pins its node. */
void client_files_init(struct client_files *t, struct client_state *s, struct client_nodes *nodes);

/* Creates the record of an open file of that node. `as` gives its fields from server_fh to gid,
 * listed, and the flags CLIENT_FILE_DIR, _CACHED and _DIRECT. Returns NULL if the table is full. */
struct client_file *client_file_new(struct client_files *t, struct client_node *node,
				    const struct client_file *as);
/* The record that a predecessor made for this server handle, if the kernel never received its
 * answer. It searches the whole table, so it is for resent requests only. */
struct client_file *client_file_of_server_fh(const struct client_files *t, uint64_t server_fh,
					     uint64_t incarnation);
/* The same for a directory that was opened locally by this request. */
struct client_file *client_file_opened_by(const struct client_files *t, uint64_t nodeid,
					  uint32_t listed);
/* Returns NULL if the kernel's handle is not valid, or no longer valid. */
struct client_file *client_file_get(const struct client_files *t, uint64_t fh);
uint64_t client_file_fh(const struct client_files *t, const struct client_file *file);
uint32_t client_file_index(const struct client_files *t, const struct client_file *file);
struct client_file *client_file_at(const struct client_files *t, uint32_t i);
/* Call when the server has reopened the file under another handle. */
void client_file_reopened(struct client_file *file, uint64_t server_fh, uint64_t incarnation);
/* Call when the file cannot be reopened. error: what readers of a local directory get; 0 or
 * negative errno. */
void client_file_kill(struct client_file *file, int error);
/* The next file, from index `from` on, that must be reopened because this server does not have it
 * open; CLIENT_FILE_NONE if there is none. */
uint32_t client_file_next_stale(const struct client_files *t, uint32_t from, uint64_t incarnation);
/* Call when the kernel has closed the file: queues it for a RELEASE to the server. */
void client_file_close(struct client_files *t, struct client_file *file);
struct client_file *client_file_closing_take(struct client_files *t);
/* Call when the server has closed the file, or no longer knows it. */
void client_file_drop(struct client_files *t, struct client_file *file);

#endif
