/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts and a store in memory under a virtual clock, for histories of the product's code: the event
 * loop, the clock, the random numbers and the engine of the store (kv.h) of each host. The store
 * has etcd's transactions, revisions and leases. Requests are lost, delayed and repeated, answers
 * lost, hosts cut off, paused and suspended. A test that links it cannot use loop.c.
 */
#ifndef PLENUM_TESTS_POOL_WORLD_H
#define PLENUM_TESTS_POOL_WORLD_H

#include "agent/cluster/cluster.h"
#include "agent/cluster/pools/pool.h"
#include "netcfg/base/vec.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CLUSTER "prod"
#define HOSTS_MAX 8
#define POOLS 2
#define NEED_MAX 4
#define USED_MAX (POOLS * CLUSTER_POOL_ADDRS_MAX)
#define REQUEST_TIMEOUT_NS (5 * NSEC_PER_SEC)

struct loop {
	struct host *host;
};

struct loop_source {
	struct host *host;
	struct loop_source *next;
	loop_timer_cb cb;
	void *user;
	uint64_t due_ns; /* by the host's clock */
	bool armed;
};

struct kv {
	struct host *host;
};

struct host {
	struct loop loop;
	struct loop_source *timers;
	char name[32], id[CLUSTER_ID_MAX];
	uint64_t epoch;
	char nonce[CLUSTER_NONCE_MAX];
	bool has_power, runs, is_cut_off;
	bool is_forgotten; /* an operator has tried to forget it */
	bool is_leaving;   /* its monitor waits for the end of a leave */
	bool stays;	   /* a leave has failed, so its operator applies pools again */
	uint64_t paused_until_ns;
	int64_t clock_ns, date_ns; /* offsets of its monotonic clock and of its time of day */
	struct kv *kv;
	struct member *member;
	struct pool_take *take;
	struct pool_edit *edit;
	struct host *forgets; /* target of that edit */
	bool registered;
	size_t need[POOLS];
	struct plan_pools known; /* the record, which a restart keeps */
	struct cluster_pool_draft draft;
	struct cluster_pool_report told[POOLS];
	struct ip_addr used[USED_MAX];
	size_t n_used;
};

struct op {
	enum kv_op_kind kind;
	char key[KV_KEY_MAX], *value;
	uint64_t lease;
};

struct compare {
	char key[KV_KEY_MAX], end[KV_KEY_MAX]; /* end "": one key */
	uint64_t revision;
};

enum request_kind { RANGE, TXN, GRANT, RENEW };

/* A request or, once it was carried out, its answer. */
struct message {
	enum request_kind kind;
	uint64_t at_ns, seq;
	bool is_answer;
	bool is_mute; /* the request has no answer, or its answer is lost */
	struct kv *kv;
	kv_answer_cb cb;
	void *user;
	char first[KV_KEY_MAX], end[KV_KEY_MAX];
	unsigned limit;
	uint64_t number; /* of the lease, or its duration */
	struct compare *compares;
	size_t n_compares;
	struct op *ops, *otherwise;
	size_t n_ops, n_otherwise;
	struct kv_answer answer;
};

struct entry {
	char key[KV_KEY_MAX], *value;
	uint64_t revision, lease;
	struct pool_owned owned; /* of the key of an address */
};

struct world {
	uint64_t seed, state, now_ns, seq;
	bool is_healed;			  /* no faults any more */
	struct cluster_pool pools[POOLS]; /* at that revision of the key `config` */
	size_t n_pools;
	uint64_t pools_revision;
	bool is_changed; /* keys, or addresses in use, since the last check */
	struct host *current;
	void (*check)(void); /* called after each message */
	struct host hosts[HOSTS_MAX];
	size_t n_hosts;
	struct message *messages;
	size_t n_messages;
	struct entry *entries; /* sorted by key */
	size_t n_entries;
	uint64_t revision, n_leases, n_ended; /* all of the first n_ended leases have ended */
	uint64_t lease_ends_ns[20000];	      /* 0: it has ended */
	uint64_t lease_ttl_s[20000];
	const char *step; /* what the history world_did last, for a failure */
};
extern struct world world;

/* What all histories have done together: a history without them proves nothing. */
struct world_did {
	unsigned taken, late, twice, lost, pauses, cuts, kills, wipes, forgets, leaves, exhausted,
		edits, conflicts, reads, squats;
};
extern struct world_did world_did;

uint64_t world_rnd(uint64_t below);
uint64_t world_rnd_ms(uint64_t from, uint64_t to); /* ns of a random number of ms */

#define world_holds(x)                                                                           \
	do {                                                                                     \
		if (!(x))                                                                        \
			fail_msg("PLENUM_POOL_SEED=%llu at %llu ms, after '%s': %s",             \
				 (unsigned long long)world.seed,                                 \
				 (unsigned long long)(world.now_ns / NSEC_PER_MSEC), world.step, \
				 #x);                                                            \
	} while (0)

extern const struct kv_ops world_engine;
/* Closes the connection of a host. The store still carries out the requests that it has sent. */
struct kv *world_close(struct kv *kv);
/* Returns the key's entry in the store, or NULL. */
struct entry *world_get(const char *key);
void world_pause(struct host *h);
void world_run(uint64_t ns); /* lets that time pass */
void world_done(void);

#endif
