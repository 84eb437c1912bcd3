/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the client end knows well enough to answer its kernel by itself, for as long as the kernel
 * itself may believe what it was told (plenum-consistency(7)): which files have no extended
 * attributes, what folders are like after names in them were made or removed, and which names a
 * folder that was just made cannot have. Owns memory of the process alone: a successor begins with
 * nothing. Knows nodes by their numbers, and of messages only what stands in them. One thread.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_KNOWN_H
#define PLENUM_DATAPLANE_FUSE_FRONT_KNOWN_H

#include "dataplane/fuse/client/client_nodes.h"

#define CLIENT_CACHE_NS NSEC_PER_SEC
#define CLIENT_CACHE_FOLDERS 64U
#define CLIENT_CACHE_ENDS 64U
#define CLIENT_CACHE_EMPTIES 64U
#define CLIENT_CACHE_MADE 64U
#define CLIENT_CACHE_WRITTEN 64U

struct client_folder {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t n_changes; /* the node's then */
	struct fuse_attr attr;
};

struct client_end {
	uint64_t fh; /* of the open folder, as the kernel has it */
	uint64_t off, sent_ns;
	uint32_t n_changes;
	bool used;
};

/* A folder that was empty then, where nobody but this client makes names for a while. Those that it
 * may have made since are in the set: a Bloom filter, which holds thousands before it is of no use.
 */
struct client_empty {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t *names;
};

/* A file that this client has made and nobody else changes for a while. */
struct client_made {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t n_changes; /* the node's when attr was so */
	struct fuse_attr attr;
};

/* A file as it was after a WRITE. */
struct client_written {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t n_changes; /* the node's when attr was so */
	uint32_t n_moves;   /* and client_cache's */
	uint32_t n_drops;
	struct fuse_attr attr;
};

struct client_cache {
	struct client_nodes *nodes;
	uint64_t
		*bare; /* by record of the node: when it was said, and lowest whether it has none */
	uint64_t *told; /* so, too: until when the kernel believes its name and attributes */
	struct client_folder folders[CLIENT_CACHE_FOLDERS];
	struct client_end ends[CLIENT_CACHE_ENDS];
	struct client_made made[CLIENT_CACHE_MADE];
	struct client_written written[CLIENT_CACHE_WRITTEN];
	uint32_t n_moves; /* how often files that nobody named may have changed */
	struct client_empty empties[CLIENT_CACHE_EMPTIES];
	uint32_t *names; /* of all of those */
};

/* 0; -ENOMEM. */
int client_cache_init(struct client_cache *k, struct client_nodes *nodes);
void client_cache_done(struct client_cache *k);
/* Nothing is known any more. */
void client_cache_forget(struct client_cache *k);

/* The node's record is new: what is known is of the one that had it before. */
void client_cache_fresh(struct client_cache *k, const struct client_node *n);
/* The server said so in an answer to what was sent then. */
void client_cache_bare_set(struct client_cache *k, const struct client_node *n, bool is_bare,
			   uint64_t sent_ns);
/* The kernel has perhaps given it some: what was said of it before means nothing. */
void client_cache_bare_drop(struct client_cache *k, const struct client_node *n, uint64_t now_ns);
/* Whether it has none, but perhaps trusted ones. */
bool client_cache_bare(const struct client_cache *k, const struct client_node *n, uint64_t now_ns);
/* Whether the server has said lately whether it has any. */
bool client_cache_bare_said(const struct client_cache *k, const struct client_node *n,
			    uint64_t now_ns);

/* The kernel is being told its name and attributes, to be believed until then. */
void client_cache_told_set(struct client_cache *k, const struct client_node *n, uint64_t until_ns);
/* Something of it may be new to the kernel. */
void client_cache_told_drop(struct client_cache *k, const struct client_node *n);
/* Whether the kernel believes them for a while yet, and so need not be told anew. */
bool client_cache_told(const struct client_cache *k, const struct client_node *n, uint64_t now_ns);

/* A folder, as it was after the change that was sent then and is noted in the node by now. */
void client_cache_folder_set(struct client_cache *k, const struct client_node *n,
			     const struct fuse_attr *attr, uint64_t sent_ns);
void client_cache_folder_drop(struct client_cache *k, const struct client_node *n);
/* False: not known. *ret_for_ns: how much longer it may be believed. */
bool client_cache_folder(const struct client_cache *k, const struct client_node *n, uint64_t now_ns,
			 struct fuse_attr *ret, uint64_t *ret_for_ns);

/* In the answer to what was sent then the open folder fh of that node ended at off. */
void client_cache_end_set(struct client_cache *k, const struct client_node *n, uint64_t fh,
			  uint64_t off, uint64_t sent_ns);
/* Whether whoever reads on there finds nothing. Said once. */
bool client_cache_end(struct client_cache *k, const struct client_node *n, uint64_t fh,
		      uint64_t off, uint64_t now_ns);

/* The folder was made by what was sent then, and nobody else makes names in it. */
void client_cache_empty_set(struct client_cache *k, const struct client_node *n, uint64_t sent_ns);
/* This client is about to make that name there. Comes before the server can hear of it. */
void client_cache_name(struct client_cache *k, const struct client_node *n, const char *name,
		       size_t len);
/* Whether the folder has no such name, nor one that a file system would take for it. */
bool client_cache_absent(struct client_cache *k, const struct client_node *n, const char *name,
			 size_t len, uint64_t now_ns);

/* A file that what was sent then has made, and that was lent with it. */
void client_cache_made_set(struct client_cache *k, const struct client_node *n,
			   const struct fuse_attr *attr, uint64_t sent_ns);
/* The same file after a change that is noted in the node by now, where it still is known. */
void client_cache_made_changed(struct client_cache *k, const struct client_node *n,
			       const struct fuse_attr *attr);
/* It is another one than is known, be the node marked or not, until client_cache_made_changed(). */
void client_cache_made_stale(struct client_cache *k, const struct client_node *n);
void client_cache_made_drop(struct client_cache *k, const struct client_node *n);
/* NULL: not known. Else as it is, if no change by this client is on its way. */
const struct fuse_attr *client_cache_made(struct client_cache *k, const struct client_node *n,
					  uint64_t now_ns);

/* A file, as it was after the WRITE that was sent then and is noted in the node by now, if nothing
 * was dropped since: client_cache_written_count() was the same. */
void client_cache_written_set(struct client_cache *k, const struct client_node *n,
			      const struct fuse_attr *attr, uint64_t sent_ns);
uint32_t client_cache_written_count(const struct client_cache *k, const struct client_node *n);
/* It may have changed, or be shown as somebody else has changed it. */
void client_cache_written_drop(struct client_cache *k, const struct client_node *n);
/* So may any. */
void client_cache_written_drop_all(struct client_cache *k);
/* False: not known. *ret_for_ns: how much longer it may be believed. */
bool client_cache_written(const struct client_cache *k, const struct client_node *n,
			  uint64_t now_ns, struct fuse_attr *ret, uint64_t *ret_for_ns);

#endif
