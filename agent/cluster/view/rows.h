/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the lists of all hosts that the API shows, from the summaries of the hosts (records.h). The
 * summaries come from other hosts, so only members with the right type and printable text are used,
 * and a missing member becomes empty. A host is shown as unknown, whatever its summary says, if it
 * has no lease, or if its summary is old or has an unknown age. The functions hold no state.
 */
#ifndef PLENUM_AGENT_ROWS_H
#define PLENUM_AGENT_ROWS_H

#include "agent/cluster/store/records.h"

/* Maximum age of a valid summary, and how far the clock of its host may be ahead. */
#define ROWS_AGE_MAX_S (3 * RECORDS_REPEAT_S)

enum rows_kind {
	ROWS_HOSTS,
	ROWS_PROCESSES,
	ROWS_NET,
	ROWS_EXPORTS,
	/* These two lists are made from the keys of pools (pool.h), not from summaries. */
	ROWS_POOLS,
	ROWS_ADDRESSES,
	ROWS_LINKS, /* made from the records of links (links_rows.h) */
	ROWS_KIND_MAX
};

struct rows_host {
	const char *host;
	bool alive; /* the lease of the host's agent is valid */
	/* the value of the host's key of the kind RECORD_STATE; NULL: there is none */
	const char *state;
	size_t len;
	uint64_t now_ms; /* wall clock */
};

/* Returns the name of the list in the answer. */
const char *rows_list(enum rows_kind kind);
/* Appends the rows of a host to the list, or none if lists of that kind are not made from
 * summaries. Returns 0 or -ENOMEM. */
int rows_add(json_t *list, enum rows_kind kind, const struct rows_host *h);

#endif
