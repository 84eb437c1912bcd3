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

#include "dataplane/fuse/client/fuse_front_nodes.h"

#define FRONT_KNOWN_NS NSEC_PER_SEC
#define FRONT_KNOWN_FOLDERS 64U
#define FRONT_KNOWN_ENDS 64U
#define FRONT_KNOWN_EMPTIES 64U
#define FRONT_KNOWN_MADE 64U
#define FRONT_KNOWN_WRITTEN 64U

struct front_folder {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t n_changes; /* the node's then */
	struct fuse_attr attr;
};

struct front_end {
	uint64_t fh; /* of the open folder, as the kernel has it */
	uint64_t off, sent_ns;
	uint32_t n_changes;
	bool used;
};

/* A folder that was empty then, where nobody but this client makes names for a while. Those that it
 * may have made since are in the set: a Bloom filter, which holds thousands before it is of no use.
 */
struct front_empty {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t *names;
};

/* A file that this client has made and nobody else changes for a while. */
struct front_made {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t n_changes; /* the node's when attr was so */
	struct fuse_attr attr;
};

/* A file as it was after a WRITE. */
struct front_written {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns;
	uint32_t n_changes; /* the node's when attr was so */
	uint32_t n_moves;   /* and front_known's */
	uint32_t n_drops;
	struct fuse_attr attr;
};

struct front_known {
	struct front_nodes *nodes;
	uint64_t
		*bare; /* by record of the node: when it was said, and lowest whether it has none */
	uint64_t *told; /* so, too: until when the kernel believes its name and attributes */
	struct front_folder folders[FRONT_KNOWN_FOLDERS];
	struct front_end ends[FRONT_KNOWN_ENDS];
	struct front_made made[FRONT_KNOWN_MADE];
	struct front_written written[FRONT_KNOWN_WRITTEN];
	uint32_t n_moves; /* how often files that nobody named may have changed */
	struct front_empty empties[FRONT_KNOWN_EMPTIES];
	uint32_t *names; /* of all of those */
};

/* 0; -ENOMEM. */
int front_known_init(struct front_known *k, struct front_nodes *nodes);
void front_known_done(struct front_known *k);
/* Nothing is known any more. */
void front_known_forget(struct front_known *k);

/* The node's record is new: what is known is of the one that had it before. */
void front_known_fresh(struct front_known *k, const struct front_node *n);
/* The server said so in an answer to what was sent then. */
void front_known_bare_set(struct front_known *k, const struct front_node *n, bool is_bare,
			  uint64_t sent_ns);
/* The kernel has perhaps given it some: what was said of it before means nothing. */
void front_known_bare_drop(struct front_known *k, const struct front_node *n, uint64_t now_ns);
/* Whether it has none, but perhaps trusted ones. */
bool front_known_bare(const struct front_known *k, const struct front_node *n, uint64_t now_ns);
/* Whether the server has said lately whether it has any. */
bool front_known_bare_said(const struct front_known *k, const struct front_node *n,
			   uint64_t now_ns);

/* The kernel is being told its name and attributes, to be believed until then. */
void front_known_told_set(struct front_known *k, const struct front_node *n, uint64_t until_ns);
/* Something of it may be new to the kernel. */
void front_known_told_drop(struct front_known *k, const struct front_node *n);
/* Whether the kernel believes them for a while yet, and so need not be told anew. */
bool front_known_told(const struct front_known *k, const struct front_node *n, uint64_t now_ns);

/* A folder, as it was after the change that was sent then and is noted in the node by now. */
void front_known_folder_set(struct front_known *k, const struct front_node *n,
			    const struct fuse_attr *attr, uint64_t sent_ns);
void front_known_folder_drop(struct front_known *k, const struct front_node *n);
/* False: not known. *ret_for_ns: how much longer it may be believed. */
bool front_known_folder(const struct front_known *k, const struct front_node *n, uint64_t now_ns,
			struct fuse_attr *ret, uint64_t *ret_for_ns);

/* In the answer to what was sent then the open folder fh of that node ended at off. */
void front_known_end_set(struct front_known *k, const struct front_node *n, uint64_t fh,
			 uint64_t off, uint64_t sent_ns);
/* Whether whoever reads on there finds nothing. Said once. */
bool front_known_end(struct front_known *k, const struct front_node *n, uint64_t fh, uint64_t off,
		     uint64_t now_ns);

/* The folder was made by what was sent then, and nobody else makes names in it. */
void front_known_empty_set(struct front_known *k, const struct front_node *n, uint64_t sent_ns);
/* This client is about to make that name there. Comes before the server can hear of it. */
void front_known_name(struct front_known *k, const struct front_node *n, const char *name,
		      size_t len);
/* Whether the folder has no such name, nor one that a file system would take for it. */
bool front_known_absent(struct front_known *k, const struct front_node *n, const char *name,
			size_t len, uint64_t now_ns);

/* A file that what was sent then has made, and that was lent with it. */
void front_known_made_set(struct front_known *k, const struct front_node *n,
			  const struct fuse_attr *attr, uint64_t sent_ns);
/* The same file after a change that is noted in the node by now, where it still is known. */
void front_known_made_changed(struct front_known *k, const struct front_node *n,
			      const struct fuse_attr *attr);
/* It is another one than is known, be the node marked or not, until front_known_made_changed(). */
void front_known_made_stale(struct front_known *k, const struct front_node *n);
void front_known_made_drop(struct front_known *k, const struct front_node *n);
/* NULL: not known. Else as it is, if no change by this client is on its way. */
const struct fuse_attr *front_known_made(struct front_known *k, const struct front_node *n,
					 uint64_t now_ns);

/* A file, as it was after the WRITE that was sent then and is noted in the node by now, if nothing
 * was dropped since: front_known_written_count() was the same. */
void front_known_written_set(struct front_known *k, const struct front_node *n,
			     const struct fuse_attr *attr, uint64_t sent_ns);
uint32_t front_known_written_count(const struct front_known *k, const struct front_node *n);
/* It may have changed, or be shown as somebody else has changed it. */
void front_known_written_drop(struct front_known *k, const struct front_node *n);
/* So may any. */
void front_known_written_drop_all(struct front_known *k);
/* False: not known. *ret_for_ns: how much longer it may be believed. */
bool front_known_written(const struct front_known *k, const struct front_node *n, uint64_t now_ns,
			 struct fuse_attr *ret, uint64_t *ret_for_ns);

#endif
