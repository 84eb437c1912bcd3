/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of captured packets in memory that two processes share. A worker adds the packets that it
 * sends and receives; the agent removes them. The worker never waits: it drops a packet that does
 * not fit, and counts the drop. No function here allocates, locks or makes a system call. The
 * reader validates everything that it reads from the shared memory, and distinguishes a corrupt
 * ring from an empty one. The caller creates the memory, maps it and passes it to the other
 * process.
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
	PACKET_KEY, /* a struct packet_key instead of a packet; the counters do not count it */
};

/* The cipher keys for a session's packets in one direction, see plenum-protocol(7). */
struct packet_key {
	uint64_t session, phase;
	uint32_t cipher, pad;
	uint8_t key[32];
};
#define PACKET_KEY_BYTES sizeof(struct packet_key)

struct packet_record {
	uint64_t time_ns; /* clock_now_ns() */
	uint32_t wire_bytes;
	uint16_t kept_bytes; /* how many bytes from the start of the packet are in the ring */
	uint8_t port, direction;
};

struct packet_ring { /* the shared memory; records follow after PACKET_RING_HEAD_BYTES */
	/* The members up to ports are written by the writer alone. */
	/* 1: the writer has mapped the ring; 2: the writer has finished. Read by
	 * packet_reader_joined(). */
	uint64_t joined;
	uint64_t head; /* bytes written since the start */
	struct {
		/* packets offered, including dropped ones; a relaxed atomic, whose value orders no
		 * other access */
		uint64_t packets;
		/* packets dropped because the ring was full; a relaxed atomic, like `packets` */
		uint64_t dropped;
	} ports[PACKET_RING_PORTS];
	/* Only the reader writes this member. */
	_Alignas(64) uint64_t tail; /* bytes read since the start */
};
#define PACKET_RING_HEAD_BYTES 4096U

/* Returns the size in bytes of the shared memory for a ring of `bytes`, a power of two. */
static inline size_t packet_ring_size(uint64_t bytes)
{
	return PACKET_RING_HEAD_BYTES + bytes;
}

struct packet_writer {
	struct packet_ring *ring; /* the ring; NULL: no capture */
	uint64_t bytes, head;
	uint32_t snap_bytes;
};
struct packet_part { /* one piece of a scattered packet */
	const void *bytes;
	uint32_t len;
};

/* Begins to write to the ring in `memory`, which has packet_ring_size(bytes) bytes, all zero. */
void packet_writer_init(struct packet_writer *w, void *memory, uint64_t bytes, uint32_t snap_bytes);
/* Adds a packet and sets r->kept_bytes; the caller sets r->wire_bytes to the sum of the parts.
 * Returns false if the ring is full. */
bool packet_writer_put(struct packet_writer *w, struct packet_record *r,
		       const struct packet_part *parts, unsigned n);

void packet_writer_done(struct packet_writer *w); /* the writer adds no more packets */

struct packet_reader {
	struct packet_ring *ring;
	uint64_t bytes, tail;
	uint32_t snap_bytes;
};
void packet_reader_init(struct packet_reader *r, void *memory, uint64_t bytes, uint32_t snap_bytes);
/* Describes the oldest packet, which stays in the ring. Returns 1, 0 if the ring is empty, or
 * -EBADMSG if it is corrupt. */
int packet_reader_next(const struct packet_reader *r, struct packet_record *ret);
/* Copies the packet that packet_reader_next described, and removes it from the ring. */
void packet_reader_take(struct packet_reader *r, const struct packet_record *rec, uint8_t *ret);
/* Returns whether the writer has mapped the ring and not finished. */
bool packet_reader_joined(const struct packet_reader *r);
void packet_reader_count(const struct packet_reader *r, unsigned port, uint64_t *ret_packets,
			 uint64_t *ret_dropped);

#endif
