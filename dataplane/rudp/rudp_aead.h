/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Authenticated encryption as the Noise framework (revision 34, section 12) names it: AESGCM and
 * ChaChaPoly, with 32 bytes of key, a 64-bit number that serves once, and 16 bytes of tag. A thin
 * layer over contexts of libcrypto, or for packets of libipsec-mb where that is there, which are
 * made once: nothing is allocated for a packet. Knows
 * no packet. Used by the handshake (rudp_noise) and the packets (rudp_secure) alone.
 */
#ifndef PLENUM_DATAPLANE_RUDP_AEAD_H
#define PLENUM_DATAPLANE_RUDP_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUDP_AEAD_KEY_BYTES 32
#define RUDP_AEAD_TAG_BYTES 16

/* As they are on the wire. */
enum rudp_cipher { RUDP_CIPHER_NONE, RUDP_AESGCM, RUDP_CHACHAPOLY, RUDP_CIPHER_MAX };

struct rudp_aead {		 /* one direction, one key at a time; zeros: empty */
	struct rudp_aead_mb *mb; /* or NULL, and libcrypto's: */
	void *ctx;
	void *tag; /* its context of tags alone, which has the cipher of one block
		      from ctx; or NULL */
	enum rudp_cipher cipher;
	bool seal;
};

/* The faster one on this processor: AESGCM where it has the instructions. */
enum rudp_cipher rudp_cipher_best(void);

/* Makes the context. seal: for sealing, else for opening. 0, -ENOMEM. */
int rudp_aead_init(struct rudp_aead *a, enum rudp_cipher cipher, bool seal,
		   const uint8_t key[RUDP_AEAD_KEY_BYTES]);
#define RUDP_AEAD_CLEAR_MAX 64
/* The same for packets, whichever library is the faster one for it. encrypts: or they stay in
 * clear, and rudp_aead_crypt is not for it. Of one that is ciphered RUDP_AEAD_CLEAR_MAX bytes at
 * most stay in clear. The tags are those that rudp_aead_init's would be. */
int rudp_aead_init_packets(struct rudp_aead *a, enum rudp_cipher cipher, bool encrypts, bool seal,
			   const uint8_t key[RUDP_AEAD_KEY_BYTES]);
/* For tests and comparisons: what is made from now on does without libipsec-mb. */
extern bool rudp_aead_only_libcrypto;
void rudp_aead_done(struct rudp_aead *a);
/* Another key for the same context. */
int rudp_aead_rekey(struct rudp_aead *a, const uint8_t key[RUDP_AEAD_KEY_BYTES]);

/*
 * One packet: begin, then what goes in clear, then what is (de)ciphered, each in any number of
 * pieces, then the end. Negative errno of any piece: the packet is void. `out` may be `in`.
 */
int rudp_aead_begin(struct rudp_aead *a, uint64_t n);
int rudp_aead_clear(struct rudp_aead *a, const uint8_t *p, size_t len);
int rudp_aead_crypt(struct rudp_aead *a, const uint8_t *in, size_t len, uint8_t *out);
int rudp_aead_seal_end(struct rudp_aead *a, uint8_t ret_tag[RUDP_AEAD_TAG_BYTES]);
/* -EBADMSG: it is not what was sealed; nothing that came out may be used. */
int rudp_aead_open_end(struct rudp_aead *a, const uint8_t tag[RUDP_AEAD_TAG_BYTES]);
/* A packet that stays in clear as a whole, in one piece: what begin, clear and seal_end make of it,
 * in less time than these take. Negative errno. */
int rudp_aead_tag(struct rudp_aead *a, uint64_t n, const uint8_t *p, size_t len,
		  uint8_t ret_tag[RUDP_AEAD_TAG_BYTES]);

#endif
