/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of a mount: which number of the kernel means which handle of the server, and how often
 * the kernel looked it up. Records lie in the mount's state; the index by handle is the process's
 * own and made anew by a successor. One thread. Knows nothing of messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_NODES_H
#define PLENUM_DATAPLANE_FUSE_FRONT_NODES_H

#include "dataplane/fuse/client/fuse_front_state.h"

struct front_chunk {
	uint32_t free; /* records that are free; 0: none */
	uint32_t n_used;
	uint32_t prev, next; /* in the list that it is in; 0: none, the first chunk has the root */
};

struct front_nodes {
	struct front_state *state;
	uint32_t *hash;	 /* heads of chains, by record; 0: none */
	uint32_t n_hash; /* how many heads are in use; grows and shrinks by one at a time */
	uint32_t n_used;
	struct front_chunk *chunks;
	/* Lists of them: with used and free records; with free ones alone; without memory. */
	uint32_t partial, empty, released;
	uint32_t n_empty;
	uint64_t *beside[3]; /* memory of others, a word a record, that goes with the records' */
	uint64_t seed;
};

/* Takes over the records of the state; files hold pins of theirs afterwards only by
 * front_node_pin, so front_nodes_sweep comes when they are taken over too. 0; -ENOMEM. */
int front_nodes_init(struct front_nodes *t, struct front_state *s);
void front_nodes_done(struct front_nodes *t);
/* Frees what a predecessor left without lookups and pins. */
void front_nodes_sweep(struct front_nodes *t);

/* The first record from i on that can be a node's; what n_nodes was or more: there is none. */
uint32_t front_nodes_next(const struct front_nodes *t, uint32_t i);

/* NULL: the kernel's number means nothing (any more). */
struct front_node *front_node_get(const struct front_nodes *t, uint64_t nodeid);
uint64_t front_node_id(const struct front_nodes *t, const struct front_node *n);
/* Of a handle; another one in each process. */
uint64_t front_node_hash(const struct front_nodes *t, const void *handle, unsigned len);
/* The node of that handle; NULL: there is none. */
struct front_node *front_node_find(const struct front_nodes *t, const void *handle, unsigned len);
/* The node of that handle, made where there is none; it has no lookup of it yet, so the caller
 * looks it up, pins it, or lets it go by front_node_settle. NULL: no room. */
struct front_node *front_node_of(struct front_nodes *t, const void *handle, unsigned len);
/* Another handle for the root. */
void front_node_root(struct front_nodes *t, const void *handle, unsigned len);
void front_node_pin(struct front_node *n);
void front_node_unpin(struct front_nodes *t, struct front_node *n);
/* The kernel has got to know it once more; has forgotten so many of its lookups. */
void front_node_looked_up(struct front_node *n);
void front_node_forget(struct front_nodes *t, struct front_node *n, uint64_t n_lookups);
/* Frees it if nobody knows it. */
void front_node_settle(struct front_nodes *t, struct front_node *n);

/* Of pipes, sockets and devices: what it was when it was there. False: nothing is known. */
void front_node_seen(struct front_node *n, const struct fuse_attr *attr);
bool front_node_recall(const struct front_node *n, struct fuse_attr *ret);
/* The content that the kernel has cached is not the file's any more. */
void front_node_unstamp(struct front_node *n);
/* Changes were acknowledged that no sync has covered yet. */
void front_node_changed(struct front_node *n);
void front_node_synced(struct front_node *n);
/* The server's host died: marks every node whose changes may be gone. */
void front_nodes_lose(struct front_nodes *t);
/* What a file that is opened now remembers of losses: the last one still is to be told if nobody
 * was told. */
uint32_t front_node_lost_sample(const struct front_node *n);
/* Whether a caller of fsync is to be told of a loss, which counts as done. */
bool front_node_lost_tell(struct front_node *n, uint32_t *sample);

#endif
