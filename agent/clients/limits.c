/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits for each address of network clients. */
#include "agent/clients/limits.h"

struct ip_addr limits_key(const struct ip_addr *address)
{
	return address->family == AF_INET6 ? ip_addr_network(address, 64) : *address;
}

/* Finds the entry of the address, or replaces the entry that was used longest ago. Never fails. */
static struct limits_entry *entry_of(struct limits *l, const struct ip_addr *key, uint64_t now_ns)
{
	struct limits_entry *oldest = &l->entries[0];

	for (size_t i = 0; i < LIMITS_ADDRESSES_MAX; i++) {
		struct limits_entry *e = &l->entries[i];

		if (e->address.family && ip_addr_equal(&e->address, key)) {
			e->used_ns = now_ns;
			return e;
		}
		if (e->used_ns < oldest->used_ns)
			oldest = e;
	}
	*oldest = (struct limits_entry){.address = *key, .used_ns = now_ns};
	return oldest;
}

/* Returns whether another event fits the token bucket: `burst` at once, then one per period_ns. If
 * so, counts it. */
static bool fits(uint64_t *at_ns, uint64_t now_ns, uint64_t burst, uint64_t period_ns)
{
	const uint64_t from = MAX_OF(*at_ns, now_ns);

	if (from - now_ns > (burst - 1) * period_ns)
		return false;
	*at_ns = from + period_ns;
	return true;
}

bool limits_connect(struct limits *l, const struct ip_addr *key, uint64_t now_ns)
{
	return fits(&entry_of(l, key, now_ns)->connects_ns, now_ns, LIMITS_CONNECTS_BURST,
		    LIMITS_CONNECT_NS);
}

uint64_t limits_fail(struct limits *l, const struct ip_addr *key, uint64_t now_ns)
{
	struct limits_entry *e = entry_of(l, key, now_ns);
	const uint64_t from = MAX_OF(e->failures_ns, now_ns);

	e->failures_ns = MIN_OF(from + LIMITS_FAILURE_NS, now_ns + LIMITS_DELAY_NS_MAX);
	return MIN_OF(from - now_ns, LIMITS_DELAY_NS_MAX);
}

static bool may_report(struct limits_entry *e, uint64_t now_ns, unsigned *ret_others)
{
	if (!fits(&e->reports_ns, now_ns, LIMITS_REPORTS_BURST, LIMITS_REPORT_NS))
		return false;
	*ret_others = e->n_unreported;
	e->n_unreported = 0;
	return true;
}

bool limits_report(struct limits *l, const struct ip_addr *key, uint64_t now_ns,
		   unsigned *ret_others)
{
	struct limits_entry *e = entry_of(l, key, now_ns);

	if (may_report(e, now_ns, ret_others))
		return true;
	e->n_unreported++;
	return false;
}

bool limits_next_unreported(struct limits *l, uint64_t now_ns, struct ip_addr *ret_key,
			    unsigned *ret_others)
{
	for (size_t i = 0; i < LIMITS_ADDRESSES_MAX; i++) {
		struct limits_entry *e = &l->entries[i];

		if (!e->address.family || !e->n_unreported || !may_report(e, now_ns, ret_others))
			continue;
		*ret_key = e->address;
		return true;
	}
	return false;
}
