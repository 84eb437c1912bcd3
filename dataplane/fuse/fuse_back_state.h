/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the server end keeps in its state descriptor, a memfd that outlives the process: for each
 * mount the nodes its client knows, the files it has open, and its last answers to requests that
 * must not run twice. Owns the layout and the mapping, knows nothing of what is in the records.
 *
 * Layout: a head with the table of mounts and one word per chunk saying whose it is; then chunks of
 * fixed size. Records are filled first and published last by one aligned store (a chunk by its
 * word, a record by its flag or state), so that the death of the process between any two
 * instructions leaves either the old or the new. Only the process can die; a host that dies takes
 * the memfd with it, so stores need no flushing, only to stay in program order.
 */
#ifndef PLENUM_DATAPLANE_FUSE_BACK_STATE_H
#define PLENUM_DATAPLANE_FUSE_BACK_STATE_H

#include "dataplane/fuse/fuse_proto.h"
#include "dataplane/launch.h"

#define STATE_CHUNK_BYTES 65536U
#define STATE_CHUNKS_MAX 65536U /* 4 GiB */
#define STATE_MOUNTS_MAX 64U
#define STATE_HANDLE_BYTES_MAX 28U

enum state_kind { STATE_NODES = 1, STATE_FILES, STATE_ANSWERS, STATE_KIND_MAX };

struct state_mount {
	uint32_t used;
	uint32_t pad;
	uint8_t id[16];
	char export_name[PLENUM_NAME_MAX];
	uint64_t root_dev, root_ino; /* of the export when the mount was made */
	uint64_t seen_s;	     /* CLOCK_BOOTTIME when the last session ended */
};

enum {
	STATE_NODE_USED = 1,
	STATE_NODE_KEPT = 2, /* has no handle: lives with its descriptor */
	STATE_NODE_HELD = 4, /* perhaps without a name, and open: the agent was asked to hold it */
};

struct state_node {
	uint64_t ino;
	uint32_t nlookup; /* UINT32_MAX: too many to count; never forgotten */
	uint32_t reuse; /* times this record was given to another node: upper half of the nodeid */
	uint32_t dev;	/* st_dev, packed */
	uint16_t fmt;	/* S_IFMT bits */
	uint8_t flags;	/* STATE_NODE_*; published last */
	uint8_t handle_type;
	uint8_t handle_len;
	uint8_t pad[3];
	uint8_t handle[STATE_HANDLE_BYTES_MAX];
	uint64_t signature; /* the keeper's, of the handle (fuse_keeper.h); 0: none yet */
};
_Static_assert(sizeof(struct state_node) == 64, "a power of two per chunk");

enum { STATE_FILE_USED = 1, STATE_FILE_DIR = 2 };

struct state_file {
	uint64_t nodeid;
	uint32_t reuse; /* upper half of the file handle */
	uint32_t open_flags;
	uint32_t flags; /* STATE_FILE_*; published last */
	uint32_t pad[3];
};
_Static_assert(sizeof(struct state_file) == 32, "a power of two per chunk");

#define STATE_ANSWERS_MAX 512U /* per mount; at least twice FUSE_PROTO_CALLS_MAX */
#define STATE_ANSWER_BYTES_MAX 208U

enum state_answer_state {
	STATE_ANSWER_FREE,
	STATE_ANSWER_STARTED, /* perhaps executed: its process died over it */
	STATE_ANSWER_DONE,
	STATE_ANSWER_ACKED, /* the client has it: the first to be overwritten */
};
struct state_answer {
	uint64_t unique;
	uint32_t state; /* published last */
	uint32_t opcode;
	int32_t error;
	uint32_t len;	    /* of body */
	uint64_t size_then; /* appending writes: size of the file before */
	uint64_t pad[2];
	uint8_t body[STATE_ANSWER_BYTES_MAX];
};
_Static_assert(sizeof(struct state_answer) == 256, "a power of two per chunk");

#define STATE_NODES_PER_CHUNK (STATE_CHUNK_BYTES / sizeof(struct state_node))
#define STATE_FILES_PER_CHUNK (STATE_CHUNK_BYTES / sizeof(struct state_file))
#define STATE_ANSWERS_PER_CHUNK (STATE_CHUNK_BYTES / sizeof(struct state_answer))

struct state_head {
	uint64_t magic;
	uint32_t version;
	uint32_t pad;
	struct state_mount mounts[STATE_MOUNTS_MAX];
	/* 0: free; else kind << 28 | (mount + 1) << 20 | position in the mount's table of the kind
	 */
	uint32_t owner[STATE_CHUNKS_MAX];
};

struct state {
	int fd;
	uint8_t *map;
	struct state_head *head;
	uint32_t n_chunks; /* that the file holds */
	uint32_t next;	   /* where the search for a free one starts */
};

/* Maps fd (borrowed; -1: a new memfd is made, which nothing outlives). What is not a state of this
 * version is thrown away; *ret_old says whether there was one to go on with. 0; -ENOMEM; errno. */
int state_init(struct state *s, int fd, bool *ret_old);
void state_done(struct state *s);
/* A zeroed chunk for position pos of the mount's table of that kind. NULL: no memory. */
void *state_chunk_new(struct state *s, unsigned mount, enum state_kind kind, uint32_t pos);
/* Calls found for each chunk of the mount. found returns negative errno to stop. */
int state_chunk_each(struct state *s, unsigned mount,
		     int (*found)(void *arg, enum state_kind kind, uint32_t pos, void *chunk),
		     void *arg);
/* Frees the mount's record and its chunks, and gives their memory back. */
void state_mount_drop(struct state *s, unsigned mount);

/* Nothing written before in program order is seen later than *p = v by a successor process. */
#define state_publish(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
