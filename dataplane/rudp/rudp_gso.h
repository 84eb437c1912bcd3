/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether trains arrive: packets that leave together in one send, which the kernel or the NIC cuts
 * into datagrams. Some NICs and hypervisors say that they can and cut wrong; then all of a train is
 * lost, each time, while what goes alone arrives. Some trains are watched for it. Knows numbers of
 * packets on one path; what follows from it is others' to do. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_TRAIN_H
#define PLENUM_DATAPLANE_RUDP_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#define RUDP_GSO_WATCHED 8U
struct rudp_gso { /* zeros: nothing known */
	struct rudp_gso_span {
		uint64_t from, to;   /* numbers of its packets */
		uint64_t what;	     /* it carries a part of that */
	} watched[RUDP_GSO_WATCHED], /* nothing is known of them yet; one, where none was lost */
		last;		     /* that was taken for lost */
	uint8_t n_watched;
	uint8_t overtaken; /* since rudp_gso_heard: a packet of the same that was sent later has
			    * arrived
			    */
	bool heard;	   /* likewise: a packet of one has */
	uint8_t lost;	   /* in a row, of which not one packet has arrived */
	uint8_t tries;	   /* doublings of the time alone */
	uint64_t alone_until;
};

enum rudp_gso_news { RUDP_GSO_NO_NEWS, RUDP_GSO_ARE_LOST, RUDP_GSO_ARRIVE };

/* Whether packets are to go alone now. */
static inline bool rudp_gso_alone(const struct rudp_gso *t, uint64_t now)
{
	return now < t->alone_until;
}

/* The n packets from pn on were handed to the port, which sends them at once. what: a number of the
 * message that they carry; nothing is learnt from packets of others, for which a peer may have
 * memory where it has none for this. */
void rudp_gso_watch(struct rudp_gso *t, uint64_t pn, unsigned n, uint64_t what, uint64_t now);
static inline void rudp_gso_sent(struct rudp_gso *t, uint64_t pn, unsigned n, uint64_t what,
				 uint64_t now)
{
	if (n >= 2)
		rudp_gso_watch(t, pn, n, what, now);
}
/* Packet pn, of that, has arrived. */
static inline void rudp_gso_acked(struct rudp_gso *t, uint64_t pn, uint64_t what)
{
	for (unsigned i = 0; i < t->n_watched; i++) {
		const struct rudp_gso_span *w = &t->watched[i];

		t->heard |= pn >= w->from && pn < w->to;
		t->overtaken |= (uint8_t)((pn >= w->to && what == w->what) << i);
	}
	t->heard |= pn >= t->last.from && pn < t->last.to;
}
/* That was all of an acknowledgement. */
enum rudp_gso_news rudp_gso_heard(struct rudp_gso *t, uint64_t now);

#endif
