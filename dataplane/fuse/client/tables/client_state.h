/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's state in the mount's state descriptor, a memfd that outlives the worker: the
 * parameters negotiated with the kernel, the nodes that the kernel knows, the open files, and which
 * changes may be lost if the server's host dies. This module owns the layout and the mapping.
 *
 * Layout: a head, then a table of files and one of nodes, each at a fixed position and with its
 * maximum size. The file is sparse, so unused records need no memory, and the memory of released
 * records returns to the system. A record is filled first, and then published by one aligned store
 * of its flags. So a process that dies between any two instructions leaves either the old record or
 * the new one. It suffices that the stores stay in program order: the memfd survives the death of a
 * process, but not the death of the host.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_STATE_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_STATE_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

#define CLIENT_NODES_MAX (1U << 24)
#define CLIENT_FILES_MAX (1U << 20)
/* Count of node records whose memory is released together. */
#define CLIENT_CHUNK_NODES 512U
#define CLIENT_CHUNKS_MAX (CLIENT_NODES_MAX / CLIENT_CHUNK_NODES)

/* Attributes of a file. If they are unchanged, its content counts as unchanged. */
struct client_stamp {
	uint64_t size; /* UINT64_MAX: unknown */
	uint64_t mtime_ns, ctime_ns;
};

enum {
	CLIENT_NODE_USED = 1,
	CLIENT_NODE_UNSYNCED = 2, /* acknowledged changes have not been synced yet */
	/* The node is a pipe, a socket or a device, which has no content and therefore no change
	 * stamp. */
	CLIENT_NODE_SPECIAL = 4,
	/* A change was acknowledged, but the update of the ctime is deferred. */
	CLIENT_NODE_CTIME_DEFERRED = 8,
	CLIENT_NODE_LOCKED = 16, /* programs may hold locks on the node at the server */
};

/* Attributes of a pipe, which a program that has it open may request after the pipe's name was
 * removed. The server cannot return them any more, because it does not know that the pipe is
 * open. */
struct client_special {
	uint64_t ino;
	uint32_t mode, uid, gid, rdev;
};

struct client_node {
	uint64_t n_lookups; /* count of lookups that the kernel has made and not yet forgotten */
	uint32_t reuse;	    /* counts the uses of the record; the upper half of the node's number */
	uint32_t next;	    /* next record in the hash chain or free list; a successor rebuilds
			       chains and lists */
	uint32_t n_pins;    /* count of pins by files and requests; a successor counts them again */
	uint32_t n_changes; /* count of acknowledged changes */
	uint32_t lost; /* how often changes may have been lost, shifted by one; bit 0: a caller of
			  fsync has seen the last loss */
	uint8_t flags; /* CLIENT_NODE_*; published last */
	uint8_t handle_len;
	/* Count of open files that use the kernel's page cache, and of those that bypass it. A
	 * count of 255 never changes again, because the true number is unknown. A successor counts
	 * them again. */
	uint8_t n_cached, n_direct;
	union {
		/* attributes of the content that the kernel may have cached */
		struct client_stamp stamp;
		struct client_special special;
	};
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
};
_Static_assert(sizeof(struct client_node) <= 160, "a million of them are 160 MB");
_Static_assert(sizeof(struct client_node) * CLIENT_CHUNK_NODES % 4096 == 0,
	       "a chunk consists of whole pages");

enum {
	CLIENT_FILE_USED = 1,
	CLIENT_FILE_DIR = 2,
	CLIENT_FILE_DEAD = 4,	 /* the file could not be reopened at the server */
	CLIENT_FILE_CLOSING = 8, /* the kernel has closed the file, and a RELEASE to the server
				    is due */
	CLIENT_FILE_CACHED = 16, /* the node counts the file in n_cached */
	CLIENT_FILE_LOCKED = 64, /* the file may have made locks */
	CLIENT_FILE_LOST = 128,	 /* locks on the file's node were lost, so requests with this file
				    fail */
	CLIENT_FILE_DIRECT = 32, /* the node counts the file in n_direct */
	/* Data that were acknowledged to the program could not be written. The errno is in the bits
	 * above CLIENT_FILE_FLAGS. */
	CLIENT_FILE_WRITE_FAILED = 256,
	CLIENT_FILE_FLAGS = 0xffff,
};

struct client_file {
	uint64_t nodeid;
	/* The server's handle of the file. For a local directory, while incarnation is 0: the
	 * server's verifier when the cached entries were read or, if the directory is dead, the
	 * errno for its readers. */
	uint64_t server_fh;
	uint64_t incarnation; /* incarnation of the server that returned server_fh; a server with
				 another incarnation must reopen the file */
	uint32_t reuse;	      /* incremented at each new use of the record; the upper half of the
				 kernel's file handle */
	uint32_t open_flags;
	uint32_t uid, gid; /* identity of the opener */
	uint32_t lost;	/* value of client_node.lost that callers of fsync on this file have already
			   seen */
	uint32_t next;	/* next record in the free list or the closing list; a successor
			   rebuilds the lists */
	uint32_t flags; /* CLIENT_FILE_*; published last */
	/* For a local directory, and for a file that was opened again without the server: the
	 * lowest bits of the number of the request that opened it. 0: the server opened it. */
	uint32_t opened_by;
};
_Static_assert(sizeof(struct client_file) == 56, "no padding between the fields");

enum {
	CLIENT_KERNEL_DIRECT_MMAP = 1, /* files that bypass the page cache can be mapped */
	CLIENT_KERNEL_FLUSHES = 2,     /* the kernel reports each close of a file (FLUSH) */
};

struct client_head {
	uint64_t magic; /* written last: a successor that sees this value also sees all others */
	uint32_t version;
	uint32_t kernel; /* CLIENT_KERNEL_*; set by the negotiation with the kernel */
	uint8_t mount_id[16];
	uint32_t negotiated; /* the kernel's INIT was answered with the members below */
	uint32_t minor;
	uint64_t flags;
	uint32_t max_readahead;
	uint32_t generation; /* generation of all nodes: random, so that nodes of different mounts
				can be told apart */
	/* Value of `reuse` for records that were never used; random in a new state. */
	uint32_t reuse;
	uint32_t n_nodes; /* count of records that have ever been used; always includes records 0
			     and 1 */
	uint32_t n_files;
	uint32_t served;   /* a server has served the mount, so verifier is valid */
	uint64_t verifier; /* the server's verifier (struct fuse_proto_server); if it shows a loss,
			      published only after all nodes are marked */
	uint64_t internal_requests; /* count of internal requests so far */
	/* For each chunk: 1 if the chunk has no used node, and its memory was released or is about
	 * to be released. Do not read the memory of such a chunk, because reading allocates it. */
	uint8_t released[CLIENT_CHUNKS_MAX];
	uint32_t largest;    /* length of the kernel's largest request so far; 0: an earlier version
				did not record it */
	uint64_t lock_epoch; /* epoch of the mount's locks at the server; 0: the server manages no
				locks of the mount */
	/* Limits of the mount. The owner sets the first two; all workers of the mount use them. An
	 * earlier version leaves zeros. */
	struct client_shared_limits {
		uint64_t bytes_per_s, operations_per_s;	    /* 0: no limit */
		uint64_t bytes_paid_ns, operations_paid_ns; /* see client_rate.h */
		uint64_t waited_ns;	/* how long requests have waited, all together */
		uint64_t held_until_ns; /* until then, requests are held back or were just now */
	} limits;
};

struct client_state {
	uint8_t *map;
	struct client_head *head;
	struct client_file *files;
	struct client_node *nodes;
};

#define CLIENT_STATE_HEAD_BYTES 65536U
_Static_assert(sizeof(struct client_head) <= CLIENT_STATE_HEAD_BYTES,
	       "the file table follows the head");
#define CLIENT_STATE_FILES_BYTES ((uint64_t)CLIENT_FILES_MAX * sizeof(struct client_file))
#define CLIENT_STATE_NODES_BYTES ((uint64_t)CLIENT_NODES_MAX * sizeof(struct client_node))
#define CLIENT_STATE_BYTES \
	(CLIENT_STATE_HEAD_BYTES + CLIENT_STATE_FILES_BYTES + CLIENT_STATE_NODES_BYTES)

/* Maps the state, which begins at offset `at` of fd; the file may hold other data before and behind
 * it. The caller still owns fd. Discards a state of another mount or another version. Returns 1 if
 * a predecessor's state was adopted, 0 if the state is new, or a negative errno. */
int client_state_init(struct client_state *s, int fd, uint64_t at, const uint8_t mount_id[16]);
void client_state_done(struct client_state *s);

/* Publishes a value: a successor process never sees *p = v without the stores that precede it in
 * program order. */
#define client_publish(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
