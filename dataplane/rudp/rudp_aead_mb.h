/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AES-256-GCM of packets by libipsec-mb, which has the wide instructions of newer x86 processors:
 * a packet costs a third of what libcrypto 3.0 takes for it. Where the library was not there as
 * this was built, or the processor lacks what it needs, there is none, and rudp_aead.c goes by
 * libcrypto. Knows keys and bytes; nonces are the caller's.
 */
#ifndef PLENUM_DATAPLANE_RUDP_AEAD_MB_H
#define PLENUM_DATAPLANE_RUDP_AEAD_MB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a packet that is ciphered, what stays in clear: the library wants it in one piece. */
#define RUDP_AEAD_MB_CLEAR_MAX 64

/* NULL: there is none, or no memory. tags: nothing is ciphered. seal: for sealing, else opening. */
struct rudp_aead_mb *rudp_aead_mb_new(const uint8_t key[32], bool tags, bool seal);
/* NULL. The key is wiped. */
struct rudp_aead_mb *rudp_aead_mb_free(struct rudp_aead_mb *m);
void rudp_aead_mb_rekey(struct rudp_aead_mb *m, const uint8_t key[32]);
/* As those of rudp_aead.h, by their order there. 0; -EIO. */
void rudp_aead_mb_begin(struct rudp_aead_mb *m, const uint8_t nonce[12]);
int rudp_aead_mb_clear(struct rudp_aead_mb *m, const uint8_t *p, size_t len);
int rudp_aead_mb_crypt(struct rudp_aead_mb *m, const uint8_t *in, size_t len, uint8_t *out);
/* The tag of what was given, sealing or opening. */
void rudp_aead_mb_end(struct rudp_aead_mb *m, uint8_t ret_tag[16]);
/* Of a packet of which nothing is ciphered, in one piece: by the library's function for whole
 * packets, which costs less than the others do one after the other. */
void rudp_aead_mb_tag(struct rudp_aead_mb *m, const uint8_t nonce[12], const uint8_t *p, size_t len,
		      uint8_t ret_tag[16]);

#endif
