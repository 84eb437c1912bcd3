/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A key-value store that the hosts of a cluster share: the operations that the role `cluster` uses,
 * and their answers. An engine is one const struct kv_ops in one file; kv_etcd is the only one.
 * Engines connect to one of several endpoints, and change to another one if it fails. All calls
 * return at once, and the callback gets the answer later, from the event loop. An engine repeats
 * nothing after its last endpoint has failed: its caller decides when to retry.
 */
#ifndef PLENUM_AGENT_KV_H
#define PLENUM_AGENT_KV_H

#include "agent/base/cluster_report.h"
#include "agent/base/loop.h"

#define KV_ENDPOINTS_MAX 16
#define KV_OPS_MAX 64 /* most operations of a transaction; etcd allows 128 */
#define KV_KEY_MAX 192
#define KV_ANSWER_BYTES_MAX (8U << 20) /* a larger answer counts as CLUSTER_WRONG */
#define KV_PAIRS_MAX 4096	       /* most keys in an answer */

struct kv_pair {
	char key[KV_KEY_MAX]; /* "": the engine left out a key that is too long or not text */
	char *value;	      /* followed by a NUL, which is not counted; NULL: not requested */
	size_t len;
	uint64_t revision; /* of the last change of this key */
	bool deleted;	   /* in events: the key was deleted */
};

struct kv_answer {
	enum cluster_trouble trouble;
	/* With CLUSTER_FINE: the lease of the request does not exist, or the revision of a watch
	 * has been compacted. */
	bool lease_gone, compacted;
	bool too_large; /* with CLUSTER_WRONG: the answer exceeds KV_ANSWER_BYTES_MAX */
	char text[CLUSTER_TEXT_MAX]; /* the error; "": none */
	uint64_t revision;	     /* of the store */
	bool succeeded;		     /* transactions: the compares were true */
	bool more;		     /* ranges: keys beyond the limit exist */
	uint64_t lease, ttl_s;	     /* grants and renewals */
	struct kv_pair *pairs;	     /* of a range, a watch, or a transaction's gets */
	size_t n_pairs;
};

void kv_answer_done(struct kv_answer *a);

/* Called once with the answer, which the callee may read but not keep. */
typedef void (*kv_answer_cb)(void *user, const struct kv_answer *a);

struct kv_range {
	const char *first, *end; /* keys from `first` to before `end`; end NULL: only `first` */
	unsigned limit;		 /* most keys in the answer; 0: KV_PAIRS_MAX */
	bool keys_only;
};

enum kv_op_kind { KV_PUT, KV_GET, KV_DELETE };
struct kv_op {
	enum kv_op_kind kind;
	const char *key, *value; /* value: only for KV_PUT */
	uint64_t lease;		 /* for KV_PUT; 0: the key stays without a lease */
};

/* Compares the revision of the last change; that of a key that does not exist is 0. */
struct kv_compare {
	const char *key;
	const char *end;   /* compares all keys from `key` to before `end`; NULL: only `key` */
	uint64_t revision; /* the key has this revision; with `end`, all keys have an earlier one */
};

/* Without `key` and `also`, the operations are always carried out. */
struct kv_txn {
	const char *key;   /* the key to compare */
	uint64_t revision; /* the revision of its last change; 0: the key does not exist */
	const struct kv_compare *also; /* further comparisons, which must be true as well */
	size_t n_also;
	const struct kv_op *ops; /* if the comparison is true */
	size_t n_ops;
	const struct kv_op *otherwise;
	size_t n_otherwise;
};

struct kv_setup {
	struct loop *loop;
	const char *const *endpoints; /* URLs */
	size_t n_endpoints;
	const char *ca;		     /* certificates in PEM; NULL: none, for http:// */
	const char *user, *password; /* NULL: no authentication */
};

struct kv;
struct kv_ops {
	/* Makes the object without connecting. Copies the setup. Returns 0 or negative errno. */
	int (*open)(const struct kv_setup *setup, struct kv **ret);
	/* Ends all requests without callbacks. Accepts NULL, returns NULL. */
	struct kv *(*close)(struct kv *kv);
	/* These return 0, and cb is called later; or negative errno, and it is not. */
	int (*range)(struct kv *kv, const struct kv_range *r, kv_answer_cb cb, void *user);
	int (*txn)(struct kv *kv, const struct kv_txn *t, kv_answer_cb cb, void *user);
	int (*grant)(struct kv *kv, uint64_t ttl_s, kv_answer_cb cb, void *user);
	int (*renew)(struct kv *kv, uint64_t lease, kv_answer_cb cb, void *user);
	/* Watches the keys from the revision on, and ends an earlier watch of this object. cb is
	 * called for each event, with the changed keys. The last call has a trouble, or
	 * `compacted`: then the watch has ended. */
	int (*watch)(struct kv *kv, const char *const *keys, size_t n, uint64_t revision,
		     kv_answer_cb cb, void *user);
	void (*unwatch)(struct kv *kv); /* ends the watch without a callback */
	/* Returns the endpoint in use if it has answered and has not failed since; else "". */
	const char *(*endpoint)(const struct kv *kv);
};

extern const struct kv_ops kv_etcd;

#endif
