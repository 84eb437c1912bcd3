/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of packets in memory that two processes share: one puts what it sends and receives, the
 * other takes it out. The writer never waits: what has no room is counted and forgotten. Neither
 * call allocates, locks or asks the kernel. The reader trusts nothing in the shared memory: a
 * writer that breaks the ring is told from one that has nothing to say. Who makes the memory, maps
 * it and says that it is there is the caller's business.
 */
#ifndef PLENUM_NETCFG_PACKET_RING_H
#define PLENUM_NETCFG_PACKET_RING_H

#include "netcfg/base/base.h"

#define PACKET_RING_PORTS 8
#define PACKET_RING_BYTES_MIN (64U << 10)
#define PACKET_RING_BYTES_MAX (256U << 20)
#define PACKET_SNAP_MAX 65535U

enum packet_direction {
	PACKET_IN = 1,
	PACKET_OUT,
	PACKET_KEY, /* no packet, but a struct packet_key; it is not counted as one */
};

/* What ciphers a session's packets of one direction, as plenum-protocol(7) has it. */
struct packet_key {
	uint64_t session, phase;
	uint32_t cipher, pad;
	uint8_t key[32];
};
#define PACKET_KEY_BYTES sizeof(struct packet_key)

struct packet_record {
	uint64_t time_ns; /* clock_now_ns() */
	uint32_t wire_bytes;
	uint16_t kept_bytes; /* of them, the first */
	uint8_t port, direction;
};

struct packet_ring { /* the shared memory; packets follow at PACKET_RING_HEAD_BYTES */
	/* Written by the writer alone. */
	uint64_t joined; /* 1: it has mapped the ring; 2: and left; partner: packet_reader_joined */
	uint64_t head;	 /* bytes ever put; partner: packet_reader_next */
	struct {
		uint64_t packets; /* seen, dropped ones too; partner: packet_reader_count */
		uint64_t dropped; /* there was no room for them; partner: the same */
	} ports[PACKET_RING_PORTS];
	/* By the reader alone. */
	_Alignas(64) uint64_t tail; /* bytes ever taken; partner: packet_writer_put */
};
#define PACKET_RING_HEAD_BYTES 4096U

/* Bytes of memory for a ring of so many; bytes is a power of two. */
static inline size_t packet_ring_size(uint64_t bytes)
{
	return PACKET_RING_HEAD_BYTES + bytes;
}

struct packet_writer {
	struct packet_ring *ring; /* NULL: none */
	uint64_t bytes, head;
	uint32_t snap_bytes;
};
struct packet_part { /* of a packet that lies in pieces */
	const void *bytes;
	uint32_t len;
};

/* memory: all zero, packet_ring_size(bytes) of it. */
void packet_writer_init(struct packet_writer *w, void *memory, uint64_t bytes, uint32_t snap_bytes);
/* r->kept_bytes is filled in here; r->wire_bytes is the sum of the parts. False: no room. */
bool packet_writer_put(struct packet_writer *w, struct packet_record *r,
		       const struct packet_part *parts, unsigned n);

void packet_writer_done(struct packet_writer *w); /* nothing more will be put */

struct packet_reader {
	struct packet_ring *ring;
	uint64_t bytes, tail;
	uint32_t snap_bytes;
};
void packet_reader_init(struct packet_reader *r, void *memory, uint64_t bytes, uint32_t snap_bytes);
/* The oldest packet stays where it is. 1; 0: there is none; -EBADMSG: the writer broke the ring. */
int packet_reader_next(const struct packet_reader *r, struct packet_record *ret);
/* Takes out what packet_reader_next told of: its bytes, and the room that it took. */
void packet_reader_take(struct packet_reader *r, const struct packet_record *rec, uint8_t *ret);
bool packet_reader_joined(const struct packet_reader *r); /* and did not leave */
void packet_reader_count(const struct packet_reader *r, unsigned port, uint64_t *ret_packets,
			 uint64_t *ret_dropped);

#endif
