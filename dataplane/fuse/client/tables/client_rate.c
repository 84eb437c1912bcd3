/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes when requests may start under the limits of a mount. */
#include "dataplane/fuse/client/tables/client_rate.h"

static uint64_t units_ns(const struct client_rate *r, uint64_t units)
{
	return MIN_OF(units, r->most) * NSEC_PER_SEC / r->per_s;
}

/* Returns whether the word is later than even the largest requests of all workers can make it. Then
 * the limit was raised meanwhile, or another process has damaged the word. Such a word has no
 * effect, so that no request waits for ever. */
static bool is_wrong(const struct client_rate *r, uint64_t paid_ns, uint64_t now_ns)
{
	return paid_ns > now_ns &&
	       paid_ns - now_ns >
		       CLIENT_RATE_AHEAD_NS + CLIENT_RATE_UNPAID_MAX * units_ns(r, r->most);
}

uint64_t client_rate_due(const struct client_rate *r, const uint64_t *paid_ns, uint64_t now_ns)
{
	/* Pairs with the exchange in client_rate_take() of this process and of other processes. */
	const uint64_t at = __atomic_load_n(paid_ns, __ATOMIC_RELAXED);

	if (r->per_s == 0 || at <= now_ns || is_wrong(r, at, now_ns))
		return 0;
	return at;
}

void client_rate_take(const struct client_rate *r, uint64_t *paid_ns, uint64_t units,
		      uint64_t now_ns)
{
	uint64_t was = __atomic_load_n(paid_ns, __ATOMIC_RELAXED), from;

	if (r->per_s == 0)
		return;
	do {
		from = is_wrong(r, was, now_ns) ? now_ns : was;
		if (now_ns > CLIENT_RATE_BURST_NS)
			from = MAX_OF(from, now_ns - CLIENT_RATE_BURST_NS);
	} while (!__atomic_compare_exchange_n(paid_ns, &was, from + units_ns(r, units), false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void client_rate_return(const struct client_rate *r, uint64_t *paid_ns, uint64_t units)
{
	/* The credit for idle time stays limited, because client_rate_take() limits it. */
	if (r->per_s > 0 && units > 0)
		__atomic_fetch_sub(paid_ns, units_ns(r, units), __ATOMIC_RELAXED);
}
