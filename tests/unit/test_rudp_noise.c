/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshake against published vectors that several implementations agree on (cacophony's, in
 * the file format of the Noise wiki), and against attackers without the key.
 */
#include "dataplane/rudp/crypto/rudp_noise.h"
#include "netcfg/base/base.h"
#include "netcfg/base/files/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MSG_MAX 256
#define MESSAGES 6

struct vector {
	bool ik;
	enum rudp_cipher cipher;
	const char *hash;
	const char *ciphertext[MESSAGES];
};

static const char prologue[] = "4a6f686e2047616c74";
static const char psk_hex[] = "54686973206973206d7920417573747269616e20706572737065637469766521";
static const char init_e[] = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
static const char resp_e[] = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";
/* Static keys: the private ones, and the responder's public one. */
static const char init_s[] = "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1";
static const char resp_s[] = "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893";
static const char resp_s_public[] =
	"31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62";
static const char *const payloads[MESSAGES] = {
	"4c756477696720766f6e204d69736573",
	"4d757272617920526f746862617264",
	"462e20412e20486179656b",
	"4361726c204d656e676572",
	"4a65616e2d426170746973746520536179",
	"457567656e2042f6686d20766f6e2042617765726b",
};

static const struct vector vectors[] = {
	{false,
	 RUDP_AESGCM,
	 "9f3b1f9afd7767767b5b9d1069844a6154fdbdcc36dfb3e31c0fffc5c973d530",
	 {"ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
	  "7c37a89fc17813788d30df2d59501d6066f5f8aecc3406bbd9829f2d24a531b1",
	  "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
	  "2f29d79368ef9de4e1ae7a362fb05bf0ad668e026bf5714554497b3a720461",
	  "7c01e898a6201f36aecee532e29cd0b7f8ffa29d3366ad0dce39a6",
	  "a9ff535aace3db6a1da1a7fb00fe2de2622bb373abad9fb42c00e0",
	  "6cfc49a3e65472edc2d0152abe5ce950170a8a47c959f30bd48b5f0aacf29adbfd",
	  "9bc86e6d974ed21ba04604a94aa68de21677eb409ead070c0cd569b069ee19ba142aa4c1a9"}},
	{false,
	 RUDP_CHACHAPOLY,
	 "f4d03dc34495c95729ea6de9e1b59004b59733102488b3e24bc441e0be208eaf",
	 {"ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
	  "79b962b8aff8485742ac32f905ba45369e2465fb59e138a93d67a0d1266b6a54",
	  "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
	  "d6062704d5a9c422a8e834423f8c1feada7e8d0d910a1a2cd030fb584221e3",
	  "e632c3763d7669067383433197a3baddf146e9e70ad4b4e9e59e0f",
	  "64c6bee32ea91c8474bb4c21d7a700109ad45af77b29764ba5eb1e",
	  "e2fa0bed0603b62d3ccac2ecabbf3fe33f3e86514909b323361626266cb2471cc8",
	  "0c01dc9cec1fe4ddd692e8dd32188aa351088dc91183639a53b57aa4692b5ebdef8b8ca111"}},
	{true,
	 RUDP_AESGCM,
	 "60b2cc6a78e5c5170469bf6be88f6f083363113fe4216b791f04c79659884185",
	 {"ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
	  "cf5aec5a69cc937598c005d3f36940abe166f1eab777e15d8958d533d2d5eca2"
	  "967c66cfc0788d6197989cac53ecb8e9cb04a2ff8bdf3a9d2bf1897b492c8463"
	  "9583c5486e0205e4012ac81400e569cb",
	  "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
	  "746e1ca9059ed09501f41b1c01dd32378315c2d754bdc29ced08b435f05259",
	  "232fe1ce5018b3cd1e732e72894d61fc242473f6919344e30e569a",
	  "419f5c6e5b039e67e125bcd7fb1cfbb79720ef97e8a3cb2c5a660a",
	  "086a04808638c811bb91733c7c6df2a475df82dba1ed7af5251cf4e6e13ccf4376",
	  "654b5ee2e3d367a1c1dfc242f53471f3e74e108562e66b0ed5d71327f02d08b17b5eb5fa6d"}},
	{true,
	 RUDP_CHACHAPOLY,
	 "3ad252ed6f724c52da3450383b7d8b806c183e1ef157bbe0465ad24997ec4717",
	 {"ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
	  "ac58a6c31948ce200911c5b27b67f1c4d1bed490532dd94ed17164fcc5784d37"
	  "30fc302b70cc0f19beedaeb56bd974c0e57d747d11534c746eb2a32ac3fde3e4"
	  "cdf6c3a4705762a6c6ca664b3bc89490",
	  "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
	  "846a944a0652fb390d213d0700d5ae8fef7aad0ecc79a9216d15de5d7f3ee4",
	  "5d872673f64813a47a00369b15c8da92691605ad71ba019de8e718",
	  "2045266a750b6af2547f7eb1391058196b742d0aac4b3a1bcc1913",
	  "9ec47ed0e7628c7d7a4eed631b963740ac2fd754eadaa9232e99054af4f7b29174",
	  "310e359407350594cfb96eb4596e35677d4a71ceb42aa8cbba097bb9e7150b0d1bd749c4aa"}},
};

static size_t unhex(const char *hex, uint8_t *ret)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned v;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
		ret[i] = (uint8_t)v;
	}
	return n;
}

static void assert_hex(const uint8_t *p, size_t len, const char *hex)
{
	uint8_t want[MSG_MAX];

	assert_int_equal(unhex(hex, want), len);
	assert_memory_equal(p, want, len);
}

/* Both ends with a key and a prologue; e comes from the vectors. */
struct pair {
	struct rudp_noise i, r;
	uint8_t e[2][RUDP_NOISE_KEY_BYTES];
};

static void pair_init(struct pair *p, enum rudp_cipher cipher)
{
	uint8_t psk[RUDP_NOISE_KEY_BYTES], pro[MSG_MAX];
	size_t n = unhex(prologue, pro);

	unhex(psk_hex, psk);
	unhex(init_e, p->e[0]);
	unhex(resp_e, p->e[1]);
	assert_int_equal(rudp_noise_init(&p->i, cipher, true, psk, pro, n), 0);
	assert_int_equal(rudp_noise_init(&p->r, cipher, false, psk, pro, n), 0);
}

static struct rudp_noise_pair static_pair(const char *secret)
{
	struct identity_pair p;
	struct rudp_noise_pair ret;

	unhex(secret, p.secret);
	assert_int_equal(identity_host_public(&p), 0);
	memcpy(ret.secret, p.secret, sizeof(ret.secret));
	memcpy(ret.public, p.public, sizeof(ret.public));
	return ret;
}

static void ik_init(struct pair *p, enum rudp_cipher cipher)
{
	const struct rudp_noise_pair i = static_pair(init_s), r = static_pair(resp_s);
	uint8_t psk[RUDP_NOISE_KEY_BYTES], pro[MSG_MAX];
	size_t n = unhex(prologue, pro);

	unhex(psk_hex, psk);
	unhex(init_e, p->e[0]);
	unhex(resp_e, p->e[1]);
	assert_hex(r.public, sizeof(r.public), resp_s_public);
	assert_int_equal(rudp_noise_init_ik(&p->i, cipher, psk, &i, r.public, pro, n), 0);
	assert_int_equal(rudp_noise_init_ik(&p->r, cipher, psk, &r, NULL, pro, n), 0);
}

/* A transport message of the vectors: no clear part, numbers from 0 in each direction. */
static void transport_check(enum rudp_cipher cipher, const uint8_t key[RUDP_AEAD_KEY_BYTES],
			    uint64_t n, const char *payload, const char *ciphertext)
{
	uint8_t in[MSG_MAX], out[MSG_MAX];
	size_t len = unhex(payload, in);
	struct rudp_aead a;

	assert_int_equal(rudp_aead_init(&a, cipher, true, key), 0);
	assert_int_equal(rudp_aead_begin(&a, n), 0);
	assert_int_equal(rudp_aead_crypt(&a, in, 3, out), 0); /* in pieces */
	assert_int_equal(rudp_aead_crypt(&a, in + 3, len - 3, out + 3), 0);
	assert_int_equal(rudp_aead_seal_end(&a, out + len), 0);
	assert_hex(out, len + RUDP_AEAD_TAG_BYTES, ciphertext);
	rudp_aead_done(&a);
}

static void published_vectors_match(void **state)
{
	for (unsigned v = 0; v < ARRAY_SIZE(vectors); v++) {
		const struct vector *vec = &vectors[v];
		struct rudp_noise_keys ki, kr;
		uint8_t in[MSG_MAX], msg[MSG_MAX], out[MSG_MAX];
		struct pair p;
		size_t n, first = rudp_noise_overhead(vec->ik, true);

		(vec->ik ? ik_init : pair_init)(&p, vec->cipher);
		n = unhex(payloads[0], in);
		assert_int_equal(rudp_noise_write(&p.i, p.e[0], in, n, msg), 0);
		assert_hex(msg, n + first, vec->ciphertext[0]);
		assert_int_equal(rudp_noise_read(&p.r, msg, n + first, out), 0);
		assert_memory_equal(in, out, n);
		n = unhex(payloads[1], in);
		assert_int_equal(rudp_noise_write(&p.r, p.e[1], in, n, msg), 0);
		assert_hex(msg, n + RUDP_NOISE_OVERHEAD, vec->ciphertext[1]);
		assert_int_equal(rudp_noise_read(&p.i, msg, n + RUDP_NOISE_OVERHEAD, out), 0);
		assert_memory_equal(in, out, n);
		assert_hex(p.i.h, sizeof(p.i.h), vec->hash);
		assert_hex(p.r.h, sizeof(p.r.h), vec->hash);
		assert_int_equal(rudp_noise_split(&p.i, &ki), 0);
		assert_int_equal(rudp_noise_split(&p.r, &kr), 0);
		assert_memory_equal(ki.tx, kr.rx, sizeof(ki.tx));
		assert_memory_equal(ki.rx, kr.tx, sizeof(ki.rx));
		for (unsigned i = 2; i < MESSAGES; i++)
			transport_check(vec->cipher, i % 2 ? kr.tx : ki.tx, i / 2 - 1, payloads[i],
					vec->ciphertext[i]);
	}
}

/* Each bit of each byte of either message. */
static void altered_messages_are_rejected(void **state)
{
	static const char text[] = "identity";
	uint8_t msg[MSG_MAX], out[MSG_MAX];
	size_t n = sizeof(text) + RUDP_NOISE_OVERHEAD;

	for (unsigned second = 0; second < 2; second++) {
		for (size_t i = 0; i < n * 8; i++) {
			struct pair p;
			int r;

			pair_init(&p, RUDP_AESGCM);
			rudp_noise_write(&p.i, p.e[0], text, sizeof(text), msg);
			if (second) {
				assert_int_equal(rudp_noise_read(&p.r, msg, n, out), 0);
				rudp_noise_write(&p.r, p.e[1], text, sizeof(text), msg);
			}
			msg[i / 8] ^= (uint8_t)(1U << i % 8);
			r = rudp_noise_read(second ? &p.i : &p.r, msg, n, out);
			assert_int_equal(r, -EBADMSG);
		}
	}
}

static void altered_messages_with_static_keys_are_rejected(void **state)
{
	uint8_t msg[MSG_MAX], out[MSG_MAX];
	size_t n = 9 + RUDP_NOISE_IK_OVERHEAD;

	for (size_t i = 0; i < n; i++) {
		struct pair p;

		ik_init(&p, RUDP_CHACHAPOLY);
		assert_int_equal(rudp_noise_write(&p.i, p.e[0], "identity", 9, msg), 0);
		msg[i] ^= (uint8_t)(1U << i % 8);
		assert_int_equal(rudp_noise_read(&p.r, msg, n, out), -EBADMSG);
		ik_init(&p, RUDP_CHACHAPOLY);
		assert_int_equal(rudp_noise_write(&p.i, p.e[0], "identity", 9, msg), 0);
		assert_int_equal(rudp_noise_read(&p.r, msg, i, out), -EBADMSG);
	}
}

/* The initiator sends the public key of another host, whose private key it lacks. */
static void a_static_key_without_its_private_part_is_rejected(void **state)
{
	uint8_t msg[MSG_MAX], out[MSG_MAX];
	struct pair p;

	ik_init(&p, RUDP_AESGCM);
	p.i.s[0] ^= 8;
	assert_int_equal(rudp_noise_write(&p.i, p.e[0], "identity", 9, msg), 0);
	assert_int_equal(rudp_noise_read(&p.r, msg, 9 + RUDP_NOISE_IK_OVERHEAD, out), -EBADMSG);
	ik_init(&p, RUDP_AESGCM);
	assert_int_equal(rudp_noise_write(&p.i, p.e[0], "identity", 9, msg), 0);
	p.r.s[0] ^= 8; /* a responder that lacks its own */
	assert_int_equal(rudp_noise_read(&p.r, msg, 9 + RUDP_NOISE_IK_OVERHEAD, out), -EBADMSG);
}

static void truncated_messages_are_rejected(void **state)
{
	uint8_t msg[MSG_MAX], out[MSG_MAX];

	for (size_t n = 0; n < 9 + RUDP_NOISE_OVERHEAD; n++) {
		struct pair p;

		pair_init(&p, RUDP_CHACHAPOLY);
		assert_int_equal(rudp_noise_write(&p.i, p.e[0], "identity", 9, msg), 0);
		assert_int_equal(rudp_noise_read(&p.r, msg, n, out), -EBADMSG);
	}
}

/* Another key, or another prologue, reveals nothing. */
static void another_key_or_prologue_is_rejected(void **state)
{
	uint8_t msg[MSG_MAX], out[MSG_MAX];
	struct pair p, q;

	pair_init(&p, RUDP_AESGCM);
	pair_init(&q, RUDP_AESGCM);
	q.r.psk[31] ^= 1;
	assert_int_equal(rudp_noise_write(&p.i, p.e[0], "identity", 9, msg), 0);
	assert_int_equal(rudp_noise_read(&q.r, msg, 9 + RUDP_NOISE_OVERHEAD, out), -EBADMSG);
	assert_int_equal(rudp_noise_init(&q.r, RUDP_AESGCM, false, p.r.psk, "else", 4), 0);
	assert_int_equal(rudp_noise_read(&q.r, msg, 9 + RUDP_NOISE_OVERHEAD, out), -EBADMSG);
	assert_int_equal(rudp_noise_read(&p.r, msg, 9 + RUDP_NOISE_OVERHEAD, out), 0);
}

/* A point with which every secret is the same (RFC 7748, section 6.1): a holder of the cluster key
 * still must not determine the session's. */
static void points_of_small_order_are_rejected(void **state)
{
	uint8_t msg[MSG_MAX], out[MSG_MAX], zero[RUDP_NOISE_KEY_BYTES] = {0};
	struct pair p;

	pair_init(&p, RUDP_AESGCM);
	assert_int_equal(rudp_noise_write(&p.i, p.e[0], "", 0, msg), 0);
	assert_int_equal(rudp_noise_read(&p.r, msg, RUDP_NOISE_OVERHEAD, out), 0);
	memcpy(p.r.re, zero, sizeof(zero));
	assert_int_equal(rudp_noise_write(&p.r, p.e[1], "", 0, msg), -EBADMSG);
}

static void rekey_matches_the_specification(void **state)
{
	uint8_t a[RUDP_AEAD_KEY_BYTES] = {1}, b[RUDP_AEAD_KEY_BYTES] = {1}, first[sizeof(a)];

	/* REKEY(k) is the first 32 bytes of ENCRYPT(k, 2^64 - 1, "", zeros), computed
	 * independently. */
	assert_int_equal(rudp_noise_rekey(RUDP_AESGCM, a), 0);
	memcpy(first, a, sizeof(a));
	assert_int_equal(rudp_noise_rekey(RUDP_CHACHAPOLY, b), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_int_equal(rudp_noise_rekey(RUDP_AESGCM, a), 0);
	assert_memory_not_equal(a, first, sizeof(a));
	assert_hex(first, sizeof(first),
		   "2f6da7bea0f7368e39d8162d9d13e26fc4c2c8826ccb25fe7e47ee32bca35cb6");
	assert_hex(b, sizeof(b),
		   "e16dd1ae1b5b0c5881b2b21c51b225b75c73f5ec7e6a55320f603298b4065579");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vectors_match),
		cmocka_unit_test(altered_messages_are_rejected),
		cmocka_unit_test(altered_messages_with_static_keys_are_rejected),
		cmocka_unit_test(a_static_key_without_its_private_part_is_rejected),
		cmocka_unit_test(truncated_messages_are_rejected),
		cmocka_unit_test(another_key_or_prologue_is_rejected),
		cmocka_unit_test(points_of_small_order_are_rejected),
		cmocka_unit_test(rekey_matches_the_specification),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
