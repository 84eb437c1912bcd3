/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/rudp/wire/wire.h"
#include "netcfg/base/base.h"

static const struct wire_common common = {
	.path = 3, .flags = 0, .session = 0x0102030405060708ULL, .pn = 0xa1a2a3a4};

static struct wire_common common_of(enum wire_type t, uint8_t flags)
{
	struct wire_common c = common;

	c.type = t;
	c.flags = flags;
	return c;
}

static void the_common_header_is_checked(void **state)
{
	static const uint8_t expect[] = {0xa7, 0x29, 3, 8, 1,	 2,    3,    4,
					 5,    6,    7, 8, 0xa1, 0xa2, 0xa3, 0xa4};
	struct wire_common c = common_of(WIRE_PING, WIRE_F_WANT_ACK), got;
	uint8_t p[WIRE_COMMON_BYTES];

	assert_int_equal(wire_put_common(p, &c), sizeof(p));
	assert_memory_equal(p, expect, sizeof(p));
	assert_int_equal(wire_get_common(p, sizeof(p), &got), 0);
	assert_int_equal(got.type, WIRE_PING);
	assert_int_equal(got.path, 3);
	assert_int_equal(got.flags, WIRE_F_WANT_ACK);
	assert_int_equal(got.session, common.session);
	assert_int_equal(got.pn, common.pn);
	assert_int_equal(wire_get_common(p, sizeof(p) - 1, &got), -EBADMSG);
	p[0]++; /* magic */
	assert_int_equal(wire_get_common(p, sizeof(p), &got), -EBADMSG);
	p[0]--;
	p[1] = 0x19; /* version */
	assert_int_equal(wire_get_common(p, sizeof(p), &got), -EBADMSG);
	p[1] = 0x20; /* type */
	assert_int_equal(wire_get_common(p, sizeof(p), &got), -EBADMSG);
	p[1] = 0x29;
	p[2] = WIRE_PATHS_MAX;
	assert_int_equal(wire_get_common(p, sizeof(p), &got), -EBADMSG);
	c.phase = 1;
	wire_put_common(p, &c);
	assert_int_equal(p[2], 0x83);
	assert_int_equal(wire_get_common(p, sizeof(p), &got), 0);
	assert_int_equal(got.path, 3);
	assert_int_equal(got.phase, 1);
}

static void hello_round_trips(void **state)
{
	struct wire_common c = common_of(WIRE_HELLO, 0);
	struct wire_hello h = {.client_number = 1, .cookie = 4, .cipher = 2, .body_len = 5}, got;
	struct wire_hello_body b = {.identity = 3,
				    .former_number = 2,
				    .epoch = 5,
				    .mtu = 1500,
				    .slots = 128,
				    .token = {7, 8},
				    .security = 1,
				    .app_len = 5},
			       got_b;
	uint8_t p[128];
	size_t n = wire_put_hello(p, &c, &h);

	assert_int_equal(n, WIRE_HELLO_BYTES);
	assert_int_equal(wire_get64(p + WIRE_OFF_COOKIE), 4);
	memcpy(p + n, "12345", 5);
	assert_int_equal(wire_get_hello(p, n + 5, &got), 0);
	assert_int_equal(got.client_number, 1);
	assert_int_equal(got.cookie, 4);
	assert_int_equal(got.cipher, 2);
	assert_int_equal(got.body_len, 5);
	assert_memory_equal(got.body, "12345", 5);
	for (size_t len = 0; len < n + 5; len++)
		assert_int_equal(wire_get_hello(p, len, &got), -EBADMSG);
	assert_int_equal(wire_get_hello(p, n + 6, &got), -EBADMSG);
	h.client_number = 0;
	wire_put_hello(p, &c, &h);
	assert_int_equal(wire_get_hello(p, n + 5, &got), -EBADMSG);

	n = wire_put_hello_body(p, &b);
	assert_int_equal(n, WIRE_HELLO_BODY_BYTES);
	memcpy(p + n, "hello", 5);
	assert_int_equal(wire_get_hello_body(p, n + 5, &got_b), 0);
	assert_int_equal(got_b.identity, 3);
	assert_int_equal(got_b.former_number, 2);
	assert_int_equal(got_b.epoch, 5);
	assert_int_equal(got_b.mtu, 1500);
	assert_int_equal(got_b.slots, 128);
	assert_int_equal(got_b.security, 1);
	assert_memory_equal(got_b.token, b.token, sizeof(b.token));
	assert_memory_equal(got_b.app, "hello", 5);
	for (size_t len = 0; len < n + 5; len++)
		assert_int_equal(wire_get_hello_body(p, len, &got_b), -EBADMSG);
	b.slots = 0;
	wire_put_hello_body(p, &b);
	assert_int_equal(wire_get_hello_body(p, n + 5, &got_b), -EBADMSG);
}

static void accept_round_trips(void **state)
{
	struct wire_common c = common_of(WIRE_ACCEPT, 0);
	struct wire_answer answer = {.cipher = 1, .body_len = 3}, got_answer;
	struct wire_accept a = {.server_number = 9,
				.identity = 10,
				.token = {1, 2, 3},
				.epoch = 11,
				.credit = 12,
				.mtu = 9000,
				.slots = 64,
				.security = 2,
				.n_addrs = 2},
			   got;
	struct wire_addr addrs[2] = {
		{.ip = {10, 1, 2, 3}, .family = 4, .prefix_len = 16, .port = 7000, .label = 5},
		{.ip = {0xfd, 1}, .family = 6, .prefix_len = 64, .port = 7001, .label = 6}};
	uint8_t p[256];
	size_t n = wire_put_answer(p, &c, &answer);

	assert_int_equal(n, WIRE_ANSWER_BYTES);
	assert_int_equal(wire_get_answer(p, n + 3, &got_answer), 0);
	assert_int_equal(got_answer.cipher, 1);
	assert_ptr_equal(got_answer.body, p + n);
	for (size_t len = 0; len < n + 3; len++)
		assert_int_equal(wire_get_answer(p, len, &got_answer), -EBADMSG);

	n = wire_put_accept_body(p, &a);
	for (unsigned i = 0; i < 2; i++)
		n += wire_put_addr(p + n, &addrs[i]);
	assert_int_equal(wire_get_accept_body(p, n, &got), 0);
	assert_int_equal(got.server_number, 9);
	assert_int_equal(got.identity, 10);
	assert_memory_equal(got.token, a.token, sizeof(a.token));
	assert_int_equal(got.epoch, 11);
	assert_int_equal(got.credit, 12);
	assert_int_equal(got.mtu, 9000);
	assert_int_equal(got.slots, 64);
	assert_int_equal(got.security, 2);
	assert_int_equal(got.n_addrs, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_memory_equal(&got.addrs[i], &addrs[i], sizeof(addrs[i]));
	for (size_t len = 0; len < n; len++)
		assert_int_equal(wire_get_accept_body(p, len, &got), -EBADMSG);
	p[WIRE_ACCEPT_BODY_BYTES] = 5; /* address family */
	assert_int_equal(wire_get_accept_body(p, n, &got), -EBADMSG);
}

static void refuse_round_trips(void **state)
{
	char word[WIRE_REFUSE_TEXT_MAX + 1], longer[100] = "";
	uint8_t p[64];
	size_t n = wire_put_refuse_body(p, -ENOENT, "");
	int code;

	assert_int_equal(wire_get_refuse_body(p, n, &code, word), 0);
	assert_int_equal(code, -ENOENT);
	assert_string_equal(word, "");
	assert_int_equal(wire_get_refuse_body(p, n - 1, &code, word), -EBADMSG);
	n = wire_put_refuse_body(p, -EREMCHG, "host-b");
	assert_int_equal(wire_get_refuse_body(p, n, &code, word), 0);
	assert_string_equal(word, "host-b");
	p[n - 1] = '\033'; /* a terminal would interpret it */
	assert_int_equal(wire_get_refuse_body(p, n, &code, word), -EBADMSG);
	memset(longer, 'x', sizeof(longer) - 1);
	n = wire_put_refuse_body(p, -EREMCHG, longer);
	assert_int_equal(n, WIRE_REFUSE_BODY_BYTES + WIRE_REFUSE_TEXT_MAX);
	assert_int_equal(wire_get_refuse_body(p, n, &code, word), 0);
	assert_int_equal(strlen(word), WIRE_REFUSE_TEXT_MAX);
	assert_int_equal(wire_get_refuse_body(p, n + 1, &code, word), -EBADMSG);
	n = wire_put_refuse_body(p, 0, "");
	assert_int_equal(wire_get_refuse_body(p, n, &code, word), -EBADMSG);
}

static void short_packets_round_trip(void **state)
{
	struct wire_common c = common_of(WIRE_CHALLENGE, 0), got;
	struct wire_join j = {.cookie = 5, .stamp = 6}, got_j;
	uint8_t p[64] = {0}, hello[WIRE_HELLO_BYTES];
	uint64_t cookie;
	uint8_t highest;
	size_t n = wire_put_challenge(p, &c, 77, NULL);
	const uint8_t *key = p;

	assert_int_equal(wire_get_challenge(p, n, &cookie, &key), 0);
	assert_int_equal(cookie, 77);
	assert_null(key);
	assert_int_equal(wire_get_challenge(p, n - 1, &cookie, &key), -EBADMSG);
	assert_true(n <= WIRE_HELLO_BYTES); /* a reply to unauthenticated hosts */
	n = wire_put_challenge(p, &c, 78, (const uint8_t *)"0123456789abcdef0123456789abcdef");
	assert_int_equal(wire_get_challenge(p, n, &cookie, &key), 0);
	assert_int_equal(cookie, 78);
	assert_memory_equal(key, "0123456789abcdef0123456789abcdef", WIRE_KEY_BYTES);
	assert_int_equal(wire_get_challenge(p, n - 1, &cookie, &key), -EBADMSG);
	assert_true(n <= WIRE_HELLO_BYTES + WIRE_KEY_BYTES); /* the HELLO that asks is padded */

	n = wire_put_join(p, &c, &j);
	assert_int_equal(wire_get_join(p, n, &got_j), 0);
	assert_int_equal(got_j.cookie, 5);
	assert_int_equal(got_j.stamp, 6);
	assert_int_equal(wire_get_join(p, n - 1, &got_j), -EBADMSG);

	/* A HELLO of a future version is answered, with no more bytes than it has. */
	c.type = WIRE_HELLO;
	wire_put_hello(hello, &c, &(struct wire_hello){.client_number = 0x1122});
	assert_false(wire_is_foreign_hello(hello, sizeof(hello)));
	hello[1] = 0x31;
	assert_true(wire_is_foreign_hello(hello, sizeof(hello)));
	assert_false(wire_is_foreign_hello(hello, 23));
	n = wire_put_versions(p, hello);
	assert_true(n <= 24);
	assert_false(wire_is_foreign_hello(p, n)); /* no reply to a reply */
	/* It lists our version: nothing to report. */
	assert_int_equal(wire_get_versions(p, n, &got, &highest), -EBADMSG);
	p[16] = 5;
	assert_int_equal(wire_get_versions(p, n, &got, &highest), 0);
	assert_int_equal(highest, 5);
	assert_int_equal(got.session, 0x1122);
	assert_int_equal(got.pn, common.pn);
	assert_int_equal(wire_get_versions(p, 16, &got, &highest), -EBADMSG);
}

static void share_round_trips(void **state)
{
	struct wire_common c = common_of(WIRE_SHARE, 0);
	uint8_t p[64];
	uint32_t bytes = 0;
	size_t n = wire_put_share(p, &c, 1500);

	assert_int_equal(n, WIRE_SHARE_BYTES);
	assert_int_equal(wire_get_share(p, n, &bytes), 0);
	assert_int_equal(bytes, 1500);
	assert_int_equal(wire_get_share(p, n - 1, &bytes), -EBADMSG);
	assert_int_equal(wire_get_share(p, n + 1, &bytes), -EBADMSG);
	wire_put_share(p, &c, 0);
	assert_int_equal(wire_get_share(p, n, &bytes), -EBADMSG);
}

static void ack_round_trips(void **state)
{
	struct wire_common c = common_of(WIRE_ACK, 0);
	struct wire_ack a = {.path = 2,
			     .gap = 5,
			     .delay_us = 300,
			     .top = 64 * 7 + 10,
			     .credit = 99,
			     .n_words = 3,
			     .words = {0x7ff, ~0ULL, 5}},
			got;
	uint8_t p[128];
	size_t n = wire_put_common(p, &c);

	n += wire_put_ack_block(p + n, &a);
	assert_int_equal(wire_get_ack(p, n, &got), 0);
	assert_int_equal(got.path, 2);
	assert_int_equal(got.gap, 5);
	assert_int_equal(got.delay_us, 300);
	assert_int_equal(got.top, a.top);
	assert_int_equal(got.credit, 99);
	assert_int_equal(got.n_words, 3);
	assert_memory_equal(got.words, a.words, 24);
	assert_int_equal(wire_get_ack(p, n - 1, &got), -EBADMSG);
	assert_int_equal(wire_get_ack(p, n + 16, &got), -EBADMSG);
	a.words[0] = 0x800; /* above the top */
	wire_put_ack_block(p + WIRE_COMMON_BYTES, &a);
	assert_int_equal(wire_get_ack(p, n, &got), -EBADMSG);
	a.words[0] = 1;
	a.path = WIRE_PATHS_MAX;
	wire_put_ack_block(p + WIRE_COMMON_BYTES, &a);
	assert_int_equal(wire_get_ack(p, n, &got), -EBADMSG);
}

static int data_get(struct wire_data *d, uint8_t flags, size_t payload, struct wire_data *ret)
{
	static uint8_t p[WIRE_DATA_ACK_BYTES + 70000];
	struct wire_common c = common_of(WIRE_DATA, flags);
	struct wire_ack a = {.n_words = WIRE_ACK_WORDS_DATA, .top = 63}, got;
	size_t n = wire_put_data(p, &c, d);

	if (flags & WIRE_F_ACK_BLOCK)
		n += wire_put_ack_block(p + n, &a);
	return wire_get_data(p, n + payload, &c, ret, &got);
}

static void data_round_trips(void **state)
{
	struct wire_data d = {.gen = 1,
			      .slot = 2,
			      .chunk_index = 2,
			      .n_carried = 1,
			      .msg_len = 4000,
			      .chunk_bytes = 1436,
			      .credit = 3},
			 got;

	assert_int_equal(data_get(&d, 0, 4000 - 2 * 1436, &got), 0);
	assert_int_equal(got.gen, 1);
	assert_int_equal(got.slot, 2);
	assert_int_equal(got.n_chunks, 3);
	assert_int_equal(got.payload_len, 4000 - 2 * 1436);
	assert_int_equal(got.credit, 3);
	assert_int_equal(data_get(&d, WIRE_F_ACK_BLOCK, 4000 - 2 * 1436, &got), 0);
	assert_int_equal(data_get(&d, 0, 4001 - 2 * 1436, &got), -EBADMSG);
	assert_int_equal(data_get(&d, 0, 3999 - 2 * 1436, &got), -EBADMSG);
	d.chunk_index = 3;
	assert_int_equal(data_get(&d, 0, 0, &got), -EBADMSG);
	d.chunk_index = 0;
	assert_int_equal(data_get(&d, 0, 1436, &got), 0);
	d.chunk_bytes = 0;
	assert_int_equal(data_get(&d, 0, 0, &got), -EBADMSG);
	d.chunk_bytes = WIRE_CHUNK_MIN - 1; /* more than one chunk, and small ones */
	assert_int_equal(data_get(&d, 0, WIRE_CHUNK_MIN - 1, &got), -EBADMSG);
	d.chunk_bytes = 1436;
	d.msg_len = WIRE_MSG_MAX + 1;
	assert_int_equal(data_get(&d, 0, 1436, &got), -EBADMSG);
	d.msg_len = WIRE_MSG_MAX;
	assert_int_equal(data_get(&d, 0, 1436, &got), 0);
	d.slot = WIRE_SLOTS_MAX;
	assert_int_equal(data_get(&d, 0, 1436, &got), -EBADMSG);
	d.slot = 0;
	d.msg_len = 4000; /* several in a packet: whole ones, except the message's last */
	d.n_carried = 2;
	assert_int_equal(data_get(&d, 0, 2 * 1436, &got), 0);
	assert_int_equal(got.n_carried, 2);
	assert_int_equal(data_get(&d, 0, 1436, &got), -EBADMSG);
	assert_int_equal(data_get(&d, 0, 2 * 1436 - 1, &got), -EBADMSG);
	d.n_carried = 3;
	assert_int_equal(data_get(&d, 0, 4000, &got), 0);
	assert_int_equal(data_get(&d, 0, 3 * 1436, &got), -EBADMSG);
	d.n_carried = 4;
	assert_int_equal(data_get(&d, 0, 4000, &got), -EBADMSG);
	d.n_carried = 0;
	assert_int_equal(data_get(&d, 0, 0, &got), -EBADMSG);
	d.n_carried = 1;
	d.msg_len = 0; /* an empty message is one empty chunk */
	assert_int_equal(data_get(&d, WIRE_F_RESPONSE, 0, &got), 0);
	assert_int_equal(got.n_chunks, 1);
}

/* The largest message in the smallest chunks fits the bitmaps. */
static void grants_round_trip(void **state)
{
	static const uint8_t expect[] = {0, 7, 0, 0, 1, 2, 3, 4, 3, 0xff, 0, 1, 0, 0, 0, 9};
	struct wire_grant g[2] = {{.slot = 7, .gen = 0x01020304},
				  {.slot = 1023, .again = true, .gen = 9}};
	struct wire_grant got[WIRE_GRANTS_MAX];
	struct wire_common c = common_of(WIRE_GRANT, 0);
	uint8_t p[WIRE_COMMON_BYTES + (WIRE_GRANTS_MAX + 1) * WIRE_GRANT_BYTES] = {0};
	size_t len = wire_put_grants(p, &c, g, 2);

	assert_int_equal(len, WIRE_COMMON_BYTES + sizeof(expect));
	assert_memory_equal(p + WIRE_COMMON_BYTES, expect, sizeof(expect));
	assert_int_equal(wire_get_grants(p, len, got), 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(got[i].slot, g[i].slot);
		assert_int_equal(got[i].again, g[i].again);
		assert_int_equal(got[i].gen, g[i].gen);
	}
	assert_int_equal(wire_get_grants(p, len - 1, got), -EBADMSG);
	assert_int_equal(wire_get_grants(p, WIRE_COMMON_BYTES, got), -EBADMSG);
	assert_int_equal(wire_get_grants(p, sizeof(p), got), -EBADMSG);
	p[WIRE_COMMON_BYTES] = 4; /* no such slot */
	assert_int_equal(wire_get_grants(p, len, got), -EBADMSG);
	p[WIRE_COMMON_BYTES] = 0;
	p[WIRE_COMMON_BYTES + 3] = 2; /* no such word */
	assert_int_equal(wire_get_grants(p, len, got), -EBADMSG);
}

/* An announcement: no bytes, the first chunk, a request, a large one. */
static void announcements_round_trip(void **state)
{
	struct wire_common c = common_of(WIRE_DATA, WIRE_F_NEED);
	struct wire_data d = {.gen = 1, .slot = 2, .msg_len = 20000, .chunk_bytes = 1400}, got;
	uint8_t p[WIRE_DATA_BYTES + 1400] = {0};
	struct wire_ack ack;

	wire_put_data(p, &c, &d);
	assert_int_equal(wire_get_data(p, WIRE_DATA_BYTES, &c, &got, &ack), 0);
	assert_int_equal(got.msg_len, 20000);
	assert_int_equal(wire_get_data(p, WIRE_DATA_BYTES + 1400, &c, &got, &ack), -EBADMSG);
	c.flags |= WIRE_F_RESPONSE;
	assert_int_equal(wire_get_data(p, WIRE_DATA_BYTES, &c, &got, &ack), -EBADMSG);
	c.flags = WIRE_F_NEED;
	d.chunk_index = 1;
	wire_put_data(p, &c, &d);
	assert_int_equal(wire_get_data(p, WIRE_DATA_BYTES, &c, &got, &ack), -EBADMSG);
	d.chunk_index = 0;
	d.msg_len = WIRE_SMALL_BYTES;
	wire_put_data(p, &c, &d);
	assert_int_equal(wire_get_data(p, WIRE_DATA_BYTES, &c, &got, &ack), -EBADMSG);
}

static void the_largest_message_fits_the_bitmaps(void **state)
{
	assert_int_equal(wire_chunks(0, 1436), 1);
	assert_int_equal(wire_chunks(1436, 1436), 1);
	assert_int_equal(wire_chunks(1437, 1436), 2);
	for (uint64_t us = 0; us < 1000000; us += 1 + us / 16) {
		uint64_t back = wire_gap_us(wire_gap_code(us));

		assert_true(back <= us && back * 5 >= us * 4);
	}
	assert_true(wire_chunks(WIRE_MSG_MAX, WIRE_CHUNK_MIN) <= WIRE_CHUNKS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_common_header_is_checked),
		cmocka_unit_test(hello_round_trips),
		cmocka_unit_test(accept_round_trips),
		cmocka_unit_test(refuse_round_trips),
		cmocka_unit_test(short_packets_round_trip),
		cmocka_unit_test(share_round_trips),
		cmocka_unit_test(ack_round_trips),
		cmocka_unit_test(data_round_trips),
		cmocka_unit_test(grants_round_trip),
		cmocka_unit_test(announcements_round_trip),
		cmocka_unit_test(the_largest_message_fits_the_bitmaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
