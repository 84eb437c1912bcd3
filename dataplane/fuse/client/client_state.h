/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the client end of a mount keeps in the mount's state descriptor, a memfd that outlives the
 * worker: what was negotiated with the kernel, the nodes that the kernel knows, the files that are
 * open, and what may be lost if the server's host dies. Owns the layout and the mapping.
 *
 * Layout: a head, then a table of files and one of nodes, each at a fixed place and as long as it
 * can ever get; the descriptor is sparse, so what was never used takes no memory, and nodes that
 * are used no more give theirs back. Records are filled first and published last by one aligned
 * store of their flags, so that the death of the process between any two instructions leaves either
 * the old or the new. Only the process can die; a host that dies takes the memfd with it, so stores
 * need only stay in program order.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_STATE_H
#define PLENUM_DATAPLANE_FUSE_FRONT_STATE_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

#define CLIENT_NODES_MAX (1U << 24)
#define CLIENT_FILES_MAX (1U << 20)
/* Records of nodes whose memory is given back together. */
#define CLIENT_CHUNK_NODES 512U
#define CLIENT_CHUNKS_MAX (CLIENT_NODES_MAX / CLIENT_CHUNK_NODES)

/* What of a file's attributes tells whether its content is another. */
struct client_stamp {
	uint64_t size; /* UINT64_MAX: not known */
	uint64_t mtime_ns, ctime_ns;
};

enum {
	CLIENT_NODE_USED = 1,
	CLIENT_NODE_UNSYNCED = 2, /* changes were acknowledged and not synced since */
	CLIENT_NODE_SPECIAL = 4,  /* a pipe, a socket or a device: has no content, and no stamp */
	CLIENT_NODE_OWED = 8,	  /* its change was acknowledged, and shows no time yet */
};

/* What a program that has a pipe open may ask of it after its name was removed. The server does
 * not know that it is open, and so does not keep it. */
struct client_special {
	uint64_t ino;
	uint32_t mode, uid, gid, rdev;
};

struct client_node {
	uint64_t n_lookups; /* that the kernel has not forgotten */
	uint32_t reuse;	    /* grows with each use of the record: upper half of the node's number */
	uint32_t next;	    /* of the same hash, or free; made anew by a successor */
	uint32_t n_pins;    /* by files and requests; made anew by a successor */
	uint32_t n_changes; /* acknowledged */
	uint32_t lost; /* times that changes may have been lost, shifted by one; bit 0: a caller of
			* fsync was told of the last one */
	uint8_t flags; /* CLIENT_NODE_*; published last */
	uint8_t handle_len;
	/* Open files of it that the kernel has pages of, and that go past those; 255: so many or
	 * more, for good. Made anew by a successor. */
	uint8_t n_cached, n_direct;
	union {
		struct client_stamp stamp; /* of the content that the kernel may have cached */
		struct client_special special;
	};
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
};
_Static_assert(sizeof(struct client_node) <= 160, "a million of them are 160 MB");
_Static_assert(sizeof(struct client_node) * CLIENT_CHUNK_NODES % 4096 == 0, "a chunk is of pages");

enum {
	CLIENT_FILE_USED = 1,
	CLIENT_FILE_DIR = 2,
	CLIENT_FILE_DEAD = 4,	 /* could not be opened again */
	CLIENT_FILE_CLOSING = 8, /* the kernel has closed it, the server is to be told */
	CLIENT_FILE_CACHED = 16, /* counted by its node, */
	CLIENT_FILE_DIRECT = 32, /* so or so */
};

struct client_file {
	uint64_t nodeid;
	/* Of a folder that was opened without the server, while incarnation is 0: whose entries
	 * those were, by the verifier; when it is dead, what who reads it is told, an errno. */
	uint64_t server_fh;
	uint64_t incarnation; /* of the server that gave server_fh; another one: open again */
	uint32_t reuse;	      /* upper half of the file handle */
	uint32_t open_flags;
	uint32_t uid, gid; /* who opened it */
	uint32_t lost;	   /* client_node's, as far as callers of fsync on this file know */
	uint32_t next;	   /* free or closing; made anew by a successor */
	uint32_t flags;	   /* CLIENT_FILE_*; published last */
	/* Of a folder that was opened without the server: lowest bits of the request. 0: it was
	 * not. */
	uint32_t listed;
};
_Static_assert(sizeof(struct client_file) == 56, "no room between the fields");

enum {
	CLIENT_KERNEL_DIRECT_MMAP = 1, /* files that go past its pages can be mapped */
};

struct client_head {
	uint64_t magic; /* published last */
	uint32_t version;
	uint32_t kernel; /* CLIENT_KERNEL_*; set when it is negotiated */
	uint8_t mount_id[16];
	uint32_t negotiated; /* the kernel's INIT has been answered with what follows */
	uint32_t minor;
	uint64_t flags;
	uint32_t max_readahead;
	uint32_t generation; /* of all nodes: random, so that no other mount's number is taken */
	uint32_t reuse;	     /* what fresh records start with: random at first */
	uint32_t n_nodes;    /* records below this were used once; 0 and 1 always */
	uint32_t n_files;
	uint32_t served;       /* there has been a server: verifier is one */
	uint64_t verifier;     /* fuse_proto_server's; published when all nodes are marked */
	uint64_t own_requests; /* numbers given to requests of the front itself */
	/* 1: no node of it is used, and its memory was given back, or is about to be. Not looked
	 * at, where it is a hole still: that alone would fill it. */
	uint8_t released[CLIENT_CHUNKS_MAX];
	uint32_t largest; /* bytes of the kernel's requests so far; 0 where a worker of an earlier
			   * version has not noted it */
};

struct client_state {
	uint8_t *map;
	struct client_head *head;
	struct client_file *files;
	struct client_node *nodes;
};

#define CLIENT_STATE_HEAD_BYTES 65536U
_Static_assert(sizeof(struct client_head) <= CLIENT_STATE_HEAD_BYTES, "the files come behind it");
#define CLIENT_STATE_FILES_BYTES ((uint64_t)CLIENT_FILES_MAX * sizeof(struct client_file))
#define CLIENT_STATE_NODES_BYTES ((uint64_t)CLIENT_NODES_MAX * sizeof(struct client_node))
#define CLIENT_STATE_BYTES \
	(CLIENT_STATE_HEAD_BYTES + CLIENT_STATE_FILES_BYTES + CLIENT_STATE_NODES_BYTES)

/* Maps fd (borrowed) from `at` on, which others' memory may surround. What is not the state of this
 * mount in this version is thrown away. 1: there was one to go on with; 0: a fresh one; negative
 * errno. */
int client_state_init(struct client_state *s, int fd, uint64_t at, const uint8_t mount_id[16]);
void client_state_done(struct client_state *s);

/* Nothing written before in program order is seen later than *p = v by a successor process. */
#define client_publish(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
