/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of an export records the outcome of each request that must not run twice. It is in a
 * memfd that outlives workers. The worker opens a record before it submits a request. The I/O
 * helper (fs_helper.h) claims the record, writes the evidence that later proves whether the change
 * was made, and closes the record with the outcome. So when a client repeats a request, a successor
 * finds one of these: the reply, a helper that still runs the request, proof that the request did
 * not run, or evidence by which a helper can decide whether it did. Several workers may serve one
 * export with one journal.
 *
 * A record changes its state only by a compare-and-swap of one word, which also names the owner. So
 * a helper of a dead worker cannot start a request that a successor has taken over:
 *
 *	FREE -> STARTED		worker: the request is queued
 *	STARTED -> RUNNING	helper: no change is made yet
 *	RUNNING -> INTENT	helper: the evidence is complete, the change may have been made
 *	RUNNING, INTENT -> DONE	helper: the outcome is complete
 *	DONE -> ACKED		worker: the client has the reply
 *	STARTED, RUNNING -> STARTED	successor: the owner is dead
 *	INTENT -> SUSPECT	successor: the owner is dead, the outcome is unknown
 *	SUSPECT -> INTENT	helper: resolves it by the evidence: back to RUNNING, or DONE
 *
 * An owner is a thread that has registered, with a robust futex word (get_robust_list(2)). The
 * kernel marks the word when the thread ends for any reason, but not before the thread's last
 * system call has returned.
 */
#ifndef PLENUM_DATAPLANE_FUSE_JOURNAL_H
#define PLENUM_DATAPLANE_FUSE_JOURNAL_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

/* Maximum number of mounts in a journal. It is larger than LAUNCH_SESSIONS_MAX, because some mounts
 * have no session at present. */
#define JOURNAL_MOUNTS_MAX 12288U
/* Count of records of each mount; at least twice FUSE_PROTO_CALLS_MAX. */
#define JOURNAL_RECORDS 512U
/* Maximum number of helper threads of all workers that serve the export */
#define JOURNAL_OWNERS_MAX 2048U
#define JOURNAL_LOCKS 64U

enum journal_state {
	JOURNAL_FREE,
	JOURNAL_STARTED,
	JOURNAL_RUNNING,
	JOURNAL_INTENT,
	JOURNAL_DONE,
	JOURNAL_ACKED,
	JOURNAL_SUSPECT,
};

enum {
	HELPER_RESULT_ATTR = 1,	      /* attr and dev are valid */
	HELPER_RESULT_HANDLE = 2,     /* handle is valid */
	HELPER_RESULT_CREATED = 4,    /* CREATE: the call created the file */
	HELPER_RESULT_UNKNOWN = 8,    /* error is -EIO, because the outcome of the call is
					 unknown */
	HELPER_RESULT_NO_XATTRS = 16, /* the object whose attributes are in attr had no extended
					 attributes */
	HELPER_RESULT_END = 32,	      /* READDIR: these are the last entries of the directory */
};

/* The outcome of a call. */
struct helper_result {
	int32_t error;	/* 0; negative errno */
	uint32_t flags; /* HELPER_RESULT_* */
	uint64_t count; /* number of bytes; for LSEEK: the position */
	uint64_t dev;	/* st_dev of attr */
	struct fuse_attr attr;
	uint8_t handle_len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX]; /* signed handle (fs_helper.h) */
	uint8_t pad[7];
};

/* Evidence: the state of an object before the change. */
struct journal_object {
	uint64_t id; /* hash of the object's kernel file handle; 0: the object did not exist */
	uint64_t ctime_ns;
	uint64_t size;
	uint64_t pad;
};

struct journal_record {
	uint64_t word; /* state, owner and sequence number (JOURNAL_STATE, JOURNAL_OWNER,
			  JOURNAL_SEQ); stored last */
	uint64_t unique;
	uint32_t opcode;
	uint32_t pad;
	struct helper_result result;
	uint64_t before_ns;	    /* value of CLOCK_REALTIME when the evidence was taken */
	struct journal_object a, b; /* the evidence: the objects' state before the change */
	uint64_t room[9];
};
_Static_assert(sizeof(struct journal_record) % 64 == 0, "whole cache lines");

#define JOURNAL_WORD(state, owner, turn) \
	((uint64_t)(state) | (uint64_t)(owner) << 8 | (uint64_t)(turn) << 24)
#define JOURNAL_STATE(word) ((enum journal_state)((word)&0xff))
#define JOURNAL_OWNER(word) ((unsigned)((word) >> 8 & 0xffff))
#define JOURNAL_SEQ(word) ((word) >> 24) /* the sequence number has 40 bits */

struct journal_file; /* the layout; private to fuse_journal.c */

struct journal {
	struct journal_file *file;
	unsigned owner; /* ID of the owner that this worker has registered; 0: none */
};

/* Returns the size of the journal in the memfd; the caller may use the space behind it. The size is
 * address space: each page gets memory when it is first written. */
size_t journal_bytes(void);

/* Maps the journal in the memfd, which is extended if necessary. The caller still owns fd. Discards
 * a journal of another version. Call it before forking the processes that share the journal.
 * Returns 0 or a negative errno. */
int journal_open(struct journal *j, int fd);
void journal_close(struct journal *j);

/* Finds the number of the mount in the journal, or assigns one. If all numbers are in use, takes
 * over the number of a mount that was not seen for a day. Returns 0, or -ENOSPC if no number can be
 * taken over. */
int journal_mount_get(struct journal *j, const uint8_t id[16], unsigned *ret);
/* Records that the mount was seen now. Call this function regularly for a mount with a session, so
 * that the mount keeps its number even if the mount is idle. */
void journal_mount_seen(struct journal *j, unsigned mount);
/* Returns when a worker last saw the mount, in seconds of CLOCK_BOOTTIME. */
uint64_t journal_mount_seen_s(const struct journal *j, unsigned mount);
/* Discards the mount's records and frees their memory. */
void journal_mount_drop(struct journal *j, unsigned mount);

enum journal_verdict {
	JOURNAL_RUN,	  /* the record is ready: submit the call with it */
	JOURNAL_ANSWER,	  /* the request was executed: record->result is the outcome */
	JOURNAL_WAIT,	  /* a helper is executing the request: retry later */
	JOURNAL_FULL,	  /* no record is free: retry later */
	JOURNAL_MISMATCH, /* a record with this request number belongs to another operation: the
			     client is faulty */
};
/*
 * Begins a request that must not be executed twice. again: the client may have sent the request
 * before. After JOURNAL_RUN, pass *ret_ticket in the call. If a helper was killed and may have
 * executed the request, the next helper checks the evidence before it executes the request.
 */
enum journal_verdict journal_begin(struct journal *j, unsigned mount, uint64_t unique,
				   uint32_t opcode, bool again, struct journal_record **ret,
				   uint64_t *ret_ticket);
/* Copies the outcome of a request that was executed. Returns false if the outcome is invalid,
 * because another process that shares the journal has damaged it. */
bool journal_result_get(const struct journal_record *rec, struct helper_result *ret);
/* Returns the state of the record. A caller can thus wait for the end of its request. */
enum journal_state journal_state_get(const struct journal_record *rec);
/* Call when the client has received the reply: the record may then be reused. The oldest records
 * are reused first. */
void journal_ack(struct journal_record *rec);
/* Frees a record whose call was never submitted. */
void journal_cancel(struct journal_record *rec, uint64_t ticket);

/* ------------------------------------------------------------------ functions for helpers */

#define JOURNAL_NO_WORKER UINT32_MAX

/* Registers the calling thread as an owner until the thread ends. A thread may register once in
 * each of several journals. worker_id: this worker counts as alive while the thread is alive;
 * JOURNAL_NO_WORKER: none. Returns the owner's number, or -ENOSPC if no number is free. */
int journal_owner_register(struct journal *j, uint32_t worker_id);
/* Returns whether any thread that has registered for this worker is alive. */
bool journal_worker_is_alive(const struct journal *j, uint32_t worker_id);
/* Returns whether the owner's thread is alive. */
bool journal_owner_is_alive(const struct journal *j, unsigned owner);
/* Returns the locks that the helpers of all workers share: JOURNAL_LOCKS words, each with the
 * number of the owner that holds the lock, or 0. */
uint32_t *journal_locks(struct journal *j);
/* Returns whether rec points to a record of the journal. */
bool journal_contains(const struct journal *j, const struct journal_record *rec);

/* A helper's claim of a record: the helper executes the request of the record. */
struct journal_claim {
	struct journal_record *rec;
	uint64_t word;
};

/* Claims the record, to execute its request. Returns 0 if the request was not executed; 1 if the
 * outcome of an earlier attempt is unknown; or -ECANCELED if the request is done or another process
 * owns the record. */
int journal_claim(struct journal_claim *c, struct journal_record *rec, uint64_t ticket,
		  unsigned owner);
/* Call after writing the evidence and before making the change. */
void journal_log_intent(struct journal_claim *c);
/* Call when it is proved that an earlier attempt has changed nothing. The claim is then like a new
 * one. */
void journal_clear_intent(struct journal_claim *c);
/* Undoes the claim. The record can be claimed again with the same ticket. */
void journal_return(struct journal_claim *c, uint64_t ticket);
void journal_done(struct journal_claim *c, const struct helper_result *result);

#endif
