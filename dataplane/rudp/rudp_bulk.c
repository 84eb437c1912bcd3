/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits the bulk data that a server sends to one host in one poll while it also sends to other
 * hosts. So hosts take turns, however many sessions each of them has. While other hosts get small
 * messages, the limit is lower, so that the caller soon reads packets again. A session that has
 * reached the limit of its host continues in the next poll.
 */
#include "dataplane/rudp/rudp_internal.h"
#include <string.h>

/* Maximum number of bytes of bulk data for one host in a poll. POLL_BYTES applies while other hosts
 * get bulk data too, POLL_BYTES_BESIDE_SMALL while other hosts get small messages. A burst that
 * begins below the limit is sent completely. */
#define POLL_BYTES (128U << 10)
#define POLL_BYTES_BESIDE_SMALL (48U << 10)
/* A host to which something was sent within this time may send its next request at any moment. */
#define LATELY_NS (10 * NSEC_PER_MSEC)

/* Returns the host of a path. An IPv6 host may use any address of its subnet, so the subnet stands
 * for the host. */
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

	/* Use the highest bits of the product as the index, because only these depend on all bits
	 * of the address. */
	return &r->bulk_hosts[mixed >> 56];
}

static void note(struct rudp_sent_to to[static 2], uint64_t host, uint64_t now)
{
	if (to[0].host != host) {
		to[1] = to[0];
		to[0].host = host;
	}
	to[0].at_ns = now;
}

/* Returns whether something was sent to another host lately. */
static bool is_shared(const struct rudp_sent_to to[static 2], uint64_t host, uint64_t now)
{
	for (unsigned i = 0; i < 2; i++)
		if (to[i].host && to[i].host != host && now < to[i].at_ns + LATELY_NS)
			return true;
	return false;
}

void rudp_bulk_note_small(struct rudp *r, const struct rudp_path *p, uint64_t now)
{
	note(r->small_to, host_of(p), now);
}

bool rudp_bulk_may_send(struct rudp *r, const struct rudp_path *p, uint64_t now)
{
	uint64_t host = host_of(p);
	const struct bulk_host *b = entry_of(r, host);

	if (b->poll != r->n_polls || b->bytes < POLL_BYTES_BESIDE_SMALL)
		return true;
	return !is_shared(r->small_to, host, now) &&
	       (b->bytes < POLL_BYTES || !is_shared(r->bulk_to, host, now));
}

void rudp_bulk_sent(struct rudp *r, const struct rudp_path *p, uint32_t bytes, uint64_t now)
{
	uint64_t host = host_of(p);
	struct bulk_host *b = entry_of(r, host);

	note(r->bulk_to, host, now);
	if (b->poll != r->n_polls)
		b->bytes = 0;
	b->poll = r->n_polls;
	b->bytes += bytes;
}
