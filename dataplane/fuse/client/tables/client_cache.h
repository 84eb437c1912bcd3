/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that the client gives to its kernel without the server, for as long as the kernel itself
 * may cache them (plenum-consistency(7)): which files have no extended attributes, the attributes
 * of directories after names in them were created or removed, which names a newly created directory
 * cannot have, and which files no other client changes at present. The caches are in process memory
 * only: a successor starts with empty caches. One thread uses them. They identify nodes by number,
 * and parse no messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_CACHE_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_CACHE_H

#include "dataplane/fuse/client/tables/client_nodes.h"

#define CLIENT_CACHE_NS NSEC_PER_SEC
#define CLIENT_CACHE_DIRS 64U
#define CLIENT_CACHE_DIR_ENDS 64U
#define CLIENT_CACHE_EMPTY_DIRS 64U
#define CLIENT_CACHE_CREATED 64U
#define CLIENT_CACHE_WRITTEN 64U
#define CLIENT_CACHE_LEASES 2048U

struct client_dir_attr {
	uint64_t nodeid; /* ID of the directory's node; 0: the entry is unused */
	uint64_t sent_ns;
	uint32_t n_changes; /* value of the node's n_changes when the client stored `attr` */
	struct fuse_attr attr;
};

struct client_dir_end {
	uint64_t fh; /* the kernel's handle of the open directory */
	uint64_t off, sent_ns;
	uint32_t n_changes;
	bool used;
};

/* A directory that this client has just created, empty, and in which for a while no other client
 * creates names. A Bloom filter holds the names that this client may have created in it. The filter
 * stays useful for thousands of names. */
struct client_empty_dir {
	uint64_t nodeid; /* ID of the directory's node; 0: the entry is unused */
	uint64_t sent_ns;
	uint32_t *names;
};

/* A file that this client has created, and that no other client changes for a while. */
struct client_created {
	uint64_t nodeid; /* ID of the file's node; 0: the entry is unused */
	uint64_t sent_ns;
	uint32_t n_changes; /* value of the node's n_changes when the client stored `attr` */
	struct fuse_attr attr;
};

/* A file's attributes after a WRITE. */
struct client_written {
	uint64_t nodeid; /* ID of the file's node; 0: the entry is unused */
	uint64_t sent_ns;
	uint32_t n_changes; /* value of the node's n_changes when the client stored `attr` */
	uint32_t n_moves;   /* value of client_cache.n_moves when the client stored `attr` */
	uint32_t n_drops;
	struct fuse_attr attr;
};

/* A file that no other client changes, and whose name no other client redirects, for
 * CLIENT_CACHE_NS from sent_ns on. */
struct client_lease {
	uint64_t nodeid; /* number of the file's node; 0: the entry is unused */
	uint64_t sent_ns;
};

struct client_cache {
	struct client_nodes *nodes;
	uint64_t *no_xattrs;	/* For each node record: bit 0 is set if the file has no extended
				   attributes. The other bits are a time: when the request was sent
				   whose answer showed that, or when the client dropped that
				   information. */
	uint64_t *kernel_valid; /* For each node record: until when the kernel caches the node's
				   name and attributes. */
	struct client_dir_attr dirs[CLIENT_CACHE_DIRS];
	struct client_dir_end dir_ends[CLIENT_CACHE_DIR_ENDS];
	struct client_created created[CLIENT_CACHE_CREATED];
	struct client_written written[CLIENT_CACHE_WRITTEN];
	struct client_lease leases[CLIENT_CACHE_LEASES];
	uint32_t n_moves; /* number of operations that may have changed a file without naming its
			     node, such as a rename */
	struct client_empty_dir empty_dirs[CLIENT_CACHE_EMPTY_DIRS];
	uint32_t *names; /* the Bloom filters of `empty_dirs` */
};

/* Returns 0 or -ENOMEM. */
int client_cache_init(struct client_cache *k, struct client_nodes *nodes);
void client_cache_done(struct client_cache *k);
/* Empties all caches. */
void client_cache_clear(struct client_cache *k);

/* Drops all that is cached for a node. Call it before another node uses the record. */
void client_cache_reset_node(struct client_cache *k, const struct client_node *n);
/* Records whether the file has no extended attributes, as the server reported with the answer to a
 * request that was sent at sent_ns. */
void client_cache_no_xattrs_set(struct client_cache *k, const struct client_node *n, bool no_xattrs,
				uint64_t sent_ns);
/* Call when the kernel may have set an extended attribute: invalidates earlier reports. */
void client_cache_no_xattrs_drop(struct client_cache *k, const struct client_node *n,
				 uint64_t now_ns);
/* Returns whether the file has no extended attributes, except possibly trusted ones. */
bool client_cache_no_xattrs(const struct client_cache *k, const struct client_node *n,
			    uint64_t now_ns);
/* Returns whether the server has recently reported if the file has extended attributes. */
bool client_cache_no_xattrs_reported(const struct client_cache *k, const struct client_node *n,
				     uint64_t now_ns);

/* Records until when the kernel caches the name and attributes of the node. */
void client_cache_kernel_valid_set(struct client_cache *k, const struct client_node *n,
				   uint64_t until_ns);
/* Call when the kernel may get attributes of the node that are newer than those that it caches. */
void client_cache_kernel_valid_drop(struct client_cache *k, const struct client_node *n);
/* Returns whether the kernel's cached entry of the node is valid for a while longer, so that the
 * kernel needs no new entry. */
bool client_cache_kernel_valid(const struct client_cache *k, const struct client_node *n,
			       uint64_t now_ns);

/* Records that the answer to a request sent at sent_ns has leased the file to this client. */
void client_cache_lease_set(struct client_cache *k, const struct client_node *n, uint64_t sent_ns);
void client_cache_lease_drop(struct client_cache *k, const struct client_node *n);
/* Drops a lease that was requested after sent_ns: an answer to a request of that time may show an
 * older state of the file than the lease protects. */
void client_cache_lease_drop_newer(struct client_cache *k, const struct client_node *n,
				   uint64_t sent_ns);
/* Returns whether no other client changes the file at now_ns. */
bool client_cache_is_leased(const struct client_cache *k, const struct client_node *n,
			    uint64_t now_ns);

/* Stores a directory's attributes after a change. sent_ns: when the request for the change was
 * sent. Call client_node_changed() first. */
void client_cache_dir_set(struct client_cache *k, const struct client_node *n,
			  const struct fuse_attr *attr, uint64_t sent_ns);
void client_cache_dir_drop(struct client_cache *k, const struct client_node *n);
/* Returns the directory's cached attributes in *ret, and in *ret_for_ns how long they are still
 * valid. Returns false if they are unknown. */
bool client_cache_dir(const struct client_cache *k, const struct client_node *n, uint64_t now_ns,
		      struct fuse_attr *ret, uint64_t *ret_for_ns);

/* Records that the open directory fh of that node ends at offset off. sent_ns: when the request was
 * sent whose answer showed this. */
void client_cache_dir_end_set(struct client_cache *k, const struct client_node *n, uint64_t fh,
			      uint64_t off, uint64_t sent_ns);
/* Returns whether a reader at that offset is at the end of the directory. Returns true only once
 * for each call of client_cache_dir_end_set(). */
bool client_cache_dir_end(struct client_cache *k, const struct client_node *n, uint64_t fh,
			  uint64_t off, uint64_t now_ns);

/* Records that a request sent at sent_ns created the directory, and that the server lets no other
 * client create names in it for a while. */
void client_cache_empty_dir_set(struct client_cache *k, const struct client_node *n,
				uint64_t sent_ns);
/* Records that this client is about to create that name in the directory n. Call it before the
 * server can get the request. */
void client_cache_name_created(struct client_cache *k, const struct client_node *n,
			       const char *name, size_t len);
/* Returns whether the directory has neither this name nor one that a file system might treat as
 * equal. */
bool client_cache_absent(struct client_cache *k, const struct client_node *n, const char *name,
			 size_t len, uint64_t now_ns);

/* Records that a request sent at sent_ns created this file, with a lease. */
void client_cache_mark_created(struct client_cache *k, const struct client_node *n,
			       const struct fuse_attr *attr, uint64_t sent_ns);
/* Updates the attributes of a created file (see client_cache_mark_created()) after a change, if the
 * file is still cached. Call client_node_changed() first. */
void client_cache_created_changed(struct client_cache *k, const struct client_node *n,
				  const struct fuse_attr *attr);
/* Marks the attributes of a created file as out of date, even if the node's n_changes is unchanged.
 * The next client_cache_created_changed() makes them current again. */
void client_cache_created_stale(struct client_cache *k, const struct client_node *n);
void client_cache_created_drop(struct client_cache *k, const struct client_node *n);
/* Returns the current attributes of a created file, or NULL if the attributes are unknown or a
 * change by this client is in flight. */
const struct fuse_attr *client_cache_created(struct client_cache *k, const struct client_node *n,
					     uint64_t now_ns);

/* Stores a file's attributes after a WRITE that was sent at sent_ns. Call client_node_changed()
 * first, and call this function only if client_cache_written_count() has not changed since
 * sent_ns. */
void client_cache_written_set(struct client_cache *k, const struct client_node *n,
			      const struct fuse_attr *attr, uint64_t sent_ns);
uint32_t client_cache_written_count(const struct client_cache *k, const struct client_node *n);
/* Call when the file may have changed, or an answer may show changes of another client. */
void client_cache_written_drop(struct client_cache *k, const struct client_node *n);
/* Call when any file may have changed. */
void client_cache_drop_all_written(struct client_cache *k);
/* Returns the file's cached attributes in *ret, and in *ret_for_ns how long they are still valid.
 * Returns false if they are unknown. */
bool client_cache_written(const struct client_cache *k, const struct client_node *n,
			  uint64_t now_ns, struct fuse_attr *ret, uint64_t *ret_for_ns);

#endif
