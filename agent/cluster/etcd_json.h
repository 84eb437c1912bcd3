/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON of etcd's gateway (api/v3: rpc.proto): requests, and a parser of the answers, which come
 * from outside. Keys and values are in base64, 64-bit numbers are texts, and members with the value
 * 0 are absent. Unknown members are ignored. Owns nothing, makes no system call.
 */
#ifndef PLENUM_AGENT_ETCD_JSON_H
#define PLENUM_AGENT_ETCD_JSON_H

#include "agent/cluster/kv.h"

enum etcd_call {
	ETCD_RANGE,
	ETCD_TXN,
	ETCD_GRANT,
	ETCD_RENEW,
	ETCD_LOGIN,
	ETCD_WATCH, /* one line of the stream */
	ETCD_CALL_MAX
};

#define ETCD_TOKEN_MAX 4097 /* a JWT with its signature may have some KiB */

/* Returns the path of the call's URL. */
const char *etcd_path(enum etcd_call c);

/* These return the body of a request on the heap, which the caller frees, or NULL if memory is
 * short. */
char *etcd_range_request(const struct kv_range *r);
char *etcd_txn_request(const struct kv_txn *t);
char *etcd_grant_request(uint64_t ttl_s);
char *etcd_renew_request(uint64_t lease);
char *etcd_login_request(const char *user, const char *password);
/* One request per line: a stream watches all keys. */
char *etcd_watch_request(const char *const *keys, size_t n, uint64_t revision);

/*
 * Parses an answer with that HTTP status. *ret is always complete, and the caller passes it to
 * kv_answer_done(); if the answer is not one of etcd's, its trouble is CLUSTER_WRONG. Returns
 * whether the answer means that the token has expired, so that the caller has to log in again.
 * ret_token: only for ETCD_LOGIN; else NULL.
 */
bool etcd_parse(enum etcd_call c, long http_status, const char *text, size_t len,
		struct kv_answer *ret, char ret_token[ETCD_TOKEN_MAX]);

#endif
