/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet protection without a session: tags, ciphers, replay windows and key phases. Altered,
 * replayed, late, reflected or foreign packets have no effect. Then whole simulations.
 */
#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define PACKET_MAX 3200 /* too large to be joined: sealed in place */
#define PATH 3
#define PHASE 16 /* packets per phase, in tests of phases */

struct pair { /* both ends of a session */
	struct rudp_secure a, b;
};

struct packet {
	uint8_t data[PACKET_MAX];
	size_t len;
	uint64_t number, phase;
};

static void pair_init(struct pair *p, enum rudp_security mode, enum rudp_cipher cipher,
		      uint64_t phase)
{
	struct rudp_noise_keys k = {{1, 2, 3}, {4, 5, 6}}, back;

	memcpy(back.tx, k.rx, sizeof(k.rx));
	memcpy(back.rx, k.tx, sizeof(k.tx));
	assert_int_equal(rudp_secure_init(&p->a, mode, cipher, &k, phase), 0);
	assert_int_equal(rudp_secure_init(&p->b, mode, cipher, &back, phase), 0);
}

static void pair_done(struct pair *p)
{
	rudp_secure_done(&p->a);
	rudp_secure_done(&p->b);
}

/* Seals a DATA packet with this many header and payload bytes. */
static int seal(struct rudp_secure *x, unsigned counter, uint64_t number, uint16_t hdr_len,
		uint16_t payload_len, struct packet *ret)
{
	static uint8_t payload[PACKET_MAX];
	struct wire_common c = {.type = WIRE_DATA,
				.path = PATH,
				.flags = WIRE_F_WANT_ACK,
				.session = 0x1122334455667788,
				.pn = (uint32_t)number};
	struct datagram in = {.hdr_len = hdr_len, .payload_len = payload_len}, out;
	uint8_t room[PACKET_MAX];
	int r;

	memset(in.hdr, 0x5a, sizeof(in.hdr));
	memset(payload, 0xc3, sizeof(payload));
	in.payload = payload_len ? payload : NULL;
	wire_put_common(in.hdr, &c);
	r = rudp_secure_seal(x, counter, number, &in, room, &out);
	if (r)
		return r;
	memcpy(ret->data, out.hdr, out.hdr_len);
	if (out.payload_len)
		memcpy(ret->data + out.hdr_len, out.payload, out.payload_len);
	ret->len = (size_t)out.hdr_len + out.payload_len;
	ret->number = number;
	ret->phase = x->tx_phase;
	return 0;
}

static int open_as(struct rudp_secure *x, unsigned counter, uint64_t number, const struct packet *p,
		   size_t len)
{
	uint8_t *copy = malloc(len ? len : 1),
		room[PACKET_MAX]; /* the sanitizer detects a read beyond it */
	const uint8_t *got;
	size_t n;
	int r;

	assert_non_null(copy);
	memcpy(copy, p->data, len);
	r = rudp_secure_open(x, counter, number, copy, len, room, &got, &n);
	if (r == 0) {
		assert_int_equal(n, len - RUDP_SECURE_BYTES);
		for (size_t i = WIRE_COMMON_BYTES; i < n; i++)
			assert_true(got[i] == 0x5a || got[i] == 0xc3);
	}
	free(copy);
	return r;
}

static int open_packet(struct rudp_secure *x, unsigned counter, const struct packet *p)
{
	return open_as(x, counter, p->number, p, p->len);
}

static void both_directions_open(void **state)
{
	for (unsigned mode = RUDP_AUTH; mode < RUDP_SECURITY_MAX; mode++) {
		for (unsigned cipher = RUDP_AESGCM; cipher < RUDP_CIPHER_MAX; cipher++) {
			struct packet pkt;
			struct pair p;

			pair_init(&p, mode, cipher, 0);
			for (uint16_t n = 1; n < 200; n++) {
				uint16_t hdr = (uint16_t)(16 + n % 49);
				uint16_t len = n % 10 ? n % 150 : n * 15;

				assert_int_equal(seal(&p.a, PATH, n, hdr, len, &pkt), 0);
				rudp_secure_sent(&p.a, PATH, n);
				assert_int_equal(pkt.len, hdr + len + RUDP_SECURE_BYTES);
				assert_int_equal(open_packet(&p.b, PATH, &pkt), 0);
				assert_int_equal(seal(&p.b, PATH, n, hdr, len, &pkt), 0);
				assert_int_equal(open_packet(&p.a, PATH, &pkt), 0);
			}
			/* In clear under auth; entirely hidden under encrypt. */
			assert_int_equal(seal(&p.a, PATH, 1000, 36, 100, &pkt), 0);
			assert_int_equal(!memchr(pkt.data + 32, 0xc3, 64), mode == RUDP_ENCRYPT);
			pair_done(&p);
		}
	}
}

static void tag_of(struct rudp_aead *a, uint64_t n, const uint8_t *data, size_t len, size_t cut,
		   uint8_t ret[RUDP_AEAD_TAG_BYTES])
{
	assert_int_equal(rudp_aead_begin(a, n), 0);
	assert_int_equal(rudp_aead_clear(a, data, cut), 0);
	assert_int_equal(rudp_aead_clear(a, data + cut, len - cut), 0);
	assert_int_equal(rudp_aead_seal_end(a, ret), 0);
}

/* The forms of tag-only packets give the same tags with either library. */
static void clear_alike(void)
{
	uint8_t data[300], key[RUDP_AEAD_KEY_BYTES], whole[RUDP_AEAD_TAG_BYTES],
		clear[RUDP_AEAD_TAG_BYTES];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	for (unsigned cipher = RUDP_AESGCM; cipher < RUDP_CIPHER_MAX; cipher++) {
		struct rudp_aead a, b, c;

		memset(key, 1, sizeof(key));
		assert_int_equal(rudp_aead_init(&a, cipher, true, key), 0);
		assert_int_equal(rudp_aead_init_packets(&b, cipher, false, true, key), 0);
		assert_int_equal(rudp_aead_init_packets(&c, cipher, false, false, key), 0);
		for (size_t n = 0; n <= sizeof(data); n++) {
			key[n % sizeof(key)] ^= (uint8_t)n;
			assert_int_equal(rudp_aead_rekey(&a, key), 0);
			assert_int_equal(rudp_aead_rekey(&b, key), 0);
			assert_int_equal(rudp_aead_rekey(&c, key), 0);
			tag_of(&a, n << 50 | n, data, n, n / 3, whole);
			tag_of(&b, n << 50 | n, data, n, n / 2, clear);
			assert_memory_equal(whole, clear, sizeof(whole));
			if (n) /* in one piece */
				assert_int_equal(rudp_aead_tag(&b, n << 50 | n, data, n, clear), 0);
			assert_memory_equal(whole, clear, sizeof(whole));
			clear[n % sizeof(clear)] ^= (uint8_t)(n % 3 == 0);
			assert_int_equal(rudp_aead_begin(&c, n << 50 | n), 0);
			assert_int_equal(rudp_aead_clear(&c, data, n), 0);
			assert_int_equal(rudp_aead_open_end(&c, clear), n % 3 ? 0 : -EBADMSG);
		}
		assert_true(cipher != RUDP_AESGCM || rudp_aead_crypt(&b, data, 1, data) == -EIO);
		rudp_aead_done(&a);
		rudp_aead_done(&b);
		rudp_aead_done(&c);
	}
}

static void tag_only_packets_are_alike_in_all_forms(void **state)
{
	clear_alike();
	rudp_aead_only_libcrypto = true;
	clear_alike();
	rudp_aead_only_libcrypto = false;
}

/* One packet in pieces, in clear up to `aad`; returns the tag. */
static void crypt_all(struct rudp_aead *a, uint64_t n, const uint8_t *in, size_t len, size_t aad,
		      uint8_t *out)
{
	size_t cut = aad + (len - aad) * (n % 5) / 5;

	assert_int_equal(rudp_aead_begin(a, n), 0);
	assert_int_equal(rudp_aead_clear(a, in, aad / 3), 0);
	assert_int_equal(rudp_aead_clear(a, in + aad / 3, aad - aad / 3), 0);
	assert_int_equal(rudp_aead_crypt(a, in + aad, cut - aad, out + aad), 0);
	assert_int_equal(rudp_aead_crypt(a, in + cut, len - cut, out + cut), 0);
	if (n % 2 == 0)
		assert_int_equal(rudp_aead_crypt(a, in, 0, out), 0);
}

/* Each library opens what the other sealed, with the same bytes. */
static void both_libraries_produce_the_same_packets(void **state)
{
	uint8_t data[1600], key[RUDP_AEAD_KEY_BYTES], out[2][sizeof(data)],
		tags[2][RUDP_AEAD_TAG_BYTES];
	struct rudp_aead seals[2], opens[2];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 11);
	memset(key, 3, sizeof(key));
	for (unsigned i = 0; i < 2; i++) {
		rudp_aead_only_libcrypto = i;
		assert_int_equal(rudp_aead_init_packets(&seals[i], RUDP_AESGCM, true, true, key),
				 0);
		assert_int_equal(rudp_aead_init_packets(&opens[i], RUDP_AESGCM, true, false, key),
				 0);
	}
	rudp_aead_only_libcrypto = false;
	assert_null(seals[1].mb);
	for (uint64_t n = 0; n < sizeof(data); n += n < 300 ? 1 : 37) {
		size_t aad = n % (RUDP_AEAD_CLEAR_MAX + 1);

		aad = aad < n ? aad : n;
		key[n % sizeof(key)] ^= (uint8_t)n;
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(rudp_aead_rekey(&seals[i], key), 0);
			assert_int_equal(rudp_aead_rekey(&opens[i], key), 0);
			memcpy(out[i], data, sizeof(data)); /* in place, and not */
			crypt_all(&seals[i], n, n % 3 ? data : out[i], n, aad, out[i]);
			assert_int_equal(rudp_aead_seal_end(&seals[i], tags[i]), 0);
		}
		assert_memory_equal(out[0], out[1], n);
		assert_memory_equal(tags[0], tags[1], sizeof(tags[0]));
		for (unsigned i = 0; i < 2; i++) {
			tags[!i][n % sizeof(tags[0])] ^= (uint8_t)(n % 4 == 0);
			crypt_all(&opens[i], n, out[!i], n, aad, out[!i]);
			assert_int_equal(rudp_aead_open_end(&opens[i], tags[!i]),
					 n % 4 ? 0 : -EBADMSG);
			assert_memory_equal(out[!i], data, n);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		rudp_aead_done(&seals[i]);
		rudp_aead_done(&opens[i]);
	}
}

/* Each bit of each byte: type, path, flags, numbers, tag, fields, payload. */
static void altered_packets_are_rejected(void **state)
{
	for (unsigned mode = RUDP_AUTH; mode < RUDP_SECURITY_MAX; mode++) {
		struct packet pkt, bad;
		struct pair p;

		pair_init(&p, mode, RUDP_AESGCM, 0);
		assert_int_equal(seal(&p.a, PATH, 7, 36, 40, &pkt), 0);
		for (size_t i = 0; i < pkt.len * 8; i++) {
			bad = pkt;
			bad.data[i / 8] ^= (uint8_t)(1U << i % 8);
			assert_int_equal(open_packet(&p.b, PATH, &bad), -EBADMSG);
		}
		assert_int_equal(p.b.forged, pkt.len * 8);
		for (size_t n = 0; n < pkt.len; n++)
			assert_int_equal(open_as(&p.b, PATH, 7, &pkt, n), -EBADMSG);
		/* Another number, path or direction than it was sealed for. */
		assert_int_equal(open_as(&p.b, PATH, 8, &pkt, pkt.len), -EBADMSG);
		assert_int_equal(open_as(&p.b, PATH, 7 + (1ULL << 32), &pkt, pkt.len), -EBADMSG);
		assert_int_equal(open_as(&p.b, PATH + 1, 7, &pkt, pkt.len), -EBADMSG);
		assert_int_equal(open_as(&p.b, RUDP_SECURE_CONTROL, 7, &pkt, pkt.len), -EBADMSG);
		assert_int_equal(open_packet(&p.a, PATH, &pkt), -EBADMSG);
		assert_int_equal(open_packet(&p.b, PATH, &pkt), 0);
		pair_done(&p);
	}
}

static void another_keys_packets_are_rejected(void **state)
{
	struct rudp_noise_keys k = {{9}, {9}};
	struct packet pkt;
	struct pair p;

	pair_init(&p, RUDP_AUTH, RUDP_CHACHAPOLY, 0);
	rudp_secure_done(&p.b);
	assert_int_equal(rudp_secure_init(&p.b, RUDP_AUTH, RUDP_CHACHAPOLY, &k, 0), 0);
	assert_int_equal(seal(&p.a, PATH, 1, 36, 40, &pkt), 0);
	assert_int_equal(open_packet(&p.b, PATH, &pkt), -EBADMSG);
	pair_done(&p);
}

/* A number may be reused only if the packet was not sent. */
static void a_number_is_sealed_once(void **state)
{
	struct packet pkt;
	struct pair p;

	pair_init(&p, RUDP_AUTH, RUDP_AESGCM, 0);
	assert_int_equal(seal(&p.a, PATH, 5, 36, 0, &pkt), 0);
	assert_int_equal(seal(&p.a, PATH, 5, 36, 8, &pkt), 0); /* the port was full */
	rudp_secure_sent(&p.a, PATH, 5);
	assert_int_equal(seal(&p.a, PATH, 5, 36, 0, &pkt), -EKEYEXPIRED);
	assert_int_equal(seal(&p.a, PATH, 4, 36, 0, &pkt), -EKEYEXPIRED);
	assert_int_equal(seal(&p.a, PATH, 6, 36, 0, &pkt), 0);
	assert_int_equal(seal(&p.a, PATH, 1ULL << 56, 36, 0, &pkt), -EKEYEXPIRED);
	assert_int_equal(seal(&p.a, RUDP_SECURE_CONTROL, 5, 36, 0, &pkt), 0);
	pair_done(&p);
}

static void replayed_control_packets_are_rejected(void **state)
{
	static struct packet pkts[3000];
	struct pair p;

	pair_init(&p, RUDP_AUTH, RUDP_AESGCM, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(pkts); i++)
		assert_int_equal(seal(&p.a, RUDP_SECURE_CONTROL, i + 1, 44, 0, &pkts[i]), 0);
	/* Out of order within the window, and each a second time. */
	for (unsigned i = 0; i < 1024; i++) {
		const struct packet *pkt = &pkts[i * 37 % 1024];

		assert_int_equal(open_packet(&p.b, RUDP_SECURE_CONTROL, pkt), 0);
		assert_int_equal(open_packet(&p.b, RUDP_SECURE_CONTROL, pkt), -EBADMSG);
	}
	/* A jump: numbers behind the window are rejected, those within accepted once. */
	assert_int_equal(open_packet(&p.b, RUDP_SECURE_CONTROL, &pkts[2999]), 0);
	assert_int_equal(open_packet(&p.b, RUDP_SECURE_CONTROL, &pkts[2999 - 1024]), -EBADMSG);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 2999 - 1023; k < 2999; k++)
			assert_int_equal(open_packet(&p.b, RUDP_SECURE_CONTROL, &pkts[k]),
					 i ? -EBADMSG : 0);
	for (unsigned i = 0; i < ARRAY_SIZE(pkts); i++)
		assert_int_equal(open_packet(&p.b, RUDP_SECURE_CONTROL, &pkts[i]), -EBADMSG);
	assert_int_equal(p.b.forged, 0); /* rejected before the tag is checked */
	pair_done(&p);
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

/* Of this, the previous or the next phase: it opens. 1 if it did. */
static unsigned open_late(struct rudp_secure *x, const struct packet *p)
{
	bool fits = p->phase + 1 >= x->rx_phase;

	assert_int_equal(open_packet(x, PATH, p), fits ? 0 : -EBADMSG);
	return fits;
}

/* Both ends report the same key for the same phase, for captures. 1 if both are in the same phase.
 */
static unsigned keys_agree(const struct rudp_secure *from, const struct rudp_secure *to)
{
	const uint8_t *out, *in;
	uint64_t out_phase, in_phase;

	rudp_secure_key(from, false, &out_phase, &out);
	rudp_secure_key(to, true, &in_phase, &in);
	assert_int_equal(out_phase, from->tx_phase);
	assert_int_equal(memcmp(out, in, RUDP_AEAD_KEY_BYTES) == 0, out_phase == in_phase);
	return out_phase == in_phase;
}

/*
 * Both ends send; a third of the packets is lost, others come up to 8 packets late. Keys change
 * every 16 packets at either end independently, and every packet that arrives opens, unless it is
 * older than the previous phase.
 */
static void key_phases_work_under_loss(void **state)
{
	struct rudp_secure *ends[2];
	struct packet held[2];
	bool holds[2] = {false};
	uint64_t sent[2] = {0};
	unsigned hold_left[2] = {0}, opened = 0, agreed = 0;
	uint32_t seed = 1;
	struct pair p;

	pair_init(&p, RUDP_ENCRYPT, RUDP_AESGCM, PHASE);
	ends[0] = &p.a;
	ends[1] = &p.b;
	for (unsigned turn = 0; turn < 20000; turn++) {
		unsigned from = draw(&seed, 2), to = !from;
		struct packet pkt;

		assert_int_equal(seal(ends[from], PATH, ++sent[from], 36, 20, &pkt), 0);
		rudp_secure_sent(ends[from], PATH, sent[from]);
		if (holds[from] && hold_left[from]-- == 0) {
			opened += open_late(ends[to], &held[from]);
			holds[from] = false;
		}
		if (draw(&seed, 3) == 0)
			continue;
		if (!holds[from] && draw(&seed, 4) == 0) {
			held[from] = pkt;
			holds[from] = true;
			hold_left[from] = draw(&seed, 8);
			continue;
		}
		opened += open_late(ends[to], &pkt);
		agreed += keys_agree(ends[from], ends[to]);
	}
	assert_true(agreed > 1000);
	assert_true(opened > 12000);
	assert_true(p.a.tx_phase > 300 && p.b.tx_phase > 300);
	assert_true(p.a.tx_phase <= p.b.tx_phase + 1 && p.b.tx_phase <= p.a.tx_phase + 1);
	assert_true(p.a.forged + p.b.forged < 100);
	pair_done(&p);
}

/* Packets recorded two phases ago no longer open, and flipping the phase bit does not help. */
static void packets_of_an_old_phase_are_rejected(void **state)
{
	struct packet old, pkt;
	struct pair p;
	uint64_t n = 0;

	pair_init(&p, RUDP_AUTH, RUDP_AESGCM, PHASE);
	assert_int_equal(seal(&p.a, PATH, ++n, 36, 20, &old), 0);
	while (p.a.tx_phase < 2) {
		assert_int_equal(seal(&p.a, PATH, ++n, 36, 20, &pkt), 0);
		assert_int_equal(open_packet(&p.b, PATH, &pkt), 0);
		assert_int_equal(seal(&p.b, PATH, n, 36, 20, &pkt), 0);
		assert_int_equal(open_packet(&p.a, PATH, &pkt), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(open_packet(&p.b, PATH, &old), -EBADMSG);
		old.data[WIRE_OFF_PATH] ^= WIRE_PATH_PHASE;
	}
	pair_done(&p);
}

/* A sender without answers keeps its key, but not forever. */
static void an_unconfirmed_phase_expires(void **state)
{
	struct packet pkt;
	struct pair p;
	uint64_t n = 0;

	pair_init(&p, RUDP_AUTH, RUDP_AESGCM, PHASE);
	while (seal(&p.a, PATH, ++n, 36, 20, &pkt) == 0)
		rudp_secure_sent(&p.a, PATH, n);
	assert_int_equal(p.a.tx_phase, 1); /* it may start the first change alone */
	assert_int_equal(n, PHASE + 2 * PHASE + 1);
	assert_int_equal(seal(&p.a, PATH, n, 36, 20, &pkt), -EKEYEXPIRED);
	pair_done(&p);
}

/* The vectors in plenum-protocol(7) for other implementations, made with another library. */
static void vector_check(enum rudp_security mode, enum rudp_cipher cipher, unsigned counter,
			 const struct wire_common *c, const struct wire_join *join, const char *hex)
{
	struct rudp_noise_keys k = {.rx = {0}};
	struct datagram in = {.payload = NULL}, out;
	struct rudp_secure x;

	for (unsigned i = 0; i < sizeof(k.tx); i++)
		k.tx[i] = (uint8_t)i;
	assert_int_equal(rudp_secure_init(&x, mode, cipher, &k, 0), 0);
	in.hdr_len = (uint16_t)(join ? wire_put_join(in.hdr, c, join) : wire_put_common(in.hdr, c));
	assert_int_equal(rudp_secure_seal(&x, counter, c->pn, &in, NULL, &out), 0);
	assert_int_equal(strlen(hex), out.hdr_len * 2);
	for (unsigned i = 0; i < out.hdr_len; i++) {
		unsigned v;

		assert_int_equal(sscanf(hex + (size_t)2 * i, "%2x", &v), 1);
		assert_int_equal(out.hdr[i], v);
	}
	rudp_secure_done(&x);
}

static void the_protocols_vectors_match(void **state)
{
	const struct wire_common ping = {
		.type = WIRE_PING, .path = 3, .session = 0x1122334455667788, .pn = 5};
	const struct wire_common join = {.type = WIRE_JOIN,
					 .path = 1,
					 .flags = WIRE_F_STANDBY,
					 .session = 0x1122334455667788,
					 .pn = 9};
	const struct wire_join j = {.cookie = 0x0102030405060708, .stamp = 0x0a0b0c0d};

	vector_check(RUDP_AUTH, RUDP_AESGCM, 3, &ping, NULL,
		     "a7290300112233445566778800000005f5a40bb4ea23755d194923311188ada3");
	vector_check(RUDP_AUTH, RUDP_CHACHAPOLY, 3, &ping, NULL,
		     "a7290300112233445566778800000005c0f66f8dcc872b0f6542ef45a4b6672f");
	vector_check(RUDP_AUTH, RUDP_AESGCM, RUDP_SECURE_CONTROL, &join, &j,
		     "a72b01011122334455667788000000093f9bf3a325784f2f54cb0f5b6423e505"
		     "01020304050607080a0b0c0d00000000");
	vector_check(RUDP_ENCRYPT, RUDP_AESGCM, RUDP_SECURE_CONTROL, &join, &j,
		     "a72b0101112233445566778800000009af26b5b7d4605235ee5f2f5fd863734e"
		     "27c3517c953029a049b4ec31a96eeabe");
}

/* As given in plenum-protocol(7). */
static void the_reset_token_vector_matches(void **state)
{
	static const uint8_t want[] = {0x77, 0xa7, 0x51, 0xc1, 0xcd, 0x2c, 0x54, 0x7c,
				       0xa8, 0xa6, 0xa2, 0x66, 0xcb, 0x44, 0x3f, 0x2c};
	struct rudp *r = calloc(1, sizeof(*r));
	uint8_t token[WIRE_TOKEN_BYTES];

	assert_non_null(r);
	r->cfg.identity = 0x0102030405060708;
	for (unsigned i = 0; i < RUDP_KEY_BYTES; i++)
		r->cfg.keys[0][i] = (uint8_t)i;
	assert_int_equal(rudp_token_make(r, 0, 0x1122334455667788, token), 0);
	assert_memory_equal(token, want, sizeof(want));
	free(r);
}

/* ------------------------------------------------------------------ under load */

/* Bad networks, both modes, keys that change every 500 packets. */
static void secured_worlds_keep_every_promise(void **state)
{
	for (unsigned seed = 1; seed <= 24; seed++) {
		struct sim_config cfg = {.seed = seed,
					 .legs = 1 + seed % 3,
					 .clients = 1 + seed % 2,
					 .bits_per_s = 10000000000,
					 .delay_ns = 20 * NSEC_PER_USEC,
					 .jitter_ns = seed % 4 * 10 * NSEC_PER_USEC,
					 .loss = seed % 3 * 10000,
					 .duplicate = 5000,
					 .reorder = 10000,
					 .reorder_ns = 500 * NSEC_PER_USEC,
					 .corrupt = 1000,
					 .garbage = 3000,
					 .eagain = 3000,
					 .ipv6 = seed % 5 == 0,
					 .mtu = seed % 2 ? 1500 : 9000,
					 .security = 1 + seed / 2 % 2,
					 .limits.phase_packets = 500};
		struct sim *sim = sim_new(&cfg);
		uint64_t phases = 0;

		sim_connect(sim, 5 * NSEC_PER_SEC);
		for (unsigned i = 0; i < 120 && !sim->fault[0]; i++) {
			uint32_t big = sim_random(sim, 8) ? 2000 : 600000;

			sim_call(sim, 1 + i % cfg.clients, (uint32_t)sim_random(sim, big),
				 (uint32_t)sim_random(sim, big), 0);
		}
		sim_finish(sim, 30 * NSEC_PER_SEC);
		for (unsigned i = 1; i <= cfg.clients && !sim->fault[0]; i++)
			phases += sim->ends[i].session->secure->tx_phase;
		if (!sim->fault[0])
			sim_close(sim);
		if (sim->fault[0])
			print_message("# seed %u: %s\n", seed, sim->fault);
		assert_string_equal(sim->fault, "");
		assert_true(phases >= 1);
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_protocols_vectors_match),
		cmocka_unit_test(tag_only_packets_are_alike_in_all_forms),
		cmocka_unit_test(both_libraries_produce_the_same_packets),
		cmocka_unit_test(both_directions_open),
		cmocka_unit_test(altered_packets_are_rejected),
		cmocka_unit_test(another_keys_packets_are_rejected),
		cmocka_unit_test(a_number_is_sealed_once),
		cmocka_unit_test(replayed_control_packets_are_rejected),
		cmocka_unit_test(key_phases_work_under_loss),
		cmocka_unit_test(packets_of_an_old_phase_are_rejected),
		cmocka_unit_test(an_unconfirmed_phase_expires),
		cmocka_unit_test(the_reset_token_vector_matches),
		cmocka_unit_test(secured_worlds_keep_every_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
