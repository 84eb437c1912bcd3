/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits for each address of network clients: TLS handshakes, wrong tokens, and events about
 * refused requests. The table has a fixed size; if it is full, the address that has been silent
 * longest is removed. An IPv6 host can use any address of its /64, so a /64 counts as one address.
 * This module knows no connections and reads no clock.
 */
#ifndef PLENUM_AGENT_LIMITS_H
#define PLENUM_AGENT_LIMITS_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define LIMITS_ADDRESSES_MAX 512
/* New connections of one address: a burst of LIMITS_CONNECTS_BURST, then one connection per
 * LIMITS_CONNECT_NS. */
#define LIMITS_CONNECTS_BURST 100
#define LIMITS_CONNECT_NS (50 * NSEC_PER_MSEC)
/* Each wrong token delays the answers to later wrong tokens of the same address by this time, up to
 * LIMITS_DELAY_NS_MAX in total. */
#define LIMITS_FAILURE_NS (1 * NSEC_PER_SEC)
#define LIMITS_DELAY_NS_MAX (5 * NSEC_PER_SEC)
/* Events about refusals of one address: a burst of LIMITS_REPORTS_BURST, then one event per
 * LIMITS_REPORT_NS, with the number of refusals that got no event. */
#define LIMITS_REPORTS_BURST 10
#define LIMITS_REPORT_NS (10 * NSEC_PER_SEC)

struct limits_entry {
	struct ip_addr address; /* family 0: the entry is unused */
	uint64_t used_ns;
	uint64_t connects_ns; /* time at which the token bucket of connections is full again */
	uint64_t failures_ns; /* time at which the delays are over */
	uint64_t reports_ns;  /* time at which the token bucket of events is full again */
	unsigned n_unreported;
};

struct limits {
	struct limits_entry entries[LIMITS_ADDRESSES_MAX];
};

/* Returns the address or network that counts as one address. */
struct ip_addr limits_key(const struct ip_addr *address);

/* Returns whether a client of the address or network `key` may connect now. */
bool limits_connect(struct limits *l, const struct ip_addr *key, uint64_t now_ns);
/* Call after a wrong token. Returns the delay of its answer in ns. */
uint64_t limits_fail(struct limits *l, const struct ip_addr *key, uint64_t now_ns);
/* Returns whether a refusal gets an event. *ret_others: count of earlier refusals that got none. */
bool limits_report(struct limits *l, const struct ip_addr *key, uint64_t now_ns,
		   unsigned *ret_others);
/* Finds an address with refusals that got no event, and whose next event is due now. *ret_others:
 * count of these refusals, which the caller reports. Returns false if no address has such refusals.
 */
bool limits_next_unreported(struct limits *l, uint64_t now_ns, struct ip_addr *ret_key,
			    unsigned *ret_others);

#endif
