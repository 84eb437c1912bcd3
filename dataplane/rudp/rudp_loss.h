/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies acknowledgements and losses on a path to messages, round trips and the congestion window.
 * rudp_sent.h keeps the packet records.
 */
#ifndef PLENUM_DATAPLANE_RUDP_LOSS_H
#define PLENUM_DATAPLANE_RUDP_LOSS_H

#include "dataplane/rudp/rudp_path.h"
#include "dataplane/rudp/wire/wire.h"

struct rudp_session;

int rudp_loss_ack(struct rudp_session *s, const struct wire_ack *a, const struct rudp_path *via,
		  uint64_t now);
void rudp_loss_detect(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* rudp_loss_move.c */

/* Marks the chunks of the packet for retransmission. Returns true if any of them is still
 * necessary. */
bool rudp_loss_packet(struct rudp_session *s, const struct pkt_rec *rec);
/* Moves all packets in flight to other paths: queues their chunks for retransmission there. */
void rudp_loss_move_all(struct rudp_session *s, struct rudp_path *p);
/* Queues the announcements, and the chunks of small messages, that are in flight on the path, for
 * retransmission on other paths. oldest: only chunks of the oldest message. The packets stay in
 * flight on this path too. Returns false if nothing was in flight. */
bool rudp_loss_copy_small(struct rudp_session *s, struct rudp_path *p, bool oldest);
/* Queues the chunks of all packets above this size for retransmission in smaller packets, because
 * such packets do not arrive. */
void rudp_loss_move_above(struct rudp_session *s, struct rudp_path *p, uint32_t bytes);
/* Records a packet that the port has just taken. */
static inline void rudp_loss_sent(struct rudp_path *p, uint16_t slot, uint32_t gen, uint16_t chunk,
				  unsigned n_chunks, uint32_t bytes, uint64_t now)
{
	if (rudp_sent_add(&p->sent, slot, gen, chunk, n_chunks, bytes, now) && !p->timed_out &&
	    !p->suspect_stage)
		p->sent.progress_ns = now;
	if (slot != PKT_NO_SLOT)
		p->quiet = 0;
	p->tx_packets++;
	p->tx_bytes += bytes;
	p->tx_error_ns = 0;
}

#endif
