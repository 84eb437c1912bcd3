/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How large the packets of one path may be: found out by probes of the packetization layer itself
 * (RFC 8899), because fabrics drop what is too large without a word. It is told which probes and
 * packets arrived and which were lost, and says what may be sent and what is to be asked next; it
 * sends nothing and knows no session. Sizes are bytes of IP packet, times ns.
 *
 * Every path carries RUDP_MTU_BASE. From there all common sizes are asked for at once, so that a
 * healthy path has its best within a round trip; then what lies between the largest that arrived
 * and the least that did not. Too many large packets lost in a row, while small ones arrive, are a
 * black hole: the base is used at once and all is asked anew. Where no large packet has arrived for
 * a while, because only the other direction has something to say, a probe of the size in use tells
 * whether one still would. What was found too large is asked for again later, after a time that
 * grows each time.
 */
#ifndef PLENUM_DATAPLANE_RUDP_MTU_H
#define PLENUM_DATAPLANE_RUDP_MTU_H

#include "netcfg/base/base.h"

#define RUDP_MTU_BASE 1280U /* IPv6's least (RFC 8200); ports of less are refused */
#define RUDP_MTU_PROBES 4   /* sizes asked for at the same time */
#define RUDP_MTU_TRIES 3    /* RFC 8899, MAX_PROBES */
#define RUDP_MTU_STEP 16U   /* what is not worth another probe */
#define RUDP_MTU_LOST_LEAST 4U
#define RUDP_MTU_LOST_MOST 16U
#define RUDP_MTU_PASSED_AGE 64U /* packets: what passed before says nothing any more */
#define RUDP_MTU_TRY_GAP_NS (5 * NSEC_PER_MSEC)
#define RUDP_MTU_RAISE_FIRST_NS NSEC_PER_SEC
#define RUDP_MTU_RAISE_MOST_NS (600 * NSEC_PER_SEC) /* RFC 8899, PMTU_RAISE_TIMER */
#define RUDP_MTU_CONFIRM_NS (10 * NSEC_PER_SEC)
#define RUDP_MTU_STABLE 16U /* so many raise times without a fall: it does not flap any more */

struct rudp_mtu_probe {
	uint16_t bytes; /* 0: none */
	uint8_t lost;
	bool on_way;
	uint64_t pn, due_ns;
};

struct rudp_mtu {
	uint16_t now;	  /* what may be sent */
	uint16_t most;	  /* what the links of both hosts take */
	uint16_t found;	  /* what the last search came to; `most` before the first */
	uint16_t failed;  /* the least known not to arrive; 0: none is known */
	uint16_t doubted; /* what `now` was before its packets were lost; 0: nobody doubts */
	uint8_t round;	  /* of the search */
	bool done;	  /* nothing is asked for at present */
	struct rudp_mtu_probe probes[RUDP_MTU_PROBES];
	uint64_t raise_ns, raise_after_ns, changed_ns;
	uint64_t confirm_ns, confirmed_pn; /* when to look again; passed_pn of the last look */
	/* The latest large packet that arrived, or one of those sent soon after it that are
	 * smaller. */
	uint64_t passed_pn;
	uint16_t passed_bytes;
	uint16_t lost_least; /* of the packets lost in a row, with none as large that passed */
	uint8_t lost, lost_limit;
};

/* Begins with the base and a search up to `most` (at least the base). */
void rudp_mtu_init(struct rudp_mtu *m, uint16_t most, uint64_t now);
/* The links take another size than was thought; or the path is up again: all is asked anew. */
void rudp_mtu_restart(struct rudp_mtu *m, uint16_t most, uint64_t now);
/* The next size to ask for now, 0: none. It is to be told by rudp_mtu_sent or rudp_mtu_refused.
 * in_use: messages go by the path, in whichever direction; then it is worth knowing whether the
 * size still holds. */
uint16_t rudp_mtu_next(struct rudp_mtu *m, bool in_use, uint64_t now);
void rudp_mtu_sent(struct rudp_mtu *m, uint16_t bytes, uint64_t pn);
/* When rudp_mtu_next may have something to say; UINT64_MAX: not by itself. */
uint64_t rudp_mtu_deadline(const struct rudp_mtu *m);

/* These return what is new, bits of enum rudp_mtu_news. */
enum rudp_mtu_news {
	RUDP_MTU_FELL = 1,  /* `now` is the base again: what is on its way will not arrive */
	RUDP_MTU_FOUND = 2, /* a search has ended, `found` is another */
};
/* Probe number pn arrived, or was lost. */
unsigned rudp_mtu_probe_acked(struct rudp_mtu *m, uint64_t pn, uint64_t now);
unsigned rudp_mtu_probe_lost(struct rudp_mtu *m, uint64_t pn, uint64_t now);
/* Nobody knows what became of the probes on their way: they are sent again. */
void rudp_mtu_probes_forget(struct rudp_mtu *m, uint64_t now);
/* Packet number pn, which carries data, arrived. */
static inline void rudp_mtu_packet_acked(struct rudp_mtu *m, uint64_t pn, unsigned bytes)
{
	if (bytes >= m->passed_bytes || pn > m->passed_pn + RUDP_MTU_PASSED_AGE) {
		m->passed_bytes = (uint16_t)bytes;
		m->passed_pn = MAX_OF(pn, m->passed_pn);
	}
	if (PLENUM_UNLIKELY(m->lost) && bytes >= m->lost_least)
		m->lost = 0;
}
/* It was lost. */
unsigned rudp_mtu_packet_lost(struct rudp_mtu *m, uint64_t pn, unsigned bytes, uint64_t now);
/* Our own host does not take packets of this size. */
unsigned rudp_mtu_refused(struct rudp_mtu *m, unsigned bytes, uint64_t now);

#endif
