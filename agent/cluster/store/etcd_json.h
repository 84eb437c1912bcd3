/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON of etcd's gateway (api/v3: rpc.proto): formats requests, and parses answers, which come
 * from outside this host. In this JSON, keys and values are in base64, 64-bit numbers are strings,
 * and members with the value 0 are absent. Unknown members are ignored. The functions hold no state
 * and make no system call.
 */
#ifndef PLENUM_AGENT_ETCD_JSON_H
#define PLENUM_AGENT_ETCD_JSON_H

#include "agent/cluster/store/kv.h"

enum etcd_call {
	ETCD_RANGE,
	ETCD_TXN,
	ETCD_GRANT,
	ETCD_RENEW,
	ETCD_LOGIN,
	ETCD_WATCH, /* an answer of this kind is one line of the stream */
	ETCD_CALL_MAX
};

#define ETCD_TOKEN_MAX 4097 /* a JWT with its signature may have several KiB */

/* Returns the path in the URL of that call. */
const char *etcd_path(enum etcd_call c);

/* Each returns the body of a request on the heap, which the caller frees, or NULL if memory is
 * short. */
char *etcd_range_request(const struct kv_range *r);
char *etcd_txn_request(const struct kv_txn *t);
char *etcd_grant_request(uint64_t ttl_s);
char *etcd_renew_request(uint64_t lease);
char *etcd_login_request(const char *user, const char *password);
/* Returns one request per line. All requests are sent on one stream, so that one stream watches all
 * keys. */
char *etcd_watch_request(const char *const *keys, size_t n, uint64_t revision);

/*
 * Parses an answer with that HTTP status. Always fills in *ret, which the caller passes to
 * kv_answer_done(); if the answer does not have etcd's form, its trouble is CLUSTER_WRONG. Returns
 * whether the answer means that the token has expired, so that the caller has to log in again.
 * ret_token gets the token of a login (ETCD_LOGIN), and is NULL for other calls.
 */
bool etcd_parse(enum etcd_call c, long http_status, const char *text, size_t len,
		struct kv_answer *ret, char ret_token[ETCD_TOKEN_MAX]);

#endif
