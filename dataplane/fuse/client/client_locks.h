/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * File locks that the server manages (`locks: cluster`). client_lock_state.c owns the part of the
 * mount's state that records these locks; client_locks.c owns the lock requests;
 * client_lock_reclaim.c reclaims locks after a reboot of the server's host. A request that sets or
 * frees a lock and was sent ends only with the server's answer. Without the answer the
 * client does not know whether the program has the lock. The exception is a server that has refused
 * the mount for so long that it has freed the locks (client_refusal.c).
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_LOCKS_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_LOCKS_H

#include "dataplane/fuse/client/tables/client_files.h"
#include "dataplane/fuse/client/tables/client_ledger.h"
#include "dataplane/launch.h"

struct fuse_client;
struct client_slot;
struct client_answer;

/* Maximum number of lock requests of a mount that wait. */
#define CLIENT_LOCK_WAITS_MAX 4096U
#define CLIENT_LOCK_REQ_BYTES (sizeof(struct fuse_in_header) + sizeof(struct fuse_lk_in))

/* A lock request of the kernel that waits at the server. It uses no slot. */
struct client_lock_wait {
	uint64_t unique; /* ID of the request, as the kernel sent it */
	bool repeat;	 /* the session has ended, so the client must send the request again */
	bool cancel, cancel_sent;
	uint8_t req[CLIENT_LOCK_REQ_BYTES];
};

enum client_reclaim {
	CLIENT_RECLAIM_NONE,
	CLIENT_RECLAIM_DUE,   /* the server's host has rebooted: the locks must be reclaimed */
	CLIENT_RECLAIM_LOCKS, /* the client is reclaiming the locks */
	CLIENT_RECLAIM_END,   /* all locks are reclaimed; the server must still be informed */
	CLIENT_RECLAIM_ENDS,  /* the message that informs the server is in flight */
};

struct client_locks {
	struct client_ledger ledger; /* the locks that programs hold */
	enum client_reclaim reclaim;
	/* The kernel may still have requests to resend that a predecessor has sent. The server may
	 * have executed them, so no lock may be reclaimed before they are read. */
	bool unread;
	unsigned n_reclaims;		/* count of reclaim requests in flight */
	struct client_lock_wait *waits; /* NULL: no request has had to wait so far */
	unsigned n_waits;
	unsigned n_todo;   /* count of waiting requests to send again or to cancel */
	uint64_t n_grants; /* count of locks granted to programs of this mount */
	bool asked;	   /* a FUSE_PROTO_LOCK_WAIT call is in flight */
	bool refused;	   /* the log already has the reason why lock requests are refused */
	uint64_t retry_ns;
	struct fuse_in_header msg;
	uint8_t resp[sizeof(struct fuse_out_header) + FUSE_PROTO_LOCK_WAIT_MAX * sizeof(uint64_t)];
};

/* ---- client_lock_state.c ---- */

/* Returns whether the mount has `locks: cluster`, so that the server is to manage its locks. If the
 * server or this host's kernel cannot do that, lock requests fail. */
bool client_locks_wanted(const struct fuse_client *f);
/* The locks on this node (0: of the mount) are lost: marks all open files on which programs may
 * hold them. Requests with these files fail with EIO. */
void client_locks_lose(struct fuse_client *f, uint64_t nodeid);
/* Call when a server has answered INIT. epoch: the mount's lock epoch, 0: this server manages no
 * locks. If the epoch has changed, all locks are lost. reclaims: the server's host has rebooted,
 * and the locks must be reclaimed. */
void client_locks_served(struct fuse_client *f, uint64_t epoch, bool reclaims);
/* Call at the start: adopts the locks that are in a predecessor's record. Without a record the
 * locks are not known, so they cannot be reclaimed. Returns 0 or negative errno. */
int client_locks_adopt(struct fuse_client *f);
/* Call if the kernel cannot resend the requests of a predecessor: which locks programs hold is then
 * uncertain on all nodes with locks. */
void client_locks_doubt_all(struct fuse_client *f);
/* Returns whether a request of this opcode must fail, because the file's locks are lost. */
bool client_locks_lost(const struct client_file *file, uint32_t opcode);
/* Changes the kernel's RELEASE into a FLUSH that frees the locks that this open file has made.
 * Returns false, and changes nothing, if the open file has no locks. */
bool client_locks_release(struct fuse_client *f, struct client_file *file, void *req);
/* Returns whether the client must wait for the server's answer even if the process that made the
 * request is being killed. sent: the request was sent to the server. */
bool client_locks_must_end(uint32_t opcode, bool sent);

#endif
