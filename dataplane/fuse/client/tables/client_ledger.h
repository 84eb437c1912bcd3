/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file locks that programs of a mount hold at the server, as the server's answers say. After a
 * reboot of the server the client reclaims them. The ledger is in process memory. For a node whose
 * locks are uncertain it has a doubt instead: such locks cannot be reclaimed. This module knows no
 * messages.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_LEDGER_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_LEDGER_H

#include "netcfg/base/base.h"

/* The server gives a mount at most 16384 locks. */
#define CLIENT_LEDGER_MAX 32768U

struct client_lock {
	uint64_t nodeid;
	uint64_t owner;
	uint64_t start, end; /* first and last byte */
	uint32_t file;	     /* index of the open file by which the lock was made */
	uint32_t pid;
	bool flock; /* kind flock(2), else fcntl(2) */
	bool write;
	bool doubt; /* not a lock: which locks are held on the node is uncertain */
	bool sent;  /* for the caller, who clears it by client_ledger_unsend() */
};

struct client_ledger { /* zeroed: empty */
	struct client_lock *all;
	unsigned n, room;
	bool overflown; /* locks are missing, so all are uncertain; until client_ledger_clear() */
};

void client_ledger_done(struct client_ledger *l);
void client_ledger_clear(struct client_ledger *l);
/* The owner has got this lock, which replaces what it had in the range. */
void client_ledger_set(struct client_ledger *l, const struct client_lock *lock);
/* The owner no longer has the range. */
void client_ledger_free(struct client_ledger *l, const struct client_lock *range);
/* What the owner has in the range is shared from now on. */
void client_ledger_weaken(struct client_ledger *l, const struct client_lock *range);
/* The open file was closed for the last time: its locks are gone. */
void client_ledger_close(struct client_ledger *l, uint64_t nodeid, uint32_t file);
/* The mount has no lock on the node. */
void client_ledger_drop_node(struct client_ledger *l, uint64_t nodeid);
void client_ledger_doubt(struct client_ledger *l, uint64_t nodeid);
bool client_ledger_is_doubted(const struct client_ledger *l, uint64_t nodeid);
void client_ledger_unsend(struct client_ledger *l);
/* Returns the first lock that is not marked as sent, or NULL. */
struct client_lock *client_ledger_unsent(struct client_ledger *l);

#endif
