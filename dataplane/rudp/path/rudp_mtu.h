/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path MTU discovery for one path. The transport sends probe packets itself (RFC 8899), because
 * fabrics drop oversized packets silently. The caller reports which probes and packets arrived or
 * were lost; this module returns the size in use and the next size to probe. It sends nothing and
 * does not depend on sessions. Sizes are bytes of an IP packet, times are ns.
 *
 * Every path carries RUDP_MTU_BASE. From there all common sizes are probed at once, so that a
 * healthy path reaches its best size within a round trip. Then the search tries sizes between the
 * largest that arrived and the smallest that did not. If too many large packets in a row are lost
 * while small ones arrive, the network drops large packets: the size returns to the base at once
 * and the search restarts. If no large packet was acknowledged for a while, because only the other
 * direction carries data, a probe checks whether the size in use still fits. A size found too large
 * is probed again later, after an interval that grows each time.
 */
#ifndef PLENUM_DATAPLANE_RUDP_MTU_H
#define PLENUM_DATAPLANE_RUDP_MTU_H

#include "netcfg/base/base.h"

#define RUDP_MTU_BASE 1280U /* IPv6's minimum (RFC 8200); a port with a smaller MTU is refused */
#define RUDP_MTU_PROBES 4   /* count of sizes that can be probed at the same time */
/* After this many lost probes of one size, that size is too large (RFC 8899, MAX_PROBES). A path
 * that loses packets needs more lost probes. */
#define RUDP_MTU_TRIES 3
#define RUDP_MTU_TRIES_MOST 16
#define RUDP_MTU_STEP 16U /* the search ends when it could gain fewer bytes than this */
#define RUDP_MTU_LOST_LEAST 4U
#define RUDP_MTU_LOST_MOST 16U
/* If more packets than this were sent after a large packet, its arrival shows nothing any more. */
#define RUDP_MTU_PASSED_AGE 64U
#define RUDP_MTU_TRY_GAP_NS (5 * NSEC_PER_MSEC)
#define RUDP_MTU_RAISE_FIRST_NS NSEC_PER_SEC
#define RUDP_MTU_RAISE_MOST_NS (600 * NSEC_PER_SEC) /* RFC 8899, PMTU_RAISE_TIMER */
#define RUDP_MTU_CONFIRM_NS (10 * NSEC_PER_SEC)
/* Interval of checks of the size in use, on a path that carries no messages. */
#define RUDP_MTU_CONFIRM_IDLE_NS (30 * NSEC_PER_SEC)
/* A path whose size has not fallen for this many raise intervals is stable again. */
#define RUDP_MTU_STABLE 16U

struct rudp_mtu_probe {
	uint16_t bytes; /* size of the probe; 0: the entry is unused */
	uint8_t lost;
	bool in_flight;
	uint64_t pn, due_ns;
};

struct rudp_mtu {
	uint16_t cur;	      /* size in use */
	uint16_t max;	      /* limit of the links of both hosts */
	uint16_t found;	      /* largest size found by the last search; before the first search:
				 `max` */
	uint16_t too_large;   /* the smallest size that counts as lost; 0: none */
	uint16_t before_fall; /* size in use before it fell because packets of that size were lost;
				 0: it did not fall */
	uint8_t round;	      /* round of the search */
	bool done;	      /* no search is running */
	struct rudp_mtu_probe probes[RUDP_MTU_PROBES];
	uint64_t raise_ns, raise_after_ns, changed_ns;
	uint64_t confirm_ns, confirmed_pn; /* confirm_ns: when the size in use is checked next;
					      confirmed_pn: value of passed_pn at the last check */
	/* passed_pn: number of the latest large packet that has arrived; passed_bytes: its size, or
	 * that of a slightly larger packet that has arrived shortly before. */
	uint64_t passed_pn;
	uint16_t passed_bytes;
	uint16_t lost_least; /* the smallest of the packets that were lost in a row */
	uint8_t lost, lost_limit;
};

/* Starts with the base size and a search up to `max`, which is at least the base. */
void rudp_mtu_init(struct rudp_mtu *m, uint16_t max, uint64_t now);
/* Restarts the search, because the limit of the links changed or the path is up again. */
void rudp_mtu_restart(struct rudp_mtu *m, uint16_t max, uint64_t now);
/* Returns the next size to probe now, or 0 if no probe is due. The caller must then call
 * rudp_mtu_sent() or rudp_mtu_refused(). in_use: messages use the path in either direction, so the
 * size is checked more often. */
uint16_t rudp_mtu_next(struct rudp_mtu *m, bool in_use, uint64_t now);
void rudp_mtu_sent(struct rudp_mtu *m, uint16_t bytes, uint64_t pn);
/* Returns when rudp_mtu_next() may return a size again; UINT64_MAX: at no fixed time. */
uint64_t rudp_mtu_deadline(const struct rudp_mtu *m);

/* Results of the functions below; each is one bit. */
enum rudp_mtu_result {
	RUDP_MTU_FELL = 1,  /* `cur` is RUDP_MTU_BASE again: larger packets in flight do not
			       arrive */
	RUDP_MTU_FOUND = 2, /* a search has ended with another value of `found` */
};
/* Returns how many probes of a size must be lost in a row before the size counts as too large. The
 * number grows with ppm: how many packets of a million the path loses, whatever their size. */
unsigned rudp_mtu_tries(uint32_t ppm);
/* Call when probe number pn has arrived, or was lost. A size counts as too large after `tries` lost
 * probes. */
unsigned rudp_mtu_probe_acked(struct rudp_mtu *m, uint64_t pn, uint64_t now);
unsigned rudp_mtu_probe_lost(struct rudp_mtu *m, uint64_t pn, unsigned tries, uint64_t now);
/* Queues the probes in flight to be sent again, because their outcome will not be known. */
void rudp_mtu_probes_forget(struct rudp_mtu *m, uint64_t now);
/* Call when packet number pn, which carries data, has arrived. */
static inline void rudp_mtu_packet_acked(struct rudp_mtu *m, uint64_t pn, unsigned bytes)
{
	if (bytes >= m->passed_bytes || pn > m->passed_pn + RUDP_MTU_PASSED_AGE) {
		m->passed_bytes = (uint16_t)bytes;
		m->passed_pn = MAX_OF(pn, m->passed_pn);
	}
	if (PLENUM_UNLIKELY(m->lost) && bytes >= m->lost_least)
		m->lost = 0;
}
/* Call when packet number pn was lost. */
unsigned rudp_mtu_packet_lost(struct rudp_mtu *m, uint64_t pn, unsigned bytes, uint64_t now);
/* Call when this host refuses packets of this size. */
unsigned rudp_mtu_refused(struct rudp_mtu *m, unsigned bytes, uint64_t now);

#endif
