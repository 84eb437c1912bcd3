/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private header of the changes that the client holds or must repeat: locks, data of write-back,
 * and deferred updates of the ctime. The files of session/ call these functions; the lower half of
 * the client does not.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_CHANGES_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_CHANGES_H

#include "dataplane/fuse/client/fuse_client_internal.h"

/* ---- client_lock_reclaim.c ---- */

/* Call when a lock request has ended with this result: updates the ledger of locks that programs
 * hold. self: the slot of the request; NULL: it has no slot. resent: the client sent the request in
 * more than one session. */
void client_locks_note(struct fuse_client *f, const struct client_slot *self, const uint8_t *req,
		       int error, bool resent);
/* Call when all files are open at the server again. Returns false while locks must be reclaimed
 * before the server counts as ready. */
bool client_locks_reclaim(struct fuse_client *f);
/* Processes the answer to a request that client_locks_reclaim() sent; msg is NULL if the session
 * ended. */
void client_locks_reclaimed(struct fuse_client *f, const struct client_slot *s, const void *msg,
			    size_t len, uint64_t now_ns);

/* ---- client_locks.c ---- */

/* Applies an answer about locks: sets or clears CLIENT_NODE_LOCKED of the request's node, and moves
 * a SETLKW that must wait from its slot to client_locks.waits. Returns true if the slot is free
 * now: the request waits without a slot, or the kernel has its reply. */
bool client_locks_answer(struct fuse_client *f, struct client_slot *s,
			 const struct client_answer *a);
/* Processes the answer to the cancellation of a waiting request: replies EINTR to the kernel, or
 * success if the request had got its lock before. After another error, or if msg is NULL because
 * the session ended, the cancellation is sent again. */
void client_locks_cancelled(struct fuse_client *f, const struct client_slot *s, const void *msg,
			    size_t len);
/* Fails the lock request in the slot. If the request closes an open file, also closes that file. */
void client_locks_fail(struct fuse_client *f, struct client_slot *s, int error);
/* Fails the lock requests that wait without a slot. */
void client_locks_fail_waits(struct fuse_client *f, int error);
/* Call when a process got a signal while it waits for the lock request `unique`. Returns false if
 * no such request waits here. */
bool client_locks_interrupt(struct fuse_client *f, uint64_t unique);

/* ---- client_write_back.c ---- */

/* Call when the server has executed the WRITE in slot s. If the answer has the number of a lease,
 * records the lease, and removes the number from the answer. */
void client_write_back_written(struct fuse_client *f, const struct client_slot *s,
			       struct client_answer *a);
/* Processes the answer to a request that write-back has sent; msg is NULL if the session ended. */
void client_write_back_answered(struct fuse_client *f, const struct client_slot *s, void *msg,
				size_t len);
/* Returns whether a close of the file must wait: the client holds data of it, or must report an
 * error to the program. */
bool client_write_back_waits_at_close(const struct fuse_client *f, const struct client_node *node,
				      const struct client_file *file);
/* Call after the unmount, or before this worker stops: sends held data. Returns true while some
 * data are not sent yet. */
bool client_write_back_delays_goodbye(struct fuse_client *f);
/* Call when the mount has ended and the server did not come back: drops all held data, with a log
 * line. */
void client_write_back_give_up(struct fuse_client *f);

/* ---- client_deferred_ctime.c: SETATTRs that change nothing but the ctime ---- */

/* Call when the server has executed a request that changed the file: if its ctime update was
 * deferred, the request has updated the ctime as well. */
void client_deferred_ctime_applied(struct fuse_client *f, const struct client_slot *s);
/* Processes the answer to a TOUCH: drops the deferred ctime of its node. After a transient error,
 * or if msg is NULL because the session ended, keeps it, and the TOUCH is sent again. */
void client_deferred_ctime_answered(struct fuse_client *f, const struct client_slot *s, void *msg,
				    size_t len);
/* Sends the deferred updates that are due before until_ns. */
void client_deferred_ctime_flush(struct fuse_client *f, uint64_t until_ns);

#endif
