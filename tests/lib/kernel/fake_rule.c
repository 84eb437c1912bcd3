/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates policy rules. Linux rejects a rule that exists already. */
#include "tests/lib/kernel/fake_rule.h"
#include "netcfg/host/inventory_build.h"
#include <string.h>

static struct inv_rule normal(const struct inv_rule *rule)
{
	struct inv_rule n = *rule;

	if (n.family == 0)
		n.family = n.from.addr.family;
	if (n.proto == 0)
		n.proto = PLENUM_RTPROT;
	n.from.addr = ip_addr_network(&n.from.addr, n.from.len);
	return n;
}

int fake_rule_change(struct inventory *inv, const struct inv_rule *rule, bool remove)
{
	const struct inv_rule want = normal(rule);
	struct inv_rule *slot;
	size_t i = 0;

	while (i < inv->n_rules && !kernel_rule_equal(&inv->rules[i], &want))
		i++;
	if (remove) {
		if (i == inv->n_rules)
			return -ENOENT;
		memmove(&inv->rules[i], &inv->rules[i + 1],
			(--inv->n_rules - i) * sizeof(inv->rules[0]));
		return 0;
	}
	if (i < inv->n_rules)
		return -EEXIST;
	slot = inv_rule_add(inv);
	if (!slot)
		return -ENOMEM;
	*slot = want;
	return 0;
}
