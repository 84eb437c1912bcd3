/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that the client gives to its kernel without the server, for as long as the kernel itself
 * may cache them (plenum-consistency(7)): which files have no extended attributes, the attributes
 * of directories after names in them were created or removed, and which names a newly created
 * directory cannot have. Owns process memory only: a successor starts with empty caches. One
 * thread. Identifies nodes by number, and knows only fields of messages.
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
	uint32_t n_changes; /* the node's count at that time */
	struct fuse_attr attr;
};

struct client_end {
	uint64_t fh; /* of the open directory, as the kernel has it */
	uint64_t off, sent_ns;
	uint32_t n_changes;
	bool used;
};

/* A directory that was empty when it was created, and where for a while only this client creates
 * names. A Bloom filter holds the names that it may have created since; it stays useful for
 * thousands of names. */
struct client_empty {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t *names;
};

/* A file that this client has created and that for a while no other client changes. */
struct client_made {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t n_changes; /* the node's count when attr was current */
	struct fuse_attr attr;
};

/* A file's attributes after a WRITE. */
struct client_written {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t n_changes; /* the node's count when attr was current */
	uint32_t n_moves;   /* client_cache's count at that time */
	uint32_t n_drops;
	struct fuse_attr attr;
};

struct client_cache {
	struct client_nodes *nodes;
	uint64_t *bare; /* by node record: when the server last reported it, shifted by one; bit 0:
			   the file has no extended attributes */
	uint64_t *told; /* by node record: until when the kernel caches its name and attributes */
	struct client_folder folders[CLIENT_CACHE_FOLDERS];
	struct client_end ends[CLIENT_CACHE_ENDS];
	struct client_made made[CLIENT_CACHE_MADE];
	struct client_written written[CLIENT_CACHE_WRITTEN];
	uint32_t n_moves; /* number of operations that may have changed unnamed files */
	struct client_empty empties[CLIENT_CACHE_EMPTIES];
	uint32_t *names; /* the filters of `empties` */
};

/* 0; -ENOMEM. */
int client_cache_init(struct client_cache *k, struct client_nodes *nodes);
void client_cache_done(struct client_cache *k);
/* Empties all caches. */
void client_cache_forget(struct client_cache *k);

/* The node's record is reused: drops what is cached for its previous node. */
void client_cache_fresh(struct client_cache *k, const struct client_node *n);
/* The server's report, in an answer to a request sent at sent_ns. */
void client_cache_bare_set(struct client_cache *k, const struct client_node *n, bool is_bare,
			   uint64_t sent_ns);
/* The kernel may have set one: invalidates earlier reports. */
void client_cache_bare_drop(struct client_cache *k, const struct client_node *n, uint64_t now_ns);
/* Whether it has no extended attributes, except possibly trusted ones. */
bool client_cache_bare(const struct client_cache *k, const struct client_node *n, uint64_t now_ns);
/* Whether the server has recently reported whether it has any. */
bool client_cache_bare_said(const struct client_cache *k, const struct client_node *n,
			    uint64_t now_ns);

/* The kernel is about to cache its name and attributes until then. */
void client_cache_told_set(struct client_cache *k, const struct client_node *n, uint64_t until_ns);
/* The kernel may get newer information about it. */
void client_cache_told_drop(struct client_cache *k, const struct client_node *n);
/* Whether the kernel's cached entry stays valid for a while, so that it needs no new one. */
bool client_cache_told(const struct client_cache *k, const struct client_node *n, uint64_t now_ns);

/* A directory's attributes after a change that was sent at sent_ns and is already counted in the
 * node. */
void client_cache_folder_set(struct client_cache *k, const struct client_node *n,
			     const struct fuse_attr *attr, uint64_t sent_ns);
void client_cache_folder_drop(struct client_cache *k, const struct client_node *n);
/* False: unknown. *ret_for_ns: remaining validity. */
bool client_cache_folder(const struct client_cache *k, const struct client_node *n, uint64_t now_ns,
			 struct fuse_attr *ret, uint64_t *ret_for_ns);

/* An answer to a request sent at sent_ns showed that the open directory fh of that node ends at
 * off. */
void client_cache_end_set(struct client_cache *k, const struct client_node *n, uint64_t fh,
			  uint64_t off, uint64_t sent_ns);
/* Whether a reader at that offset is at the end. True only once. */
bool client_cache_end(struct client_cache *k, const struct client_node *n, uint64_t fh,
		      uint64_t off, uint64_t now_ns);

/* A request sent at sent_ns created the directory, and no other client creates names in it. */
void client_cache_empty_set(struct client_cache *k, const struct client_node *n, uint64_t sent_ns);
/* This client is about to create that name there. Call before the server can get the request. */
void client_cache_name(struct client_cache *k, const struct client_node *n, const char *name,
		       size_t len);
/* Whether the directory has no such name, nor one that a file system might treat as equal. */
bool client_cache_absent(struct client_cache *k, const struct client_node *n, const char *name,
			 size_t len, uint64_t now_ns);

/* A request sent at sent_ns created this file, with a lease. */
void client_cache_made_set(struct client_cache *k, const struct client_node *n,
			   const struct fuse_attr *attr, uint64_t sent_ns);
/* The same file after a change that is already counted in the node, if still cached. */
void client_cache_made_changed(struct client_cache *k, const struct client_node *n,
			       const struct fuse_attr *attr);
/* The cached attributes are out of date until client_cache_made_changed(), whether or not the
 * node counts a change. */
void client_cache_made_stale(struct client_cache *k, const struct client_node *n);
void client_cache_made_drop(struct client_cache *k, const struct client_node *n);
/* NULL: unknown. Else the current attributes, if this client has no change in flight. */
const struct fuse_attr *client_cache_made(struct client_cache *k, const struct client_node *n,
					  uint64_t now_ns);

/* A file's attributes after a WRITE that was sent at sent_ns and is already counted in the node,
 * if nothing was dropped since: client_cache_written_count() was the same. */
void client_cache_written_set(struct client_cache *k, const struct client_node *n,
			      const struct fuse_attr *attr, uint64_t sent_ns);
uint32_t client_cache_written_count(const struct client_cache *k, const struct client_node *n);
/* It may have changed, or be shown with another client's changes. */
void client_cache_written_drop(struct client_cache *k, const struct client_node *n);
/* Any file may have. */
void client_cache_written_drop_all(struct client_cache *k);
/* False: unknown. *ret_for_ns: remaining validity. */
bool client_cache_written(const struct client_cache *k, const struct client_node *n,
			  uint64_t now_ns, struct fuse_attr *ret, uint64_t *ret_for_ns);

#endif
