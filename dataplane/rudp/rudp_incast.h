/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Incast share: the limit for small messages of many senders to one port. rudp_incast_share.c alone
 * writes these structures.
 */
#ifndef PLENUM_DATAPLANE_RUDP_INCAST_H
#define PLENUM_DATAPLANE_RUDP_INCAST_H

#include "dataplane/rudp/rudp_path.h"
#include "dataplane/rudp/wire/wire.h"

struct rudp_session;

/* Arrivals on one port from all senders: rudp_incast_share.c. */
struct rudp_incast {
	uint64_t window_ns; /* start of the current window */
	uint32_t stamp;	    /* number of the current window */
	uint32_t packets, expected, bytes, n_senders;
	uint32_t limit_bytes; /* limit for all senders together in flight; 0: none */
	uint32_t share_bytes; /* limit for each sender */
	uint32_t first_loss;  /* losses per 1024 packets when the limit began */
	uint32_t futile_cuts; /* consecutive cuts that did not halve the losses */
	uint32_t few_windows; /* consecutive windows with few senders */
	uint64_t paused_ns;
};

/* Counts a received packet of len bytes; ahead: its number minus the highest before. */
void rudp_incast_received(struct rudp_session *s, struct rudp_path *p, uint64_t ahead, size_t len,
			  uint64_t now);
/* Sends the peer its incast share if it changed or is due again. */
void rudp_incast_share_send(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Processes SHARE: the peer's limit for our small messages in flight on p. */
int rudp_incast_rx(struct rudp_path *p, const struct wire_common *c, const uint8_t *data,
		   size_t len, uint64_t now);

/* Paces p after sending bytes of a small message under a valid incast share. */
void rudp_incast_sent(struct rudp_path *p, uint32_t bytes, uint64_t now);

#endif
