/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One export that several hosts can serve has one server at a time. The hosts agree by two keys in
 * the cluster's store, below /plenum/CLUSTER/v1/failover/EXPORT/. The key `record` is permanent: it
 * has the holder and the epoch, which grows with each new holder. The key `alive` belongs to a
 * lease of the store. It only shows that the holder renews its lease. Each change is a
 * transaction that depends on the revisions of both keys, so an old request that arrives late
 * changes nothing.
 *
 * This file decides what one host does: it is pure, and the caller passes the time of a clock that
 * also counts while the host is suspended (CLOCK_BOOTTIME). The host may serve until
 * failover_until(). That time counts from the moment before the request for the lease was sent, so
 * it is always earlier than the end of the lease in the store, by at least the margin. A renewal
 * takes a new lease and moves `alive` to it, instead of prolonging the lease, because only that is
 * agreed between the members of the store: a member that was the leader and has not
 * noticed yet that it no longer is may still answer a prolongation.
 */
#ifndef PLENUM_AGENT_FAILOVER_H
#define PLENUM_AGENT_FAILOVER_H

#include "agent/cluster/store/records.h"

#define FAILOVER_EPOCH_MAX ((uint64_t)INT64_MAX)

enum failover_key { FAILOVER_KEY_RECORD, FAILOVER_KEY_ALIVE, FAILOVER_KEY_MAX };
void failover_key(enum failover_key key, const char *cluster, const char *export_name,
		  char buf[KV_KEY_MAX]);

struct failover_record {
	uint64_t epoch;		    /* 0: no host has served the export yet */
	char host[PLENUM_NAME_MAX]; /* the host that holds the export, even if that host is dead;
				       "": the last holder has released the export */
	char id[CLUSTER_ID_MAX];    /* id of the state directory of the holder's agent */
	uint64_t token;		    /* random number of the agent's process that took the export */
	char to[PLENUM_NAME_MAX];   /* the host for which it was released; "": any host */
};
/* Parse the value of a key; a text of length 0 means that the key does not exist. Return 0, or
 * -EBADMSG. The value of the key `alive` is the id of the lease to which the holder has attached
 * this key. */
int failover_record_parse(const char *text, size_t len, struct failover_record *ret);
int failover_alive_parse(const char *text, size_t len, uint64_t *ret_lease);
/* Return the value on the heap, or NULL if memory is short. */
char *failover_record_format(const struct failover_record *r);
char *failover_alive_format(uint64_t lease);

/* The values and revisions of both keys, read in one transaction. */
struct failover_view {
	uint64_t revision;	  /* revision of the store */
	uint64_t record_revision; /* 0: the key does not exist */
	uint64_t alive_revision;  /* 0: the key does not exist */
	struct failover_record record;
	uint64_t lease; /* in `alive` */
};

struct failover_times {
	uint64_t ttl_ns;    /* of the lease */
	uint64_t margin_ns; /* time between the moment when the holder stops serving and the
			       earliest end of its lease */
	uint64_t poll_ns;   /* between two reads of a host that waits */
	uint64_t retry_ns;  /* pause after a failure */
	uint64_t answer_ns; /* a request without an answer for this time counts as lost */
	uint64_t yield_ns; /* for this time, other hosts do not take an export that was released for
			      one host */
};
/* With these values, a client waits less than 10 s after the power cut of a server: the rest of the
 * lease, half a second until etcd notices the end of the lease, one read and two requests to the
 * store, and the start of the export. */
extern const struct failover_times failover_times;

enum failover_op {
	FAILOVER_NOTHING,
	FAILOVER_READ,	/* read both keys */
	FAILOVER_GRANT, /* make a lease */
	FAILOVER_TAKE, /* write both keys if they still have these revisions; otherwise read them */
	FAILOVER_RENEW,	 /* write `alive` if both keys still have these revisions; otherwise read
			    both keys */
	FAILOVER_RELEASE /* write the record and delete `alive`, under the same condition */
};

struct failover_request {
	enum failover_op op;
	uint64_t number; /* the answer has the same number */
	uint64_t lease;	 /* lease to which `alive` is attached */
	uint64_t record_revision, alive_revision;
	struct failover_record record; /* the record to write */
};

struct failover_answer {
	uint64_t number;
	bool failed;	/* the store did not answer, or refused the request */
	bool succeeded; /* result of a transaction: its condition was true */
	bool lease_gone;
	uint64_t lease, ttl_ns; /* of FAILOVER_GRANT */
	uint64_t revision;	/* revision of the store after a change */
	/* Result of FAILOVER_READ, and of a transaction whose condition was false. */
	struct failover_view is;
};

enum failover_state {
	FAILOVER_UNKNOWN,  /* the store was not read yet */
	FAILOVER_STANDBY,  /* another host serves the export, or may still serve it */
	FAILOVER_TAKING,   /* this host takes the export */
	FAILOVER_ACTIVE,   /* this host serves the export */
	FAILOVER_STOPPING, /* this host stops, to release the export */
	FAILOVER_EXPIRED   /* this host stopped, because it could not renew in time */
};
const char *failover_state_to_string(enum failover_state s);

struct failover {
	struct failover_times times;
	char host[PLENUM_NAME_MAX], id[CLUSTER_ID_MAX], to[PLENUM_NAME_MAX];
	uint64_t token, running_epoch;
	bool eligible, stopping, stopped;
	unsigned n_failures; /* consecutive ones */
	/* the request in progress, and when it was sent; number 0: none */
	struct failover_request sent;
	uint64_t sent_ns, last_number, retry_at_ns;
	/* the latest lease, and when its request was sent; 0: none */
	uint64_t lease, lease_sent_ns;
	bool held;
	struct failover_view is; /* the keys as this host has last read or written them */
	bool has_read;
	uint64_t read_due_ns, renew_due_ns;
	/* This host does not take the export before take_from_ns. Before yield_until_ns, it takes
	 * the export only if the export was released for this host. */
	uint64_t take_from_ns, yield_until_ns;
	uint64_t until_ns; /* time until which this host certainly holds the export; 0: this host
			      does not hold it */
	uint64_t seen_epoch, seen_revision;
};

/* id: of the state directory. token: a random number of this process, not 0. running_epoch: a
 * worker of this host, which an earlier process of the agent has left, serves the export with this
 * epoch; 0: none. */
void failover_init(struct failover *f, const struct failover_times *times, const char *host,
		   const char *id, uint64_t token, uint64_t running_epoch, uint64_t now);
/* Stores whether this host is able to serve the export now. A holder that is no longer able to
 * serve stops and releases the export. */
void failover_set_eligible(struct failover *f, bool eligible);
/* Begins to stop the export on this host. Afterwards the export is released for the host `to`; "":
 * for any host. */
void failover_stop(struct failover *f, const char *to);
/* Call when the worker has stopped: it has confirmed the order to stop, has no request in progress,
 * and begins none. Do not call this while any order to the worker is still on its way: the worker
 * must have received the last one. */
void failover_stopped(struct failover *f);
/* Returns the request to send now, or FAILOVER_NOTHING with the time of the next call in *ret_due.
 * The caller calls again after each answer. */
struct failover_request failover_next(struct failover *f, uint64_t now, uint64_t *ret_due);
void failover_answer(struct failover *f, uint64_t now, const struct failover_answer *a);
/* Returns until when the worker may serve the export, with the epoch failover_epoch(); 0: it may
 * not. A time that has passed means the same. The worker itself compares it with the clock. */
uint64_t failover_until(const struct failover *f);
uint64_t failover_epoch(const struct failover *f);
/* Returns whether a worker that an earlier process of the agent has left may still be adopted.
 * Until then, the worker serves as long as the earlier process allowed. */
bool failover_is_undecided(const struct failover *f);
enum failover_state failover_state(const struct failover *f, uint64_t now);
/* Returns the host that has the export, or "". */
const char *failover_holder(const struct failover *f);

#endif
