/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshakes Noise_{NNpsk0,IKpsk1}_25519_{AESGCM,ChaChaPoly}_SHA256 of the Noise framework,
 * revision 34:
 *
 *	NNpsk0:                  IKpsk1:
 *	  -> psk, e                <- s
 *	  <- e, ee                 ...
 *	                           -> e, es, s, ss, psk
 *	                           <- e, ee, se
 *
 * Both have two messages. A host without the pre-shared key can neither make nor read a message. In
 * IKpsk1 both sides have static keys as well, and each message proves that its sender has the
 * private part of its static key. The initiator must know the responder's static key before the
 * handshake. The functions follow the specification
 * and its names; libcrypto provides the primitives. Their only state is struct rudp_noise. They
 * send nothing. The caller passes the ephemeral key, so they need no random numbers.
 */
#ifndef PLENUM_DATAPLANE_RUDP_NOISE_H
#define PLENUM_DATAPLANE_RUDP_NOISE_H

#include "dataplane/rudp/crypto/rudp_aead.h"

#define RUDP_NOISE_KEY_BYTES 32
#define RUDP_NOISE_HASH_BYTES 32
/* Bytes that a message has in addition to its payload; the first message of IKpsk1 has more. */
#define RUDP_NOISE_OVERHEAD (RUDP_NOISE_KEY_BYTES + RUDP_AEAD_TAG_BYTES)
#define RUDP_NOISE_IK_OVERHEAD (RUDP_NOISE_OVERHEAD + RUDP_NOISE_KEY_BYTES + RUDP_AEAD_TAG_BYTES)

struct rudp_noise { /* HandshakeState of the specification, with its CipherState */
	enum rudp_cipher cipher;
	bool initiator;
	bool ik; /* IKpsk1, else NNpsk0 */
	uint8_t ck[RUDP_NOISE_HASH_BYTES], h[RUDP_NOISE_HASH_BYTES];
	uint8_t k[RUDP_AEAD_KEY_BYTES];
	uint64_t n;
	uint8_t psk[RUDP_NOISE_KEY_BYTES];
	uint8_t e[RUDP_NOISE_KEY_BYTES],
		re[RUDP_NOISE_KEY_BYTES]; /* own private key; the peer's public key */
	/* IKpsk1: the static keys: own private and public key; the peer's public key, which a
	 * responder knows after it has read the first message. */
	uint8_t s[RUDP_NOISE_KEY_BYTES], s_public[RUDP_NOISE_KEY_BYTES], rs[RUDP_NOISE_KEY_BYTES];
};

/* A static key pair. */
struct rudp_noise_pair {
	uint8_t secret[RUDP_NOISE_KEY_BYTES], public[RUDP_NOISE_KEY_BYTES];
};

struct rudp_noise_keys { /* result of Split(), for the side that calls it */
	uint8_t tx[RUDP_AEAD_KEY_BYTES], rx[RUDP_AEAD_KEY_BYTES];
};

/* Begins NNpsk0. Returns 0 or -EIO. prologue: data that must be identical on both sides. */
int rudp_noise_init(struct rudp_noise *ns, enum rudp_cipher cipher, bool initiator,
		    const uint8_t psk[RUDP_NOISE_KEY_BYTES], const void *prologue, size_t len);
/* Begins IKpsk1. own: this side's static keys. rs: the responder's static key, or NULL for the
 * responder itself. Returns the same values as rudp_noise_init(). */
int rudp_noise_init_ik(struct rudp_noise *ns, enum rudp_cipher cipher,
		       const uint8_t psk[RUDP_NOISE_KEY_BYTES], const struct rudp_noise_pair *own,
		       const uint8_t *rs, const void *prologue, size_t len);
/* Returns how many bytes the message has in addition to its payload. first: true for the
 * initiator's message. */
static inline size_t rudp_noise_overhead(bool ik, bool first)
{
	return ik && first ? RUDP_NOISE_IK_OVERHEAD : RUDP_NOISE_OVERHEAD;
}
/* Wipes every secret. */
void rudp_noise_done(struct rudp_noise *ns);
/* Writes this side's message: the first message if it is the initiator, else the second. e: 32
 * random bytes. The message has len + rudp_noise_overhead() bytes. Returns 0, -EIO, or -EBADMSG if
 * the peer's key is invalid. */
int rudp_noise_write(struct rudp_noise *ns, const uint8_t e[RUDP_NOISE_KEY_BYTES],
		     const void *payload, size_t len, uint8_t *ret_msg);
/* Reads the peer's message; ret_payload must have space for len - rudp_noise_overhead() bytes.
 * Returns 0, -EIO, or -EBADMSG if the message is too short or was made with another key. After a
 * failure ns is invalid. */
int rudp_noise_read(struct rudp_noise *ns, const uint8_t *msg, size_t len, uint8_t *ret_payload);
/* Reads the first message of IKpsk1, which was made with any one of n pre-shared keys. The key of
 * rudp_noise_init_ik() does not count. The static keys are used once, so a wrong key costs little.
 * Returns as rudp_noise_read(), with the key's index in *ret_key. */
int rudp_noise_read_keys(struct rudp_noise *ns, const uint8_t (*psks)[RUDP_NOISE_KEY_BYTES],
			 unsigned n, const uint8_t *msg, size_t len, uint8_t *ret_payload,
			 unsigned *ret_key);
/* Computes the session's keys; call it after both messages. */
int rudp_noise_split(struct rudp_noise *ns, struct rudp_noise_keys *ret);
/* Rekey() of the specification for one cipher state: replaces the key by the next key. Returns 0,
 * -ENOMEM or -EIO. */
int rudp_noise_rekey(enum rudp_cipher cipher, uint8_t key[RUDP_AEAD_KEY_BYTES]);
/* Draws a random key for rudp_noise_write. Returns 0 or -EIO. */
int rudp_noise_random(uint8_t ret[RUDP_NOISE_KEY_BYTES]);
/* Computes HMAC-SHA256. Returns 0 or -EIO. */
int rudp_noise_mac(const uint8_t key[RUDP_NOISE_KEY_BYTES], const void *data, size_t len,
		   uint8_t ret[RUDP_NOISE_HASH_BYTES]);
/* Compares in constant time, so that the time does not reveal how many bytes are equal. */
bool rudp_noise_equal(const void *a, const void *b, size_t len);
/* Overwrites len bytes in a way that the compiler cannot remove. */
void rudp_noise_wipe(void *p, size_t len);

#endif
