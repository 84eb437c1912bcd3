/* SPDX-License-Identifier: BSD-3-Clause */
/* AES-256-GCM by libipsec-mb. If the library was missing at build time, these are stubs. */
#include "dataplane/rudp/crypto/rudp_aead_mb.h"

#ifdef HAVE_IPSEC_MB

#include <errno.h>
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NONCE_BYTES 12
#define TAG_BYTES 16

struct rudp_aead_mb {
	_Alignas(64) struct gcm_key_data key;
	struct gcm_context_data ctx;
	uint8_t nonce[NONCE_BYTES];
	uint8_t clear[RUDP_AEAD_MB_CLEAR_MAX];
	size_t clear_len;
	bool tags, seal;
	bool begun; /* the clear part was passed to the library */
};

static IMB_MGR *mgr; /* table of the library's functions; they store no state in it */

static struct rudp_aead_mb *context_new(const uint8_t key[32], bool tags, bool seal)
{
	struct rudp_aead_mb *m = aligned_alloc(_Alignof(struct rudp_aead_mb), sizeof(*m));

	if (!m)
		return NULL;
	memset(m, 0, sizeof(*m));
	m->tags = tags;
	m->seal = seal;
	rudp_aead_mb_rekey(m, key);
	return m;
}

/* Length of the test data: longer than most packets, and not a multiple of the block size. */
#define TESTED_BYTES 2101U

/* Checks that tagging a packet in one piece and in two pieces gives the same tag. */
static bool tags_agree(void)
{
	uint8_t text[TESTED_BYTES], parts[TAG_BYTES], whole[TAG_BYTES];
	struct rudp_aead_mb *m;

	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 3);
	m = context_new(text, true, true);
	if (!m)
		return false;
	rudp_aead_mb_begin(m, text);
	(void)rudp_aead_mb_clear(m, text, sizeof(text) / 3);
	(void)rudp_aead_mb_clear(m, text + sizeof(text) / 3, sizeof(text) - sizeof(text) / 3);
	rudp_aead_mb_end(m, parts);
	rudp_aead_mb_tag(m, text, text, sizeof(text), whole);
	rudp_aead_mb_free(m);
	return memcmp(parts, whole, sizeof(parts)) == 0;
}

/* Checks each operation against test cases 13 and 14 of the GCM specification. */
static bool self_test(void)
{
	static const uint8_t tag_13[TAG_BYTES] = {0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45, 0x36, 0xb9,
						  0xa9, 0x63, 0xb4, 0xf1, 0xc4, 0xcb, 0x73, 0x8b};
	static const uint8_t tag_14[TAG_BYTES] = {0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99, 0x6b, 0xf0,
						  0x26, 0x5b, 0x98, 0xb5, 0xd4, 0x8a, 0xb9, 0x19};
	static const uint8_t text_14[TAG_BYTES] = {0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60, 0x6b, 0x6e,
						   0x07, 0x4e, 0xc5, 0xd3, 0xba, 0xf3, 0x9d, 0x18};
	static const uint8_t zeros[32];
	bool right = true;

	for (unsigned i = 0; right && i < 3; i++) { /* three operations: tag only, seal, open */
		struct rudp_aead_mb *m = context_new(zeros, i == 0, i < 2);
		uint8_t out[TAG_BYTES], tag[TAG_BYTES];

		if (!m)
			return false;
		rudp_aead_mb_begin(m, zeros);
		if (i > 0)
			(void)rudp_aead_mb_crypt(m, i == 1 ? zeros : text_14, sizeof(out), out);
		rudp_aead_mb_end(m, tag);
		rudp_aead_mb_free(m);
		right = memcmp(tag, i ? tag_14 : tag_13, sizeof(tag)) == 0 &&
			(i == 0 || memcmp(out, i == 1 ? text_14 : zeros, sizeof(out)) == 0);
	}
	return right;
}

/* Loads the library. In tests, which have several threads, any thread may be the first to use it; a
 * worker has only one thread. */
static void mgr_init(void)
{
	const uint64_t needed = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
	IMB_ARCH arch = IMB_ARCH_NONE;

	mgr = alloc_mb_mgr(0);
	if (!mgr)
		return;
	init_mb_mgr_auto(mgr, &arch);
	if (imb_get_errno(mgr) == 0 && (mgr->features & needed) == needed &&
	    arch != IMB_ARCH_NOAESNI && self_test() && tags_agree())
		return;
	free_mb_mgr(mgr);
	mgr = NULL;
}

struct rudp_aead_mb *rudp_aead_mb_new(const uint8_t key[32], bool tags, bool seal)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, mgr_init);
	return mgr ? context_new(key, tags, seal) : NULL;
}

struct rudp_aead_mb *rudp_aead_mb_free(struct rudp_aead_mb *m)
{
	if (m)
		OPENSSL_cleanse(m, sizeof(*m));
	free(m);
	return NULL;
}

void rudp_aead_mb_rekey(struct rudp_aead_mb *m, const uint8_t key[32])
{
	IMB_AES256_GCM_PRE(mgr, key, &m->key);
}

void rudp_aead_mb_begin(struct rudp_aead_mb *m, const uint8_t nonce[12])
{
	memcpy(m->nonce, nonce, sizeof(m->nonce));
	m->clear_len = 0;
	m->begun = m->tags;
	if (m->tags)
		IMB_AES256_GMAC_INIT(mgr, &m->key, &m->ctx, m->nonce, sizeof(m->nonce));
}

int rudp_aead_mb_clear(struct rudp_aead_mb *m, const uint8_t *p, size_t len)
{
	if (len == 0)
		return 0;
	if (m->tags) {
		IMB_AES256_GMAC_UPDATE(mgr, &m->key, &m->ctx, p, len);
		return 0;
	}
	if (m->begun || len > sizeof(m->clear) - m->clear_len)
		return -EIO;
	memcpy(m->clear + m->clear_len, p, len);
	m->clear_len += len;
	return 0;
}

static void clear_give(struct rudp_aead_mb *m)
{
	if (!m->begun)
		IMB_AES256_GCM_INIT(mgr, &m->key, &m->ctx, m->nonce, m->clear, m->clear_len);
	m->begun = true;
}

int rudp_aead_mb_crypt(struct rudp_aead_mb *m, const uint8_t *in, size_t len, uint8_t *out)
{
	if (m->tags)
		return -EIO;
	clear_give(m);
	if (len == 0)
		return 0;
	if (m->seal)
		IMB_AES256_GCM_ENC_UPDATE(mgr, &m->key, &m->ctx, out, in, len);
	else
		IMB_AES256_GCM_DEC_UPDATE(mgr, &m->key, &m->ctx, out, in, len);
	return 0;
}

void rudp_aead_mb_end(struct rudp_aead_mb *m, uint8_t ret_tag[16])
{
	clear_give(m);
	if (m->tags)
		IMB_AES256_GMAC_FINALIZE(mgr, &m->key, &m->ctx, ret_tag, TAG_BYTES);
	else if (m->seal)
		IMB_AES256_GCM_ENC_FINALIZE(mgr, &m->key, &m->ctx, ret_tag, TAG_BYTES);
	else
		IMB_AES256_GCM_DEC_FINALIZE(mgr, &m->key, &m->ctx, ret_tag, TAG_BYTES);
}

void rudp_aead_mb_tag(struct rudp_aead_mb *m, const uint8_t nonce[12], const uint8_t *p, size_t len,
		      uint8_t ret_tag[16])
{
	/* Without plain text, GCM reads no input text and writes no output text, so both pointers
	 * are unused. */
	IMB_AES256_GCM_ENC(mgr, &m->key, &m->ctx, ret_tag, p, 0, nonce, p, len, ret_tag, TAG_BYTES);
}

#else /* no libipsec-mb */

#include <errno.h>

struct rudp_aead_mb *rudp_aead_mb_new(const uint8_t key[32], bool tags, bool seal)
{
	return NULL;
}

struct rudp_aead_mb *rudp_aead_mb_free(struct rudp_aead_mb *m)
{
	return NULL;
}

void rudp_aead_mb_rekey(struct rudp_aead_mb *m, const uint8_t key[32])
{
}

void rudp_aead_mb_begin(struct rudp_aead_mb *m, const uint8_t nonce[12])
{
}

int rudp_aead_mb_clear(struct rudp_aead_mb *m, const uint8_t *p, size_t len)
{
	return -EIO;
}

int rudp_aead_mb_crypt(struct rudp_aead_mb *m, const uint8_t *in, size_t len, uint8_t *out)
{
	return -EIO;
}

void rudp_aead_mb_end(struct rudp_aead_mb *m, uint8_t ret_tag[16])
{
}

void rudp_aead_mb_tag(struct rudp_aead_mb *m, const uint8_t nonce[12], const uint8_t *p, size_t len,
		      uint8_t ret_tag[16])
{
}

#endif
