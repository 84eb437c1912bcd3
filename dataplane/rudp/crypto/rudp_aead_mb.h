/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AES-256-GCM of packets by libipsec-mb, which uses the wide instructions of newer x86 processors:
 * a packet costs a third of libcrypto 3.0's time. If the library was missing at build time, or the
 * processor lacks the instructions, rudp_aead_mb_new returns NULL and rudp_aead.c uses libcrypto.
 * Knows keys and bytes; the caller chooses nonces.
 */
#ifndef PLENUM_DATAPLANE_RUDP_AEAD_MB_H
#define PLENUM_DATAPLANE_RUDP_AEAD_MB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Clear bytes of an encrypted packet: the library wants them in one piece. */
#define RUDP_AEAD_MB_CLEAR_MAX 64

/* NULL: library unusable or no memory. tags: tag-only packets. seal: for sealing, else opening. */
struct rudp_aead_mb *rudp_aead_mb_new(const uint8_t key[32], bool tags, bool seal);
/* Wipes the key. Returns NULL. */
struct rudp_aead_mb *rudp_aead_mb_free(struct rudp_aead_mb *m);
void rudp_aead_mb_rekey(struct rudp_aead_mb *m, const uint8_t key[32]);
/* As the functions of rudp_aead.h, called in the same order. 0; -EIO. */
void rudp_aead_mb_begin(struct rudp_aead_mb *m, const uint8_t nonce[12]);
int rudp_aead_mb_clear(struct rudp_aead_mb *m, const uint8_t *p, size_t len);
int rudp_aead_mb_crypt(struct rudp_aead_mb *m, const uint8_t *in, size_t len, uint8_t *out);
/* The tag of the bytes processed, sealing or opening. */
void rudp_aead_mb_end(struct rudp_aead_mb *m, uint8_t ret_tag[16]);
/* The tag of a tag-only packet in one piece, by the library's whole-packet function, which is
 * cheaper than the steps above. */
void rudp_aead_mb_tag(struct rudp_aead_mb *m, const uint8_t nonce[12], const uint8_t *p, size_t len,
		      uint8_t ret_tag[16]);

#endif
