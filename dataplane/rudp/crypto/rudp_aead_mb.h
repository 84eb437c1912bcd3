/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AES-256-GCM for packets with libipsec-mb. It uses the wide vector instructions of newer x86
 * processors and takes a third of the time that libcrypto 3.0 takes. rudp_aead_mb_new returns NULL
 * if the library was missing at build time or the processor lacks the instructions; rudp_aead.c
 * then uses libcrypto. The caller chooses the nonces. This module does not depend on the format of
 * packets.
 */
#ifndef PLENUM_DATAPLANE_RUDP_AEAD_MB_H
#define PLENUM_DATAPLANE_RUDP_AEAD_MB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of bytes in clear that an encrypted packet may have. They are copied, because the
 * library needs them in one piece. */
#define RUDP_AEAD_MB_CLEAR_MAX 64

/* Returns NULL if the library is unusable or memory is short. tags: packets are only tagged. seal:
 * for sealing, else for opening. */
struct rudp_aead_mb *rudp_aead_mb_new(const uint8_t key[32], bool tags, bool seal);
/* Wipes the key. Returns NULL. */
struct rudp_aead_mb *rudp_aead_mb_free(struct rudp_aead_mb *m);
void rudp_aead_mb_rekey(struct rudp_aead_mb *m, const uint8_t key[32]);
/* The steps for one packet, which are called in the same order as those of rudp_aead.h. They return
 * 0 or -EIO. */
void rudp_aead_mb_begin(struct rudp_aead_mb *m, const uint8_t nonce[12]);
int rudp_aead_mb_clear(struct rudp_aead_mb *m, const uint8_t *p, size_t len);
int rudp_aead_mb_crypt(struct rudp_aead_mb *m, const uint8_t *in, size_t len, uint8_t *out);
/* Returns the tag of the processed bytes. To open a packet, the caller compares it with the
 * packet's tag. */
void rudp_aead_mb_end(struct rudp_aead_mb *m, uint8_t ret_tag[16]);
/* Makes the tag of a tag-only packet in one piece, with the library's whole-packet function, which
 * is cheaper than the steps above. */
void rudp_aead_mb_tag(struct rudp_aead_mb *m, const uint8_t nonce[12], const uint8_t *p, size_t len,
		      uint8_t ret_tag[16]);

#endif
