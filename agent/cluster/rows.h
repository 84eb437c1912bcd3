/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lists of all hosts that the API shows, made from the hosts' summaries (records.h). The
 * summaries come from other hosts: only members with the right type are taken, with clean texts,
 * and a missing one becomes empty. A host without a lease, or with a summary that is old or of an
 * unknown age, is shown as unknown, whatever its summary says. Pure.
 */
#ifndef PLENUM_AGENT_ROWS_H
#define PLENUM_AGENT_ROWS_H

#include "agent/cluster/records.h"

/* The oldest summary that counts; and how far the clock of its host may be ahead. */
#define ROWS_AGE_MAX_S (3 * RECORDS_REPEAT_S)

enum rows_kind {
	ROWS_HOSTS,
	ROWS_PROCESSES,
	ROWS_NET,
	ROWS_EXPORTS,
	/* These two are not made from summaries, but from the keys of pools (pool.h). */
	ROWS_POOLS,
	ROWS_ADDRESSES,
	ROWS_KIND_MAX
};

struct rows_host {
	const char *host;
	bool alive;	   /* the lease of its agent is valid */
	const char *state; /* the value of its state key; NULL: it has none */
	size_t len;
	uint64_t now_ms; /* wall clock */
};

/* Returns the name of the list in the answer. */
const char *rows_list(enum rows_kind kind);
/* Appends the rows of a host to the list; none for a kind that is not made from summaries. Returns
 * 0 or -ENOMEM. */
int rows_add(json_t *list, enum rows_kind kind, const struct rows_host *h);

#endif
