/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writer and reader of the shared packet ring. Both are here because only they know its layout.
 */
#include "netcfg/base/os/packet_ring.h"
#include <string.h>

_Static_assert(sizeof(struct packet_ring) <= PACKET_RING_HEAD_BYTES, "the head has its room");
_Static_assert(sizeof(struct packet_record) == 16, "a record keeps the next one aligned");
_Static_assert(PACKET_KEY_BYTES <= 64, "no capture keeps less of a packet");

static uint8_t *data_of(struct packet_ring *ring)
{
	return (uint8_t *)ring + PACKET_RING_HEAD_BYTES;
}

/* A record and its bytes, padded so that records stay whole at the ring's end. */
static uint64_t space_of(uint32_t kept_bytes)
{
	return sizeof(struct packet_record) + ((kept_bytes + 15ULL) & ~15ULL);
}

void packet_writer_init(struct packet_writer *w, void *memory, uint64_t bytes, uint32_t snap_bytes)
{
	*w = (struct packet_writer){
		.ring = memory, .bytes = bytes, .snap_bytes = MIN_OF(snap_bytes, PACKET_SNAP_MAX)};
	/* Partner: packet_reader_joined. */
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
	/* Partner: packet_reader_count. One writer, so that nothing is lost in between. */
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

bool packet_writer_put(struct packet_writer *w, struct packet_record *r,
		       const struct packet_part *parts, unsigned n)
{
	struct packet_ring *ring = w->ring;
	uint32_t left = MIN_OF(r->wire_bytes, w->snap_bytes);
	bool is_packet = r->direction != PACKET_KEY;
	/* Partner: packet_reader_take, so that what it copied is not written over before. */
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
	/* Partner: packet_reader_next. */
	__atomic_store_n(&ring->head, w->head, __ATOMIC_RELEASE);
	return true;
}

void packet_writer_done(struct packet_writer *w)
{
	/* Partner: packet_reader_joined. */
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
	/* Partner: packet_writer_put. */
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
	/* Partner: packet_writer_put. */
	__atomic_store_n(&r->ring->tail, r->tail, __ATOMIC_RELEASE);
}

bool packet_reader_joined(const struct packet_reader *r)
{
	/* Partner: packet_writer_init, packet_writer_done. */
	return __atomic_load_n(&r->ring->joined, __ATOMIC_ACQUIRE) == 1;
}

void packet_reader_count(const struct packet_reader *r, unsigned port, uint64_t *ret_packets,
			 uint64_t *ret_dropped)
{
	/* Partner: packet_writer_put. */
	*ret_packets = __atomic_load_n(&r->ring->ports[port].packets, __ATOMIC_RELAXED);
	*ret_dropped = __atomic_load_n(&r->ring->ports[port].dropped, __ATOMIC_RELAXED);
}
