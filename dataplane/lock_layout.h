/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of the memory with the locks of all clients (launch_config.locks_fd). Only the compute
 * workers of the host write this memory, in dataplane/fuse/server/locks. The agent copies it to
 * show the locks to operators. The agent never reserves the table, and checks everything that it
 * reads, because a worker may write anything at any time. Before the first worker starts, the agent
 * writes the mounts there that it has on record from before a reboot. Each process maps the memory
 * at another address, so a record refers to another record by number; number 0 means none.
 */
#ifndef PLENUM_DATAPLANE_LOCK_LAYOUT_H
#define PLENUM_DATAPLANE_LOCK_LAYOUT_H

#include "netcfg/base/base.h"

#define LOCKS_VERSION 4U
#define LOCKS_MOUNTS 16384U
#define LOCKS_FILES 65536U
#define LOCKS_RECORDS 262144U
#define LOCKS_CHAINS 65536U
#define LOCKS_UNDO 16384U
#define LOCKS_UNDO_BYTES 112U

enum lock_state {
	LOCK_UNUSED,
	LOCK_HELD,
	LOCK_WAITING,
	LOCK_GRANTED,  /* the waiting request was granted, and the mount's client must be
			  informed; the lock itself has another record */
	LOCK_BREAKING, /* an operator breaks the lock: it still excludes other locks, until the
			  mount's running requests have ended */
	LOCK_BROKEN,   /* the lock was broken and excludes no other lock; files that the mount had
			  open then stay barred until they are closed */
	LOCK_STATE_MAX
};

struct lock_link {
	uint32_t prev, next;
};
struct lock_list {
	uint32_t first, last;
};

struct lock_record {
	uint32_t state; /* enum lock_state */
	uint32_t file, mount;
	struct lock_link in_file; /* links of the file's list for this state; unused in
				     LOCK_GRANTED */
	struct lock_link in_mount;
	uint32_t pid, opener;
	uint8_t flock, write, pad[2];
	uint64_t owner, start, end, unique, since_ns;
	uint64_t id; /* number by which operators name the lock; no other lock has ever had it */
};
_Static_assert(sizeof(struct lock_record) <= LOCKS_UNDO_BYTES, "a record can be undone");

struct lock_file {
	uint8_t used;
	uint8_t freed; /* 1: a lock was freed, and the waiting requests have not been checked
			  since */
	uint16_t n;    /* count of records in all lists */
	uint32_t next; /* next file in the hash chain, or in the list of free file records */
	struct lock_list held, waiting, broken; /* held: locks in LOCK_HELD and LOCK_BREAKING */
	uint64_t dev, ino;
	/* worker: the worker that set a lock on the file last; fd: its descriptor of the file,
	 * which may be closed already. */
	uint32_t worker;
	int32_t fd;
};

/*
 * What the agent keeps about a mount on disk, so that its client can reclaim its locks after a
 * reboot of this host. The record must be removed from the disk before any lock of the mount goes
 * to another mount without the consent of its client. Bits of lock_mount.stable.
 */
enum {
	LOCK_STABLE_ASKED = 1,	  /* the agent was asked to write a record, so there may be one */
	LOCK_STABLE_KEPT = 2,	  /* there is a record on disk */
	LOCK_STABLE_EXPECTED = 4, /* the mount had a record before the reboot, and has not reclaimed
				     all its locks */
	/* The grace period has ended although the mount's record may exist. */
	LOCK_STABLE_OVERDUE = 16,
	LOCK_STABLE_NEVER = 8, /* an operator has broken a lock: there must be no record */
};

enum lock_leaving {
	LOCK_STAYS,
	LOCK_LEAVING, /* the mount's locks are being freed */
	LOCK_LEAVES,  /* the mount's locks are freed as soon as the agent has removed the record */
};

struct lock_mount {
	uint32_t used;
	uint32_t leaving;			/* enum lock_leaving */
	struct lock_list lists[LOCK_STATE_MAX]; /* one list for each enum lock_state */
	uint32_t n;				/* count of records in all lists */
	uint32_t breaks;			/* how many locks of the mount operators have
						   begun to break */
	uint64_t epoch, seen_ns;
	uint64_t session; /* ID of the mount's latest session, at any worker */
	uint8_t id[16];
	uint32_t stable; /* LOCK_STABLE_* */
	uint32_t pad;
};
_Static_assert(sizeof(struct lock_mount) <= LOCKS_UNDO_BYTES, "a mount can be undone");

/* Names of the mount with the same index: its client's host, and the export. They are only
 * displayed. */
struct lock_name {
	char host[PLENUM_NAME_MAX], export_name[PLENUM_NAME_MAX];
};

struct lock_undo {
	uint32_t at, len; /* saved bytes: their offset in struct lock_memory, and their number */
	uint8_t bytes[LOCKS_UNDO_BYTES];
};

struct lock_head {
	uint32_t state; /* 0: unused; 1: a process is preparing the table; 2: ready */
	uint32_t version;
	uint32_t busy; /* 1: a process uses the table, or died while it used the table */
	uint32_t pad[15];
	uint64_t grants;
	uint64_t epoch; /* epoch of the mount that joined last */
	uint32_t n_undo;
	uint32_t n_mounts, n_files, n_records; /* numbers of records that were ever used */
	uint32_t free_file, free_record;       /* first entries of the lists of free records */
	uint32_t n_used, n_used_files;	       /* numbers of records in use */
	uint32_t n_freed;		       /* count of files with the flag `freed` */
	uint32_t worker;		       /* the worker that used the table last */
	uint64_t last_id;		       /* the last lock_record.id that was assigned */
	uint64_t last_session;		       /* the last lock_mount.session that was assigned */
	/* Latest end of the grace period after a reboot. 0: no grace period is running.
	 * LOCKS_GRACE_DUE: the grace period begins when the first worker starts. */
	uint64_t grace_ns;
	uint32_t records; /* 1: the agent, which made this table, keeps records of mounts on disk */
	uint32_t pad2;
};
#define LOCKS_GRACE_DUE UINT64_MAX

struct lock_memory {
	struct lock_head head;
	struct lock_undo undo[LOCKS_UNDO];
	uint32_t chains[LOCKS_CHAINS];
	struct lock_mount mounts[LOCKS_MOUNTS];
	struct lock_name names[LOCKS_MOUNTS];
	struct lock_file files[LOCKS_FILES];
	struct lock_record records[LOCKS_RECORDS];
};
#define LOCKS_LAYOUT_BYTES ((sizeof(struct lock_memory) + 4095) / 4096 * 4096)
_Static_assert(sizeof(struct lock_head) == 160 && sizeof(struct lock_undo) == 120 &&
		       sizeof(struct lock_mount) == 112 && sizeof(struct lock_name) == 128 &&
		       sizeof(struct lock_file) == 56 && sizeof(struct lock_record) == 88,
	       "another layout needs another LOCKS_VERSION");

#endif
