/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The open files of a mount: which file handle of the kernel is which of the server, and all that
 * it takes to open it again at a server that has forgotten it. Records lie in the mount's state,
 * the queue of those that the server is still to close is the process's own. One thread. Knows
 * nothing of messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_FILES_H
#define PLENUM_DATAPLANE_FUSE_FRONT_FILES_H

#include "dataplane/fuse/client/client_nodes.h"

#define CLIENT_FILE_NONE UINT32_MAX

struct client_files {
	struct client_state *state;
	struct client_nodes *nodes;
	uint32_t free;
	uint32_t closing_first, closing_last;
	uint32_t n_closing; /* in the queue */
};

/* Takes over the records of the state; each pins its node. */
void client_files_init(struct client_files *t, struct client_state *s, struct client_nodes *nodes);

/* A file of that node, opened as `as` says (its fields from server_fh to gid, listed,
 * CLIENT_FILE_DIR, _CACHED and _DIRECT). NULL: no room. */
struct client_file *client_file_new(struct client_files *t, struct client_node *node,
				    const struct client_file *as);
/* The record that has this handle of the server already, made by a predecessor whose answer the
 * kernel never saw. A walk: for requests that are sent again. */
struct client_file *client_file_twin(const struct client_files *t, uint64_t server_fh,
				     uint64_t incarnation);
/* The same of a folder that was opened without the server, by that request. */
struct client_file *client_file_listed(const struct client_files *t, uint64_t nodeid,
				       uint32_t listed);
/* NULL: the kernel's handle means nothing (any more). */
struct client_file *client_file_get(const struct client_files *t, uint64_t fh);
uint64_t client_file_fh(const struct client_files *t, const struct client_file *file);
uint32_t client_file_index(const struct client_files *t, const struct client_file *file);
struct client_file *client_file_at(const struct client_files *t, uint32_t i);
/* The server has it open again under another handle. */
void client_file_reopened(struct client_file *file, uint64_t server_fh, uint64_t incarnation);
/* It cannot. error: what is noted of one that no server ever had open; 0 or negative errno. */
void client_file_kill(struct client_file *file, int error);
/* From `from` on: one that this server has not open and shall have. CLIENT_FILE_NONE: no more. */
uint32_t client_file_next_stale(const struct client_files *t, uint32_t from, uint64_t incarnation);
/* The kernel has closed it: it waits to be taken for the server to be told. */
void client_file_close(struct client_files *t, struct client_file *file);
struct client_file *client_file_closing_take(struct client_files *t);
/* The server knows, or has forgotten it. */
void client_file_drop(struct client_files *t, struct client_file *file);

#endif
