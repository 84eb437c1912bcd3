/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the legs of some other hosts, which the role `links` then probes. Begins at a random key
 * below links/ and reads a limited number of keys, so that the traffic between a host and the store
 * does not grow with the cluster. While the store does not answer, the list that was read last
 * stays in use.
 */
#ifndef PLENUM_AGENT_LINKS_MEMBERS_H
#define PLENUM_AGENT_LINKS_MEMBERS_H

#include "agent/cluster/store/records.h"

#define LINKS_MEMBERS_MAX 24 /* maximum number of other hosts in the list */
#define LINKS_MEMBERS_READ_NS (30 * NSEC_PER_SEC)
/* Interval of reads while the list has few hosts. */
#define LINKS_MEMBERS_FIRST_NS (3 * NSEC_PER_SEC)
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
