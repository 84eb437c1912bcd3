/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ledger of the file locks that programs of a mount hold, as far as the client knows from the
 * server's answers. The client uses the ledger to reclaim the locks after a reboot of the server.
 * The ledger is in process memory, and each change is copied to a record in the mount's state
 * descriptor, which outlives the worker. If the worker dies during a change, its successor has the
 * locks of all other nodes, and an entry of kind `doubt` for the node that was being changed. If it
 * is uncertain which locks programs hold on a node, the ledger has such an entry for the node, and
 * the client cannot reclaim the node's locks. This module does not depend on messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_LEDGER_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_LEDGER_H

#include "netcfg/base/base.h"

/* The server lets a mount have at most 16384 locks. */
#define CLIENT_LEDGER_MAX 32768U

struct client_lock {
	uint64_t nodeid;
	uint64_t owner;
	uint64_t start, end; /* first and last byte */
	uint32_t file;	     /* index of the open file that has made the lock */
	uint32_t pid;
	bool flock; /* true: a flock(2) lock; false: an fcntl(2) lock */
	bool write;
	bool doubt; /* this entry is not a lock: it is uncertain which locks programs hold on the
		       node */
	bool sent;  /* set by the caller, and cleared for all locks by client_ledger_unsend() */
};

struct client_ledger_record;

struct client_ledger { /* a struct of zeros is an empty ledger without a record */
	struct client_ledger_record *record; /* NULL: none */
	struct client_lock *all;
	unsigned n, room;
	unsigned first, end; /* the record must still be updated for the entries from index `first`
				to before `end` */
	bool overflown;	     /* there were more locks than entries, so all locks are uncertain until
				client_ledger_clear() */
};

/* Maps the record, which begins at offset `at` of fd. Reads a predecessor's record if `adopt` is
 * set; otherwise, and if there is none of this mount, the ledger is empty. Returns 1 if a record
 * was read, 0, or negative errno. */
int client_ledger_open(struct client_ledger *l, int fd, uint64_t at, const uint8_t mount_id[16],
		       bool adopt);
void client_ledger_done(struct client_ledger *l);
void client_ledger_clear(struct client_ledger *l);
/* Records that the lock was granted to its owner. It replaces the owner's former locks in the
 * range. */
void client_ledger_set(struct client_ledger *l, const struct client_lock *lock);
/* Records that the owner has no lock in the range any more. */
void client_ledger_free(struct client_ledger *l, const struct client_lock *range);
/* Records that the owner's locks in the range are now shared locks. */
void client_ledger_weaken(struct client_ledger *l, const struct client_lock *range);
/* Removes the locks that the open file has made. Call it when the file is closed for the last
 * time. */
void client_ledger_close(struct client_ledger *l, uint64_t nodeid, uint32_t file);
/* Removes all locks on the node. */
void client_ledger_drop_node(struct client_ledger *l, uint64_t nodeid);
void client_ledger_doubt(struct client_ledger *l, uint64_t nodeid);
bool client_ledger_is_doubted(const struct client_ledger *l, uint64_t nodeid);
void client_ledger_unsend(struct client_ledger *l);
/* Returns the first lock that is not marked as sent, or NULL. */
struct client_lock *client_ledger_unsent(struct client_ledger *l);

#endif
