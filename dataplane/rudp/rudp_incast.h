/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The incast share limits how many bytes of small messages each of many senders may have in flight
 * to one port. Only rudp_incast_share.c writes these structures.
 */
#ifndef PLENUM_DATAPLANE_RUDP_INCAST_H
#define PLENUM_DATAPLANE_RUDP_INCAST_H

#include "dataplane/rudp/rudp_path.h"
#include "dataplane/rudp/wire/wire.h"

struct rudp_session;

/* Arrivals on one port from all senders. */
struct rudp_incast {
	uint64_t window_ns; /* start of the current window */
	uint32_t stamp;	    /* index of the current window */
	uint32_t packets, expected, bytes, n_senders;
	uint32_t limit_bytes; /* bytes that all senders together may have in flight; 0: no limit */
	uint32_t share_bytes; /* bytes that each sender may have in flight */
	uint32_t first_loss;  /* count of lost packets of 1024 when the limit began */
	uint32_t futile_cuts; /* consecutive cuts of the limit that did not halve the losses */
	uint32_t few_windows; /* consecutive windows with few senders */
	uint64_t paused_ns;
};

/* Counts a received packet of len bytes. ahead: by how much its number exceeds the highest number
 * that arrived before. */
void rudp_incast_received(struct rudp_session *s, struct rudp_path *p, uint64_t ahead, size_t len,
			  uint64_t now);
/* Sends the peer its incast share if the share changed or must be repeated. */
void rudp_incast_share_send(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Processes a SHARE, in which the peer limits how many bytes of small messages this side may have
 * in flight on p. */
int rudp_incast_rx(struct rudp_path *p, const struct wire_common *c, const uint8_t *data,
		   size_t len, uint64_t now);

/* Call after this many bytes of small messages were sent on p while an incast share is valid there.
 * Sets small_pace_ns, before which no further small message is sent: the wait is a round trip,
 * multiplied by `bytes` and divided by the share. So small messages use at most one share per round
 * trip. */
void rudp_incast_sent(struct rudp_path *p, uint32_t bytes, uint64_t now);

#endif
