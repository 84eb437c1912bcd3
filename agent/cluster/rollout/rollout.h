/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rollout brings a configuration document to the hosts of a cluster that follow it, at most a
 * given number at a time. There is no program that drives it: the rollout is a record in the
 * cluster's store, and each host takes a turn by a transaction that depends on the record's
 * revision. So a rollout continues whichever host is away, and two hosts never decide by the same
 * record. This file has the record, the states and the decisions; it is pure. Any host of the
 * cluster, or a faulty one, may have written a record: the parser checks all values.
 *
 * Keys below /plenum/CLUSTER/v1/rollout/: `record`; `document`, the latest document that an
 * operator has set; `target` and `former`, the documents of the rollout and of the one before it;
 * and host/HOST, what a host has.
 */
#ifndef PLENUM_AGENT_ROLLOUT_H
#define PLENUM_AGENT_ROLLOUT_H

#include "agent/cluster/records.h"

#define ROLLOUT_SLOTS_MAX 64 /* hosts in flight */
#define ROLLOUT_TIMEOUT_S 600
/* longer than the longest apply with its trial (ROLLOUT_CONFIRM_S), so that a healthy host reports
 * in time */
#define ROLLOUT_TIMEOUT_MIN_S 180
#define ROLLOUT_TIMEOUT_MAX_S 86400
#define ROLLOUT_HASH_MAX 17
#define ROLLOUT_BY_MAX 96 /* equals REQUESTER_MAX */
#define ROLLOUT_DOCUMENT_BYTES_MAX (64U << 10)

enum rollout_key {
	ROLLOUT_KEY_RECORD,
	ROLLOUT_KEY_DOCUMENT,
	ROLLOUT_KEY_TARGET,
	ROLLOUT_KEY_FORMER,
	ROLLOUT_KEY_HOST,
	ROLLOUT_KEY_MAX
};
/* Writes the key to buf; host: only for ROLLOUT_KEY_HOST, "": the prefix of all hosts. */
void rollout_key(enum rollout_key key, const char *cluster, const char *host, char buf[KV_KEY_MAX]);
/* Writes the key after those of all hosts to buf. */
void rollout_hosts_end(const char *cluster, char buf[KV_KEY_MAX]);

enum rollout_state {
	ROLLOUT_NONE,	 /* no rollout was started yet */
	ROLLOUT_RUNNING, /* hosts may take turns; also when all have done so, for hosts that return
			  */
	ROLLOUT_PAUSED,
	ROLLOUT_STOPPED, /* a host has failed */
	ROLLOUT_ABORTED,
	ROLLOUT_STATE_MAX
};
const char *rollout_state_to_string(enum rollout_state s);

/* A document as the record names it: hosts compare the hash, operators see the generation. */
struct rollout_version {
	uint64_t generation;	     /* 0: no document */
	char hash[ROLLOUT_HASH_MAX]; /* of the text */
};
void rollout_hash(const char *text, size_t len, char buf[ROLLOUT_HASH_MAX]);
bool rollout_hash_is_valid(const char *hash);

struct rollout_slot { /* a host in flight */
	char host[PLENUM_NAME_MAX];
	char id[CLUSTER_ID_MAX]; /* of its agent's state directory */
	uint64_t turn;
	bool back; /* the host took the turn on the way back to the former document */
	/* The host did not report in time, and may still be applying: it counts as in flight until
	 * it reports or an operator resumes the rollout. */
	bool expired;
};

struct rollout {
	uint64_t number; /* of the rollout, from 1; 0: there is none */
	/* Random number of the record's first rollout. It tells a record that was lost and begun
	 * again from one that was restored from an older backup. */
	uint64_t lineage;
	/* Grows when hosts that have failed may try again. It begins with a random number, as turns
	 * have random numbers: a store that has lost its records must not begin with numbers of
	 * which hosts remember a result. */
	uint64_t attempt;
	enum rollout_state state;
	struct rollout_version target, former;
	bool back; /* hosts return to the former document, because one has failed */
	bool rolls_back;
	uint32_t max_unavailable, timeout_s;
	struct rollout_slot slots[ROLLOUT_SLOTS_MAX];
	size_t n_slots;
	char failed[PLENUM_NAME_MAX], why[CLUSTER_TEXT_MAX]; /* the host that has failed */
	char by[ROLLOUT_BY_MAX], since[32];
};

/* Reads a record; a text of length 0 is that of no rollout. Returns 0, or -EBADMSG. */
int rollout_parse(const char *text, size_t len, struct rollout *ret);
/* Returns the record as JSON, a new reference, or as text on the heap; or NULL if memory is short.
 */
json_t *rollout_to_json(const struct rollout *r);
char *rollout_format(const struct rollout *r);

/* A document in the store. */
struct rollout_document {
	struct rollout_version version;
	char *text; /* on the heap */
	char by[ROLLOUT_BY_MAX], time[32];
};
void rollout_document_done(struct rollout_document *d);
/* Reads a document. A text of length 0 is that of no document, which has the text "[]\n". Returns
 * 0, -ENOMEM, or -EBADMSG, also if the hash is not that of the text. */
int rollout_document_parse(const char *text, size_t len, struct rollout_document *ret);
char *rollout_document_format(const struct rollout_document *d);

/* ---- transitions; they return whether the record has changed ---- */

struct rollout_request {
	uint32_t max_unavailable, timeout_s;
	bool rolls_back;
	uint64_t random;
	uint64_t number_min; /* highest number that a host of this lineage has; 0: unknown */
	const char *by, *now;
};
/* Returns whether the rollout is of this document already: then a new one keeps the former
 * document.
 */
bool rollout_is_again(const struct rollout *r, const struct rollout_version *target);
/* Returns how many hosts are in flight and did not expire. */
size_t rollout_count_applying(const struct rollout *r);
/* Begins a rollout of that document. Returns false while hosts are applying; forgets turns that
 * have expired. */
bool rollout_start(struct rollout *r, const struct rollout_version *target,
		   const struct rollout_request *rq);
bool rollout_pause(struct rollout *r);
/* Lets hosts that have failed try again, and forgets turns that have expired. */
bool rollout_resume(struct rollout *r);
bool rollout_abort(struct rollout *r);
/* Gives the host a turn with that number. */
bool rollout_take(struct rollout *r, const char *host, const char *id, uint64_t turn);

enum rollout_result {
	ROLLOUT_NO_RESULT, /* the host is applying */
	ROLLOUT_DONE,
	ROLLOUT_FAILED,
	ROLLOUT_BUSY, /* the host could not begin, and has changed nothing */
	ROLLOUT_RESULT_MAX
};
const char *rollout_result_to_string(enum rollout_result r);
/* Ends a turn. Returns false if there is no such turn: it has expired, or ended already. */
bool rollout_give(struct rollout *r, const char *host, uint64_t turn, enum rollout_result result,
		  const char *why);

/* Marks a turn as expired, and counts its host as failed. Returns false if there is no such turn or
 * it has expired already. */
bool rollout_expire(struct rollout *r, const char *host, uint64_t turn, const char *why);

/* Returns the document that hosts are to have. */
const struct rollout_version *rollout_wanted(const struct rollout *r);

uint64_t rollout_draw(void);   /* returns a random number for a turn or an attempt */
uint64_t rollout_now_ms(void); /* wall clock, which records show and nothing depends on */

/* ---- what a host does ---- */

struct rollout_self { /* as the host's agent reports it */
	char host[PLENUM_NAME_MAX], id[CLUSTER_ID_MAX];
	bool follows;		     /* the configuration has cluster.config: follow */
	bool ready;		     /* the host can begin an apply */
	char busy[CLUSTER_TEXT_MAX]; /* why it is not ready; "": it is */
	struct rollout_version has;
	uint64_t number, lineage;		/* of the rollout that brought it */
	bool drifted;				/* its file was edited or removed */
	uint64_t failed_number, failed_attempt; /* of the last turn that has failed */
	uint64_t turn;				/* the turn that `result` is of */
	enum rollout_result result;
	char why[CLUSTER_TEXT_MAX];
};
/* Reads what the agent reports, JSON of rollout_self_format(). Returns 0 or -EBADMSG. */
int rollout_self_parse(const char *text, size_t len, struct rollout_self *ret);
char *rollout_self_format(const struct rollout_self *s);

enum rollout_step {
	ROLLOUT_REST,
	ROLLOUT_TAKE,  /* take a turn */
	ROLLOUT_APPLY, /* this host has a turn: let the agent apply the document */
	ROLLOUT_GIVE,  /* the turn has a result */
	ROLLOUT_RETURN /* return a turn that this host must not begin any more */
};
enum rollout_step rollout_next(const struct rollout *r, const struct rollout_self *self);
/* What the record means for the agent's problems. */
enum rollout_view {
	ROLLOUT_VIEW_UNKNOWN, /* the record was not read yet */
	ROLLOUT_VIEW_NONE,
	ROLLOUT_VIEW_RESUME, /* this host has failed; a resumed rollout tries again */
	ROLLOUT_VIEW_START,  /* this host has failed; only a new rollout tries again */
	ROLLOUT_VIEW_OLDER,  /* the record is older than what the host has */
	ROLLOUT_VIEW_MAX
};
enum rollout_view rollout_look(const struct rollout *r, const struct rollout_self *self);
/* Returns whether the record is older than what the host has: it was restored from a backup. */
bool rollout_is_older(const struct rollout *r, const struct rollout_self *self);
/* Returns whether the host still has to get the document of the rollout. */
bool rollout_is_behind(const struct rollout *r, const struct rollout_self *self);

#endif
