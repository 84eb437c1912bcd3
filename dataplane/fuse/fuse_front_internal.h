/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of fuse_front share: its state, its slots and the negotiation with the kernel.
 * Included by dataplane/fuse_front*.c and nobody else.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_IMPL_H
#define PLENUM_DATAPLANE_FUSE_FRONT_IMPL_H

#include "dataplane/fuse/fuse_front.h"
#include "dataplane/fuse/fuse_front_pool.h"
#include "dataplane/fuse/fuse_proto.h"

#define FRONT_SLOTS FUSE_PROTO_CALLS_MAX
#define FRONT_SMALL_BYTES 8192U /* a request or response up to this size lies in the slot */
/* A slot waits for the peer without an application behind it (FORGET, RELEASE): at most so many. */
#define FRONT_ORPHANS_MAX 128
/* Large buffers that READs leave free, so that WRITEs and small requests get through. */
#define FRONT_READ_RESERVE 12

enum front_slot_state { FRONT_SLOT_FREE, FRONT_SLOT_PENDING, FRONT_SLOT_SENT };

struct front_slot {
	struct front_slot *prev, *next; /* free stack (next only) or pending queue */
	enum front_slot_state state;
	uint32_t opcode;
	uint64_t unique; /* as the kernel gave it, its RESEND bit included: replies carry it */
	uint8_t *req;	 /* small[0..] or from the pool */
	uint32_t req_len;
	uint32_t resp_max; /* the largest answer the kernel takes */
	uint8_t *resp;	   /* from the pool, when resp_max is above FRONT_SMALL_BYTES and sent */
	uint8_t *small;	   /* FRONT_SMALL_BYTES for the request, as many for the response */
	bool orphan;	   /* nobody waits for the answer */
	bool resp_lent;	   /* resp or the small half is in rudp's hands */
	uint16_t serial;   /* makes the cookie of a slot's next use another one */
};

enum front_link {
	FRONT_AWAY,  /* no session, or it has ended */
	FRONT_HELLO, /* session is up, INIT sent */
	FRONT_READY,
};

/* In the state descriptor, one per mount, at index * sizeof. */
#define FRONT_STATE_MAGIC 0x50465354U
struct front_state {
	uint32_t magic, size;
	uint8_t mount_id[16];
	uint32_t negotiated; /* the kernel's INIT has been answered with what follows */
	uint32_t minor;
	uint64_t flags;
	uint32_t max_readahead;
	uint32_t pad;
};

struct front_init_msg {
	struct fuse_in_header in;
	struct fuse_init_in init;
};

struct fuse_front {
	int fd;
	int state_fd;
	off_t state_off;
	struct rudp *rudp;
	struct rudp_session *session;
	struct launch_stats *stats;
	uint64_t timeout_ns;	 /* 0: hard */
	struct front_state kept; /* what the state descriptor holds */
	enum front_link link;
	bool gone; /* unmounted */
	bool bye_sent, bye_done;
	bool flush_wanted; /* pending slots may be sendable */
	uint64_t away_since_ns, retry_ns, busy_ns;
	uint64_t timeouts, bad_requests, bad_responses;
	struct front_init_msg hello;
	struct fuse_in_header bye;
	uint8_t hello_resp[512];
	uint8_t *read_buf; /* where the next request is read */
	unsigned n_used, n_pending, n_orphans, n_sent;
	struct front_slot *free;
	struct front_slot pending; /* list head */
	struct front_pool pool;
	uint8_t *small_area;
	struct front_slot slots[FRONT_SLOTS];
};

/* fuse_front_init.c: the kernel's INIT and the state descriptor. */

/* Answers an INIT request of len bytes: parameters into f->kept and the state descriptor, the
 * answer to the kernel. */
void front_init_answer(struct fuse_front *f, const void *req, size_t len);
/* The INIT that opens a session with the server, from f->kept. */
void front_init_compose(const struct fuse_front *f, struct front_init_msg *ret);
/* Reads the state of a predecessor. 1: there was one (requests may be unanswered); 0: none;
 * negative errno. */
int front_state_load(struct fuse_front *f, const struct launch_mount *m);
int front_state_store(const struct fuse_front *f);
/* Has the kernel hand out again what a dead predecessor left unanswered. */
int front_state_resend(struct fuse_front *f);

/* fuse_front_slot.c */

int front_slots_init(struct fuse_front *f);
void front_slots_done(struct fuse_front *f);
/* Takes the request of len bytes in f->read_buf into a slot: copied when small, else the buffer
 * changes hands. NULL: no slot or no buffer. */
struct front_slot *front_slot_take(struct fuse_front *f, uint32_t len);
void front_slot_free(struct fuse_front *f, struct front_slot *s);
void front_slot_queue(struct fuse_front *f, struct front_slot *s);
void front_slot_unqueue(struct fuse_front *f, struct front_slot *s);
struct front_slot *front_slot_find(struct fuse_front *f, uint64_t unique);
/* The cookie of the slot's present call, and back; NULL: not a call in flight. */
uint64_t front_slot_cookie(const struct fuse_front *f, const struct front_slot *s);
struct front_slot *front_slot_from_cookie(struct fuse_front *f, uint64_t cookie);
/* How many bytes the kernel takes as answer to this request, header included. */
uint32_t front_slot_resp_max(const void *req, uint32_t len);
bool front_opcode_has_reply(uint32_t opcode);
/* A reply without data. */
void front_reply_error(struct fuse_front *f, uint64_t unique, int error);

#endif
