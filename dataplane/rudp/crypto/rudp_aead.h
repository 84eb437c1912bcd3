/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Authenticated encryption as the Noise framework (revision 34, section 12) names it: AESGCM and
 * ChaChaPoly, with a 32-byte key, a 64-bit nonce that is used once, and a 16-byte tag. A thin layer
 * over contexts of libcrypto, or for packets of libipsec-mb where available; contexts are created
 * once, so nothing is allocated per packet. Knows nothing of packets. Only the handshake
 * (rudp_noise) and packet protection (rudp_secure) use it.
 */
#ifndef PLENUM_DATAPLANE_RUDP_AEAD_H
#define PLENUM_DATAPLANE_RUDP_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUDP_AEAD_KEY_BYTES 32
#define RUDP_AEAD_TAG_BYTES 16

/* As on the wire. */
enum rudp_cipher { RUDP_CIPHER_NONE, RUDP_AESGCM, RUDP_CHACHAPOLY, RUDP_CIPHER_MAX };

struct rudp_aead {		 /* one direction, one key at a time; zeros: empty */
	struct rudp_aead_mb *mb; /* libipsec-mb's context; NULL: libcrypto's below */
	void *ctx;
	void *tag; /* libcrypto's GHASH context for tag-only packets; it encrypts single blocks with
		      ctx; or NULL */
	enum rudp_cipher cipher;
	bool seal;
};

/* The faster one on this processor: AESGCM with AES instructions. */
enum rudp_cipher rudp_cipher_best(void);

/* Creates the context. seal: for sealing, else for opening. 0, -ENOMEM. */
int rudp_aead_init(struct rudp_aead *a, enum rudp_cipher cipher, bool seal,
		   const uint8_t key[RUDP_AEAD_KEY_BYTES]);
#define RUDP_AEAD_CLEAR_MAX 64
/* As rudp_aead_init, for packets, with whichever library is faster. encrypts false: packets are
 * only tagged, and rudp_aead_crypt must not be called. An encrypted packet may have at most
 * RUDP_AEAD_CLEAR_MAX bytes in clear. Both libraries produce the same tags. */
int rudp_aead_init_packets(struct rudp_aead *a, enum rudp_cipher cipher, bool encrypts, bool seal,
			   const uint8_t key[RUDP_AEAD_KEY_BYTES]);
/* For tests and comparisons: contexts created from now on do not use libipsec-mb. */
extern bool rudp_aead_only_libcrypto;
void rudp_aead_done(struct rudp_aead *a);
/* Replaces the key of the context. */
int rudp_aead_rekey(struct rudp_aead *a, const uint8_t key[RUDP_AEAD_KEY_BYTES]);

/*
 * One packet: begin, then the clear part, then the encrypted part, each in any number of pieces,
 * then the end. After a negative errno from any step the packet is invalid. `out` may be `in`.
 */
int rudp_aead_begin(struct rudp_aead *a, uint64_t n);
int rudp_aead_clear(struct rudp_aead *a, const uint8_t *p, size_t len);
int rudp_aead_crypt(struct rudp_aead *a, const uint8_t *in, size_t len, uint8_t *out);
int rudp_aead_seal_end(struct rudp_aead *a, uint8_t ret_tag[RUDP_AEAD_TAG_BYTES]);
/* -EBADMSG: not what was sealed; the output must not be used. */
int rudp_aead_open_end(struct rudp_aead *a, const uint8_t tag[RUDP_AEAD_TAG_BYTES]);
/* A tag-only packet in one piece: the result of begin, clear and seal_end, but faster. Negative
 * errno. */
int rudp_aead_tag(struct rudp_aead *a, uint64_t n, const uint8_t *p, size_t len,
		  uint8_t ret_tag[RUDP_AEAD_TAG_BYTES]);

#endif
