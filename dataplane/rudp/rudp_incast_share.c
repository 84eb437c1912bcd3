/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the incast share, which limits the small messages that each of many senders may have in
 * flight to one port of this endpoint. Big requests wait for grants. Small messages do not, so many
 * senders can fill a shallow queue of a switch before any of them measures a delay. Only the
 * receiver knows all senders: it counts missing packet numbers, derives how much all senders
 * together may have in flight, and sends each sender an equal share. The share is independent of
 * each sender's congestion window.
 */
#include "dataplane/rudp/rudp_internal.h"

#define WINDOW_NS NSEC_PER_MSEC
/* A window that took longer than this had too little traffic to need a limit. */
#define WINDOW_OLD_NS (4 * WINDOW_NS)
#define SENDERS_LEAST 8U  /* fewer senders need no limit to share a queue */
#define PACKETS_LEAST 64U /* minimum packets for a loss estimate */
/* The limit is cut if more than one packet in this many is lost. It takes four times as many losses
 * to start a limit. */
#define LOSS_SHARE 256U
#define LOSS_UNIT 1024U
/* The first limit is the number of bytes received in a window, divided by this number: the bytes
 * that the link carries in 125 us. */
#define FIRST_SHARE 8U
#define LEAST_BYTES (16U << 10)
#define FEW_WINDOWS 16U /* the limit ends after this many consecutive windows with few senders */
/* Maximum number of packets that one received packet can make count as missing, so that a sender
 * cannot simulate many losses by a jump in its packet numbers. */
#define AHEAD_MOST 32U
#define GROW(bytes) ((bytes) / 64)
#define CUT(bytes) ((bytes) / 8)
/* The limit ends if this many cuts in a row do not halve the losses: then their cause is not a full
 * queue but, for example, a bad cable. */
#define FUTILE_CUTS_MAX 8U
#define PAUSE_NS (5 * NSEC_PER_SEC)

/* Interval at which a share is repeated, because a SHARE may be lost. */
#define AGAIN_NS (10 * NSEC_PER_MSEC)
#define VALID_NS (100 * NSEC_PER_MSEC) /* how long a share is valid from its arrival */
/* Minimum share, even if the peer sends a smaller one. */
#define SHARE_LEAST(mtu) ((mtu) / 32U)

static void share_end(struct rudp_incast *in)
{
	in->limit_bytes = 0;
	in->futile_cuts = 0;
}

static void limit_begin(struct rudp_incast *in, uint64_t lost, uint64_t now)
{
	if (now < in->paused_ns || lost * LOSS_SHARE <= 4ULL * in->expected)
		return;
	in->limit_bytes = MAX_OF(in->bytes / FIRST_SHARE, LEAST_BYTES);
	in->first_loss = (uint32_t)(lost * LOSS_UNIT / in->expected);
}

static void limit_cut(struct rudp_incast *in, uint64_t lost, uint64_t now)
{
	in->limit_bytes = MAX_OF(in->limit_bytes - CUT(in->limit_bytes), LEAST_BYTES);
	if (lost * LOSS_UNIT * 2 < (uint64_t)in->first_loss * in->expected)
		in->futile_cuts = 0; /* the losses have halved, so the cuts are effective */
	else if (++in->futile_cuts == FUTILE_CUTS_MAX) {
		in->paused_ns = now + PAUSE_NS;
		share_end(in);
	}
}

/* Adjusts the limit to the losses of all senders in the last window. */
static void limit_update(struct rudp_incast *in, uint64_t lost, uint64_t now)
{
	if (in->n_senders < SENDERS_LEAST || in->packets < PACKETS_LEAST) {
		if (++in->few_windows > FEW_WINDOWS)
			share_end(in);
		return;
	}
	in->few_windows = 0;
	if (in->limit_bytes == 0) {
		limit_begin(in, lost, now);
	} else if (lost * LOSS_SHARE > in->expected) {
		limit_cut(in, lost, now);
	} else {
		in->futile_cuts = 0;
		if (lost == 0)
			in->limit_bytes += GROW(in->limit_bytes);
		if (in->limit_bytes > in->bytes)
			share_end(in);
	}
}

static void window_end(struct rudp *r, struct rudp_incast *in, uint64_t now)
{
	uint64_t lost = in->expected > in->packets ? in->expected - in->packets : 0;

	rudp_grant_losses(r, lost, in->packets);
	if (now < in->window_ns + WINDOW_OLD_NS)
		limit_update(in, lost, now);
	else
		share_end(in);
	if (in->n_senders)
		in->share_bytes = in->limit_bytes / in->n_senders;
	in->window_ns = now;
	in->stamp++;
	in->packets = in->expected = in->bytes = in->n_senders = 0;
}

void rudp_incast_received(struct rudp_session *s, struct rudp_path *p, uint64_t ahead, size_t len,
			  uint64_t now)
{
	struct rudp_incast *in = &s->r->incasts[p->port];

	if (now >= in->window_ns + WINDOW_NS)
		window_end(s->r, in, now);
	in->packets++;
	in->expected += (uint32_t)MIN_OF(ahead, AHEAD_MOST);
	in->bytes += (uint32_t)len;
	if (p->incast_stamp == in->stamp)
		return;
	p->incast_stamp = in->stamp;
	in->n_senders++;
	if (in->limit_bytes)
		rudp_session_touch(s);
}

void rudp_incast_share_send(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	const struct rudp_incast *in = &s->r->incasts[p->port];
	uint32_t bytes = in->share_bytes, off;
	uint64_t serial = s->ack_serial + 1;
	struct wire_common c = {.type = WIRE_SHARE,
				.path = p->index,
				.session = s->peer_number,
				.pn = (uint32_t)serial};
	struct datagram pkt = {.payload = NULL};

	if (p->state != PATH_UP || p->incast_stamp + 1 < in->stamp ||
	    now >= in->window_ns + WINDOW_OLD_NS)
		return;
	off = bytes > p->share_sent_bytes ? bytes - p->share_sent_bytes
					  : p->share_sent_bytes - bytes;
	if (off <= bytes / 8 && now < p->share_sent_ns + AGAIN_NS)
		return;
	pkt.hdr_len = (uint16_t)wire_put_share(pkt.hdr, &c, bytes);
	if (rudp_session_transmit(s, p, &pkt, RUDP_SECURE_CONTROL, serial))
		return;
	s->ack_serial = serial;
	p->tx_packets++;
	p->tx_bytes += pkt.hdr_len;
	p->share_sent_bytes = bytes;
	p->share_sent_ns = now;
}

int rudp_incast_rx(struct rudp_path *p, const struct wire_common *c, const uint8_t *data,
		   size_t len, uint64_t now)
{
	uint32_t bytes;

	if (wire_get_share(data, len, &bytes))
		return -EBADMSG;
	if (now < p->share_until && (int32_t)(c->pn - p->share_pn) <= 0)
		return 0; /* a later SHARE arrived before this one */
	p->share_pn = c->pn;
	p->share_bytes = MAX_OF(bytes, SHARE_LEAST(p->mtu.cur));
	p->share_until = now + VALID_NS;
	return 0;
}

void rudp_incast_sent(struct rudp_path *p, uint32_t bytes, uint64_t now)
{
	uint64_t wait = p->rtt.srtt * bytes / p->share_bytes;

	p->small_pace_ns = MIN_OF(now + wait, p->share_until);
}
