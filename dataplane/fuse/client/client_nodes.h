/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of a mount: which number of the kernel means which handle of the server, and how often
 * the kernel looked it up. Records lie in the mount's state; the index by handle is the process's
 * own and made anew by a successor. One thread. Knows nothing of messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_NODES_H
#define PLENUM_DATAPLANE_FUSE_FRONT_NODES_H

#include "dataplane/fuse/client/client_state.h"

struct client_chunk {
	uint32_t free; /* records that are free; 0: none */
	uint32_t n_used;
	uint32_t prev, next; /* in the list that it is in; 0: none, the first chunk has the root */
};

struct client_nodes {
	struct client_state *state;
	uint32_t *hash;	 /* heads of chains, by record; 0: none */
	uint32_t n_hash; /* how many heads are in use; grows and shrinks by one at a time */
	uint32_t n_used;
	struct client_chunk *chunks;
	/* Lists of them: with used and free records; with free ones alone; without memory. */
	uint32_t partial, empty, released;
	uint32_t n_empty;
	uint64_t *beside[3]; /* memory of others, a word a record, that goes with the records' */
	uint64_t seed;
};

/* Takes over the records of the state; files hold pins of theirs afterwards only by
 * client_node_pin, so client_nodes_sweep comes when they are taken over too. 0; -ENOMEM. */
int client_nodes_init(struct client_nodes *t, struct client_state *s);
void client_nodes_done(struct client_nodes *t);
/* Frees what a predecessor left without lookups and pins. */
void client_nodes_sweep(struct client_nodes *t);

/* The first record from i on that can be a node's; what n_nodes was or more: there is none. */
uint32_t client_nodes_next(const struct client_nodes *t, uint32_t i);

/* NULL: the kernel's number means nothing (any more). */
struct client_node *client_node_get(const struct client_nodes *t, uint64_t nodeid);
uint64_t client_node_id(const struct client_nodes *t, const struct client_node *n);
/* Of a handle; another one in each process. */
uint64_t client_node_hash(const struct client_nodes *t, const void *handle, unsigned len);
/* The node of that handle; NULL: there is none. */
struct client_node *client_node_find(const struct client_nodes *t, const void *handle,
				     unsigned len);
/* The node of that handle, made where there is none; it has no lookup of it yet, so the caller
 * looks it up, pins it, or lets it go by client_node_settle. NULL: no room. */
struct client_node *client_node_of(struct client_nodes *t, const void *handle, unsigned len);
/* Another handle for the root. */
void client_node_root(struct client_nodes *t, const void *handle, unsigned len);
void client_node_pin(struct client_node *n);
void client_node_unpin(struct client_nodes *t, struct client_node *n);
/* The kernel has got to know it once more; has forgotten so many of its lookups. */
void client_node_looked_up(struct client_node *n);
void client_node_forget(struct client_nodes *t, struct client_node *n, uint64_t n_lookups);
/* Frees it if nobody knows it. */
void client_node_settle(struct client_nodes *t, struct client_node *n);

/* Of pipes, sockets and devices: what it was when it was there. False: nothing is known. */
void client_node_seen(struct client_node *n, const struct fuse_attr *attr);
bool client_node_recall(const struct client_node *n, struct fuse_attr *ret);
/* The content that the kernel has cached is not the file's any more. */
void client_node_unstamp(struct client_node *n);
/* Changes were acknowledged that no sync has covered yet. */
void client_node_changed(struct client_node *n);
void client_node_synced(struct client_node *n);
/* The server's host died: marks every node whose changes may be gone. */
void client_nodes_lose(struct client_nodes *t);
/* What a file that is opened now remembers of losses: the last one still is to be told if nobody
 * was told. */
uint32_t client_node_lost_sample(const struct client_node *n);
/* Whether a caller of fsync is to be told of a loss, which counts as done. */
bool client_node_lost_tell(struct client_node *n, uint32_t *sample);

#endif
