/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seals and opens packets, changes keys in phases, and keeps the replay window of the control
 * counter.
 */
#include "dataplane/rudp/rudp_secure.h"

#define COUNTER_SHIFT 56 /* position of the counter's number in the nonce */
/* After this many packets of a phase, no packet of the previous phase is in flight any more. */
#define LATE_PACKETS 65536U

enum { BEFORE, NOW, NEXT };

static int cipher_init(const struct rudp_secure *x, struct rudp_aead *a, bool seal,
		       const uint8_t key[RUDP_AEAD_KEY_BYTES])
{
	return rudp_aead_init_packets(a, x->cipher, x->mode == RUDP_ENCRYPT, seal, key);
}

int rudp_secure_init(struct rudp_secure *x, enum rudp_security mode, enum rudp_cipher cipher,
		     const struct rudp_noise_keys *keys, uint64_t phase_packets)
{
	int r;

	*x = (struct rudp_secure){.mode = mode, .cipher = cipher};
	x->phase_packets = phase_packets ? phase_packets : RUDP_SECURE_PHASE_PACKETS;
	memcpy(x->tx_key, keys->tx, sizeof(x->tx_key));
	memcpy(x->rx_key[NOW], keys->rx, sizeof(x->rx_key[NOW]));
	memcpy(x->rx_key[NEXT], keys->rx, sizeof(x->rx_key[NEXT]));
	r = rudp_noise_rekey(cipher, x->rx_key[NEXT]);
	r = r ? r : cipher_init(x, &x->tx, true, x->tx_key);
	r = r ? r : cipher_init(x, &x->rx, false, x->rx_key[NOW]);
	r = r ? r : cipher_init(x, &x->other, false, x->rx_key[NEXT]);
	if (r)
		rudp_secure_done(x);
	return r;
}

void rudp_secure_done(struct rudp_secure *x)
{
	rudp_aead_done(&x->tx);
	rudp_aead_done(&x->rx);
	rudp_aead_done(&x->other);
	rudp_noise_wipe(x, sizeof(*x));
}

void rudp_secure_key(const struct rudp_secure *x, bool in, uint64_t *ret_phase, const uint8_t **ret)
{
	*ret_phase = in ? x->rx_phase : x->tx_phase;
	*ret = in ? x->rx_key[NOW] : x->tx_key;
}

static uint64_t nonce(unsigned counter, uint64_t number)
{
	return (uint64_t)counter << COUNTER_SHIFT | number;
}

/* ------------------------------------------------------------------ sealing */

static int tx_phase_next(struct rudp_secure *x)
{
	int r = rudp_noise_rekey(x->cipher, x->tx_key);

	r = r ? r : rudp_aead_rekey(&x->tx, x->tx_key);
	x->tx_phase++;
	x->tx_sealed = 0;
	return r;
}

/* Switches to the next key when the packets of the current phase are used up and the peer has
 * switched to the current phase too. Returns 0, or -EKEYEXPIRED if the peer has not switched for
 * too long. */
static int tx_phase_check(struct rudp_secure *x)
{
	if (PLENUM_LIKELY(x->tx_sealed < x->phase_packets))
		return 0;
	if (x->rx_phase >= x->tx_phase)
		return tx_phase_next(x);
	return x->tx_sealed < 2 * x->phase_packets ? 0 : -EKEYEXPIRED;
}

/*
 * For the cipher, the fields of the header and the payload are one text, but they are at two places
 * in memory. The cipher is twice as fast on whole blocks as on blocks that are split between two
 * pieces. So the fields are copied together with so much payload that their last block is full.
 */
#define HEAD_BLOCK_BYTES 64U /* one block of ChaCha20; four blocks of AES */
#define HEAD_BYTES_MAX (DATAGRAM_HDR_MAX + HEAD_BLOCK_BYTES)

static size_t head_payload_len(const struct datagram *in)
{
	size_t rest = (in->hdr_len - WIRE_COMMON_BYTES) % HEAD_BLOCK_BYTES;

	return MIN_OF((size_t)in->payload_len, rest ? HEAD_BLOCK_BYTES - rest : 0);
}

/* Tags a packet without copying its whole payload. Used for packets that are large or consist of a
 * header only. The common header in ret must be complete. */
static int tag_parts(struct rudp_secure *x, uint64_t n, const struct datagram *in,
		     struct datagram *ret)
{
	size_t more = head_payload_len(in);
	uint8_t head[HEAD_BYTES_MAX];
	int r;

	memcpy(head, ret->hdr, WIRE_COMMON_BYTES);
	memcpy(head + WIRE_COMMON_BYTES, in->hdr + WIRE_COMMON_BYTES,
	       in->hdr_len - WIRE_COMMON_BYTES);
	memcpy(ret->hdr + WIRE_COMMON_BYTES + RUDP_SECURE_BYTES, in->hdr + WIRE_COMMON_BYTES,
	       in->hdr_len - WIRE_COMMON_BYTES);
	if (more)
		memcpy(head + in->hdr_len, in->payload, more);
	ret->payload = in->payload;
	if (more == in->payload_len)
		return rudp_aead_tag(&x->tx, n, head, in->hdr_len + more,
				     ret->hdr + WIRE_COMMON_BYTES);
	r = rudp_aead_begin(&x->tx, n);
	r = r ? r : rudp_aead_clear(&x->tx, head, in->hdr_len + more);
	r = r ? r : rudp_aead_clear(&x->tx, in->payload + more, in->payload_len - more);
	return r ? r : rudp_aead_seal_end(&x->tx, ret->hdr + WIRE_COMMON_BYTES);
}

/* Tags a packet that is built in one piece in `whole`. The tag covers the common header and the
 * text behind it as one range of memory. So the header is first copied to the place directly before
 * the text, and later moved to its place before the tag. */
static int tag_joined(struct rudp_secure *x, uint64_t n, const struct datagram *in, uint8_t *whole,
		      const struct datagram *ret)
{
	uint8_t *text = whole + RUDP_SECURE_BYTES, tag[RUDP_SECURE_BYTES];
	int r;

	memcpy(text, ret->hdr, WIRE_COMMON_BYTES);
	memcpy(text + WIRE_COMMON_BYTES, in->hdr + WIRE_COMMON_BYTES,
	       in->hdr_len - WIRE_COMMON_BYTES);
	memcpy(text + in->hdr_len, in->payload, in->payload_len);
	r = rudp_aead_tag(&x->tx, n, text, (size_t)in->hdr_len + in->payload_len, tag);
	memcpy(whole, ret->hdr, WIRE_COMMON_BYTES);
	memcpy(whole + WIRE_COMMON_BYTES, tag, sizeof(tag));
	return r;
}

/* Encrypts and tags a packet. buf: memory for the sealed payload. */
static int cipher_all(struct rudp_secure *x, uint64_t n, const struct datagram *in, uint8_t *buf,
		      struct datagram *ret)
{
	size_t fields_len = in->hdr_len - WIRE_COMMON_BYTES, more = head_payload_len(in);
	uint8_t head[HEAD_BYTES_MAX];
	int r = rudp_aead_begin(&x->tx, n);

	memcpy(head, in->hdr + WIRE_COMMON_BYTES, fields_len);
	if (more)
		memcpy(head + fields_len, in->payload, more);
	r = r ? r : rudp_aead_clear(&x->tx, ret->hdr, WIRE_COMMON_BYTES);
	r = r ? r : rudp_aead_crypt(&x->tx, head, fields_len + more, head);
	if (r)
		return r;
	memcpy(ret->hdr + WIRE_COMMON_BYTES + RUDP_SECURE_BYTES, head, fields_len);
	if (more)
		memcpy(buf, head + fields_len, more);
	if (more < in->payload_len)
		r = rudp_aead_crypt(&x->tx, in->payload + more, in->payload_len - more, buf + more);
	return r ? r : rudp_aead_seal_end(&x->tx, ret->hdr + WIRE_COMMON_BYTES);
}

static int seal_joined(struct rudp_secure *x, uint64_t n, const struct datagram *in, uint8_t *buf,
		       struct datagram *ret)
{
	int r;

	if (x->mode == RUDP_ENCRYPT) {
		r = cipher_all(x, n, in, buf + ret->hdr_len, ret);
		memcpy(buf, ret->hdr, ret->hdr_len);
	} else {
		r = tag_joined(x, n, in, buf, ret);
	}
	ret->payload = buf;
	ret->payload_len = (uint16_t)(ret->payload_len + ret->hdr_len);
	ret->hdr_len = 0;
	return r;
}

int rudp_secure_seal(struct rudp_secure *x, unsigned counter, uint64_t number,
		     const struct datagram *in, uint8_t *buf, struct datagram *ret)
{
	int r = tx_phase_check(x);

	if (PLENUM_UNLIKELY(r))
		return r;
	/* Reusing a nonce would reveal the key. */
	if (PLENUM_UNLIKELY(number < x->tx_next[counter] || number >> COUNTER_SHIFT))
		return -EKEYEXPIRED;
	ret->hdr_len = (uint16_t)(in->hdr_len + RUDP_SECURE_BYTES);
	ret->payload_len = in->payload_len;
	ret->payload = NULL;
	ret->alone = in->alone;
	ret->source = in->source;
	memcpy(ret->hdr, in->hdr, WIRE_COMMON_BYTES);
	if (x->tx_phase & 1)
		ret->hdr[WIRE_OFF_PATH] |= WIRE_PATH_PHASE;
	x->tx_sealed++;
	if (rudp_secure_joins(x, in))
		return seal_joined(x, nonce(counter, number), in, buf, ret);
	return x->mode == RUDP_ENCRYPT ? cipher_all(x, nonce(counter, number), in, NULL, ret)
				       : tag_parts(x, nonce(counter, number), in, ret);
}

/* ------------------------------------------------------------------ opening */

static int open_with(struct rudp_secure *x, struct rudp_aead *a, uint64_t n, const uint8_t *data,
		     size_t len, uint8_t *buf)
{
	const uint8_t *tag = data + WIRE_COMMON_BYTES, *rest = tag + RUDP_SECURE_BYTES;
	size_t rest_len = len - WIRE_COMMON_BYTES - RUDP_SECURE_BYTES;
	int r = rudp_aead_begin(a, n);

	r = r ? r : rudp_aead_clear(a, data, WIRE_COMMON_BYTES);
	if (r == 0)
		r = x->mode == RUDP_ENCRYPT
			    ? rudp_aead_crypt(a, rest, rest_len, buf + WIRE_COMMON_BYTES)
			    : rudp_aead_clear(a, rest, rest_len);
	return r ? r : rudp_aead_open_end(a, tag);
}

/* Follows the peer to its next key: changes the receive key and, unless this side has switched
 * first, the send key. */
static int rx_phase_next(struct rudp_secure *x)
{
	int r;

	memcpy(x->rx_key[BEFORE], x->rx_key[NOW], RUDP_AEAD_KEY_BYTES);
	memcpy(x->rx_key[NOW], x->rx_key[NEXT], RUDP_AEAD_KEY_BYTES);
	r = rudp_noise_rekey(x->cipher, x->rx_key[NEXT]);
	r = r ? r : rudp_aead_rekey(&x->rx, x->rx_key[NOW]);
	x->rx_phase++;
	x->rx_opened = 0;
	if (r == 0 && x->tx_phase < x->rx_phase)
		r = tx_phase_next(x);
	return r;
}

/* Opens a packet whose phase bit differs from the current phase: it is a late packet of the
 * previous phase, or the first packet of the next phase. */
static int open_other(struct rudp_secure *x, uint64_t n, const uint8_t *data, size_t len,
		      uint8_t *buf)
{
	int r = -EBADMSG;

	if (x->rx_phase > 0 && x->rx_opened < LATE_PACKETS) {
		r = rudp_aead_rekey(&x->other, x->rx_key[BEFORE]);
		r = r ? r : open_with(x, &x->other, n, data, len, buf);
		if (r != -EBADMSG)
			return r;
	}
	r = rudp_aead_rekey(&x->other, x->rx_key[NEXT]);
	r = r ? r : open_with(x, &x->other, n, data, len, buf);
	return r ? r : rx_phase_next(x);
}

/* Returns whether the control packet with this number has arrived before, or is too old to decide
 * that. Each control packet is accepted only once. */
static bool control_seen(const struct rudp_secure *x, uint64_t number)
{
	if (number > x->seen_top)
		return false;
	return number + RUDP_SECURE_WINDOW <= x->seen_top ||
	       x->seen[number % RUDP_SECURE_WINDOW / 64] >> (number & 63) & 1;
}

static void control_note(struct rudp_secure *x, uint64_t number)
{
	uint64_t *bits = x->seen;

	if (number >= x->seen_top + RUDP_SECURE_WINDOW) {
		memset(x->seen, 0, sizeof(x->seen));
		x->seen_top = number;
	}
	while (x->seen_top < number) {
		x->seen_top++;
		bits[x->seen_top % RUDP_SECURE_WINDOW / 64] &= ~(1ULL << (x->seen_top & 63));
	}
	bits[number % RUDP_SECURE_WINDOW / 64] |= 1ULL << (number & 63);
}

int rudp_secure_open(struct rudp_secure *x, unsigned counter, uint64_t number, const uint8_t *data,
		     size_t len, uint8_t *buf, const uint8_t **ret, size_t *ret_len)
{
	uint64_t n = nonce(counter, number);
	int r;

	if (PLENUM_UNLIKELY(len < WIRE_COMMON_BYTES + RUDP_SECURE_BYTES ||
			    number >> COUNTER_SHIFT || x->forged >= RUDP_SECURE_FORGED_MAX))
		return -EBADMSG;
	if (counter == RUDP_SECURE_CONTROL && control_seen(x, number))
		return -EBADMSG;
	if (PLENUM_LIKELY(!(data[WIRE_OFF_PATH] & WIRE_PATH_PHASE) == !(x->rx_phase & 1)))
		r = open_with(x, &x->rx, n, data, len, buf);
	else
		r = open_other(x, n, data, len, buf);
	if (PLENUM_UNLIKELY(r)) {
		x->forged++;
		return -EBADMSG;
	}
	x->rx_opened++;
	if (counter == RUDP_SECURE_CONTROL)
		control_note(x, number);
	*ret = x->mode == RUDP_ENCRYPT ? buf : data + RUDP_SECURE_BYTES;
	*ret_len = len - RUDP_SECURE_BYTES;
	return 0;
}
