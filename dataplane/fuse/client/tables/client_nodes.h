/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of a mount: maps the kernel's node numbers to the server's handles, and counts the
 * kernel's lookups. The records are in the mount's state; the index by handle is in process memory,
 * and a successor rebuilds it. One thread uses them. This module does not depend on messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_NODES_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_NODES_H

#include "dataplane/fuse/client/tables/client_state.h"

struct client_chunk {
	uint32_t free; /* first record of the chunk's list of free records; 0: none */
	uint32_t n_used;
	uint32_t prev, next; /* neighbours of this chunk in its list of chunks; 0: none. The
				first chunk, which holds the root, is in no list */
};

struct client_nodes {
	struct client_state *state;
	uint32_t *hash;	 /* heads of the hash chains: numbers of records; 0: the chain is empty */
	uint32_t n_hash; /* count of chains in use; grows and shrinks by one at a time */
	uint32_t n_used;
	struct client_chunk *chunks;
	/* Heads of lists of chunks. partial: chunks with used and free records; empty: chunks with
	 * only free records; released: chunks whose memory was released. */
	uint32_t partial, empty, released;
	uint32_t n_empty;
	uint64_t *companions[3]; /* arrays of other modules with one word per record; client_nodes.c
				    frees the memory of these words together with the records of a
				    chunk */
	uint64_t seed;
};

/* Adopts the records in the mount's state. The caller must then adopt the files, which pin their
 * nodes by client_node_pin(), and afterwards call client_nodes_sweep(). Returns 0, -ENOMEM, or -EIO
 * if the kernel provides no random numbers. */
int client_nodes_init(struct client_nodes *t, struct client_state *s);
void client_nodes_done(struct client_nodes *t);
/* Frees the nodes that a predecessor left without lookups and pins. */
void client_nodes_sweep(struct client_nodes *t);

/* Returns the number of the first record from i on that may hold a node. If no such record exists,
 * the number is at least client_head.n_nodes. */
uint32_t client_nodes_next(const struct client_nodes *t, uint32_t i);

/* Finds a node by the kernel's number. Returns NULL if the number was never valid, or is not valid
 * any more. */
struct client_node *client_node_get(const struct client_nodes *t, uint64_t nodeid);
uint64_t client_node_id(const struct client_nodes *t, const struct client_node *n);
/* Returns the hash of a handle. It differs between processes. */
uint64_t client_node_hash(const struct client_nodes *t, const void *handle, unsigned len);
/* Returns the node with that handle, or NULL if there is none. */
struct client_node *client_node_find(const struct client_nodes *t, const void *handle,
				     unsigned len);
/* Returns the node with that handle, and creates it if there is none. A new node has no lookups and
 * no pins: the caller must count a lookup, pin it, or free it by client_node_settle(). Returns NULL
 * if the table is full. */
struct client_node *client_node_of(struct client_nodes *t, const void *handle, unsigned len);
/* Sets the root's handle. */
void client_node_root(struct client_nodes *t, const void *handle, unsigned len);
void client_node_pin(struct client_node *n);
void client_node_unpin(struct client_nodes *t, struct client_node *n);
/* client_node_looked_up(): call when the kernel has looked up the node once more.
 * client_node_forget(): call when the kernel has forgotten n_lookups lookups. */
void client_node_looked_up(struct client_node *n);
void client_node_forget(struct client_nodes *t, struct client_node *n, uint64_t n_lookups);
/* Frees the node if it has no lookups and no pins. */
void client_node_settle(struct client_nodes *t, struct client_node *n);

/* client_node_seen: records the latest attributes of a pipe, socket or device. client_node_recall:
 * returns them, or false if none are recorded. */
void client_node_seen(struct client_node *n, const struct fuse_attr *attr);
bool client_node_recall(const struct client_node *n, struct fuse_attr *ret);
struct client_stamp client_stamp_of(const struct fuse_attr *attr);
/* Returns whether the attributes of the content that the kernel may have cached are known. */
static inline bool client_node_has_stamp(const struct client_node *n)
{
	return !(n->flags & CLIENT_NODE_SPECIAL) && n->stamp.size != UINT64_MAX;
}
/* Call when the pages that the kernel has cached no longer match the file's content. */
void client_node_unstamp(struct client_node *n);
/* _changed: call when a change of the node was acknowledged. _synced: call when a sync has covered
 * all acknowledged changes. */
void client_node_changed(struct client_node *n);
void client_node_synced(struct client_node *n);
/* Call when an acknowledged change of the node was lost. */
void client_node_lose(struct client_node *n);
/* Call when the server's host died: marks every node whose changes may be lost. */
void client_nodes_lose(struct client_nodes *t);
/* Returns the loss count with which a newly opened file starts. If no caller of fsync has seen the
 * last loss yet, the new file will still report it. */
uint32_t client_node_lost_sample(const struct client_node *n);
/* Returns whether fsync must report lost data to the opener of the file whose loss count is
 * *sample. If so, the loss counts as reported to it. */
bool client_node_lost_report(struct client_node *n, uint32_t *sample);

#endif
