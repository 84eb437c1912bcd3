/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Authenticated encryption for the transport: the ciphers that the Noise framework (revision 34,
 * section 12) calls AESGCM and ChaChaPoly, with a 32-byte key, a 64-bit nonce that must not repeat,
 * and a 16-byte tag. It wraps contexts of libcrypto or, for packets, of libipsec-mb if that library
 * is available. Contexts are created once, so nothing is allocated per packet. Only the handshake
 * (rudp_noise) and packet protection (rudp_secure) use it. It does not depend on the format of
 * packets.
 */
#ifndef PLENUM_DATAPLANE_RUDP_AEAD_H
#define PLENUM_DATAPLANE_RUDP_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUDP_AEAD_KEY_BYTES 32
#define RUDP_AEAD_TAG_BYTES 16

/* The ciphers, with their numbers in packets. */
enum rudp_cipher { RUDP_CIPHER_NONE, RUDP_AESGCM, RUDP_CHACHAPOLY, RUDP_CIPHER_MAX };

struct rudp_aead { /* context for one direction and one key at a time; all zeros: no cipher */
	/* Context of libipsec-mb; NULL: libcrypto is used, with the contexts below. */
	struct rudp_aead_mb *mb;
	void *ctx;
	void *tag; /* libcrypto's GHASH context, if packets are tagged but not encrypted; ctx then
		      encrypts single blocks. Otherwise NULL */
	enum rudp_cipher cipher;
	bool seal;
};

/* Returns the cipher that is faster on this processor: AESGCM if the processor has AES
 * instructions. */
enum rudp_cipher rudp_cipher_best(void);

/* Creates the context, for sealing if `seal`, else for opening. Returns 0 or -ENOMEM. */
int rudp_aead_init(struct rudp_aead *a, enum rudp_cipher cipher, bool seal,
		   const uint8_t key[RUDP_AEAD_KEY_BYTES]);
#define RUDP_AEAD_CLEAR_MAX 64
/* Like rudp_aead_init(), but for packets: uses the faster of the two libraries, which produce equal
 * tags. If `encrypts` is false, packets are only tagged, and rudp_aead_crypt() must not be called.
 * An encrypted packet may have at most RUDP_AEAD_CLEAR_MAX bytes in clear. */
int rudp_aead_init_packets(struct rudp_aead *a, enum rudp_cipher cipher, bool encrypts, bool seal,
			   const uint8_t key[RUDP_AEAD_KEY_BYTES]);
/* If true, new contexts do not use libipsec-mb. For tests and comparisons. */
extern bool rudp_aead_only_libcrypto;
void rudp_aead_done(struct rudp_aead *a);
/* Replaces the key of the context. */
int rudp_aead_rekey(struct rudp_aead *a, const uint8_t key[RUDP_AEAD_KEY_BYTES]);

/*
 * Processes one packet: call rudp_aead_begin(), pass the clear part and then the part to encrypt,
 * each in any number of pieces, then call the function for the end. If any step returns a negative
 * errno, the packet is invalid. `out` may be the same memory as `in`.
 */
int rudp_aead_begin(struct rudp_aead *a, uint64_t n);
int rudp_aead_clear(struct rudp_aead *a, const uint8_t *p, size_t len);
int rudp_aead_crypt(struct rudp_aead *a, const uint8_t *in, size_t len, uint8_t *out);
int rudp_aead_seal_end(struct rudp_aead *a, uint8_t ret_tag[RUDP_AEAD_TAG_BYTES]);
/* Returns 0, or -EBADMSG if the packet was changed or is not from the peer. The output must then
 * not be used. */
int rudp_aead_open_end(struct rudp_aead *a, const uint8_t tag[RUDP_AEAD_TAG_BYTES]);
/* Makes the tag of a tag-only packet in one call. The result is the same as with begin, clear and
 * seal_end, but this is faster. Returns 0 or a negative errno. */
int rudp_aead_tag(struct rudp_aead *a, uint64_t n, const uint8_t *p, size_t len,
		  uint8_t ret_tag[RUDP_AEAD_TAG_BYTES]);

#endif
