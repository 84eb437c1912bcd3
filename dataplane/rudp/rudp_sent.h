/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is on its way on one path: a record per packet, by number, and how far acknowledgements have
 * come. Keeps the accounts; what a loss means for its message and for the window is others' to
 * decide. The memory of the records is lent by the session. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_SENT_H
#define PLENUM_DATAPLANE_RUDP_SENT_H

#include "dataplane/rudp/rudp_acks.h"

#define RUDP_RING_FIRST 32U		   /* packet records of a path at first, */
#define RUDP_RING_MIN 512U		   /* then in the memory that is lent */
#define RUDP_RING_MAX 4096U		   /* and at most: 4 MiB of window */
#define RUDP_SPAN_MAX (RUDP_RING_MAX - 64) /* so that no two of its words share a place */
_Static_assert(RUDP_ACK_WORDS == RUDP_RING_MAX / 64, "a receiver can speak of all of it");

/* One packet on its way. */
enum pkt_state {
	PKT_NONE,
	PKT_IN_FLIGHT,
	PKT_LOST, /* taken for lost, its chunk travels again; an acknowledgement proves us wrong */
	PKT_COPIED, /* on its way, and its chunks, too, by another path: its loss says only what a
		       loss says of this one */
	PKT_MOVED,  /* its chunk was given to another path while this one was in doubt */
	PKT_ACKED,
};
struct pkt_rec {
	uint64_t sent_ns;
	uint32_t pn;
	uint32_t gen;
	uint16_t slot, chunk; /* slot: or PKT_NO_SLOT */
	uint16_t bytes;
	uint8_t state : 4;  /* enum pkt_state */
	uint8_t source : 4; /* of datagram.h */
	uint8_t n_chunks;   /* from `chunk` on */
};
_Static_assert(sizeof(struct pkt_rec) == 24, "it is kept small, for there are many");
#define RUDP_REORDER_FIRST_NS (100 * NSEC_PER_USEC)
#define PKT_NO_SLOT UINT16_MAX
#define PKT_PING 0	    /* chunk, where there is no slot */
#define PKT_GRANT 1	    /* likewise */
#define PKT_PROBE 2	    /* likewise: of the packet size; its loss says nothing else */
#define PKT_NEED UINT16_MAX /* chunk: the announcement of a request */

struct rudp_sent {
	struct pkt_rec *ring;
	uint32_t ring_mask;
	uint32_t in_flight; /* bytes */
	uint64_t next_pn, tail_pn, largest_acked;
	uint64_t acked[RUDP_ACK_WORDS];
	uint64_t
		progress_ns; /* last acknowledgement of something new, or first packet since idle */
	uint64_t acked_ns;   /* last acknowledgement of something new; 0: none yet */
	uint64_t any_ns;     /* likewise, whatever source it left by; progress is the first's */
	uint64_t answered_ns; /* the latest packet that is acknowledged left then */
	uint64_t pto_base;    /* the timeout runs from here */
	uint64_t loss_deadline;
	uint64_t reorder_ns, reorder_until; /* how late packets come, believed until then */
	unsigned pto_count;
	bool loss_check;
	struct pkt_rec *lent; /* used when more than `first` are on their way */
	struct pkt_rec first[RUDP_RING_FIRST];
};

static inline struct pkt_rec *rudp_sent_at(const struct rudp_sent *t, uint64_t pn)
{
	return &t->ring[pn & t->ring_mask];
}
/* ring: RUDP_RING_MAX records, lent. */
void rudp_sent_init(struct rudp_sent *t, struct pkt_rec *ring, uint64_t now);
/* There is room for one more record. */
void rudp_sent_grow(struct rudp_sent *t);
/* Notes a packet that was just handed to the port; its number was t->next_pn. True: it is the first
 * on its way. slot, gen, n_chunks from chunk on: what it carries. */
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
/* n packets from `pn` on left the host later than they were noted. */
void rudp_sent_left(struct rudp_sent *t, uint64_t pn, unsigned n, uint64_t at);
/* Which of the packets of word number `word` the peer names for the first time; they are noted. */
uint64_t rudp_sent_fresh(struct rudp_sent *t, uint64_t word, uint64_t bits);
/* A packet came, and by so much it was slower than one that was sent after it: wait for as long, a
 * little more, before the next is taken for lost. */
void rudp_sent_overtaken(struct rudp_sent *t, uint64_t by, uint64_t now);
/* How long to wait: halves with each second in which none was late. */
uint64_t rudp_sent_reorder(struct rudp_sent *t, uint64_t now);
/* The oldest packet is one that is on its way, or there is none. */
void rudp_sent_advance(struct rudp_sent *t);
/* The next packet from *pn on (which moves) that is lost at `now`, marked so, and whether it was
 * PKT_COPIED; NULL: none, and t->loss_deadline says when to look again. wait: rudp_rtt_loss_wait().
 */
struct pkt_rec *rudp_sent_next_lost(struct rudp_sent *t, uint64_t *pn, uint64_t wait, uint64_t now,
				    bool *ret_copied);
static inline bool rudp_sent_on_way(const struct pkt_rec *rec)
{
	return rec->state == PKT_IN_FLIGHT || rec->state == PKT_COPIED;
}
/* Nothing that is on its way was answered since then, by whatever source it left. */
static inline uint64_t rudp_sent_silent_since(const struct rudp_sent *t)
{
	return MAX_OF(t->progress_ns, t->any_ns);
}

#endif
