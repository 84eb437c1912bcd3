/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The open files of a mount: maps the kernel's file handles to the server's, and stores what a
 * reopen needs. The records lie in the mount's state, the queue of files to close at the server in
 * process memory. One thread. Knows nothing of messages.
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
};

/* Adopts the records of the state; each pins its node. */
void client_files_init(struct client_files *t, struct client_state *s, struct client_nodes *nodes);

/* A file of that node, opened as `as` says (its fields from server_fh to gid, listed,
 * CLIENT_FILE_DIR, _CACHED and _DIRECT). NULL: no room. */
struct client_file *client_file_new(struct client_files *t, struct client_node *node,
				    const struct client_file *as);
/* The existing record of this server handle, made by a predecessor whose answer the kernel never
 * received. Linear search: for resent requests only. */
struct client_file *client_file_of_server_fh(const struct client_files *t, uint64_t server_fh,
					     uint64_t incarnation);
/* The same for a directory that this request opened locally. */
struct client_file *client_file_opened_by(const struct client_files *t, uint64_t nodeid,
					  uint32_t listed);
/* NULL: the kernel's handle is invalid, or no longer valid. */
struct client_file *client_file_get(const struct client_files *t, uint64_t fh);
uint64_t client_file_fh(const struct client_files *t, const struct client_file *file);
uint32_t client_file_index(const struct client_files *t, const struct client_file *file);
struct client_file *client_file_at(const struct client_files *t, uint32_t i);
/* The server has reopened the file under another handle. */
void client_file_reopened(struct client_file *file, uint64_t server_fh, uint64_t incarnation);
/* The file cannot be reopened. error: result for readers of a local directory; 0 or negative
 * errno. */
void client_file_kill(struct client_file *file, int error);
/* The next file, from `from` on, that this server has not open and must reopen.
 * CLIENT_FILE_NONE: none. */
uint32_t client_file_next_stale(const struct client_files *t, uint32_t from, uint64_t incarnation);
/* The kernel has closed the file: queues it for a RELEASE to the server. */
void client_file_close(struct client_files *t, struct client_file *file);
struct client_file *client_file_closing_take(struct client_files *t);
/* The server has closed the file, or no longer knows it. */
void client_file_drop(struct client_files *t, struct client_file *file);

#endif
