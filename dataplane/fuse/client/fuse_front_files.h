/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The open files of a mount: which file handle of the kernel is which of the server, and all that
 * it takes to open it again at a server that has forgotten it. Records lie in the mount's state,
 * the queue of those that the server is still to close is the process's own. One thread. Knows
 * nothing of messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_FILES_H
#define PLENUM_DATAPLANE_FUSE_FRONT_FILES_H

#include "dataplane/fuse/client/fuse_front_nodes.h"

#define FRONT_FILE_NONE UINT32_MAX

struct front_files {
	struct front_state *state;
	struct front_nodes *nodes;
	uint32_t free;
	uint32_t closing_first, closing_last;
	uint32_t n_closing; /* in the queue */
};

/* Takes over the records of the state; each pins its node. */
void front_files_init(struct front_files *t, struct front_state *s, struct front_nodes *nodes);

/* A file of that node, opened as `as` says (its fields from server_fh to gid, listed,
 * FRONT_FILE_DIR, _CACHED and _DIRECT). NULL: no room. */
struct front_file *front_file_new(struct front_files *t, struct front_node *node,
				  const struct front_file *as);
/* The record that has this handle of the server already, made by a predecessor whose answer the
 * kernel never saw. A walk: for requests that are sent again. */
struct front_file *front_file_twin(const struct front_files *t, uint64_t server_fh,
				   uint64_t incarnation);
/* The same of a folder that was opened without the server, by that request. */
struct front_file *front_file_listed(const struct front_files *t, uint64_t nodeid, uint32_t listed);
/* NULL: the kernel's handle means nothing (any more). */
struct front_file *front_file_get(const struct front_files *t, uint64_t fh);
uint64_t front_file_fh(const struct front_files *t, const struct front_file *file);
uint32_t front_file_index(const struct front_files *t, const struct front_file *file);
struct front_file *front_file_at(const struct front_files *t, uint32_t i);
/* The server has it open again under another handle. */
void front_file_reopened(struct front_file *file, uint64_t server_fh, uint64_t incarnation);
/* It cannot. error: what is noted of one that no server ever had open; 0 or negative errno. */
void front_file_kill(struct front_file *file, int error);
/* From `from` on: one that this server has not open and shall have. FRONT_FILE_NONE: no more. */
uint32_t front_file_next_stale(const struct front_files *t, uint32_t from, uint64_t incarnation);
/* The kernel has closed it: it waits to be taken for the server to be told. */
void front_file_close(struct front_files *t, struct front_file *file);
struct front_file *front_file_closing_take(struct front_files *t);
/* The server knows, or has forgotten it. */
void front_file_drop(struct front_files *t, struct front_file *file);

#endif
