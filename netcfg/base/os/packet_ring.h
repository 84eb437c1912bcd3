/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of packets in memory shared by two processes: a worker puts in what it sends and receives,
 * the agent takes it out. The writer never waits: packets without room are counted and dropped.
 * Neither call allocates, locks or makes a system call. The reader trusts nothing in the shared
 * memory and distinguishes a corrupt ring from an empty one. The caller creates the memory, maps it
 * and passes it on.
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
	PACKET_KEY, /* not a packet but a struct packet_key; not counted as a packet */
};

/* The cipher keys of a session's packets in one direction, as plenum-protocol(7) describes. */
struct packet_key {
	uint64_t session, phase;
	uint32_t cipher, pad;
	uint8_t key[32];
};
#define PACKET_KEY_BYTES sizeof(struct packet_key)

struct packet_record {
	uint64_t time_ns; /* clock_now_ns() */
	uint32_t wire_bytes;
	uint16_t kept_bytes; /* how many of the packet's first bytes are in the ring */
	uint8_t port, direction;
};

struct packet_ring { /* the shared memory; packets follow at PACKET_RING_HEAD_BYTES */
	/* Written by the writer alone. */
	uint64_t joined; /* 1: the writer has mapped the ring; 2: and has left; partner:
			    packet_reader_joined */
	uint64_t head;	 /* bytes ever put; partner: packet_reader_next */
	struct {
		uint64_t packets; /* packets seen, including dropped ones; partner:
				     packet_reader_count */
		uint64_t dropped; /* packets dropped for lack of room; partner: the same */
	} ports[PACKET_RING_PORTS];
	/* Written by the reader alone. */
	_Alignas(64) uint64_t tail; /* bytes ever taken; partner: packet_writer_put */
};
#define PACKET_RING_HEAD_BYTES 4096U

/* Memory in bytes for a ring of `bytes`, a power of two. */
static inline size_t packet_ring_size(uint64_t bytes)
{
	return PACKET_RING_HEAD_BYTES + bytes;
}

struct packet_writer {
	struct packet_ring *ring; /* NULL: none */
	uint64_t bytes, head;
	uint32_t snap_bytes;
};
struct packet_part { /* one piece of a scattered packet */
	const void *bytes;
	uint32_t len;
};

/* memory: all zero, packet_ring_size(bytes) of it. */
void packet_writer_init(struct packet_writer *w, void *memory, uint64_t bytes, uint32_t snap_bytes);
/* r->kept_bytes is filled in here; r->wire_bytes is the sum of the parts. False: no room. */
bool packet_writer_put(struct packet_writer *w, struct packet_record *r,
		       const struct packet_part *parts, unsigned n);

void packet_writer_done(struct packet_writer *w); /* no more packets follow */

struct packet_reader {
	struct packet_ring *ring;
	uint64_t bytes, tail;
	uint32_t snap_bytes;
};
void packet_reader_init(struct packet_reader *r, void *memory, uint64_t bytes, uint32_t snap_bytes);
/* The oldest packet, which stays in the ring. 1; 0: the ring is empty; -EBADMSG: the ring is
 * corrupt. */
int packet_reader_next(const struct packet_reader *r, struct packet_record *ret);
/* Copies out the packet that packet_reader_next described, and frees its room. */
void packet_reader_take(struct packet_reader *r, const struct packet_record *rec, uint8_t *ret);
bool packet_reader_joined(const struct packet_reader *
				  r); /* Whether the writer has mapped the ring and has not left. */
void packet_reader_count(const struct packet_reader *r, unsigned port, uint64_t *ret_packets,
			 uint64_t *ret_dropped);

#endif
