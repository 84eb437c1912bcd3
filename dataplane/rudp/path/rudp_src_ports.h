/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The additional UDP source ports of one path, on both sides. They spread the packets of one
 * session over the queues of a NIC and the links of a switch, where these choose queue and link by
 * the 5-tuple. All source ports send to the same address of the peer. This module records which
 * source ports of this endpoint reach the peer, which of them to probe and when, and which source
 * ports the peer uses. Only source port 0, which is the port's main UDP port, decides the path's
 * health. It sends nothing. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_SRC_PORTS_H
#define PLENUM_DATAPLANE_RUDP_SRC_PORTS_H

#include "dataplane/datagram.h"
#include "netcfg/base/base.h"

/* Source port 0 is the port's main UDP port; the peer sends everything to it. */
#define RUDP_SOURCES_MAX DATAGRAM_SOURCES_MAX

struct rudp_src_ports { /* a struct of zeros: only source port 0 is used, and no additional port of
			   the peer is known */
	uint8_t n;	/* count of this endpoint's source ports besides source port 0 */
	uint8_t usable; /* a bit for each source port that reaches the peer and carries load */
	uint8_t lost;	/* a bit for each source port whose probes have failed for a long time, or
			   that often stopped reaching the peer after a probe had arrived */
	uint64_t life_ns; /* value of the path's since_ns when the source ports were first probed;
			     it identifies the incarnation of the path */
	struct rudp_source {
		uint8_t lost_run;	/* packets lost in a row */
		uint8_t n_probes;	/* consecutive probes without an answer */
		uint8_t n_failed;	/* how often the source port stopped reaching the peer since
					   it last worked for a long time */
		uint8_t acked_run;	/* packets acknowledged in a row since the source port last
					   stopped reaching the peer */
		uint64_t next_probe_ns; /* when the next probe is due, while the source port is
					   unusable */
	} of[RUDP_SOURCES_MAX];
	uint16_t peer[RUDP_SOURCES_MAX]; /* the peer's additional UDP port numbers, by the peer's
					    index; 0: unknown */
};

enum rudp_src_ports_news { RUDP_SOURCES_NO_NEWS, RUDP_SOURCES_CHANGED };

/* Call when the path comes up with n additional source ports: each of them is probed again. life_ns
 * identifies the incarnation of the path. A source port that was reported as lost stays so until
 * the peer confirms it. */
void rudp_src_ports_begin(struct rudp_src_ports *t, unsigned n, uint64_t life_ns, uint64_t now);
/* Returns the source port for message number `turn`. Messages use the usable source ports in
 * turn. */
static inline unsigned rudp_src_ports_choose(const struct rudp_src_ports *t, unsigned turn)
{
	unsigned left = t->usable;

	if (left == 0)
		return 0;
	for (turn %= 1U + (unsigned)__builtin_popcount(left); turn > 1; turn--)
		left &= left - 1;
	return turn == 0 ? 0 : (unsigned)__builtin_ctz(left);
}
/* After this many acknowledgements in a row, earlier failures of a source port are forgotten. */
#define RUDP_SOURCES_RECOVERED 128U
void rudp_src_ports_recovered(struct rudp_src_ports *t, unsigned k);
/* Call when the port could not open source port k. */
void rudp_src_ports_unusable(struct rudp_src_ports *t, unsigned k);
/* Call when a packet from source port k was acknowledged, or was lost while later packets arrived.
 * A source port with too many losses in a row carries no load until the peer confirms it again. */
static inline void rudp_src_ports_acked(struct rudp_src_ports *t, unsigned k)
{
	t->of[k].lost_run = 0;
	if (PLENUM_UNLIKELY(t->of[k].n_failed) && ++t->of[k].acked_run >= RUDP_SOURCES_RECOVERED)
		rudp_src_ports_recovered(t, k);
}
void rudp_src_ports_packet_lost(struct rudp_src_ports *t, unsigned k, uint64_t now);
/* Returns the source port to probe now, and records it as probed; 0: no source port is to be
 * probed. */
unsigned rudp_src_ports_probe(struct rudp_src_ports *t, uint64_t now,
			      enum rudp_src_ports_news *ret);
/* Call when the peer has received the probe of source port k. */
enum rudp_src_ports_news rudp_src_ports_confirmed(struct rudp_src_ports *t, unsigned k);
/* Returns when rudp_src_ports_probe() next returns a source port; UINT64_MAX: never. */
uint64_t rudp_src_ports_deadline(const struct rudp_src_ports *t);
/* Returns whether the peer has shown that it also sends from UDP port `port`. */
static inline bool rudp_src_ports_of_peer(const struct rudp_src_ports *t, uint16_t port)
{
	bool is = false;

	for (unsigned k = 1; k < RUDP_SOURCES_MAX; k++)
		is |= t->peer[k] == port;
	return is && port != 0;
}

#endif
