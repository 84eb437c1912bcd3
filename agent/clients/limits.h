/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one address of the network may take of the API: handshakes, wrong tokens, and events about
 * them. A table of fixed size; if it is full, the address that has been silent for longest is
 * forgotten. An IPv6 host can use any address of its /64, so that counts as one address. Holds no
 * connection and reads no clock.
 */
#ifndef PLENUM_AGENT_LIMITS_H
#define PLENUM_AGENT_LIMITS_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define LIMITS_ADDRESSES_MAX 512
/* Connections of one address: so many at once, then one each 50 ms. */
#define LIMITS_CONNECTS_BURST 100
#define LIMITS_CONNECT_NS (50 * NSEC_PER_MSEC)
/* After a wrong token the next one of the same address is answered later. */
#define LIMITS_FAILURE_NS (1 * NSEC_PER_SEC)
#define LIMITS_DELAY_NS_MAX (5 * NSEC_PER_SEC)
/* Refusals of one address that become an event each: so many, then one in this time with the number
 * of the others. */
#define LIMITS_REPORTS_BURST 10
#define LIMITS_REPORT_NS (10 * NSEC_PER_SEC)

struct limits_entry {
	struct ip_addr address; /* family 0: free */
	uint64_t used_ns;
	uint64_t connects_ns; /* when all connections would have come at the lower rate */
	uint64_t failures_ns; /* when the delays have passed */
	uint64_t reports_ns;  /* when all events would have come at the lower rate */
	unsigned n_unreported;
};

struct limits {
	struct limits_entry entries[LIMITS_ADDRESSES_MAX];
};

/* What counts as one address. */
struct ip_addr limits_key(const struct ip_addr *address);

/* Whether a client of that key may connect now. */
bool limits_connect(struct limits *l, const struct ip_addr *key, uint64_t now_ns);
/* After a wrong token: how long its answer waits, in ns. */
uint64_t limits_fail(struct limits *l, const struct ip_addr *key, uint64_t now_ns);
/* Whether a refusal becomes an event; *ret_others: earlier ones that did not. */
bool limits_report(struct limits *l, const struct ip_addr *key, uint64_t now_ns,
		   unsigned *ret_others);
/* An address with refusals that no event tells, and whose time has come; its number in *ret_others,
 * which then count as told. false: none. */
bool limits_next_unreported(struct limits *l, uint64_t now_ns, struct ip_addr *ret_key,
			    unsigned *ret_others);

#endif
