/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the priorities and traffic classes of a device against each other. A driver would only
 * reject them as a whole, without a reason.
 */
#include "netcfg/spec/check/spec_check_internal.h"

#include <inttypes.h>

/* Returns whether the value was already reported as wrong and thus cannot be checked. */
static bool is_bad(const struct spec_reader *r, const struct diag_pos *pos, const char *key,
		   size_t index)
{
	const struct spec_node *n = spec_check_node(r, pos, key, index);

	return n && n->bad;
}

static void check_pfc(struct spec_reader *r, const struct spec_dcb *dcb)
{
	unsigned seen = 0;

	for (size_t i = 0; i < dcb->n_pfc; i++) {
		if (is_bad(r, &dcb->pos, "pfc", i))
			continue;
		if (seen & 1U << dcb->pfc[i])
			check_error_at(r, &dcb->pos, "pfc", i,
				       "priority %" PRIu32 " is named twice", dcb->pfc[i]);
		seen |= 1U << dcb->pfc[i];
	}
}

static void check_dscp(struct spec_reader *r, const struct spec_dcb *dcb)
{
	bool seen[SPEC_DSCPS] = {false};

	for (size_t i = 0; i < dcb->n_dscp; i++) {
		const struct spec_dscp *e = &dcb->dscp[i];

		if (is_bad(r, &e->pos, "dscp", NO_INDEX))
			continue;
		if (seen[e->dscp])
			check_error(r, &e->pos, "dscp",
				    "DSCP %" PRIu32 " has a priority already; give each one once",
				    e->dscp);
		seen[e->dscp] = true;
	}
	if (dcb->n_dscp && dcb->trust == SPEC_TRUST_PCP)
		check_error(
			r, &dcb->pos, "dscp",
			"with trust: pcp the DSCP does not set the priority; write trust: dscp, or "
			"leave dscp out");
}

static void check_class(struct spec_reader *r, const struct spec_ets *e,
			const struct spec_ets **owner)
{
	for (size_t j = 0; j < e->n_prios; j++) {
		const struct spec_ets *other = owner[e->prios[j]];

		if (is_bad(r, &e->pos, "prios", j))
			continue;
		if (other)
			check_error_at(r, &e->pos, "prios", j,
				       "priority %" PRIu32 " is in class %" PRIu32 " already",
				       e->prios[j], other->tc);
		else
			owner[e->prios[j]] = e;
	}
}

/* Each class and each priority may occur only once. If that is so, checks that all priorities occur
 * and that the shares add up to 100. */
static void check_ets(struct spec_reader *r, const struct spec_dcb *dcb)
{
	const struct spec_ets *owner[SPEC_PRIOS] = {NULL};
	const size_t n_errors = r->d->n;
	unsigned classes = 0;
	uint32_t sum = 0;

	for (size_t i = 0; i < dcb->n_ets; i++) {
		const struct spec_ets *e = &dcb->ets[i];

		if (is_bad(r, &e->pos, "tc", NO_INDEX) || is_bad(r, &e->pos, "bandwidth", NO_INDEX))
			return;
		if (classes & 1U << e->tc)
			check_error(r, &e->pos, "tc", "class %" PRIu32 " is described already",
				    e->tc);
		classes |= 1U << e->tc;
		check_class(r, e, owner);
		sum += e->bandwidth;
	}
	if (!dcb->n_ets || r->d->n > n_errors)
		return;
	for (uint32_t p = 0; p < SPEC_PRIOS; p++)
		if (!owner[p])
			check_error(r, &dcb->pos, "ets",
				    "priority %" PRIu32
				    " is in no class; put each priority from 0 to 7 in one",
				    p);
	if (sum != 0 && sum != 100)
		check_error(r, &dcb->pos, "ets",
			    "the shares of the classes add up to %" PRIu32
			    " percent; make them 100",
			    sum);
}

void spec_check_dcb(struct spec_reader *r, const struct spec_net *net)
{
	check_pfc(r, &net->dcb);
	check_dscp(r, &net->dcb);
	check_ets(r, &net->dcb);
}
