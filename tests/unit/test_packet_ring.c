/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared packet ring: records come out as they went in, also with concurrent ends; a full ring
 * drops and counts; an invalid writer is detected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/base/os/packet_ring.h"
#include <pthread.h>
#include <string.h>

#define BYTES PACKET_RING_BYTES_MIN

struct both {
	void *memory;
	struct packet_writer w;
	struct packet_reader r;
};

static int both_new(void **state)
{
	struct both *b = calloc(1, sizeof(*b));

	b->memory = aligned_alloc(64, packet_ring_size(BYTES));
	memset(b->memory, 0, packet_ring_size(BYTES));
	packet_reader_init(&b->r, b->memory, BYTES, 200);
	assert_false(packet_reader_joined(&b->r));
	packet_writer_init(&b->w, b->memory, BYTES, 200);
	assert_true(packet_reader_joined(&b->r));
	*state = b;
	return 0;
}

static int both_free(void **state)
{
	struct both *b = *state;

	free(b->memory);
	free(b);
	return 0;
}

/* Packet n: its length and every byte follow from n. */
static uint32_t length_of(uint64_t n)
{
	return 1 + (uint32_t)(n * 2654435761U >> 7) % 300;
}

static void put(struct packet_writer *w, uint64_t n)
{
	uint32_t len = length_of(n), cut = len / 3;
	uint8_t bytes[300];
	const struct packet_part parts[3] = {
		{bytes, cut}, {bytes + cut, 0}, {bytes + cut, len - cut}};
	struct packet_record rec = {.time_ns = n,
				    .wire_bytes = len,
				    .port = n % PACKET_RING_PORTS,
				    .direction = n & 1 ? PACKET_IN : PACKET_OUT};

	memset(bytes, (int)(n % 251), sizeof(bytes));
	packet_writer_put(w, &rec, parts, 3);
}

/* Reads one and checks it against its number. 0: none. */
static uint64_t take(struct packet_reader *r)
{
	struct packet_record rec;
	uint8_t bytes[300];
	int e = packet_reader_next(r, &rec);

	assert_true(e >= 0);
	if (e == 0)
		return 0;
	assert_int_equal(rec.wire_bytes, length_of(rec.time_ns));
	assert_int_equal(rec.kept_bytes, MIN_OF(rec.wire_bytes, 200U));
	assert_int_equal(rec.port, rec.time_ns % PACKET_RING_PORTS);
	assert_int_equal(rec.direction, rec.time_ns & 1 ? PACKET_IN : PACKET_OUT);
	packet_reader_take(r, &rec, bytes);
	for (uint32_t i = 0; i < rec.kept_bytes; i++)
		assert_int_equal(bytes[i], rec.time_ns % 251);
	return rec.time_ns;
}

static void records_come_out_in_order(void **state)
{
	struct both *b = *state;
	uint64_t next = 1;

	/* Many wraps, with the ring alternating between nearly empty and full. */
	for (uint64_t n = 1; n <= 20000; n++) {
		put(&b->w, n);
		for (uint64_t left = n % 7; left > 0 && next <= n; left--)
			assert_int_equal(take(&b->r), next++);
		if (n % 100 == 0)
			while (next <= n)
				assert_int_equal(take(&b->r), next++);
	}
	assert_int_equal(take(&b->r), 0);
	packet_writer_done(&b->w);
	assert_false(packet_reader_joined(&b->r));
}

static uint64_t count(const struct packet_reader *r, bool dropped)
{
	uint64_t sum = 0, packets, lost;

	for (unsigned i = 0; i < PACKET_RING_PORTS; i++) {
		packet_reader_count(r, i, &packets, &lost);
		sum += dropped ? lost : packets;
	}
	return sum;
}

static void a_full_ring_drops_and_counts(void **state)
{
	struct both *b = *state;
	uint64_t n = 0, last = 0, taken = 0, got;

	while (count(&b->r, true) < 100)
		put(&b->w, ++n);
	assert_true(n > BYTES / (200 + 32) && n < BYTES / 16);
	while ((got = take(&b->r))) {
		assert_true(got > last);
		last = got;
		taken++;
	}
	assert_int_equal(taken + 100, n);
	assert_int_equal(count(&b->r, false), n);
	put(&b->w, ++n); /* and there is space again */
	assert_int_equal(take(&b->r), n);
}

#define MANY 300000

static void *writer(void *user)
{
	struct both *b = user;

	for (uint64_t n = 1; n <= MANY; n++)
		put(&b->w, n);
	return NULL;
}

static void both_ends_work_concurrently(void **state)
{
	struct both *b = *state;
	uint64_t last = 0, taken = 0, got;
	bool ended = false;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, writer, b), 0);
	for (;;) {
		got = take(&b->r);
		if (got) {
			assert_true(got > last);
			last = got;
			taken++;
		} else if (ended) {
			break;
		} else {
			ended = count(&b->r, false) == MANY;
		}
	}
	pthread_join(t, NULL);
	while (take(&b->r))
		taken++;
	assert_int_equal(taken + count(&b->r, true), MANY);
}

/* Each invalid field alone, among those the reader checks. */
static void invalid_records_are_detected(void **state)
{
	struct both *b = *state;
	struct packet_record good, rec;
	uint8_t *at = (uint8_t *)b->memory + PACKET_RING_HEAD_BYTES;

	put(&b->w, 8);
	memcpy(&good, at, sizeof(good));
	for (unsigned lie = 0; lie < 6; lie++) {
		rec = good;
		if (lie == 0)
			rec.kept_bytes = 201; /* longer than the original */
		else if (lie == 1)
			rec.wire_bytes = rec.kept_bytes - 1U;
		else if (lie == 2)
			rec.port = PACKET_RING_PORTS;
		else if (lie == 3)
			rec.direction = 0;
		else if (lie == 4)
			b->w.ring->head = BYTES + 1;
		else
			b->w.ring->head = 8;
		memcpy(at, &rec, sizeof(rec));
		assert_int_equal(packet_reader_next(&b->r, &rec), -EBADMSG);
		b->w.ring->head = b->w.head;
	}
	memcpy(at, &good, sizeof(good));
	b->w.ring->head = 32; /* the record exceeds the written part */
	good.kept_bytes = (uint16_t)(good.wire_bytes = 200);
	memcpy(at, &good, sizeof(good));
	assert_int_equal(packet_reader_next(&b->r, &rec), -EBADMSG);
}

/* A reader with a tail beyond the head cannot make the writer overrun its end. */
static void an_invalid_tail_stops_the_writer(void **state)
{
	struct both *b = *state;

	b->w.ring->tail = 12345;
	put(&b->w, 1);
	assert_int_equal(count(&b->r, true), 1);
	assert_int_equal(b->w.ring->head, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_come_out_in_order, both_new, both_free),
		cmocka_unit_test_setup_teardown(a_full_ring_drops_and_counts, both_new, both_free),
		cmocka_unit_test_setup_teardown(both_ends_work_concurrently, both_new, both_free),
		cmocka_unit_test_setup_teardown(invalid_records_are_detected, both_new, both_free),
		cmocka_unit_test_setup_teardown(an_invalid_tail_stops_the_writer, both_new,
						both_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
