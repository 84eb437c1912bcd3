/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements the transport's two ciphers. Only this file uses libcrypto's cipher contexts. */
#include "dataplane/rudp/crypto/rudp_aead.h"
#include "dataplane/rudp/crypto/rudp_aead_mb.h"
#include "dataplane/rudp/wire/wire.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/modes.h>
#include <openssl/params.h>
#include <sys/auxv.h>

#define NONCE_BYTES 12
_Static_assert(RUDP_AEAD_CLEAR_MAX <= RUDP_AEAD_MB_CLEAR_MAX, "both libraries accept it");

bool rudp_aead_only_libcrypto;

enum rudp_cipher rudp_cipher_best(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") ? RUDP_AESGCM
										 : RUDP_CHACHAPOLY;
#elif defined(__aarch64__)
	return getauxval(AT_HWCAP) & 1UL << 3 ? RUDP_AESGCM : RUDP_CHACHAPOLY; /* HWCAP_AES */
#else
	return RUDP_CHACHAPOLY;
#endif
}

int rudp_aead_init(struct rudp_aead *a, enum rudp_cipher cipher, bool seal,
		   const uint8_t key[RUDP_AEAD_KEY_BYTES])
{
	const EVP_CIPHER *c = cipher == RUDP_AESGCM ? EVP_aes_256_gcm() : EVP_chacha20_poly1305();

	*a = (struct rudp_aead){.ctx = EVP_CIPHER_CTX_new(), .cipher = cipher, .seal = seal};
	if (a->ctx && EVP_CipherInit_ex(a->ctx, c, NULL, key, NULL, seal) == 1)
		return 0;
	rudp_aead_done(a);
	return -ENOMEM;
}

/*
 * To tag a packet without encrypting it, GCM needs only GHASH and one block of AES per packet (NIST
 * SP 800-38D, 6.4, 7.1). In libcrypto, calling these two functions directly takes 60 ns; its AEAD
 * interface takes five times as long, because of the overhead of its calls.
 */
static void block(const uint8_t in[16], uint8_t out[16], const void *ctx)
{
	/* EVP_Cipher() cannot fail, because it gets a whole block and a context with a key. */
	(void)EVP_Cipher((EVP_CIPHER_CTX *)ctx, out, in, 16);
}

static int init_clear(struct rudp_aead *a, enum rudp_cipher cipher, bool seal,
		      const uint8_t key[RUDP_AEAD_KEY_BYTES])
{
	*a = (struct rudp_aead){.ctx = EVP_CIPHER_CTX_new(), .cipher = cipher, .seal = seal};
	if (a->ctx && EVP_EncryptInit_ex(a->ctx, EVP_aes_256_ecb(), NULL, key, NULL) == 1)
		a->tag = CRYPTO_gcm128_new(a->ctx, block);
	if (a->tag)
		return 0;
	rudp_aead_done(a);
	return -ENOMEM;
}

int rudp_aead_init_packets(struct rudp_aead *a, enum rudp_cipher cipher, bool encrypts, bool seal,
			   const uint8_t key[RUDP_AEAD_KEY_BYTES])
{
	*a = (struct rudp_aead){.cipher = cipher, .seal = seal};
	if (cipher == RUDP_AESGCM && !rudp_aead_only_libcrypto)
		a->mb = rudp_aead_mb_new(key, !encrypts, seal);
	if (a->mb)
		return 0;
	return encrypts || cipher != RUDP_AESGCM ? rudp_aead_init(a, cipher, seal, key)
						 : init_clear(a, cipher, seal, key);
}

void rudp_aead_done(struct rudp_aead *a)
{
	rudp_aead_mb_free(a->mb);
	CRYPTO_gcm128_release(a->tag);
	EVP_CIPHER_CTX_free(a->ctx); /* this also wipes the key */
	*a = (struct rudp_aead){NULL};
}

int rudp_aead_rekey(struct rudp_aead *a, const uint8_t key[RUDP_AEAD_KEY_BYTES])
{
	if (a->mb) {
		rudp_aead_mb_rekey(a->mb, key);
		return 0;
	}
	if (EVP_CipherInit_ex(a->ctx, NULL, NULL, key, NULL, a->tag ? 1 : a->seal) != 1)
		return -EIO;
	if (a->tag)
		CRYPTO_gcm128_init(a->tag, a->ctx, block);
	return 0;
}

static void nonce_make(const struct rudp_aead *a, uint64_t n, uint8_t ret[NONCE_BYTES])
{
	n = a->cipher == RUDP_AESGCM ? htobe64(n) : htole64(n);
	memset(ret, 0, NONCE_BYTES - sizeof(n));
	memcpy(ret + NONCE_BYTES - sizeof(n), &n, sizeof(n));
}

int rudp_aead_begin(struct rudp_aead *a, uint64_t n)
{
	uint8_t nonce[NONCE_BYTES];

	nonce_make(a, n, nonce);
	if (a->mb) {
		rudp_aead_mb_begin(a->mb, nonce);
		return 0;
	}
	if (a->tag) {
		CRYPTO_gcm128_setiv(a->tag, nonce, sizeof(nonce));
		return 0;
	}
	return EVP_CipherInit_ex(a->ctx, NULL, NULL, NULL, nonce, a->seal) == 1 ? 0 : -EIO;
}

int rudp_aead_clear(struct rudp_aead *a, const uint8_t *p, size_t len)
{
	int n;

	if (a->mb)
		return rudp_aead_mb_clear(a->mb, p, len);
	if (a->tag)
		return len == 0 || CRYPTO_gcm128_aad(a->tag, p, len) == 0 ? 0 : -EIO;
	return len == 0 || EVP_CipherUpdate(a->ctx, NULL, &n, p, (int)len) == 1 ? 0 : -EIO;
}

int rudp_aead_crypt(struct rudp_aead *a, const uint8_t *in, size_t len, uint8_t *out)
{
	int n;

	if (a->mb)
		return rudp_aead_mb_crypt(a->mb, in, len, out);
	if (a->tag)
		return -EIO;
	return len == 0 || EVP_CipherUpdate(a->ctx, out, &n, in, (int)len) == 1 ? 0 : -EIO;
}

int rudp_aead_seal_end(struct rudp_aead *a, uint8_t ret_tag[RUDP_AEAD_TAG_BYTES])
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, ret_tag, RUDP_AEAD_TAG_BYTES),
		OSSL_PARAM_END};
	uint8_t none[RUDP_AEAD_TAG_BYTES];
	int n;

	if (a->mb) {
		rudp_aead_mb_end(a->mb, ret_tag);
		return 0;
	}
	if (a->tag) {
		CRYPTO_gcm128_tag(a->tag, ret_tag, RUDP_AEAD_TAG_BYTES);
		return 0;
	}
	/* Read the tag by a parameter that was prepared once. The older interface,
	 * EVP_CIPHER_CTX_ctrl(), would build the same parameter for each packet. */
	return EVP_EncryptFinal_ex(a->ctx, none, &n) == 1 &&
			       EVP_CIPHER_CTX_get_params(a->ctx, params) == 1
		       ? 0
		       : -EIO;
}

int rudp_aead_open_end(struct rudp_aead *a, const uint8_t tag[RUDP_AEAD_TAG_BYTES])
{
	uint8_t copy[RUDP_AEAD_TAG_BYTES], none[RUDP_AEAD_TAG_BYTES];
	int n;

	if (a->mb) {
		rudp_aead_mb_end(a->mb, copy);
		return CRYPTO_memcmp(copy, tag, sizeof(copy)) == 0 ? 0 : -EBADMSG;
	}
	if (a->tag)
		return CRYPTO_gcm128_finish(a->tag, tag, RUDP_AEAD_TAG_BYTES) == 0 ? 0 : -EBADMSG;
	memcpy(copy, tag, sizeof(copy)); /* pass a copy, because libcrypto may change the tag */
	if (EVP_CIPHER_CTX_ctrl(a->ctx, EVP_CTRL_AEAD_SET_TAG, RUDP_AEAD_TAG_BYTES, copy) != 1)
		return -EIO;
	return EVP_DecryptFinal_ex(a->ctx, none, &n) == 1 ? 0 : -EBADMSG;
}

int rudp_aead_tag(struct rudp_aead *a, uint64_t n, const uint8_t *p, size_t len,
		  uint8_t ret_tag[RUDP_AEAD_TAG_BYTES])
{
	uint8_t nonce[NONCE_BYTES];
	int r;

	if (a->mb) {
		nonce_make(a, n, nonce);
		rudp_aead_mb_tag(a->mb, nonce, p, len, ret_tag);
		return 0;
	}
	r = rudp_aead_begin(a, n);
	r = r ? r : rudp_aead_clear(a, p, len);
	return r ? r : rudp_aead_seal_end(a, ret_tag);
}
