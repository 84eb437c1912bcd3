/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The UDP source ports of one path, at both ends. All of them send to the one address of the other
 * end, so that who takes what comes stays the same, while NICs that choose a queue and switches
 * that choose a link by the five numbers of a flow spread what one session sends. Knows which of
 * our own arrive, which are to be asked for and when, and which of the peer's are the peer's. A
 * path is well as long as the first one is, whatever becomes of the others. Sends nothing. Times in
 * ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_SOURCES_H
#define PLENUM_DATAPLANE_RUDP_SOURCES_H

#include "dataplane/datagram.h"
#include "netcfg/base/base.h"

#define RUDP_SOURCES_MAX \
	DATAGRAM_SOURCES_MAX /* source 0 is the port's own address, by which all answers come */

struct rudp_src_ports {	  /* zeros: none but the first, and nothing known of the peer's */
	uint8_t n;	  /* of our own, beside the first */
	uint8_t arrives;  /* bit per source that carries load */
	uint8_t lost;	  /* likewise, that was asked for in vain for long */
	uint64_t life_ns; /* since_ns of the path's life that they were asked for in */
	struct rudp_source {
		uint8_t lost_run; /* packets lost in a row */
		uint8_t asked;	  /* times in a row in vain */
		uint8_t fell;	  /* times that it stopped arriving, since it was well for long */
		uint8_t well;	  /* packets that arrived in a row since */
		uint64_t ask_ns;  /* while it does not arrive: when it is asked for next */
	} of[RUDP_SOURCES_MAX];
	uint16_t peer[RUDP_SOURCES_MAX]; /* UDP ports, by the peer's numbers; 0: none */
};

enum rudp_src_ports_news { RUDP_SOURCES_NO_NEWS, RUDP_SOURCES_CHANGED };

/* The path came up, in the life that began at life_ns, with n sources beside the first: each is
 * asked for anew. Those that were lost are so until they are heard of. */
void rudp_src_ports_begin(struct rudp_src_ports *t, unsigned n, uint64_t life_ns, uint64_t now);
/* By which of those that arrive the message goes that has this turn. */
static inline unsigned rudp_src_ports_choose(const struct rudp_src_ports *t, unsigned turn)
{
	unsigned left = t->arrives;

	if (left == 0)
		return 0;
	for (turn %= 1U + (unsigned)__builtin_popcount(left); turn > 1; turn--)
		left &= left - 1;
	return turn == 0 ? 0 : (unsigned)__builtin_ctz(left);
}
/* So many in a row have arrived: what was before is forgotten. */
#define RUDP_SOURCES_WELL 128U
void rudp_src_ports_well(struct rudp_src_ports *t, unsigned k);
/* The port could not open it. */
void rudp_src_ports_none(struct rudp_src_ports *t, unsigned k);
/* A packet that left by source k has arrived; has been lost, while later ones arrived. One that
 * loses too many in a row carries nothing until it is heard of. */
static inline void rudp_src_ports_acked(struct rudp_src_ports *t, unsigned k)
{
	t->of[k].lost_run = 0;
	if (PLENUM_UNLIKELY(t->of[k].fell) && ++t->of[k].well >= RUDP_SOURCES_WELL)
		rudp_src_ports_well(t, k);
}
void rudp_src_ports_packet_lost(struct rudp_src_ports *t, unsigned k, uint64_t now);
/* The source that is to be asked for now, which counts as done; 0: none. */
unsigned rudp_src_ports_ask(struct rudp_src_ports *t, uint64_t now, enum rudp_src_ports_news *ret);
/* The peer has heard source k. */
enum rudp_src_ports_news rudp_src_ports_heard(struct rudp_src_ports *t, unsigned k);
/* When rudp_src_ports_ask has one; UINT64_MAX: never. */
uint64_t rudp_src_ports_deadline(const struct rudp_src_ports *t);
/* Whether the peer has shown that it sends from this UDP port, too. */
static inline bool rudp_src_ports_is_peers(const struct rudp_src_ports *t, uint16_t port)
{
	bool is = false;

	for (unsigned k = 1; k < RUDP_SOURCES_MAX; k++)
		is |= t->peer[k] == port;
	return is && port != 0;
}

#endif
