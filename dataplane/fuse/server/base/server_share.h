/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State that the compute workers of a host share, in a memfd from the agent: leases granted to
 * clients, changes in progress, open files, and which worker is alive at which address. Each worker
 * writes only its own slot and reads the slots of its peers. After a restart, a worker finds its
 * slot again. So the memory needs no locks, and a worker that dies at any instruction blocks no
 * other worker.
 *
 * If actions of two workers may conflict, each worker first records its own action and then reads
 * the other worker's slot, with a full fence in between. So at least one of them sees the action of
 * the other. This module owns the layout and the mapping; server_lease.c, server_pin.c and
 * server_mount.c define the meaning.
 */
#ifndef PLENUM_SERVER_SHARE_H
#define PLENUM_SERVER_SHARE_H

#include "dataplane/datagram.h"
#include "dataplane/launch.h"

/* Count of slots. The slot of a worker has the index of the worker's number. Worker numbers begin
 * at 1, and a new worker gets the lowest free number. */
#define SHARE_SLOTS 256U
#define SHARE_LEASE_WAYS 4U
#define SHARE_LEASE_SETS (1U << 14)
#define SHARE_COUNTS (1U << 16)
/* A worker that has not updated its heartbeat for this long counts as ended: all its leases and
 * grace periods have expired. */
#define SHARE_GONE_NS (100 * NSEC_PER_SEC)
/* A worker that has not updated its heartbeat for this long is away, and other workers may adopt
 * its mounts. */
#define SHARE_AWAY_NS (5 * NSEC_PER_SEC)

/* A lease on a file or folder. The hash of the object's handle is in share_slot.keys, at the index
 * that the lease has in share_slot.leases. */
struct server_lease {
	uint64_t until_ns; /* when the last lease on the object expires */
	uint64_t changed_ns;
	uint64_t changed; /* value of share_slot.n_changes at the end of the object's last change */
	uint64_t holder;  /* ID of the mount that has the lease; LEASE_SEVERAL: several mounts */
	uint64_t changer; /* ID of the mount that last changed the file or asked to change it;
			     LEASE_SEVERAL: several mounts */
	uint32_t busy;	  /* count of changes in progress; valid only if `incarnation` equals
			     share_slot.incarnation */
	uint32_t incarnation;
};

#define SHARE_WRITE_LEASES 64U
#define SHARE_WRITE_LEASES_ENDED 64U

/* The lease of a file to one mount for writing; server_write_lease.c defines the meaning. Unlike
 * all other memory here, every worker may change it, by an exchange of `word`. */
struct share_write_lease {
	uint64_t word;	    /* number and state; 0: unused */
	uint64_t key;	    /* the file, as in share_slot.keys */
	uint64_t mount;	    /* ID of the mount */
	uint64_t host;	    /* hash of the client's host */
	uint64_t since_ns;  /* when the state began */
	uint64_t wanted_ns; /* when the first request of another mount began to wait; 0: none */
};

/* Begins with zeros. */
struct share_write_leases {
	uint64_t used;	 /* bit mask of the entries that may be in use */
	uint64_t number; /* count of leases so far */
	struct share_write_lease all[SHARE_WRITE_LEASES];
	uint64_t n_ended; /* count of leases that have ended */
	/* value of n_ended when the last lease ended, by the hash of its file */
	uint64_t ended[SHARE_WRITE_LEASES_ENDED];
};

struct share_slot {
	_Alignas(64) uint64_t seen_ns; /* time of the heartbeat, by clock_now_ns() */
	uint64_t born_ns;	       /* when this incarnation of the worker started */
	uint32_t incarnation;  /* count of starts of the worker; 0: the slot was never used */
	uint32_t n_untracked;  /* count of changes in progress for which the lease table had no free
				  entry */
	uint64_t untracked_ns; /* when the last change without an entry in the lease table ended */
	uint64_t forgotten_ns; /* changes that ended before this time may be missing in the lease
				  table */
	uint64_t n_changes, changes_forgotten,
		untracked_changed; /* n_changes: count of this worker's changes; changes_forgotten:
				      value of n_changes at the last change that was forgotten;
				      untracked_changed: its value at the last change that had no
				      entry in the lease table */
	/* count of mounts that still have to reclaim their open files, and how many of them are in
	 * their grace period */
	uint32_t n_reclaiming, n_in_grace;
	uint32_t n_live, n_live_max; /* count of sessions, and its limit */
	uint32_t n_open;	     /* count of files that clients have open */
	uint32_t n_addrs;
	struct {
		struct ip_prefix ip;
		uint16_t port;
	} addrs[LAUNCH_PORTS_MAX];
	uint64_t exports[LAUNCH_EXPORTS_MAX]; /* hashes of the names of the worker's exports; 0:
						 the entry is unused */
	/* Equals `incarnation` if this worker obeys leases for writing, as older versions do
	 * not. */
	uint32_t write_leases;
	/* Count of open files, by hash of their handle; may be too high, but never too low. */
	_Alignas(4096) uint16_t open[SHARE_COUNTS];
	_Alignas(4096) uint64_t keys[SHARE_LEASE_SETS][SHARE_LEASE_WAYS];
	struct server_lease leases[SHARE_LEASE_SETS][SHARE_LEASE_WAYS];
};

struct share_file;

struct share {
	struct share_file *file;
	struct share_slot *own;
	struct share_write_leases *write_leases; /* the table that all workers share */
	uint32_t own_index;
	uint64_t hash_key[2]; /* key for hashes of handles; the same in all workers */
	uint64_t joined;      /* value of share_file.joined when this worker last listed its
				 peers */
	struct share_slot *peers[SHARE_SLOTS];
	uint32_t n_peers;
};

/* Maps the shared memory behind fd, which the caller still owns; fd -1: uses private memory,
 * without peers. worker: number of this worker. Returns 0, -ENOSPC if the number is too large,
 * -EPROTO if the memory has another layout, or another negative errno. */
int share_init(struct share *s, int fd, uint32_t worker);
void share_done(struct share *s);
/* Makes this worker visible to the other workers. Files that its predecessor had open no longer
 * count. */
void share_join_peers(struct share *s, uint64_t now_ns);
/* Updates this worker's heartbeat. Call it about once a second. */
void share_heartbeat(struct share *s, uint64_t now_ns);
/* Makes a full fence, then reads the list of peers again if it has changed. */
void share_refresh(struct share *s);
/* Returns the slot of the worker with this number, or NULL if it was never used. */
struct share_slot *share_slot_of(const struct share *s, uint32_t worker);
uint32_t share_index(const struct share *s, const struct share_slot *slot);
uint64_t share_name_hash(const char *export_name);
bool share_serves(const struct share_slot *slot, uint64_t export_hash);
/* Returns whether the worker of this slot has updated its heartbeat within the last within_ns. */
bool share_is_alive(const struct share_slot *slot, uint64_t within_ns, uint64_t now_ns);
/* Adds `by` (1 or -1) to the number of open files with this key. Key 0 is ignored. */
void share_open_count(struct share *s, uint64_t key, int by);
bool share_has_open(const struct share_slot *slot, uint64_t key);
bool share_is_open_elsewhere(struct share *s, uint64_t key);

/* Access to words that several workers use: share_set() in one worker pairs with share_get() in
 * another. */
#define share_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define share_get(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

#endif
