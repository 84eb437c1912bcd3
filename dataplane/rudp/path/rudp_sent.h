/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender's records of packets on one path (RFC 9002): one record per packet number in flight,
 * and which packets were acknowledged. It only records; rudp_loss.c acts on losses. The session
 * provides the memory. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_SENT_H
#define PLENUM_DATAPLANE_RUDP_SENT_H

#include "dataplane/rudp/path/rudp_acks.h"

#define RUDP_RING_FIRST 32U /* count of packet records that a path has itself */
/* Count of packet records of a path when it begins to use the memory of the session. */
#define RUDP_RING_MIN 512U
/* Maximum number of packet records of a path: enough for a window of 4 MiB. */
#define RUDP_RING_MAX 4096U
/* Largest distance between packet numbers in flight. With more, two words of `acked` would have the
 * same index. */
#define RUDP_SPAN_MAX (RUDP_RING_MAX - 64)
_Static_assert(RUDP_ACK_WORDS == RUDP_RING_MAX / 64, "acknowledgements cover the ring");

/* A packet in flight. */
enum pkt_state {
	PKT_NONE,
	PKT_IN_FLIGHT,
	PKT_LOST,   /* counted as lost and retransmitted; a late acknowledgement corrects the
		       count */
	PKT_COPIED, /* the packet is in flight, but its chunks were also sent on another path; if it
		       is lost, only the statistics of this path count that */
	PKT_MOVED,  /* the packet's chunks moved to another path while this path was suspect */
	PKT_ACKED,
};
struct pkt_rec {
	uint64_t sent_ns;
	uint32_t pn;
	uint32_t gen;
	uint16_t slot, chunk; /* slot: index of the slot, or PKT_NO_SLOT */
	uint16_t bytes;
	uint8_t state : 4;  /* enum pkt_state */
	uint8_t source : 4; /* source port, see datagram.h */
	uint8_t n_chunks;   /* count of chunks, from `chunk` on */
};
_Static_assert(sizeof(struct pkt_rec) == 24, "small, because there are many");
#define RUDP_REORDER_FIRST_NS (100 * NSEC_PER_USEC)
#define PKT_NO_SLOT UINT16_MAX
#define PKT_PING 0  /* value of `chunk` for a packet without a slot */
#define PKT_GRANT 1 /* value of `chunk` for a packet with grants */
/* Value of `chunk` for an MTU probe, whose loss only shows that its size is too large. */
#define PKT_PROBE 2
#define PKT_ANNOUNCE UINT16_MAX /* value of `chunk` for a packet that announces a request */

struct rudp_sent {
	struct pkt_rec *ring;
	uint32_t ring_mask;
	uint32_t in_flight; /* number of bytes in flight */
	uint64_t next_pn, tail_pn, largest_acked;
	uint64_t acked[RUDP_ACK_WORDS];
	uint64_t progress_ns; /* when a new packet was last acknowledged, or when the first packet
				 after an idle time was sent; source port 0 only */
	uint64_t acked_ns;    /* when a new packet was last acknowledged; 0: never */
	uint64_t any_ns;      /* like progress_ns, but for packets from any source port */
	uint64_t answered_ns; /* when the latest of the acknowledged packets was sent */
	uint64_t pto_base;    /* time from which the probe timeout counts */
	uint64_t loss_deadline;
	uint64_t reorder_ns, reorder_until; /* reorder_ns: how late reordered packets may
					       arrive; reorder_until: when reorder_ns expires */
	unsigned pto_count;
	bool loss_check;
	struct pkt_rec *lent; /* the session's memory, used when `first` is full */
	struct pkt_rec first[RUDP_RING_FIRST];
};

static inline struct pkt_rec *rudp_sent_at(const struct rudp_sent *t, uint64_t pn)
{
	return &t->ring[pn & t->ring_mask];
}
/* ring: memory for RUDP_RING_MAX records. */
void rudp_sent_init(struct rudp_sent *t, struct pkt_rec *ring, uint64_t now);
/* Makes space for one more record; call it before rudp_sent_add(). */
void rudp_sent_grow(struct rudp_sent *t);
/* Records a packet that the port has just taken; its number was t->next_pn. It carries n_chunks
 * chunks from `chunk` on, of the message in slot and gen. Returns true if it is the only packet in
 * flight. */
static inline bool rudp_sent_add(struct rudp_sent *t, uint16_t slot, uint32_t gen, uint16_t chunk,
				 unsigned n_chunks, uint32_t bytes, uint64_t now)
{
	bool first = t->in_flight == 0;

	if (PLENUM_UNLIKELY(t->next_pn - t->tail_pn > t->ring_mask))
		rudp_sent_grow(t);
	*rudp_sent_at(t, t->next_pn) = (struct pkt_rec){.sent_ns = now,
							.pn = (uint32_t)t->next_pn,
							.gen = gen,
							.slot = slot,
							.chunk = chunk,
							.n_chunks = (uint8_t)n_chunks,
							.bytes = (uint16_t)bytes,
							.state = PKT_IN_FLIGHT};
	if (first)
		t->pto_base = now;
	t->in_flight += bytes;
	if ((++t->next_pn & 63) == 0)
		t->acked[(t->next_pn >> 6) % RUDP_ACK_WORDS] = 0;
	return first;
}
/* Corrects the send time of n packets from pn on: they were sent at `at`. */
void rudp_sent_stamp(struct rudp_sent *t, uint64_t pn, unsigned n, uint64_t at);
/* Records the acknowledgement of packets. word: index of a word of 64 packet numbers; bits: which
 * of them are acknowledged. Returns the bits that were not set before. */
uint64_t rudp_sent_fresh(struct rudp_sent *t, uint64_t word, uint64_t bits);
/* Call when a packet arrived `by` later than a packet that was sent after it. For the next second,
 * loss detection waits a little longer than `by`, but at most REORDER_MOST_NS; then the wait
 * becomes shorter again, see rudp_sent_reorder(). */
void rudp_sent_reordered(struct rudp_sent *t, uint64_t by, uint64_t now);
/* Returns how late reordered packets may arrive. The value halves with each second without a
 * reordered packet. */
uint64_t rudp_sent_reorder(struct rudp_sent *t, uint64_t now);
/* Moves the tail to the oldest packet in flight. */
void rudp_sent_advance(struct rudp_sent *t);
/* Finds the next lost packet from *pn on, marks it as lost, and moves *pn behind it. *ret_copied:
 * whether it was PKT_COPIED. Returns NULL if there is none; t->loss_deadline is then the time to
 * search again. wait: value of rudp_rtt_loss_wait(). */
struct pkt_rec *rudp_sent_next_lost(struct rudp_sent *t, uint64_t *pn, uint64_t wait, uint64_t now,
				    bool *ret_copied);
static inline bool rudp_sent_in_flight(const struct pkt_rec *rec)
{
	return rec->state == PKT_IN_FLIGHT || rec->state == PKT_COPIED;
}
/* Returns since when the peer has acknowledged no packet of this path, whatever its source port. */
static inline uint64_t rudp_sent_silent_since(const struct rudp_sent *t)
{
	return MAX_OF(t->progress_ns, t->any_ns);
}

#endif
