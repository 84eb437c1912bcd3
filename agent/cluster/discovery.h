/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the addresses of the servers of this host's mounts, and the revocations of hosts, in the
 * cluster's store. It reads their
 * keys, watches them, and reads them again twice a minute, because a watch may stop without an
 * error. A server whose key disappears keeps its last addresses, because it may still serve.
 */
#ifndef PLENUM_AGENT_DISCOVERY_H
#define PLENUM_AGENT_DISCOVERY_H

#include "agent/cluster/store/records.h"
#include <jansson.h>

#define DISCOVERY_SERVERS_MAX 256
#define DISCOVERY_CHECK_NS (30 * NSEC_PER_SEC)

struct discovery;
struct discovery_setup {
	struct loop *loop;
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster;
	uint64_t check_ns; /* DISCOVERY_CHECK_NS; tests use a shorter time */
	/* Called when the key of a server was found, was changed or was removed. */
	void (*on_server)(void *user, const struct cluster_server *s);
	/* Called with the value of the revocations' key when it was found or has changed; NULL: the
	 * key is not read. */
	void (*on_revoked)(void *user, const char *text, size_t len);
	/* Called with CLUSTER_FINE when all servers were read, or with the trouble when a read has
	 * failed. */
	void (*on_looked)(void *user, enum cluster_trouble trouble, const char *text);
	void *user;
};

int discovery_new(const struct discovery_setup *setup, struct discovery **ret);
struct discovery *discovery_free(struct discovery *d); /* accepts NULL; always returns NULL */
/* Replaces the list of servers to find; hosts: a JSON list of names. */
void discovery_want(struct discovery *d, const json_t *hosts);

#endif
