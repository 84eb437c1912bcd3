/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the blocks of a pcapng file (draft-ietf-opsawg-pcapng) to memory. It uses this host's byte
 * order, which the format allows. Called by capture.c.
 */
#ifndef PLENUM_AGENT_PCAPNG_H
#define PLENUM_AGENT_PCAPNG_H

#include "netcfg/base/base.h"

struct pcapng {
	uint8_t *bytes; /* on the heap; a caller that keeps them sets this member to NULL */
	size_t len, cap;
	bool out_of_memory; /* a block could not be added */
};
void pcapng_done(struct pcapng *p);

enum pcapng_link { PCAPNG_ETHERNET = 1, PCAPNG_IP = 101 }; /* values of LINKTYPE_ */

/* Call once, before all other blocks. */
void pcapng_put_section(struct pcapng *p, const char *application, const char *comment);
/* Interfaces are numbered from 0 in the order of these blocks; times are in nanoseconds. */
void pcapng_put_interface(struct pcapng *p, enum pcapng_link link, uint32_t snap_bytes,
			  const char *name, const char *description);

struct pcapng_packet {
	uint32_t interface;
	uint64_t time_ns; /* wall clock since 1970 */
	uint32_t wire_bytes, kept_bytes;
	bool inbound;
};
/* Adds a packet. Returns room for the packet's kept_bytes bytes, which the caller fills before the
 * next call, or NULL if memory is short. */
uint8_t *pcapng_put_packet(struct pcapng *p, const struct pcapng_packet *pkt);

/* Adds keys as lines of text, in a Decryption Secrets Block of a private type. */
#define PCAPNG_SECRETS 10U
#define PCAPNG_SECRETS_TYPE 0x506c6e4bU
void pcapng_put_secrets(struct pcapng *p, const char *text);

struct pcapng_statistics {
	uint32_t interface;
	uint64_t begin_ns, end_ns, packets, dropped, delivered;
};
void pcapng_put_statistics(struct pcapng *p, const struct pcapng_statistics *s);

#endif
