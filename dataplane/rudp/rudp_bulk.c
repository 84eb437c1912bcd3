/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits the bulk data that a server sends to a host in one poll while small messages go to other
 * hosts: the caller then reads packets again soon, and hosts that read much take turns, whatever
 * the number of their sessions. A session that has reached its host's limit continues in the next
 * poll.
 */
#include "dataplane/rudp/rudp_internal.h"
#include <string.h>

/* With a burst that begins below it, about as much again. */
#define POLL_BYTES (48U << 10)
/* A host that got a small message within this time may send the next request at any moment. */
#define LATELY_NS (10 * NSEC_PER_MSEC)

/* The host of a path. A host has as many addresses of an IPv6 subnet as it likes. */
static uint64_t host_of(const struct rudp_path *p)
{
	const struct ip_addr *ip = &p->remote.ip;
	uint64_t n = 0;

	memcpy(&n, ip->bytes, ip->family == AF_INET ? 4 : 8);
	return n + 1;
}

static struct bulk_host *entry_of(struct rudp *r, uint64_t host)
{
	uint64_t mixed = (host ^ r->key[0]) * 0x9e3779b97f4a7c15ULL;

	return &r->bulk_hosts[(mixed >> 32) % RUDP_BULK_HOSTS];
}

void rudp_bulk_note_small(struct rudp *r, const struct rudp_path *p, uint64_t now)
{
	uint64_t host = host_of(p);

	if (r->small_to[0].host != host) {
		r->small_to[1] = r->small_to[0];
		r->small_to[0].host = host;
	}
	r->small_to[0].at_ns = now;
}

bool rudp_bulk_may_send(struct rudp *r, const struct rudp_path *p, uint64_t now)
{
	uint64_t host = host_of(p);
	const struct bulk_host *b = entry_of(r, host);

	if (b->poll != r->n_polls || b->bytes < POLL_BYTES)
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(r->small_to); i++)
		if (r->small_to[i].host && r->small_to[i].host != host &&
		    now < r->small_to[i].at_ns + LATELY_NS)
			return false;
	return true;
}

void rudp_bulk_sent(struct rudp *r, const struct rudp_path *p, uint32_t bytes)
{
	struct bulk_host *b = entry_of(r, host_of(p));

	if (b->poll != r->n_polls)
		b->bytes = 0;
	b->poll = r->n_polls;
	b->bytes += bytes;
}
