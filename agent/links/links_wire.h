/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packets by which the hosts of a cluster probe their legs. Each has a head of
 * LINKS_HEAD_BYTES; a probe may have zeros after it, up to the MTU of the leg, and its answer has
 * the same length. The head ends with a keyed hash over the rest of the head and over both
 * addresses, so that a receiver rejects packets that were recorded between other hosts or come from
 * another address. The functions hold no state.
 */
#ifndef PLENUM_AGENT_LINKS_WIRE_H
#define PLENUM_AGENT_LINKS_WIRE_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include "netcfg/base/links_port.h"

#define LINKS_PORT PLENUM_LINKS_PORT /* UDP port on all legs */
#define LINKS_HEAD_BYTES 48
#define LINKS_PACKET_MAX 9216 /* maximum number of bytes of a packet */
#define LINKS_KEYS_MAX 2

enum links_type {
	LINKS_PING = 1, /* the receiver answers LINKS_PONG with the same number and length */
	LINKS_PONG,
	LINKS_ASK,  /* the receiver sends a LINKS_PING to `target` and answers LINKS_TOLD */
	LINKS_TOLD, /* whether the target has answered */
	LINKS_TYPE_MAX
};

struct links_packet {
	enum links_type type;
	bool answered;	       /* only valid in LINKS_TOLD */
	uint64_t number;       /* random; an answer repeats the number of the question */
	struct ip_addr target; /* only in LINKS_ASK and LINKS_TOLD */
};

struct links_keys { /* the first key signs; a packet with either key is accepted */
	uint64_t keys[LINKS_KEYS_MAX][2];
	unsigned n; /* 1 or 2 */
	/* false: the cluster has no key, so any host can send valid packets */
	bool secret;
};

/* Adds a key for the packets of that cluster. secret: `len` bytes; NULL: the cluster has none. */
void links_keys_add(struct links_keys *k, const char *cluster, const uint8_t *secret, size_t len);
/* Writes a packet of `len` bytes, from LINKS_HEAD_BYTES to LINKS_PACKET_MAX, to buf. */
void links_wire_write(uint8_t *buf, size_t len, const struct links_packet *p,
		      const struct links_keys *k, const struct ip_addr *from,
		      const struct ip_addr *to);
/* Replaces the hash in a packet of at least LINKS_HEAD_BYTES. */
void links_wire_sign(uint8_t *buf, const struct links_keys *k, const struct ip_addr *from,
		     const struct ip_addr *to);
/* Parses a received packet. Returns 0, or -EBADMSG if its format or its hash is wrong. */
int links_wire_parse(const uint8_t *buf, size_t len, const struct links_keys *k,
		     const struct ip_addr *from, const struct ip_addr *to,
		     struct links_packet *ret);

#endif
