/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the legs of some other hosts, for the probes of links, from a random place of the keys
 * links/ on. So the traffic of a host with the store is the same in a cluster of any size. When the
 * store does not answer, the hosts that were read last stay known.
 */
#ifndef PLENUM_AGENT_LINKS_MEMBERS_H
#define PLENUM_AGENT_LINKS_MEMBERS_H

#include "agent/cluster/store/records.h"

#define LINKS_MEMBERS_MAX 24 /* other hosts that are known at a time */
#define LINKS_MEMBERS_READ_NS (30 * NSEC_PER_SEC)
#define LINKS_MEMBERS_FIRST_NS (3 * NSEC_PER_SEC) /* while few other hosts are known */
#define LINKS_MEMBERS_FEW 3

struct links_members;
struct links_members_setup {
	struct loop *loop;
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *host;
	/* Called with the hosts, a JSON list on the heap of the caller. */
	void (*on_members)(void *user, const char *text);
	void *user;
};

int links_members_new(const struct links_members_setup *setup, struct links_members **ret);
/* Call only when the reads have ended or the store was closed. Accepts NULL, returns NULL. */
struct links_members *links_members_free(struct links_members *m);
/* Begins to read; further calls have no effect. */
void links_members_begin(struct links_members *m);

#endif
