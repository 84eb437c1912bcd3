/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the server end keeps of an export in its state descriptor, a memfd that outlives the
 * process: for each mount its last answers to requests that must not run twice; and the files that
 * the agent holds, because they have no name and somebody has them open. Owns the layout and the
 * mapping, knows nothing of what is in the records.
 *
 * Layout: a head, then chunks of fixed size, each with a head that says whose it is. Records are
 * filled first and published last by one aligned store (a chunk by its kind, a record by its
 * state), so that the death of the process between any two instructions leaves either the old or
 * the new. Only the process can die; a host that dies takes the memfd with it, so stores need no
 * flushing, only to stay in program order.
 */
#ifndef PLENUM_DATAPLANE_FUSE_BACK_STATE_H
#define PLENUM_DATAPLANE_FUSE_BACK_STATE_H

#include "dataplane/fuse/fuse_handle.h"
#include "dataplane/launch.h"

#define STATE_CHUNK_BYTES 65536U
#define STATE_CHUNKS_MAX 65536U /* 4 GiB */

enum state_kind { STATE_FREE, STATE_ANSWERS, STATE_HOLDS, STATE_KIND_MAX };

struct state_chunk {
	uint32_t kind; /* enum state_kind; published last */
	uint32_t pos;  /* among its owner's of this kind */
	uint8_t mount_id[16];
	uint8_t pad[40];
};
_Static_assert(sizeof(struct state_chunk) == 64, "records stay aligned");
#define STATE_CHUNK_ROOM (STATE_CHUNK_BYTES - sizeof(struct state_chunk))

#define STATE_ANSWERS_MAX 512U /* per mount; at least twice FUSE_PROTO_CALLS_MAX */
#define STATE_ANSWER_BYTES_MAX 464U

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
	uint16_t len, tail_len; /* of body: the reply's data, then its tail */
	uint64_t size_then;	/* appending writes: size of the file before */
	uint64_t incarnation;	/* of the process whose file handles are in body */
	uint64_t pad;
	uint8_t body[STATE_ANSWER_BYTES_MAX];
};
_Static_assert(sizeof(struct state_answer) == 512, "no room between the fields");

struct state_hold {
	uint32_t used; /* published last */
	struct fuse_handle handle;
	uint8_t pad[27];
};
_Static_assert(sizeof(struct state_hold) == 128, "no room between the fields");

#define STATE_ANSWERS_PER_CHUNK (STATE_CHUNK_ROOM / sizeof(struct state_answer))
#define STATE_ANSWER_CHUNKS \
	((STATE_ANSWERS_MAX + STATE_ANSWERS_PER_CHUNK - 1) / STATE_ANSWERS_PER_CHUNK)
#define STATE_HOLDS_PER_CHUNK (STATE_CHUNK_ROOM / sizeof(struct state_hold))
#define STATE_HOLD_CHUNKS 64U

struct state {
	int fd;
	uint8_t *map;
	uint32_t n_chunks; /* that the file holds */
	uint32_t next;	   /* where the search for a free one starts */
};

/* Maps fd (borrowed; -1: a new memfd is made, which nothing outlives). What is not a state of this
 * version is thrown away. 0; -ENOMEM; errno. */
int state_init(struct state *s, int fd);
void state_done(struct state *s);
/* The records, all zero, of a new chunk with this head. NULL: no memory. */
void *state_chunk_new(struct state *s, const struct state_chunk *head);
/* Calls found for each chunk that is in use, with its records. It may free the chunk; returns
 * negative errno to stop. */
int state_chunk_each(struct state *s,
		     int (*found)(void *arg, const struct state_chunk *head, void *records),
		     void *arg);
/* Gives the chunk with these records back. */
void state_chunk_free(struct state *s, void *records);

/* Nothing written before in program order is seen later than *p = v by a successor process. */
#define state_publish(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
