/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes and decodes the packets of the transport. All fields are in network byte order and
 * unaligned. Decoders check everything that can be checked without the session, including each
 * length. The functions have no state and allocate nothing. Only rudp calls them.
 * plenum-protocol(7) describes the format; change both together.
 */
#ifndef PLENUM_DATAPLANE_WIRE_H
#define PLENUM_DATAPLANE_WIRE_H

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WIRE_MAGIC 0xa7
#define WIRE_VERSION 2

enum wire_type {
	WIRE_HELLO = 1, /* client -> server: open a session */
	WIRE_CHALLENGE, /* server -> client: repeat HELLO with this cookie */
	WIRE_ACCEPT,	/* server -> client */
	WIRE_REFUSE,	/* server -> client */
	WIRE_RESET,	/* client or server: the sender does not know this session */
	WIRE_CLOSE,	/* client or server: closes the session */
	WIRE_DATA,	/* a chunk of a request (client) or of a response (server) */
	WIRE_ACK,
	WIRE_PING,   /* requests an ACK at once */
	WIRE_GRANT,  /* server -> client: requests that may be sent now, and requests that must be
			sent again */
	WIRE_JOIN,   /* client -> server: adds a path to the session */
	WIRE_JOINED, /* server -> client: the path is up, or the client must validate it first */
	WIRE_LABEL = 14, /* server -> client: the new label of the server's side of the path, or
			    another address of the server; the client echoes the packet */
	WIRE_SHARE = 15, /* receiver -> sender: the incast share: how many bytes of small messages
			    may be in flight to the receiver */
	WIRE_TYPE_MAX
};

/* The following fields are the same in all versions of the protocol: byte 0 is the magic; byte 1
 * has version and type; HELLO is type 1, with its stamp at offset 12 and the client's number at 16.
 * VERSIONS, whose own version is 0, answers a HELLO of an unsupported version: it has session and
 * stamp as in CHALLENGE, then one byte per supported version. */
#define WIRE_VERSIONS 13
#define WIRE_VERSIONS_OF_ANY 0
#define WIRE_VERSIONS_BYTES 17

/* Flags of DATA. */
#define WIRE_F_RESPONSE 0x01  /* set: a response; clear: a request */
#define WIRE_F_ACK_BLOCK 0x04 /* an acknowledgement follows the header */
#define WIRE_F_WANT_ACK 0x08  /* acknowledge at once */
/* Announces a request: the packet has chunk index 0, but no bytes of the chunk. */
#define WIRE_F_NEED 0x10
/* The flags of ACK are a mask with a bit for each path that the sender of the ACK cannot use. */
/* Flags of HELLO and JOIN. */
/* The path is standby: it carries load only while no better path is up. */
#define WIRE_F_STANDBY 0x01
/* Flags of JOINED. */
#define WIRE_F_PROVE 0x01 /* path validation: repeat JOIN with this cookie */

/* Flags of LABEL. */
/* The packet is an echo, which confirms that a label, address or source port arrived. */
#define WIRE_F_HEARD 0x01
#define WIRE_F_ADDRESS 0x02 /* carries an address, as ACCEPT does, instead of a label */
/* Client or server: probes the UDP source port from which this packet comes. */
#define WIRE_F_SOURCE 0x04

/* Flags of PING. */
#define WIRE_F_REPORT 0x01 /* a report follows the header; older versions ignore it as padding */

/* Bit of the path byte: the lowest bit of the key phase in which the packet was sealed. */
#define WIRE_PATH_PHASE 0x80

#define WIRE_COMMON_BYTES 16
/* Number of bytes before the body. The body is empty while the client has no cookie. */
#define WIRE_HELLO_BYTES 36
#define WIRE_HELLO_BODY_BYTES 44 /* number of bytes of the body before the application's data */
#define WIRE_CHALLENGE_BYTES 24
#define WIRE_KEY_BYTES 32 /* bytes of a host's public key */
/* Length of a CHALLENGE with the public key of the server's host. The first HELLO of a client that
 * asks for the key has WIRE_KEY_BYTES bytes of padding as its body, so that no answer is longer
 * than the packet that it answers. */
#define WIRE_CHALLENGE_KEY_BYTES (WIRE_CHALLENGE_BYTES + WIRE_KEY_BYTES)
/* Bit of the cipher byte of HELLO and ACCEPT: with proof of the hosts' identities (IKpsk1). */
#define WIRE_CIPHER_IDENTITY 0x80
/* Bytes before the certificate in a body with a certificate. The certificate precedes the rest. */
#define WIRE_CERTIFICATE_HEAD_BYTES 2
#define WIRE_CERTIFICATE_MAX 320
#define WIRE_ANSWER_BYTES 20	  /* number of bytes of ACCEPT and REFUSE before the body */
#define WIRE_ACCEPT_BODY_BYTES 48 /* number of bytes of the body before the addresses */
#define WIRE_ADDR_BYTES 24
#define WIRE_REFUSE_BODY_BYTES 4 /* number of bytes of the body before the text */
#define WIRE_REFUSE_TEXT_MAX 44
#define WIRE_JOIN_BYTES 32
#define WIRE_LABEL_BYTES 20
#define WIRE_ADDRESS_BYTES 44 /* bytes of a LABEL with ADDRESS */
/* Length of a LABEL with SOURCE. It is longer than a LABEL without flags, so that versions without
 * this flag refuse the packet. */
#define WIRE_SOURCE_BYTES 24
#define WIRE_SHARE_BYTES 20
#define WIRE_REPORT_BYTES 32 /* bytes of a PING with REPORT */
#define WIRE_TOKEN_BYTES 16
#define WIRE_TOKENS_MAX 2 /* maximum number of tokens in a RESET: one for each valid key */
#define WIRE_DATA_BYTES 36
#define WIRE_ACK_BLOCK_BYTES 12 /* number of bytes before the words */
#define WIRE_ACK_WORDS_MAX 4	/* maximum number of words in an ACK */
/* Maximum number of words in an acknowledgement that a DATA packet carries. */
#define WIRE_ACK_WORDS_DATA 2
#define WIRE_DATA_ACK_BYTES (WIRE_DATA_BYTES + WIRE_ACK_BLOCK_BYTES + 8 * WIRE_ACK_WORDS_DATA)
#define WIRE_GRANT_BYTES 8 /* bytes of one entry; the entries follow the common header */
#define WIRE_GRANTS_MAX 6  /* maximum number of entries in a GRANT */
#define WIRE_PACKET_BYTES_MAX 9216

#define WIRE_PATHS_MAX 8
#define WIRE_ADDRS_MAX 16
#define WIRE_HELLO_APP_MAX 256
#define WIRE_CHUNK_MIN 640 /* minimum chunk size of a message with several chunks */
#define WIRE_CHUNKS_MAX 1645
#define WIRE_MSG_MAX ((1U << 20) + 4096)
#define WIRE_SLOTS_MAX 1024
#define WIRE_SMALL_BYTES 16384 /* requests up to this length need no grant */

struct wire_common {
	uint8_t type; /* enum wire_type */
	uint8_t path;
	uint8_t phase; /* 1: WIRE_PATH_PHASE is set */
	uint8_t flags;
	uint64_t session; /* number of the session at the receiver; in RESET: the sender's own
			     number, copied from the packet that RESET answers */
	uint32_t pn;	  /* packet number; in control packets: the number of the control packet; in
			     HELLO, CHALLENGE, ACCEPT and REFUSE: a stamp that the answer echoes */
};

struct wire_hello {
	uint64_t client_number, cookie; /* cookie 0: the client has none yet */
	uint8_t cipher;	     /* enum rudp_cipher with which the body is sealed; 0: the body is in
				clear */
	bool identity;	     /* WIRE_CIPHER_IDENTITY is set */
	const uint8_t *body; /* points into the packet */
	uint16_t body_len;
};

struct wire_hello_body {
	/* former: number of the session that the new session replaces; 0: none. */
	uint64_t identity, former_number;
	uint32_t epoch;
	uint16_t mtu, slots;
	uint8_t token[WIRE_TOKEN_BYTES]; /* a RESET of the client's session number is valid only
					    with this token */
	uint8_t security;		 /* enum rudp_security: the weakest protection that the
					    client accepts */
	const uint8_t *app;		 /* points into the body */
	uint16_t app_len;
};

struct wire_answer { /* the part of ACCEPT and REFUSE that is not sealed */
	uint8_t cipher;
	bool identity;
	const uint8_t *body; /* points into the packet */
	uint16_t body_len;
};

struct wire_addr {
	uint8_t ip[16];
	uint8_t family; /* 4 or 6 */
	uint8_t prefix_len;
	uint16_t port;
	uint32_t label;
};

struct wire_accept { /* the body of ACCEPT */
	uint64_t server_number, identity;
	uint8_t token[WIRE_TOKEN_BYTES]; /* a RESET of the server's session number is valid only
					    with this token */
	uint32_t epoch, credit;
	uint16_t mtu, slots;
	uint8_t n_addrs;
	uint8_t security; /* enum rudp_security that the session uses */
	struct wire_addr addrs[WIRE_ADDRS_MAX];
};

struct wire_join { /* the fields of JOIN and JOINED */
	uint64_t cookie;
	uint32_t stamp; /* the answer has the same value */
};

struct wire_source {   /* the fields of a LABEL with SOURCE */
	uint8_t index; /* index of the source port in the numbering of the probe's sender; the
			  echo (HEARD) repeats the index */
	uint16_t port; /* UDP port from which the probe came; set only in the echo (HEARD), else
			  0 */
};

struct wire_report {	      /* the report in a PING: what its sender has counted on the path */
	uint32_t top;	      /* highest packet number that arrived at the sender of the report */
	uint32_t arrived;     /* count of packets that have arrived, each counted once */
	uint32_t probes_lost; /* count of MTU probes that the sender of the report has sent and that
				 were lost */
	uint32_t srtt_us;     /* smoothed round trip as the sender of the report measures it; 0:
				 unknown */
};

struct wire_data {
	uint32_t gen;
	uint16_t slot, chunk_index;
	uint32_t msg_len;
	uint16_t chunk_bytes;
	uint32_t credit;
	uint16_t n_carried; /* count of chunks in this packet, from chunk_index on */
	uint16_t n_chunks;  /* count of chunks in the message, computed from other fields */
	const uint8_t *payload;
	uint16_t payload_len;
};

struct wire_grant {
	uint16_t slot;
	bool again; /* the partly received request was discarded: send it again as a new
		       generation */
	uint32_t gen;
};

struct wire_ack {
	uint8_t path;	   /* path whose packets are acknowledged */
	uint8_t gap;	   /* time between the receiver's last poll before the arrival of `top` and
			      that arrival, as a wire_gap_code() */
	uint16_t delay_us; /* time between the arrival of `top` and this acknowledgement */
	uint32_t top;	   /* highest packet number covered by the words */
	uint32_t credit;
	uint8_t n_words;
	uint64_t words[WIRE_ACK_WORDS_MAX]; /* words[i] has a bit for each of 64 packets from number
					       64*(top/64-i) on; bit 0 is the first packet. So
					       words[0] contains `top` */
};

static inline void wire_put16(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, 2);
}
static inline void wire_put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, 4);
}
static inline void wire_put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, 8);
}
static inline uint16_t wire_get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, 2);
	return be16toh(v);
}
static inline uint32_t wire_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return be32toh(v);
}
static inline uint64_t wire_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return be64toh(v);
}

/* Offsets of the fields that differ between packets of one GSO burst. */
#define WIRE_OFF_PATH 2
#define WIRE_OFF_FLAGS 3
#define WIRE_OFF_PN 12
#define WIRE_OFF_COOKIE 24 /* offset of the cookie in HELLO */
#define WIRE_OFF_CHUNK_INDEX 22
#define WIRE_OFF_CARRIED 30

/* Encodes a time in one byte, rounded down, with four values for each power of two. 0 means no
 * time. */
static inline uint8_t wire_gap_code(uint64_t us)
{
	unsigned e;

	if (us < 4)
		return (uint8_t)us;
	e = 63U - (unsigned)__builtin_clzll(us);
	return e > 31 ? 127 : (uint8_t)((e - 1) << 2 | (us >> (e - 2) & 3));
}
static inline uint64_t wire_gap_us(uint8_t code)
{
	return code < 4 ? code : (4ULL | (code & 3)) << (((code >> 2) - 1) & 31);
}

/* Returns the number of chunks of a message; at least 1. */
static inline unsigned wire_chunks(uint32_t msg_len, uint32_t chunk_bytes)
{
	return msg_len <= chunk_bytes ? 1 : (msg_len + chunk_bytes - 1) / chunk_bytes;
}

/* Encoders write the fixed part of the packet to p and return its length. The encoders of the most
 * frequent packets are inline. */
static inline size_t wire_put_common(uint8_t *p, const struct wire_common *c)
{
	p[0] = WIRE_MAGIC;
	p[1] = (uint8_t)(WIRE_VERSION << 4 | c->type);
	p[WIRE_OFF_PATH] = (uint8_t)(c->path | (c->phase ? WIRE_PATH_PHASE : 0));
	p[WIRE_OFF_FLAGS] = c->flags;
	wire_put64(p + 4, c->session);
	wire_put32(p + WIRE_OFF_PN, c->pn);
	return WIRE_COMMON_BYTES;
}
size_t wire_put_hello(uint8_t *p, const struct wire_common *c, const struct wire_hello *h);
size_t wire_put_hello_body(uint8_t *p, const struct wire_hello_body *b);
/* key: the public key of this host, or NULL. */
size_t wire_put_challenge(uint8_t *p, const struct wire_common *c, uint64_t cookie,
			  const uint8_t *key);
/* Writes the certificate that begins a body. Returns the number of bytes. */
size_t wire_put_certificate(uint8_t *p, const uint8_t *certificate, size_t len);
size_t wire_put_answer(uint8_t *p, const struct wire_common *c, const struct wire_answer *a);
size_t wire_put_accept_body(uint8_t *p, const struct wire_accept *a);
size_t wire_put_addr(uint8_t *p, const struct wire_addr *a);
/* Writes the whole body of REFUSE, cutting the text after WIRE_REFUSE_TEXT_MAX bytes. */
size_t wire_put_refuse_body(uint8_t *p, int code, const char *text);
size_t wire_put_join(uint8_t *p, const struct wire_common *c, const struct wire_join *j);
size_t wire_put_share(uint8_t *p, const struct wire_common *c, uint32_t bytes);
size_t wire_put_label(uint8_t *p, const struct wire_common *c, uint32_t label);
size_t wire_put_report(uint8_t *p, const struct wire_common *c, const struct wire_report *w);
/* addr: an address in its encoded form, with WIRE_ADDR_BYTES; index: its position in the list of
 * ACCEPT. */
size_t wire_put_address(uint8_t *p, const struct wire_common *c, uint8_t index,
			const uint8_t *addr);
size_t wire_put_source(uint8_t *p, const struct wire_common *c, const struct wire_source *w);
/* Writes VERSIONS, the answer to p, which is a HELLO of another version. VERSIONS has
 * WIRE_VERSIONS_BYTES. */
size_t wire_put_versions(uint8_t *ret, const uint8_t *p);
static inline size_t wire_put_data(uint8_t *p, const struct wire_common *c,
				   const struct wire_data *d)
{
	wire_put_common(p, c);
	wire_put32(p + 16, d->gen);
	wire_put16(p + 20, d->slot);
	wire_put16(p + WIRE_OFF_CHUNK_INDEX, d->chunk_index);
	wire_put32(p + 24, d->msg_len);
	wire_put16(p + 28, d->chunk_bytes);
	wire_put16(p + WIRE_OFF_CARRIED, d->n_carried);
	wire_put32(p + 32, d->credit);
	return WIRE_DATA_BYTES;
}
/* Writes n grants, 1 to WIRE_GRANTS_MAX. */
size_t wire_put_grants(uint8_t *p, const struct wire_common *c, const struct wire_grant *g,
		       unsigned n);
/* Writes the acknowledgement block alone, with a->n_words words. */
size_t wire_put_ack_block(uint8_t *p, const struct wire_ack *a);

/* Decoders return 0, or -EBADMSG, after which *ret is undefined. p and len describe the whole
 * datagram. */
static inline int wire_get_common(const uint8_t *p, size_t len, struct wire_common *ret)
{
	if (len < WIRE_COMMON_BYTES || p[0] != WIRE_MAGIC || p[1] >> 4 != WIRE_VERSION)
		return -EBADMSG;
	ret->type = p[1] & 0x0f;
	ret->path = p[WIRE_OFF_PATH] & (uint8_t)~WIRE_PATH_PHASE;
	ret->phase = p[WIRE_OFF_PATH] >> 7;
	ret->flags = p[WIRE_OFF_FLAGS];
	ret->session = wire_get64(p + 4);
	ret->pn = wire_get32(p + WIRE_OFF_PN);
	if (ret->type == 0 || ret->path >= WIRE_PATHS_MAX)
		return -EBADMSG;
	return 0;
}
int wire_get_hello(const uint8_t *p, size_t len, struct wire_hello *ret);
int wire_get_hello_body(const uint8_t *p, size_t len, struct wire_hello_body *ret);
/* *ret_key: points into the packet; NULL: the packet has no key. */
int wire_get_challenge(const uint8_t *p, size_t len, uint64_t *ret_cookie, const uint8_t **ret_key);
/* *ret points into the body, and the rest of the body follows after *ret_len bytes. */
int wire_get_certificate(const uint8_t *p, size_t len, const uint8_t **ret, size_t *ret_len);
int wire_get_answer(const uint8_t *p, size_t len, struct wire_answer *ret);
int wire_get_accept_body(const uint8_t *p, size_t len, struct wire_accept *ret);
/* Returns -EBADMSG also for a text with blanks or unprintable characters. */
int wire_get_refuse_body(const uint8_t *p, size_t len, int *ret_code,
			 char ret_text[WIRE_REFUSE_TEXT_MAX + 1]);
int wire_get_join(const uint8_t *p, size_t len, struct wire_join *ret);
/* Returns -EBADMSG also if the share is 0. */
int wire_get_share(const uint8_t *p, size_t len, uint32_t *ret_bytes);
int wire_get_label(const uint8_t *p, size_t len, uint32_t *ret_label);
int wire_get_report(const uint8_t *p, size_t len, struct wire_report *ret);
int wire_get_address(const uint8_t *p, size_t len, uint8_t *ret_index, struct wire_addr *ret);
int wire_get_source(const uint8_t *p, size_t len, struct wire_source *ret);
/* Returns whether the packet is a HELLO of another version. */
bool wire_is_foreign_hello(const uint8_t *p, size_t len);
/* Decodes VERSIONS: the client's session number and stamp, and the highest version that the server
 * supports. Returns 0 or -EBADMSG. */
int wire_get_versions(const uint8_t *p, size_t len, struct wire_common *ret, uint8_t *ret_highest);
int wire_get_ack(const uint8_t *p, size_t len, struct wire_ack *ret);
/* Returns the number of grants, or -EBADMSG. */
int wire_get_grants(const uint8_t *p, size_t len, struct wire_grant ret[WIRE_GRANTS_MAX]);
/* Decodes DATA. Sets *ret_ack if c->flags has WIRE_F_ACK_BLOCK. */
int wire_get_data(const uint8_t *p, size_t len, const struct wire_common *c, struct wire_data *ret,
		  struct wire_ack *ret_ack);

#endif
