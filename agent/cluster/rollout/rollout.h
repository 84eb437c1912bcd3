/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rollout brings a configuration document to the hosts of a cluster that follow it, to at most a
 * given number of hosts at a time. No central program controls it. The rollout is a record in the
 * cluster's store, and each host enters itself there when it begins to apply: it takes a turn. The
 * host writes the record in a transaction that fails if another host has changed the record since
 * it was read. So a rollout continues whichever host is away, and two hosts never take the same
 * turn. This file has the record, its states and the decisions. Its functions make no requests. A
 * faulty host may have written a record, so the parser checks all values.
 *
 * Keys below /plenum/CLUSTER/v1/rollout/: `record` is the record; `document` is the latest document
 * that an operator has set; `target` is the document that the rollout brings, and `former` the
 * document before it; host/HOST says which document a host has.
 */
#ifndef PLENUM_AGENT_ROLLOUT_H
#define PLENUM_AGENT_ROLLOUT_H

#include "agent/cluster/store/records.h"

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
	ROLLOUT_RUNNING, /* hosts may take turns. A rollout stays in this state after all present
			    hosts have finished, so that absent hosts can take their turns later */
	ROLLOUT_PAUSED,
	ROLLOUT_STOPPED, /* a host has failed */
	ROLLOUT_ABORTED,
	ROLLOUT_STATE_MAX
};
const char *rollout_state_to_string(enum rollout_state s);

/* Identifies a document: hosts compare the hash, and operators see the generation. */
struct rollout_version {
	uint64_t generation;	     /* 0: no document */
	char hash[ROLLOUT_HASH_MAX]; /* hash of the text */
};
void rollout_hash(const char *text, size_t len, char buf[ROLLOUT_HASH_MAX]);
bool rollout_hash_is_valid(const char *hash);

struct rollout_slot { /* a host in flight */
	char host[PLENUM_NAME_MAX];
	char id[CLUSTER_ID_MAX]; /* ID of the state directory of the host's agent */
	uint64_t turn;
	bool back; /* the host took the turn to return to the former document */
	/* The host did not report in time. It may still be applying, so it counts as in flight
	 * until it reports or an operator resumes the rollout. */
	bool expired;
};

struct rollout {
	uint64_t number; /* number of the rollout, from 1; 0: no rollout was started */
	/* Random number that the record's first rollout gets. This number lets a host distinguish
	 * two cases: the record was lost and an operator has begun a new one, or the record was
	 * restored from an older backup. */
	uint64_t lineage;
	/* Incremented when hosts that have failed may try again. It begins with a random number,
	 * and turns have random numbers too. So if the store loses its records, a new rollout does
	 * not use numbers for which hosts still remember a result. */
	uint64_t attempt;
	enum rollout_state state;
	struct rollout_version target, former;
	bool back; /* hosts return to the former document, because one has failed */
	bool rolls_back;
	uint32_t max_unavailable, timeout_s;
	struct rollout_slot slots[ROLLOUT_SLOTS_MAX];
	size_t n_slots;
	char failed[PLENUM_NAME_MAX], why[CLUSTER_TEXT_MAX]; /* the host that failed, and the
								reason */
	char by[ROLLOUT_BY_MAX], since[32];
};

/* Parses a record. A text of length 0 means that no rollout was started. Returns 0, or -EBADMSG. */
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
/* Parses a document. A text of length 0 means that the store has no document, which counts as the
 * document "[]\n". Returns 0, -ENOMEM, or -EBADMSG. A wrong hash is -EBADMSG too. */
int rollout_document_parse(const char *text, size_t len, struct rollout_document *ret);
char *rollout_document_format(const struct rollout_document *d);

/* ---- transitions; they return whether the record has changed ---- */

struct rollout_request {
	uint32_t max_unavailable, timeout_s;
	bool rolls_back;
	uint64_t random;
	uint64_t number_min; /* the highest rollout number that any host of this lineage remembers;
				0: unknown */
	const char *by, *now;
};
/* Returns whether the rollout already brings this document. A new rollout then keeps the former
 * document. */
bool rollout_is_again(const struct rollout *r, const struct rollout_version *target);
/* Returns how many hosts are applying now: hosts with a turn that has not expired. */
size_t rollout_count_applying(const struct rollout *r);
/* Begins a rollout of that document, and removes turns that have expired. Returns false if a host
 * is applying now. */
bool rollout_start(struct rollout *r, const struct rollout_version *target,
		   const struct rollout_request *rq);
bool rollout_pause(struct rollout *r);
/* Lets hosts that have failed try again, and removes turns that have expired. */
bool rollout_resume(struct rollout *r);
bool rollout_abort(struct rollout *r);
/* Enters a turn of the host, with that number. */
bool rollout_take(struct rollout *r, const char *host, const char *id, uint64_t turn);

enum rollout_result {
	ROLLOUT_NO_RESULT, /* the host is applying */
	ROLLOUT_DONE,
	ROLLOUT_FAILED,
	ROLLOUT_BUSY, /* the host could not begin the apply, and has changed nothing */
	ROLLOUT_RESULT_MAX
};
const char *rollout_result_to_string(enum rollout_result r);
/* Ends a turn. Returns false if the record has no such turn, because the turn has expired or has
 * already ended. */
bool rollout_give(struct rollout *r, const char *host, uint64_t turn, enum rollout_result result,
		  const char *why);

/* Marks a turn as expired, and its host as failed. Returns false if the record has no such turn, or
 * the turn has already expired. */
bool rollout_expire(struct rollout *r, const char *host, uint64_t turn, const char *why);

/* Returns the document that hosts must apply: the target or, after a failure that rolls back, the
 * former document. */
const struct rollout_version *rollout_wanted(const struct rollout *r);

uint64_t rollout_draw(void);   /* returns a random number for a turn or an attempt */
uint64_t rollout_now_ms(void); /* wall clock time, only for display */

/* ---- what a host does ---- */

struct rollout_self { /* the state of this host, as its agent reports it */
	char host[PLENUM_NAME_MAX], id[CLUSTER_ID_MAX];
	bool follows;		     /* the configuration has cluster.config: follow */
	bool ready;		     /* the host can begin an apply */
	char busy[CLUSTER_TEXT_MAX]; /* why the host is not ready; "": it is ready */
	struct rollout_version has;
	uint64_t number, lineage;		/* number and lineage of the rollout that brought
						   the document */
	bool drifted;				/* the file with the document was edited or
						   removed */
	uint64_t failed_number, failed_attempt; /* rollout and attempt of the last turn that
						   failed */
	uint64_t turn;				/* the turn to which `result` belongs */
	enum rollout_result result;
	char why[CLUSTER_TEXT_MAX];
};
/* Parses the agent's report, the JSON that rollout_self_format() makes. Returns 0 or -EBADMSG. */
int rollout_self_parse(const char *text, size_t len, struct rollout_self *ret);
char *rollout_self_format(const struct rollout_self *s);

enum rollout_step {
	ROLLOUT_REST,
	ROLLOUT_TAKE,  /* take a turn */
	ROLLOUT_APPLY, /* this host has a turn, so its agent must apply the document */
	ROLLOUT_GIVE,  /* the apply has ended: write the result of the turn */
	ROLLOUT_RETURN /* give back a turn that this host has not begun and must not begin any
			  more */
};
enum rollout_step rollout_next(const struct rollout *r, const struct rollout_self *self);
/* What the agent reports to its operator about the rollout and this host. */
enum rollout_view {
	ROLLOUT_VIEW_UNKNOWN, /* the record was not read yet */
	ROLLOUT_VIEW_NONE,
	ROLLOUT_VIEW_RESUME, /* this host has failed, and will try again when an operator resumes
				the rollout */
	ROLLOUT_VIEW_START,  /* this host has failed, and will try again only in a new rollout */
	ROLLOUT_VIEW_OLDER,  /* the record is older than the document of this host */
	ROLLOUT_VIEW_MAX
};
enum rollout_view rollout_look(const struct rollout *r, const struct rollout_self *self);
/* Returns whether the record is older than the document of this host, because the store was
 * restored from a backup. */
bool rollout_is_older(const struct rollout *r, const struct rollout_self *self);
/* Returns whether the host does not have the document of the rollout yet. */
bool rollout_is_behind(const struct rollout *r, const struct rollout_self *self);

#endif
