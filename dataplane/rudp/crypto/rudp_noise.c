/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Noise handshakes NNpsk0 and IKpsk1, in the order of the specification: first the symmetric
 * state, then the handshake state. It does not depend on packets, so tests can check it against the
 * published vectors.
 */
#include "dataplane/rudp/crypto/rudp_noise.h"
#include "netcfg/base/base.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#define HASH RUDP_NOISE_HASH_BYTES
#define KEY RUDP_NOISE_KEY_BYTES
#define TAG RUDP_AEAD_TAG_BYTES
#define REKEY_NONCE UINT64_MAX

static const char *const names[2][RUDP_CIPHER_MAX] = {
	{[RUDP_AESGCM] = "Noise_NNpsk0_25519_AESGCM_SHA256",
	 [RUDP_CHACHAPOLY] = "Noise_NNpsk0_25519_ChaChaPoly_SHA256"},
	{[RUDP_AESGCM] = "Noise_IKpsk1_25519_AESGCM_SHA256",
	 [RUDP_CHACHAPOLY] = "Noise_IKpsk1_25519_ChaChaPoly_SHA256"},
};

void rudp_noise_wipe(void *p, size_t len)
{
	OPENSSL_cleanse(p, len);
}

int rudp_noise_random(uint8_t ret[KEY])
{
	return RAND_priv_bytes(ret, KEY) == 1 ? 0 : -EIO;
}

/* ------------------------------------------------------------------ symmetric state */

static int hmac(const uint8_t key[HASH], const void *data, size_t len, uint8_t ret[HASH])
{
	unsigned n;

	return HMAC(EVP_sha256(), key, HASH, data, len, ret, &n) ? 0 : -EIO;
}

int rudp_noise_mac(const uint8_t key[KEY], const void *data, size_t len, uint8_t ret[HASH])
{
	return hmac(key, data, len, ret);
}

bool rudp_noise_equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}

/* HKDF(ck, input, n_out) of the specification. Writes n_out outputs one after the other. */
static int hkdf(const uint8_t ck[HASH], const uint8_t *input, size_t len, unsigned n_out,
		uint8_t *ret)
{
	uint8_t temp[HASH], chain[HASH + 1];
	int r = hmac(ck, input, len, temp);

	for (unsigned i = 0; i < n_out && r == 0; i++) {
		uint8_t *out = ret + (size_t)i * HASH;

		if (i > 0)
			memcpy(chain, out - HASH, HASH);
		chain[i > 0 ? HASH : 0] = (uint8_t)(i + 1);
		r = hmac(temp, chain, i > 0 ? HASH + 1 : 1, out);
	}
	rudp_noise_wipe(temp, sizeof(temp));
	rudp_noise_wipe(chain, sizeof(chain));
	return r;
}

static int mix_hash(struct rudp_noise *ns, const void *data, size_t len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
		  EVP_DigestUpdate(ctx, ns->h, HASH) == 1 &&
		  EVP_DigestUpdate(ctx, data, len) == 1 &&
		  EVP_DigestFinal_ex(ctx, ns->h, NULL) == 1;

	EVP_MD_CTX_free(ctx);
	return ok ? 0 : -EIO;
}

static int mix_key(struct rudp_noise *ns, const uint8_t *input, size_t len)
{
	uint8_t out[2 * HASH];
	int r = hkdf(ns->ck, input, len, 2, out);

	memcpy(ns->ck, out, HASH);
	memcpy(ns->k, out + HASH, KEY);
	ns->n = 0;
	rudp_noise_wipe(out, sizeof(out));
	return r;
}

static int mix_key_and_hash(struct rudp_noise *ns, const uint8_t *input, size_t len)
{
	uint8_t out[3 * HASH];
	int r = hkdf(ns->ck, input, len, 3, out);

	memcpy(ns->ck, out, HASH);
	r = r ? r : mix_hash(ns, out + HASH, HASH);
	memcpy(ns->k, out + 2 * HASH, KEY);
	ns->n = 0;
	rudp_noise_wipe(out, sizeof(out));
	return r;
}

/* EncryptAndHash() of the specification. len: length of the plain text. The tag follows the cipher
 * text. */
static int encrypt_and_hash(struct rudp_noise *ns, const uint8_t *in, size_t len, uint8_t *out)
{
	struct rudp_aead a;
	int r = rudp_aead_init(&a, ns->cipher, true, ns->k);

	if (r)
		return r;
	r = rudp_aead_begin(&a, ns->n++);
	r = r ? r : rudp_aead_clear(&a, ns->h, HASH);
	r = r ? r : rudp_aead_crypt(&a, in, len, out);
	r = r ? r : rudp_aead_seal_end(&a, out + len);
	rudp_aead_done(&a);
	return r ? r : mix_hash(ns, out, len + TAG);
}

static int decrypt_and_hash(struct rudp_noise *ns, const uint8_t *in, size_t len, uint8_t *out)
{
	struct rudp_aead a;
	int r = rudp_aead_init(&a, ns->cipher, false, ns->k);

	if (r)
		return r;
	r = rudp_aead_begin(&a, ns->n++);
	r = r ? r : rudp_aead_clear(&a, ns->h, HASH);
	r = r ? r : rudp_aead_crypt(&a, in, len, out);
	r = r ? r : rudp_aead_open_end(&a, in + len);
	rudp_aead_done(&a);
	return r ? r : mix_hash(ns, in, len + TAG);
}

/* ------------------------------------------------------------------ handshake state */

static int public_key(const uint8_t e[KEY], uint8_t ret[KEY])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, e, KEY);
	size_t n = KEY;
	bool ok = key && EVP_PKEY_get_raw_public_key(key, ret, &n) == 1;

	EVP_PKEY_free(key);
	return ok ? 0 : -EIO;
}

/* DH(own, other) of the specification. Refuses a public key of small order, because the result
 * would be zero. */
static int dh(const uint8_t own[KEY], const uint8_t other[KEY], uint8_t ret[KEY])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, own, KEY);
	EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, other, KEY);
	EVP_PKEY_CTX *ctx = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
	size_t n = KEY;
	int r = -EIO;

	if (peer && ctx && EVP_PKEY_derive_init(ctx) == 1)
		r = EVP_PKEY_derive_set_peer(ctx, peer) == 1 && EVP_PKEY_derive(ctx, ret, &n) == 1
			    ? 0
			    : -EBADMSG;
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(peer);
	EVP_PKEY_free(key);
	return r;
}

static int begin(struct rudp_noise *ns, const uint8_t psk[KEY], const void *prologue, size_t len)
{
	const char *name = names[ns->ik][ns->cipher];
	size_t n = strlen(name);

	memcpy(ns->psk, psk, KEY);
	if (n <= HASH)
		memcpy(ns->h, name, n);
	else if (EVP_Digest(name, n, ns->h, NULL, EVP_sha256(), NULL) != 1)
		return -EIO;
	memcpy(ns->ck, ns->h, HASH);
	return mix_hash(ns, prologue, len);
}

int rudp_noise_init(struct rudp_noise *ns, enum rudp_cipher cipher, bool initiator,
		    const uint8_t psk[KEY], const void *prologue, size_t len)
{
	*ns = (struct rudp_noise){.cipher = cipher, .initiator = initiator};
	return begin(ns, psk, prologue, len);
}

int rudp_noise_init_ik(struct rudp_noise *ns, enum rudp_cipher cipher, const uint8_t psk[KEY],
		       const struct rudp_noise_pair *own, const uint8_t *rs, const void *prologue,
		       size_t len)
{
	int r;

	*ns = (struct rudp_noise){.cipher = cipher, .initiator = rs != NULL, .ik = true};
	memcpy(ns->s, own->secret, KEY);
	memcpy(ns->s_public, own->public, KEY);
	if (rs)
		memcpy(ns->rs, rs, KEY);
	r = begin(ns, psk, prologue, len);
	return r ? r : mix_hash(ns, rs ? rs : own->public, KEY);
}

void rudp_noise_done(struct rudp_noise *ns)
{
	rudp_noise_wipe(ns, sizeof(*ns));
}

/* Mixes the common secret of a pair of keys: MixKey(DH(own, other)). */
static int mix_dh(struct rudp_noise *ns, const uint8_t own[KEY], const uint8_t other[KEY])
{
	uint8_t secret[KEY];
	int r = dh(own, other, secret);

	r = r ? r : mix_key(ns, secret, KEY);
	rudp_noise_wipe(secret, sizeof(secret));
	return r;
}

/* Mixes the tokens of a message up to the first encrypted part: psk and e for the initiator's
 * message of NNpsk0, e and ee for the responder's; e and es, and e, ee and se, for those of IKpsk1.
 * pub: the sender's public key e. */
static int tokens(struct rudp_noise *ns, bool first, const uint8_t pub[KEY])
{
	int r = first && !ns->ik ? mix_key_and_hash(ns, ns->psk, KEY) : 0;

	r = r ? r : mix_hash(ns, pub, KEY);
	/* With a pre-shared key, the specification requires MixKey after every token e. */
	r = r ? r : mix_key(ns, pub, KEY);
	if (r || (first && !ns->ik))
		return r;
	if (first) /* es */
		return ns->initiator ? mix_dh(ns, ns->e, ns->rs) : mix_dh(ns, ns->s, ns->re);
	r = mix_dh(ns, ns->e, ns->re); /* ee */
	if (r || !ns->ik)
		return r;
	return ns->initiator ? mix_dh(ns, ns->s, ns->re) : mix_dh(ns, ns->e, ns->rs); /* se */
}

int rudp_noise_write(struct rudp_noise *ns, const uint8_t e[KEY], const void *payload, size_t len,
		     uint8_t *ret_msg)
{
	uint8_t *at = ret_msg + KEY;
	int r;

	memcpy(ns->e, e, KEY);
	r = public_key(e, ret_msg);
	r = r ? r : tokens(ns, ns->initiator, ret_msg);
	if (ns->ik && ns->initiator) {
		r = r ? r : encrypt_and_hash(ns, ns->s_public, KEY, at);
		r = r ? r : mix_dh(ns, ns->s, ns->rs); /* ss */
		r = r ? r : mix_key_and_hash(ns, ns->psk, KEY);
		at += KEY + TAG;
	}
	return r ? r : encrypt_and_hash(ns, payload, len, at);
}

int rudp_noise_read_keys(struct rudp_noise *ns, const uint8_t (*psks)[KEY], unsigned n,
			 const uint8_t *msg, size_t len, uint8_t *ret_payload, unsigned *ret_key)
{
	const uint8_t *payload = msg + KEY + KEY + TAG;
	struct rudp_noise before;
	int r;

	if (len < RUDP_NOISE_IK_OVERHEAD)
		return -EBADMSG;
	memcpy(ns->re, msg, KEY);
	r = tokens(ns, true, msg);
	r = r ? r : decrypt_and_hash(ns, msg + KEY, KEY, ns->rs);
	r = r ? r : mix_dh(ns, ns->s, ns->rs); /* ss */
	if (r)
		return r;
	before = *ns;
	r = -EBADMSG;
	for (unsigned i = 0; i < n && r; i++) {
		*ns = before;
		memcpy(ns->psk, psks[i], KEY);
		r = mix_key_and_hash(ns, ns->psk, KEY);
		r = r ? r
		      : decrypt_and_hash(ns, payload, len - RUDP_NOISE_IK_OVERHEAD, ret_payload);
		*ret_key = i;
	}
	rudp_noise_done(&before);
	return r;
}

int rudp_noise_read(struct rudp_noise *ns, const uint8_t *msg, size_t len, uint8_t *ret_payload)
{
	uint8_t psk[1][KEY];
	unsigned key;
	int r;

	if (ns->ik && !ns->initiator) {
		memcpy(psk[0], ns->psk, KEY);
		r = rudp_noise_read_keys(ns, psk, 1, msg, len, ret_payload, &key);
		rudp_noise_wipe(psk, sizeof(psk));
		return r;
	}
	if (len < RUDP_NOISE_OVERHEAD)
		return -EBADMSG;
	memcpy(ns->re, msg, KEY);
	r = tokens(ns, !ns->initiator, msg);
	return r ? r : decrypt_and_hash(ns, msg + KEY, len - RUDP_NOISE_OVERHEAD, ret_payload);
}

int rudp_noise_split(struct rudp_noise *ns, struct rudp_noise_keys *ret)
{
	uint8_t out[2 * HASH];
	int r = hkdf(ns->ck, ns->k, 0, 2, out);

	memcpy(ns->initiator ? ret->tx : ret->rx, out, HASH);
	memcpy(ns->initiator ? ret->rx : ret->tx, out + HASH, HASH);
	rudp_noise_wipe(out, sizeof(out));
	return r;
}

int rudp_noise_rekey(enum rudp_cipher cipher, uint8_t key[RUDP_AEAD_KEY_BYTES])
{
	static const uint8_t zeros[RUDP_AEAD_KEY_BYTES];
	struct rudp_aead a;
	uint8_t tag[TAG];
	int r = rudp_aead_init(&a, cipher, true, key);

	if (r)
		return r;
	r = rudp_aead_begin(&a, REKEY_NONCE);
	r = r ? r : rudp_aead_crypt(&a, zeros, sizeof(zeros), key);
	r = r ? r : rudp_aead_seal_end(&a, tag);
	rudp_aead_done(&a);
	return r;
}
