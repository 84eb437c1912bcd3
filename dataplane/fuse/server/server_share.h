/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the compute workers of a host tell each other, in a memfd that the agent gives to all of
 * them: what is lent to clients and being changed, what is open, who lives and where. Each worker
 * writes in a place of its own, which it finds again after its death, and only reads the others':
 * there is no lock, and whoever dies between two instructions harms nobody. Of two that do at once
 * what excludes each other, each writes first and then looks (a full fence between), so that one at
 * least sees the other. Owns the layout and the mapping; what it means is fuse_server_lease.c's,
 * fuse_server_hold.c's and fuse_server_mount.c's.
 */
#ifndef PLENUM_SERVER_SHARE_H
#define PLENUM_SERVER_SHARE_H

#include "dataplane/datagram.h"
#include "dataplane/launch.h"

#define SHARE_SLOTS 256U /* workers' numbers begin at 1 and are the lowest that are free */
#define SHARE_LEASE_WAYS 4U
#define SHARE_LEASE_SETS (1U << 14)
#define SHARE_COUNTS (1U << 16)
/* One that was not heard of for so long is gone: whatever it lent or was told has run out. */
#define SHARE_GONE_NS (100 * NSEC_PER_SEC)
/* And for so long, is away: its clients may be another's. */
#define SHARE_AWAY_NS (5 * NSEC_PER_SEC)

/* A file or folder, by the hash of its handle, which stands in `keys` of the slot. */
struct server_lease {
	uint64_t until_ns; /* somebody believes what was said of it until then */
	uint64_t changed_ns;
	uint64_t changed; /* the slot's count of changes when the last ended */
	uint64_t holder;  /* number of a mount; LEASE_MANY: several */
	uint64_t changer; /* mount that changed it last, or wants to; LEASE_MANY: several do */
	uint32_t busy;	  /* changes at work, of this life of the slot */
	uint32_t life;
};

struct share_slot {
	_Alignas(64) uint64_t seen_ns; /* clock_now_ns() when it was last at work */
	uint64_t born_ns;	       /* this life of it */
	uint32_t life;		       /* 0: there never was such a worker */
	uint32_t n_untracked;	       /* changes at work that have no place among its leases */
	uint64_t untracked_ns;	       /* when such a one ended last */
	uint64_t forgotten_ns;	       /* changes until then may have lost their place */
	uint64_t n_changes, changes_forgotten, untracked_changed; /* its own count */
	/* Mounts whose clients have not said what they have open; those that are waited for. */
	uint32_t n_reclaiming, n_in_grace;
	uint32_t n_live, n_live_max; /* clients, that there are and that may be */
	uint32_t n_open;	     /* files that they have open */
	uint32_t n_addrs;
	struct {
		struct ip_prefix ip;
		uint16_t port;
	} addrs[LAUNCH_PORTS_MAX];
	uint64_t exports[LAUNCH_EXPORTS_MAX]; /* hashes of their names; 0: none */
	/* Open files by the hash of their handles: no more are open than it says. */
	_Alignas(4096) uint16_t open[SHARE_COUNTS];
	_Alignas(4096) uint64_t keys[SHARE_LEASE_SETS][SHARE_LEASE_WAYS];
	struct server_lease leases[SHARE_LEASE_SETS][SHARE_LEASE_WAYS];
};

struct share_file;

struct share {
	struct share_file *file;
	struct share_slot *own;
	uint32_t own_index;
	uint64_t hash_key[2]; /* the same for all */
	uint64_t joined;      /* how many had come when `others` was made */
	struct share_slot *peers[SHARE_SLOTS];
	uint32_t n_peers;
};

/* fd: borrowed; -1: of its own, with nobody else. worker: its number. 0; -ENOSPC: the number is too
 * large; -EPROTO: the memory is of another layout; other negative errno. */
int share_init(struct share *s, int fd, uint32_t worker);
void share_done(struct share *s);
/* The worker begins to serve, and is seen by the others from here on; what was open in a former
 * life is not any more. */
void share_join_peers(struct share *s, uint64_t now_ns);
/* About once a second. */
void share_heartbeat(struct share *s, uint64_t now_ns);
/* Looks whether there are more of them than before. Comes after a full fence, which is here. */
void share_refresh(struct share *s);
/* The worker's place; NULL: it was never there. */
struct share_slot *share_slot_of(const struct share *s, uint32_t worker);
uint32_t share_index(const struct share *s, const struct share_slot *slot);
uint64_t share_name_hash(const char *export_name);
bool share_serves(const struct share_slot *slot, uint64_t export_hash);
/* Whether it was at work within the time. */
bool share_is_alive(const struct share_slot *slot, uint64_t within_ns, uint64_t now_ns);
/* One more, or one less, open file with this key (0: none can be named). */
void share_open_count(struct share *s, uint64_t key, int by);
bool share_has_open(const struct share_slot *slot, uint64_t key);
bool share_is_open_elsewhere(struct share *s, uint64_t key);

/* Words that others read while they change; each pairs with a share_get, or share_set, of another
 * worker. */
#define share_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define share_get(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

#endif
