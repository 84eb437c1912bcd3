/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What guards the packets of one session: a tag of 16 bytes after the common header of each, made
 * with a key per direction that the handshake gave; under RUDP_ENCRYPT all behind the tag is
 * ciphered too. Numbers serve once: each path counts its own packets, and a counter of the session
 * those that no acknowledgement speaks of. Keys have phases: after some million packets a sender
 * goes over to the next key (Noise's Rekey) and says so by a bit; the other end follows with its
 * own. Knows nothing of sessions and paths beside their numbers; allocates at birth alone.
 */
#ifndef PLENUM_DATAPLANE_RUDP_SECURE_H
#define PLENUM_DATAPLANE_RUDP_SECURE_H

#include "dataplane/datagram.h"
#include "dataplane/rudp/rudp.h"
#include "dataplane/rudp/rudp_noise.h"
#include "dataplane/rudp/wire.h"

#define RUDP_SECURE_BYTES RUDP_AEAD_TAG_BYTES /* that a packet is longer */
/* Counters of packet numbers: one per path, and this one for ACK, CLOSE, JOIN and JOINED. */
#define RUDP_SECURE_CONTROL WIRE_PATHS_MAX
#define RUDP_SECURE_PHASE_PACKETS (1ULL << 22) /* under one key: half of what RFC 9001 allows */
#define RUDP_SECURE_FORGED_MAX (1ULL << 36)    /* failures that a session bears, RFC 9001, 6.6 */
#define RUDP_SECURE_JOIN_MOST 2048U	       /* payload: a packet of 1500 bytes, not of 9000 */
#define RUDP_SECURE_WINDOW 1024U	       /* of the control counter: older is dropped */

struct rudp_secure {
	enum rudp_security mode;
	enum rudp_cipher cipher;
	struct rudp_aead tx, rx;
	struct rudp_aead other; /* opens what is of the phase before or after */
	uint8_t tx_key[RUDP_AEAD_KEY_BYTES];
	uint8_t rx_key[3][RUDP_AEAD_KEY_BYTES]; /* of the phase before, this one, the next */
	uint64_t tx_phase, rx_phase;
	uint64_t tx_sealed, rx_opened; /* in this phase */
	uint64_t phase_packets;
	uint64_t forged;
	uint64_t tx_next[WIRE_PATHS_MAX + 1]; /* the lowest number that may still be sealed */
	uint64_t seen_top, seen[RUDP_SECURE_WINDOW / 64];
};

/* 0, -ENOMEM, -EIO. phase_packets 0: RUDP_SECURE_PHASE_PACKETS. */
int rudp_secure_init(struct rudp_secure *x, enum rudp_security mode, enum rudp_cipher cipher,
		     const struct rudp_noise_keys *keys, uint64_t phase_packets);
/* Forgets the keys; zeros are accepted. */
void rudp_secure_done(struct rudp_secure *x);

/* The key of one direction at present, and how many there were before it. */
void rudp_secure_key(const struct rudp_secure *x, bool in, uint64_t *ret_phase,
		     const uint8_t **ret);

/*
 * in: a packet whose header begins with the common header. ret: the same with its tag; where it has
 * a payload, `room` has RUDP_SECURE_BYTES more than the packet, and rudp_secure_joins says so, all
 * of it is in one piece there: ret's payload, without a header before it. A number serves again
 * only where the packet before did not leave: rudp_secure_sent says that it did. 0; -EKEYEXPIRED:
 * no key is left to use, the session is to end; -EIO.
 */
int rudp_secure_seal(struct rudp_secure *x, unsigned counter, uint64_t number,
		     const struct datagram *in, uint8_t *room, struct datagram *ret);
/* A tag alone is not worth a copy of a large payload; of any other the port makes one anyway. */
static inline bool rudp_secure_joins(const struct rudp_secure *x, const struct datagram *in)
{
	return in->payload_len > 0 &&
	       (x->mode == RUDP_ENCRYPT || in->payload_len <= RUDP_SECURE_JOIN_MOST);
}
static inline void rudp_secure_sent(struct rudp_secure *x, unsigned counter, uint64_t number)
{
	x->tx_next[counter] = number + 1;
}

/*
 * data: a whole datagram. 0: *ret is as if nobody had sealed it, but for the common header, which
 * is not there: its other fields stand where they always do. They are in `room` (len bytes) under
 * RUDP_ENCRYPT, else in data. -EBADMSG: forged, damaged or, by the control counter, replayed.
 */
int rudp_secure_open(struct rudp_secure *x, unsigned counter, uint64_t number, const uint8_t *data,
		     size_t len, uint8_t *room, const uint8_t **ret, size_t *ret_len);

#endif
