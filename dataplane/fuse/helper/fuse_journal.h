/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of an export: what became of each request that must run once. It lies in a memfd
 * that outlives workers and is written by two kinds of process: the worker opens a record before it
 * gives the request away, the process that carries it out (fs_helper.h) claims the record, writes
 * down what will prove whether it ran, and closes it with the outcome. So whoever dies, the
 * successor finds for a request that is sent again either its answer, or a hand that still works on
 * it, or proof that it did not run, or the evidence to judge by. Several workers may serve one
 * export with one journal.
 *
 * A record changes state by compare-and-swap of one word only, which also says whose it is, so a
 * hand of a worker that is gone cannot start what the successor has taken over:
 *
 *	FREE -> STARTED		the worker: the request is queued
 *	STARTED -> RUNNING	a hand: nothing is changed yet
 *	RUNNING -> PERHAPS	the hand: the evidence is complete, the change may have been made
 *	RUNNING, PERHAPS -> DONE  the hand: the outcome is complete
 *	DONE -> ACKED		the worker: the client has the answer
 *	STARTED, RUNNING -> STARTED, PERHAPS -> SUSPECT  a successor, where who had it is gone
 *	SUSPECT -> PERHAPS	a hand that judges by the evidence: back to RUNNING, or DONE
 *
 * A hand's life is a robust futex word (get_robust_list(2)): the kernel marks it when the process
 * ends, whatever ended it, and not before its last system call has returned.
 */
#ifndef PLENUM_DATAPLANE_FUSE_JOURNAL_H
#define PLENUM_DATAPLANE_FUSE_JOURNAL_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

#define JOURNAL_MOUNTS_MAX 12288U /* of those that are away some, over LAUNCH_SESSIONS_MAX */
#define JOURNAL_RECORDS 512U	  /* per mount: at least twice FUSE_PROTO_CALLS_MAX */
#define JOURNAL_OWNERS_MAX 2048U  /* of the hands of all workers that serve it */
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
	HELPER_RESULT_CREATED = 4,    /* CREATE: it made the file */
	HELPER_RESULT_UNKNOWN = 8,    /* -EIO because nobody can say whether it ran */
	HELPER_RESULT_NO_XATTRS = 16, /* what attr is of had no extended attributes */
	HELPER_RESULT_END = 32,	      /* READDIR: behind these entries there are none */
};

/* What a call has come to. */
struct helper_result {
	int32_t error;	/* 0; negative errno */
	uint32_t flags; /* HELPER_RESULT_* */
	uint64_t count; /* bytes; LSEEK: the position */
	uint64_t dev;	/* st_dev of attr */
	struct fuse_attr attr;
	uint8_t handle_len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX]; /* signed (fs_helper.h) */
	uint8_t pad[7];
};

/* An object as it was before the change. */
struct journal_object {
	uint64_t id; /* hash of its kernel file handle; 0: there was none */
	uint64_t ctime_ns;
	uint64_t size;
	uint64_t pad;
};

struct journal_record {
	uint64_t word; /* JOURNAL_STATE, JOURNAL_OWNER, JOURNAL_SEQ; changes last */
	uint64_t unique;
	uint32_t opcode;
	uint32_t pad;
	struct helper_result result;
	uint64_t before_ns;	    /* CLOCK_REALTIME when the evidence was taken */
	struct journal_object a, b; /* the evidence: what the change is made to, before it */
	uint64_t room[9];
};
_Static_assert(sizeof(struct journal_record) % 64 == 0, "whole cache lines");

#define JOURNAL_WORD(state, life, turn) \
	((uint64_t)(state) | (uint64_t)(life) << 8 | (uint64_t)(turn) << 24)
#define JOURNAL_STATE(word) ((enum journal_state)((word)&0xff))
#define JOURNAL_OWNER(word) ((unsigned)((word) >> 8 & 0xffff))
#define JOURNAL_SEQ(word) ((word) >> 24) /* 40 bits */

struct journal_file; /* the layout; fuse_journal.c alone knows it */

struct journal {
	struct journal_file *file;
	unsigned life; /* of the worker's companions; 0: it has none that would tell its end */
};

/* Bytes of the memfd that are the journal's; what follows is the caller's. Reserved, not used: a
 * page is there once something was written into it. */
size_t journal_bytes(void);

/* Maps the memfd (borrowed; made as long as needed). What is no journal of this version is thrown
 * away. Call it before processes are forked that shall share it. 0; negative errno. */
int journal_open(struct journal *j, int fd);
void journal_close(struct journal *j);

/* The mount's number in the journal, made where it has none. Where all are in use, that of a mount
 * that was not seen for a day is taken. -ENOSPC: there is none. */
int journal_mount_get(struct journal *j, const uint8_t id[16], unsigned *ret);
/* The mount has a session: however little it asks for, its number is its own. */
void journal_mount_seen(struct journal *j, unsigned mount);
/* When a worker has seen the mount last: seconds of CLOCK_BOOTTIME. */
uint64_t journal_mount_seen_s(const struct journal *j, unsigned mount);
/* The mount is gone: its records are forgotten and their memory is given back. */
void journal_mount_drop(struct journal *j, unsigned mount);

enum journal_verdict {
	JOURNAL_RUN,	  /* a record was opened: submit the call with it */
	JOURNAL_ANSWER,	  /* it ran: record->result is the outcome */
	JOURNAL_WAIT,	  /* a hand is at it: ask again later */
	JOURNAL_FULL,	  /* no record is free: ask again later */
	JOURNAL_MISMATCH, /* that unique was another operation: a broken client */
};
/*
 * A request that must run once. again: it may have been sent before. JOURNAL_RUN: *ret_ticket goes
 * into the call; where the request was perhaps carried out by a hand that was killed over it, the
 * next hand judges by the evidence first.
 */
enum journal_verdict journal_begin(struct journal *j, unsigned mount, uint64_t unique,
				   uint32_t opcode, bool again, struct journal_record **ret,
				   uint64_t *ret_ticket);
/* What became of it, for who waits. */
enum journal_state journal_state_get(const struct journal_record *rec);
/* The client has the answer: the record may be used again, the oldest first. */
void journal_ack(struct journal_record *rec);
/* A record that was opened and whose call was never submitted. */
void journal_cancel(struct journal_record *rec, uint64_t ticket);

/* ------------------------------------------------------------------ for the processes */

#define JOURNAL_NO_WORKER UINT32_MAX

/* Takes a life for the calling thread, until its end. A thread may take one in each of several
 * journals. worker_id: whose end it tells; JOURNAL_NO_WORKER: none. The number; -ENOSPC: none is
 * free. */
int journal_owner_register(struct journal *j, uint32_t worker_id);
/* Whether a thread that took a life for this worker has not ended. */
bool journal_worker_is_alive(const struct journal *j, uint32_t worker_id);
/* Whether the life's thread has not ended. */
bool journal_owner_is_alive(const struct journal *j, unsigned life);
/* JOURNAL_LOCKS words for the hands of all workers: the life of the one that has it; 0. */
uint32_t *journal_locks(struct journal *j);
/* Whether rec is a record of the journal, and not just anything. */
bool journal_contains(const struct journal *j, const struct journal_record *rec);

/* A record in a hand's hands. */
struct journal_claim {
	struct journal_record *rec;
	uint64_t word;
};

/* The record is ours to carry out. 0: from the beginning; 1: it is suspect, to be judged;
 * -ECANCELED: it is another's by now, or done. */
int journal_claim(struct journal_claim *c, struct journal_record *rec, uint64_t ticket,
		  unsigned life);
/* After the evidence was written, before the change is made. */
void journal_log_intent(struct journal_claim *c);
/* A suspect did not run: as if newly claimed. */
void journal_clear_intent(struct journal_claim *c);
/* As before the claim: the same ticket will do. */
void journal_return(struct journal_claim *c, uint64_t ticket);
void journal_done(struct journal_claim *c, const struct helper_result *result);

#endif
