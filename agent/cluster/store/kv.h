/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The key-value store that the hosts of a cluster share: the operations that the role `cluster`
 * uses, and their answers. An engine implements them in one file, as one const struct kv_ops;
 * kv_etcd is the only one. An engine connects to one of several endpoints, and to the next one when
 * that fails. All calls return at once; the event loop later calls the callback with the answer.
 * When the last endpoint has failed, the engine reports that, and its caller decides when to retry.
 */
#ifndef PLENUM_AGENT_KV_H
#define PLENUM_AGENT_KV_H

#include "agent/base/cluster_report.h"
#include "agent/base/loop.h"

#define KV_ENDPOINTS_MAX 16
#define KV_OPS_MAX 64 /* maximum number of operations in a transaction; etcd allows 128 */
#define KV_KEY_MAX 192
#define KV_ANSWER_BYTES_MAX (8U << 20) /* a larger answer counts as CLUSTER_WRONG */
#define KV_PAIRS_MAX 4096	       /* maximum number of keys in an answer */

struct kv_pair {
	char key[KV_KEY_MAX]; /* "": the store's key is too long or not text */
	/* with a NUL after its `len` bytes; NULL: the value was not requested */
	char *value;
	size_t len;
	uint64_t revision; /* store revision at the last change of this key */
	bool deleted;	   /* in events: the key was deleted */
};

struct kv_answer {
	enum cluster_trouble trouble;
	/* With CLUSTER_FINE: the lease in the request does not exist; the store no longer has the
	 * revision from which to watch. */
	bool lease_gone, compacted;
	bool too_large; /* with CLUSTER_WRONG: the answer exceeds KV_ANSWER_BYTES_MAX */
	char text[CLUSTER_TEXT_MAX]; /* text of the error; "": no error */
	uint64_t revision;	     /* current revision of the store */
	bool succeeded;		     /* of a transaction: its comparisons were true */
	bool more;		     /* of a range: it has further keys beyond the limit */
	uint64_t lease, ttl_s;	     /* result of a request that makes or renews a lease */
	struct kv_pair *pairs; /* result of a range, of a watch, or of the reads in a transaction */
	size_t n_pairs;
};

void kv_answer_done(struct kv_answer *a);

/* Called once with the answer, which the callee may read but not keep. */
typedef void (*kv_answer_cb)(void *user, const struct kv_answer *a);

struct kv_range {
	/* the keys from `first` up to but not including `end`; end NULL: only `first` */
	const char *first, *end;
	unsigned limit; /* maximum number of keys in the answer; 0: KV_PAIRS_MAX */
	bool keys_only;
};

enum kv_op_kind { KV_PUT, KV_GET, KV_DELETE };
struct kv_op {
	enum kv_op_kind kind;
	const char *key, *value; /* `value` is only for KV_PUT */
	/* for KV_PUT: the key is deleted when this lease ends; 0: no lease */
	uint64_t lease;
};

/* A comparison of the revision of a key's last change. A key that does not exist has the revision
 * 0. */
struct kv_compare {
	const char *key;
	/* compares all keys from `key` up to but not including `end`; NULL: only `key` */
	const char *end;
	/* true if the key has this revision; with `end`, if all these keys have lower ones */
	uint64_t revision;
};

/* A transaction: compares, then carries out `ops` or `otherwise`. Without `key` and `also`, it
 * always carries out `ops`. */
struct kv_txn {
	const char *key;   /* the key to compare */
	uint64_t revision; /* the revision of its last change; 0: the key does not exist */
	const struct kv_compare *also; /* further comparisons, all of which must be true too */
	size_t n_also;
	const struct kv_op *ops; /* carried out if all comparisons are true */
	size_t n_ops;
	const struct kv_op *otherwise;
	size_t n_otherwise;
};

struct kv_setup {
	struct loop *loop;
	const char *const *endpoints; /* URLs */
	size_t n_endpoints;
	/* certificates in PEM; NULL: none, because all endpoints are http:// */
	const char *ca;
	const char *user, *password; /* NULL: no authentication */
	/* An endpoint that does not answer for this time has failed; 0: 5 s. */
	unsigned timeout_s;
};

struct kv;
struct kv_ops {
	/* Makes the object without connecting, from a copy of the setup. Returns 0 or negative
	 * errno. */
	int (*open)(const struct kv_setup *setup, struct kv **ret);
	/* Ends all requests; no callback follows. Accepts NULL, returns NULL. */
	struct kv *(*close)(struct kv *kv);
	/* Each of these returns 0, and cb is called later; or returns negative errno, and cb is not
	 * called. `grant` makes a lease. */
	int (*range)(struct kv *kv, const struct kv_range *r, kv_answer_cb cb, void *user);
	int (*txn)(struct kv *kv, const struct kv_txn *t, kv_answer_cb cb, void *user);
	int (*grant)(struct kv *kv, uint64_t ttl_s, kv_answer_cb cb, void *user);
	int (*renew)(struct kv *kv, uint64_t lease, kv_answer_cb cb, void *user);
	/* Watches the keys from that revision on; an earlier watch of this object ends. cb is
	 * called for each event, with the changed keys. The watch has ended when cb gets a trouble
	 * or `compacted`. */
	int (*watch)(struct kv *kv, const char *const *keys, size_t n, uint64_t revision,
		     kv_answer_cb cb, void *user);
	void (*unwatch)(struct kv *kv); /* ends the watch; no callback follows */
	/* Returns the endpoint in use if it has answered and has not failed since; otherwise "". */
	const char *(*endpoint)(const struct kv *kv);
};

extern const struct kv_ops kv_etcd;

#endif
