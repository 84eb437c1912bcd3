/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of a mount: maps the kernel's node numbers to the server's handles, and counts the
 * kernel's lookups. The records are in the mount's state; the index by handle is in process memory,
 * and a successor rebuilds it. One thread uses them. It knows nothing of messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_NODES_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_NODES_H

#include "dataplane/fuse/client/tables/client_state.h"

struct client_chunk {
	uint32_t free; /* list of free records; 0: none */
	uint32_t n_used;
	uint32_t prev, next; /* neighbours in the chunk's list; 0: none (the first chunk has the
				root and is in no list) */
};

struct client_nodes {
	struct client_state *state;
	uint32_t *hash;	 /* heads of chains, by record; 0: none */
	uint32_t n_hash; /* number of chains in use; grows and shrinks by one at a time */
	uint32_t n_used;
	struct client_chunk *chunks;
	/* Lists of chunks: partial: with used and free records; empty: only with free ones;
	 * released: without memory. */
	uint32_t partial, empty, released;
	uint32_t n_empty;
	uint64_t *companions[3]; /* arrays of other modules with a word per record; their memory is
				    released together with the records */
	uint64_t seed;
};

/* Adopts the records of the state. Files pin their nodes afterwards with client_node_pin, so call
 * client_nodes_sweep after the files are adopted. Returns 0; -ENOMEM; or -EIO: the kernel has no
 * random numbers. */
int client_nodes_init(struct client_nodes *t, struct client_state *s);
void client_nodes_done(struct client_nodes *t);
/* Frees the nodes that a predecessor left without lookups and pins. */
void client_nodes_sweep(struct client_nodes *t);

/* The first record from i on that may be a node's; n_nodes or more if there is none. */
uint32_t client_nodes_next(const struct client_nodes *t, uint32_t i);

/* Returns NULL if the kernel's number is not valid, or no longer valid. */
struct client_node *client_node_get(const struct client_nodes *t, uint64_t nodeid);
uint64_t client_node_id(const struct client_nodes *t, const struct client_node *n);
/* Hash of a handle; it differs between processes. */
uint64_t client_node_hash(const struct client_nodes *t, const void *handle, unsigned len);
/* The node of that handle; NULL if there is none. */
struct client_node *client_node_find(const struct client_nodes *t, const void *handle,
				     unsigned len);
/* The node of that handle, created if necessary. It has no lookup yet, so the caller looks it up,
 * pins it, or frees it with client_node_settle. Returns NULL if the table is full. */
struct client_node *client_node_of(struct client_nodes *t, const void *handle, unsigned len);
/* Sets the root's handle. */
void client_node_root(struct client_nodes *t, const void *handle, unsigned len);
void client_node_pin(struct client_node *n);
void client_node_unpin(struct client_nodes *t, struct client_node *n);
/* The kernel has looked up the node once more; _forget: it has forgotten that many lookups. */
void client_node_looked_up(struct client_node *n);
void client_node_forget(struct client_nodes *t, struct client_node *n, uint64_t n_lookups);
/* Frees the node if it has no lookups and no pins. */
void client_node_settle(struct client_nodes *t, struct client_node *n);

/* Records the latest attributes of a pipe, socket or device, and returns them; false if none are
 * recorded. */
void client_node_seen(struct client_node *n, const struct fuse_attr *attr);
bool client_node_recall(const struct client_node *n, struct fuse_attr *ret);
/* Call when the content that the kernel has cached no longer matches the file. */
void client_node_unstamp(struct client_node *n);
/* Call when changes of the node were acknowledged that no sync has covered yet. */
void client_node_changed(struct client_node *n);
void client_node_synced(struct client_node *n);
/* Call when the server's host died: marks every node whose changes may be lost. */
void client_nodes_lose(struct client_nodes *t);
/* The loss count with which a newly opened file starts. If no caller of fsync has seen the last
 * loss, the file will still report it. */
uint32_t client_node_lost_sample(const struct client_node *n);
/* Whether fsync must report lost data to this opener; the loss then counts as reported. */
bool client_node_lost_report(struct client_node *n, uint32_t *sample);

#endif
