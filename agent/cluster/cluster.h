/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of the cluster. Runs the process of the role `cluster` while the configuration
 * has cluster.etcd, passes the settings and the values of this host to that process, and keeps what
 * the process reports. Workers and mounts do not depend on the store, which can fail in any way.
 * cluster_role.c is the code of that process.
 */
#ifndef PLENUM_AGENT_CLUSTER_H
#define PLENUM_AGENT_CLUSTER_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/privsep.h"
#include "agent/cluster/servers.h"
#include "netcfg/base/files/identity.h"
#include "netcfg/base/reason.h"
#include "netcfg/plan/plan_pools.h"
#include "netcfg/spec/spec.h"
#include <sys/types.h>

/* The error code of a change that the role has refused. This code is never the reason of a
 * state. */
#define CLUSTER_CODE_CONFLICT "conflict"
#define CLUSTER_READS_MAX 8 /* maximum number of lists that are being made at a time */
/* Maximum number of pools in the record: those of the configuration and former ones. */
#define CLUSTER_POOLS_KNOWN_MAX 24

struct cluster;
struct cluster_setup {
	struct loop *loop;
	struct events *events;
	enum log_level log_level;
	const char *path;	  /* path of the file of servers.h; borrowed */
	struct servers *servers;  /* borrowed; this module loads, changes and saves it */
	const char *pools_path;	  /* path of the file of plan_pools.h; borrowed */
	struct plan_pools *pools; /* borrowed; this module loads, changes and saves it */
	/* Called when problems or reports have changed. */
	void (*on_change)(void *user);
	/* Called when the addresses of a server have changed. */
	void (*on_servers)(void *user);
	/* Called when the addresses of this host in a pool have changed, or the reason why
	 * addresses are missing. */
	void (*on_pools)(void *user);
	/* Called with a valid revocation, which is on disk already unless the disk fails. The same
	 * revocation may be passed again later. */
	void (*on_revoked)(void *user, const char *host, uint64_t epoch);
	/* Called when cluster_take_pools() has a result; may be NULL. */
	void (*on_taken)(void *user);
	/* Called when this host has a turn in a rollout; fd has the document. */
	void (*on_turn)(void *user, const struct privsep_cluster_turn *turn, int fd);
	/* Called with the legs of other hosts, for the role `links`: fd has len bytes of JSON. */
	void (*on_members)(void *user, int fd, uint64_t len);
	/* Called with enum rollout_view when the record of the rollout was read. */
	void (*on_view)(void *user, uint32_t view);
	/* Called with a list that cluster_read() requested, or with the answer to cluster_edit():
	 * fd has len bytes of JSON. The callee may read fd but does not close it. If the request
	 * failed, fd is -1 and `why` has the reason. */
	void (*on_list)(void *user, uint64_t id, int fd, uint64_t len, const struct reason *why);
	void *user;
};

int cluster_new(const struct cluster_setup *setup, struct cluster **ret);
struct cluster *cluster_free(struct cluster *c); /* accepts NULL; always returns NULL */
/* Uses the settings of the configuration, and reads the files that they name. Call whenever another
 * configuration comes into force. */
void cluster_set(struct cluster *c, const struct spec *s);
bool cluster_is_used(const struct cluster *c);
/* Requests the addresses of pools for a configuration that is not in force yet. Returns true if the
 * store is asked: on_taken is then called after the answer, which can take any time, and the caller
 * calls cluster_set() afterwards. Returns false if there will be no answer: either all addresses
 * are known, or the configuration uses another store than the one in force. */
bool cluster_take_pools(struct cluster *c, const struct spec *s);
/* Returns whether this host is giving its addresses back. Meanwhile no configuration with a pool
 * may come into force. */
bool cluster_is_leaving(const struct cluster *c);
/* Call when another host uses an address on the wire. If it is an address of this host in a pool,
 * this host gives it up, and takes another one. */
void cluster_squat(struct cluster *c, const struct ip_addr *ip, const struct mac_addr *by);
/* Replaces a value of this host (records.h). */
void cluster_publish(struct cluster *c, enum privsep_cluster_what what, const char *text);
/* Requests a list of all hosts, which on_list gets. what: enum rows_kind. Returns 0, -EBUSY if too
 * many requests are in progress, or -ENOTCONN if the process of the role does not run. */
int cluster_read(struct cluster *c, uint32_t what, uint64_t id);
/* Requests a change (pool_edit_op of pool.h); on_list gets the answer. Returns the same errors as
 * cluster_read(), -EALREADY if this host is already giving its addresses back, or another negative
 * errno. */
int cluster_edit(struct cluster *c, const struct privsep_cluster_edit *edit);
/* Requests a change or a view of rollouts (rollout_edit.h); on_list gets the answer. text: the
 * document, or "". Returns the same errors as cluster_read(), or another negative errno. */
int cluster_rollout(struct cluster *c, const struct privsep_cluster_rollout *rq, const char *text);
/* Returns the problems as a JSON list of sentences, a new reference, or NULL if memory is short.
 * s: the running configuration, or NULL. */
json_t *cluster_problems(const struct cluster *c, const struct spec *s);
/* Returns the state and the servers of this host's mounts as JSON, a new reference, or NULL if
 * memory is short. */
json_t *cluster_to_json(const struct cluster *c, const struct spec *s);
/* Writes to buf why a mount has no addresses: its server is not registered, has no usable
 * addresses, or was not looked up yet. */
void cluster_why_unknown(const struct cluster *c, const struct spec *s, const char *server,
			 char *buf, size_t size);
pid_t cluster_pid(const struct cluster *c); /* 0: the process does not run */

/* ---- cluster_reason.c ---- */

/* Sets `why` to what is wrong with the connection to the store and what to do about it; clears
 * `why` if nothing is wrong. */
void cluster_reason(const struct cluster_report *r, const struct spec_cluster *s, const char *host,
		    struct reason *why);

/* ---- cluster_revoked.c ---- */

/* Returns the folder of this host's identity on the heap; NULL: cluster.identity is off. */
char *cluster_identity_dir(const struct spec *s);
/* Verifies a revocation with the cluster's key in the folder, and writes it there: it stays in
 * force without the store and after a restart. dir NULL: this host has no identity. Returns 0, also
 * if the disk fails, or negative errno if the revocation is not valid. */
int cluster_revoked_keep(const char *dir, struct events *events,
			 const uint8_t p[IDENTITY_REVOCATION_BYTES],
			 struct identity_revocation *ret);

/* ---- cluster_pools.c ---- */

struct cluster_pool_draft { /* a report about a pool that may not be complete yet */
	struct cluster_pool_report head;
	struct ip_addr *addrs;
	size_t n;
};

/* Returns which pools the configuration needs, as a list of {"name", "need", "known": [IP]}. */
json_t *cluster_pools_wanted(const struct plan_pools *known, const struct spec *s);
bool cluster_pools_use(
	const struct spec *s); /* Returns whether any network of the configuration has a pool. */
/* Returns whether the configuration needs addresses that this host does not have, or that the store
 * has not confirmed since the agent started. */
bool cluster_pools_lack(const struct plan_pools *known, const struct spec *s);
bool cluster_pools_is_wanted(const json_t *wanted, const char *name);
/* Both return changed settings on the heap, or NULL. cluster_pools_refresh() writes the known
 * addresses into the settings. cluster_pools_add() adds the pools in `other`, the settings of
 * another configuration, to the settings and to *pools. It returns NULL if the settings differ in
 * more than their pools and servers, or if `other` adds nothing. */
char *cluster_pools_refresh(const char *settings, const struct plan_pools *known);
char *cluster_pools_add(const char *settings, const char *other, json_t **pools);
/* Call when another host has registered this host's name. Excludes the known addresses from plans.
 * If the store has confirmed some of the addresses since the agent started, this host already uses
 * them, and the addresses stay in plans. Returns whether it has excluded them now. */
bool cluster_pools_withhold(struct plan_pools *known);
/* If the record has too many pools, drops those that are not wanted. Until then it keeps former
 * pools, because an apply on trial may be rolled back. */
void cluster_pools_keep(struct plan_pools *known, const json_t *wanted);
/* Drops all addresses if they belong to another cluster, host or state directory. */
void cluster_pools_own(struct plan_pools *known, const char *cluster, const char *host,
		       const char *id);
/* cluster_pools_to_json(): returns the addresses of this host in the pools of the configuration.
 * cluster_pools_problems(): adds the problems of pools that no leg reports. */
json_t *cluster_pools_to_json(const struct plan_pools *known, const struct spec *s);
void cluster_pools_problems(const struct plan_pools *known, const struct spec *s, json_t *list);
/* Adds a part of a report to d. Returns whether the known addresses have changed, or the reason why
 * some are missing. */
bool cluster_pools_take(struct plan_pools *known, struct cluster_pool_draft *d,
			const struct cluster_pool_report *r);

#endif
