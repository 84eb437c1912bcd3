/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared state of the compute workers of a host, in a memfd from the agent: leases granted to
 * clients, changes in progress, open files, and which worker is alive at which address. Each worker
 * writes only its own slot, which it finds again after a restart, and reads the others: there is no
 * lock, and a worker that dies between two instructions blocks no peer. For two conflicting
 * actions, each worker writes first and then looks, with a full fence between, so at least one sees
 * the other. This module owns the layout and the mapping; server_lease.c, server_pin.c and
 * server_mount.c define the meaning.
 */
#ifndef PLENUM_SERVER_SHARE_H
#define PLENUM_SERVER_SHARE_H

#include "dataplane/datagram.h"
#include "dataplane/launch.h"

#define SHARE_SLOTS 256U /* worker numbers start at 1, and the lowest free one is used */
#define SHARE_LEASE_WAYS 4U
#define SHARE_LEASE_SETS (1U << 14)
#define SHARE_COUNTS (1U << 16)
/* A worker not seen for this long is gone: all its leases and grace periods have expired. */
#define SHARE_GONE_NS (100 * NSEC_PER_SEC)
/* A worker not seen for this long is away: peers may adopt its mounts. */
#define SHARE_AWAY_NS (5 * NSEC_PER_SEC)

/* The lease state of a file or folder, found by its handle's hash in `keys` of the slot. */
struct server_lease {
	uint64_t until_ns; /* when the last lease expires */
	uint64_t changed_ns;
	uint64_t changed; /* the slot's change count when the last change ended */
	uint64_t holder;  /* mount with the lease; LEASE_SEVERAL: several */
	uint64_t changer; /* mount that changed it last or wants to; LEASE_SEVERAL: several */
	uint32_t busy;	  /* changes in progress, of this incarnation of the slot */
	uint32_t incarnation;
};

struct share_slot {
	_Alignas(64) uint64_t seen_ns; /* heartbeat, clock_now_ns() */
	uint64_t born_ns;	       /* start of this incarnation */
	uint32_t incarnation;	       /* incarnation; 0: never used */
	uint32_t n_untracked;	       /* changes in progress without a slot in the lease table */
	uint64_t untracked_ns;	       /* when the last such change ended */
	uint64_t forgotten_ns;	       /* changes until then may have lost their slot */
	uint64_t n_changes, changes_forgotten,
		untracked_changed; /* counts of this worker's changes */
	/* mounts that still have to reclaim their open files; those of them in their grace
	 * period */
	uint32_t n_reclaiming, n_in_grace;
	uint32_t n_live, n_live_max; /* sessions, and their limit */
	uint32_t n_open;	     /* files open at clients */
	uint32_t n_addrs;
	struct {
		struct ip_prefix ip;
		uint16_t port;
	} addrs[LAUNCH_PORTS_MAX];
	uint64_t exports[LAUNCH_EXPORTS_MAX]; /* hashes of the export names; 0: none */
	/* Counts of open files by handle hash, never below the true number. */
	_Alignas(4096) uint16_t open[SHARE_COUNTS];
	_Alignas(4096) uint64_t keys[SHARE_LEASE_SETS][SHARE_LEASE_WAYS];
	struct server_lease leases[SHARE_LEASE_SETS][SHARE_LEASE_WAYS];
};

struct share_file;

struct share {
	struct share_file *file;
	struct share_slot *own;
	uint32_t own_index;
	uint64_t hash_key[2]; /* the same in all workers */
	uint64_t joined;      /* `joined` when the peer list was made */
	struct share_slot *peers[SHARE_SLOTS];
	uint32_t n_peers;
};

/* fd: borrowed; -1: private memory without peers. worker: its number. 0; -ENOSPC: the number is
 * too large; -EPROTO: the memory has another layout; other negative errno. */
int share_init(struct share *s, int fd, uint32_t worker);
void share_done(struct share *s);
/* Joins: peers see the worker from here on, and files that a former incarnation had open no
 * longer count. */
void share_join_peers(struct share *s, uint64_t now_ns);
/* Call about once a second. */
void share_heartbeat(struct share *s, uint64_t now_ns);
/* Updates the peer list after a full fence. */
void share_refresh(struct share *s);
/* The worker's slot; NULL: never used. */
struct share_slot *share_slot_of(const struct share *s, uint32_t worker);
uint32_t share_index(const struct share *s, const struct share_slot *slot);
uint64_t share_name_hash(const char *export_name);
bool share_serves(const struct share_slot *slot, uint64_t export_hash);
/* Whether the worker was seen within the time. */
bool share_is_alive(const struct share_slot *slot, uint64_t within_ns, uint64_t now_ns);
/* Counts one open file more or less under this key (0: not countable). */
void share_open_count(struct share *s, uint64_t key, int by);
bool share_has_open(const struct share_slot *slot, uint64_t key);
bool share_is_open_elsewhere(struct share *s, uint64_t key);

/* Access to words that peers change; each pairs with a share_get or share_set of another worker. */
#define share_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define share_get(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

#endif
