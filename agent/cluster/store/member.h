/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps this host's keys in the cluster's store: registers the host's name, renews a lease, and
 * writes the server's addresses and the summary of the host (records.h). The registration is a key
 * without a lease, which only the host that made it replaces; each write is a transaction that
 * requires this key. If the store fails, the object retries with growing, random pauses, and
 * reports the state.
 */
#ifndef PLENUM_AGENT_MEMBER_H
#define PLENUM_AGENT_MEMBER_H

#include "agent/cluster/store/records.h"

/* The duration of a host's lease is this, plus or minus up to a fifth, so that leases of several
 * hosts do not end together. */
#define MEMBER_LEASE_S 45
#define MEMBER_RETRY_FIRST_NS NSEC_PER_SEC
#define MEMBER_RETRY_MAX_NS (30 * NSEC_PER_SEC)
/* a registered host reports a store that does not answer after this time */
#define MEMBER_GRACE_NS (10 * NSEC_PER_SEC)

struct member;
struct member_setup {
	struct loop *loop;
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *host;
	struct record_owner self; /* without the member `since` */
	/* Called when the state has changed. */
	void (*on_report)(void *user, const struct cluster_report *report);
	void *user;
};

int member_new(const struct member_setup *setup, struct member **ret);
struct member *member_free(struct member *m); /* accepts NULL, returns NULL */
/* Replaces the value of RECORD_SERVING or RECORD_STATE, which is soon written to the store. */
int member_publish(struct member *m, enum record_kind kind, const char *text);
/* Replaces the key that registers this host, so that etcd refuses all transactions that required
 * its former revision, also those that are still on their way. */
void member_register_again(struct member *m);
/* Returns the revision of the key that registers this host; 0: the host is not registered. */
uint64_t member_revision(const struct member *m);
uint64_t member_lease(const struct member *m); /* 0: this host has no lease */
/* Returns a random time from 80 % to 120 % of ns. */
uint64_t member_jitter(uint64_t ns);

#endif
