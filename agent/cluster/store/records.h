/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of hosts in the cluster's store, below /plenum/CLUSTER/v1/. The key owner/HOST says
 * which host has registered that name. The key revoked has the signed revocations of hosts. The key
 * serving/HOST has a server's addresses and exports, and exists as long as the lease of its agent.
 * The key state/HOST has a summary of the host. The key links/XXXX-HOST, with a hash of the name,
 * has the legs of the host and what their probes have found; this key also exists only as long as
 * the lease. The hash lets a host read a random part of these keys. Values are JSON with the member
 * "v", the version of the format. Any host of the cluster, even a faulty one, may have written
 * them. So a parser accepts only members with the right type, and ignores unknown members, which
 * later versions may add. The functions hold no state.
 */
#ifndef PLENUM_AGENT_RECORDS_H
#define PLENUM_AGENT_RECORDS_H

#include "agent/cluster/store/kv.h"
#include "netcfg/base/files/identity.h"
#include <jansson.h>

#define RECORDS_VERSION 1
#define RECORDS_BYTES_MAX (96U << 10) /* maximum length of a value */
#define RECORDS_HOSTS_MAX 4096	      /* maximum number of hosts of a cluster */
#define RECORDS_ROWS_MAX 512	      /* maximum number of rows of a list in a summary */
#define RECORDS_REPEAT_S 60	      /* interval at which an unchanged summary is written again */

enum record_kind { RECORD_OWNER, RECORD_SERVING, RECORD_STATE, RECORD_LINKS, RECORD_KIND_MAX };

/* Writes the key of that host to buf; host "": writes the prefix of all keys of that kind. */
void record_key(enum record_kind kind, const char *cluster, const char *host, char buf[KV_KEY_MAX]);
/* Writes to buf the key that follows all keys of that kind, as the end of a range. */
void record_key_end(enum record_kind kind, const char *cluster, char buf[KV_KEY_MAX]);
/* Writes a random key to buf, at which a host begins to read the keys below links/. */
void record_key_random(const char *cluster, uint16_t random, char buf[KV_KEY_MAX]);
/* Returns whether a key of that kind is removed when the lease of its host ends. */
bool record_has_lease(enum record_kind kind);
/* Returns the host in a key of that kind, or NULL if the key has an unexpected form. */
const char *record_host(enum record_kind kind, const char *cluster, const char *key);
/* Returns whether the text can be the name of a host or a cluster in a key. */
bool record_name_is_valid(const char *name);

/* Parses a value of at most max bytes. Returns the object, or NULL if the value is not valid.
 * record_load() also accepts later versions. record_load_exact() accepts only this version, for
 * values that a host changes and writes back. */
json_t *record_load(const char *text, size_t len, size_t max);
json_t *record_load_exact(const char *text, size_t len, size_t max);
/* Returns the object as text on the heap, or NULL if memory is short, and releases the object. */
char *record_save(json_t *o);

/* Writes the key of the revocations to buf. */
void record_revoked_key(const char *cluster, char buf[KV_KEY_MAX]);
/* Calls take() with each revocation in the value of that key. Only the format of the value is
 * checked, not the signatures. Returns 0 or -EBADMSG. */
int record_revoked_parse(const char *text, size_t len,
			 void (*take)(void *user, const uint8_t p[IDENTITY_REVOCATION_BYTES]),
			 void *user);
/* Returns the highest epoch in the valid revocations of `host` in the text; 0: the text has none.
 * cluster: the public part of the signing key. */
uint64_t record_revoked_epoch(const char *text, size_t len,
			      const uint8_t cluster[IDENTITY_KEY_BYTES], const char *host);
/* Returns the value with that revocation in place of an earlier one of the same host, on the heap,
 * without revocations that are invalid. Returns NULL if the value has too many hosts, or memory is
 * short. *ret_known: false: the value has an unexpected form, so the result has only the new
 * revocation. */
char *record_revoked_add(const char *text, size_t len, const uint8_t cluster[IDENTITY_KEY_BYTES],
			 const uint8_t p[IDENTITY_REVOCATION_BYTES], bool *ret_known);

struct record_owner {
	char id[CLUSTER_ID_MAX]; /* id of the agent's state directory */
	uint64_t epoch;		 /* how many times the agent has started in that directory */
	/* random number of this start, which distinguishes a host from its copy */
	char nonce[CLUSTER_NONCE_MAX];
	char since[32]; /* time of the registration */
};
/* Returns the value on the heap, or NULL if memory is short. */
char *record_owner_format(const struct record_owner *o);
/* Return 0, or -EBADMSG if the value has an unexpected form. */
int record_owner_parse(const char *text, size_t len, struct record_owner *ret);
int record_server_parse(const char *host, const char *text, size_t len, struct cluster_server *ret);
/* Returns the value of serving/HOST on the heap, or NULL if memory is short. exports: a JSON list
 * of names. */
char *record_server_format(const struct cluster_server *s, const json_t *exports);

#endif
