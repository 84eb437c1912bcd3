/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the writer and the reader of the shared packet ring. Only this file knows the ring's
 * layout.
 */
#include "netcfg/base/os/packet_ring.h"
#include <string.h>

_Static_assert(sizeof(struct packet_ring) <= PACKET_RING_HEAD_BYTES,
	       "the header fits in front of the records");
_Static_assert(sizeof(struct packet_record) == 16, "records stay aligned");
_Static_assert(PACKET_KEY_BYTES <= 64, "a key fits the smallest snapshot length");

static uint8_t *data_of(struct packet_ring *ring)
{
	return (uint8_t *)ring + PACKET_RING_HEAD_BYTES;
}

/* Returns the space of a record and its bytes, padded to a multiple of 16 so that no record header
 * wraps at the ring's end. */
static uint64_t space_of(uint32_t kept_bytes)
{
	return sizeof(struct packet_record) + ((kept_bytes + 15ULL) & ~15ULL);
}

void packet_writer_init(struct packet_writer *w, void *memory, uint64_t bytes, uint32_t snap_bytes)
{
	*w = (struct packet_writer){
		.ring = memory, .bytes = bytes, .snap_bytes = MIN_OF(snap_bytes, PACKET_SNAP_MAX)};
	/* The reader sees this value in packet_reader_joined(). */
	__atomic_store_n(&w->ring->joined, 1, __ATOMIC_RELEASE);
}

static void put_bytes(const struct packet_writer *w, uint64_t at, const void *bytes, size_t len)
{
	uint64_t begin = at & (w->bytes - 1);
	size_t first = MIN_OF(len, (size_t)(w->bytes - begin));

	memcpy(data_of(w->ring) + begin, bytes, first);
	memcpy(data_of(w->ring), (const uint8_t *)bytes + first, len - first);
}

static void count(uint64_t *counter)
{
	/* A relaxed store is enough: only this process writes the counter, and the reader uses it
	 * independently of the records. */
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

bool packet_writer_put(struct packet_writer *w, struct packet_record *r,
		       const struct packet_part *parts, unsigned n)
{
	struct packet_ring *ring = w->ring;
	uint32_t left = MIN_OF(r->wire_bytes, w->snap_bytes);
	bool is_packet = r->direction != PACKET_KEY;
	/* The reader moves the tail in packet_reader_take() after it has copied a record. So the
	 * writer does not overwrite bytes that the reader still copies. */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE), at = w->head, space;

	space = space_of(left);
	if (is_packet)
		count(&ring->ports[r->port].packets);
	if (w->head - tail > w->bytes || w->bytes - (w->head - tail) < space) {
		if (is_packet)
			count(&ring->ports[r->port].dropped);
		return false;
	}
	r->kept_bytes = (uint16_t)left;
	put_bytes(w, at, r, sizeof(*r));
	at += sizeof(*r);
	for (unsigned i = 0; i < n && left > 0; i++) {
		uint32_t len = MIN_OF(parts[i].len, left);

		put_bytes(w, at, parts[i].bytes, len);
		at += len;
		left -= len;
	}
	w->head += space;
	/* A reader that sees the new head, in packet_reader_next(), also sees the record. */
	__atomic_store_n(&ring->head, w->head, __ATOMIC_RELEASE);
	return true;
}

void packet_writer_done(struct packet_writer *w)
{
	/* The reader sees this value in packet_reader_joined(). */
	__atomic_store_n(&w->ring->joined, 2, __ATOMIC_RELEASE);
}

void packet_reader_init(struct packet_reader *r, void *memory, uint64_t bytes, uint32_t snap_bytes)
{
	*r = (struct packet_reader){
		.ring = memory, .bytes = bytes, .snap_bytes = MIN_OF(snap_bytes, PACKET_SNAP_MAX)};
}

static void get_bytes(const struct packet_reader *r, uint64_t at, void *ret, size_t len)
{
	uint64_t begin = at & (r->bytes - 1);
	size_t first = MIN_OF(len, (size_t)(r->bytes - begin));

	memcpy(ret, data_of(r->ring) + begin, first);
	memcpy((uint8_t *)ret + first, data_of(r->ring), len - first);
}

int packet_reader_next(const struct packet_reader *r, struct packet_record *ret)
{
	/* Pairs with packet_writer_put. */
	uint64_t there = __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE) - r->tail;

	if (there == 0)
		return 0;
	if (there > r->bytes || there < sizeof(*ret))
		return -EBADMSG;
	get_bytes(r, r->tail, ret, sizeof(*ret));
	if (space_of(ret->kept_bytes) > there || ret->kept_bytes > r->snap_bytes ||
	    ret->kept_bytes > ret->wire_bytes || ret->port >= PACKET_RING_PORTS ||
	    ret->direction < PACKET_IN || ret->direction > PACKET_KEY ||
	    (ret->direction == PACKET_KEY && ret->kept_bytes != PACKET_KEY_BYTES))
		return -EBADMSG;
	return 1;
}

void packet_reader_take(struct packet_reader *r, const struct packet_record *rec, uint8_t *ret)
{
	get_bytes(r, r->tail + sizeof(*rec), ret, rec->kept_bytes);
	r->tail += space_of(rec->kept_bytes);
	/* Pairs with packet_writer_put. */
	__atomic_store_n(&r->ring->tail, r->tail, __ATOMIC_RELEASE);
}

bool packet_reader_joined(const struct packet_reader *r)
{
	/* The writer sets this value in packet_writer_init() and packet_writer_done(). */
	return __atomic_load_n(&r->ring->joined, __ATOMIC_ACQUIRE) == 1;
}

void packet_reader_count(const struct packet_reader *r, unsigned port, uint64_t *ret_packets,
			 uint64_t *ret_dropped)
{
	*ret_packets = __atomic_load_n(&r->ring->ports[port].packets, __ATOMIC_RELAXED);
	*ret_dropped = __atomic_load_n(&r->ring->ports[port].dropped, __ATOMIC_RELAXED);
}
