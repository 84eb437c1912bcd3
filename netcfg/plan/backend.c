/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds the registered transport back ends. */
#include "netcfg/plan/backend.h"

/* The back end for the kernel's sockets, which every host has without preparation. */
static const struct backend sockets = {.transport = SPEC_TRANSPORT_UDP};

static struct {
	const struct backend *const *table;
	size_t n;
} backends;

void backend_table_set(const struct backend *const *table, size_t n)
{
	backends.table = table;
	backends.n = n;
}

const struct backend *backend_find(enum spec_transport t)
{
	for (size_t i = 0; i < backends.n; i++)
		if (backends.table[i]->transport == t)
			return backends.table[i];
	return &sockets;
}

const struct backend *backend_below(const struct backend *e)
{
	const struct backend *best = NULL;

	for (size_t i = 0; i < backends.n; i++) {
		const struct backend *other = backends.table[i];

		if ((!e || other->score < e->score) && (!best || other->score > best->score))
			best = other;
	}
	return best;
}

bool backend_takes_vf(enum spec_transport t, const struct nic_family *family)
{
	const struct backend *e = backend_find(t);

	return e->takes_vf && e->takes_vf(family);
}
