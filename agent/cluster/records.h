/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the hosts of a cluster keep in its store, below /plenum/CLUSTER/v1/: a key owner/HOST names
 * the host that has the name, serving/HOST has a server's addresses and exports as long as the
 * lease of its agent, and state/HOST a summary of the host. Values are JSON with the member "v",
 * the version of the format. Any host of the cluster, or a faulty one, may have written them: a
 * parser takes members with the right type, and ignores unknown ones, so that later versions may
 * add some. Pure.
 */
#ifndef PLENUM_AGENT_RECORDS_H
#define PLENUM_AGENT_RECORDS_H

#include "agent/cluster/kv.h"
#include <jansson.h>

#define RECORDS_VERSION 1
#define RECORDS_BYTES_MAX (96U << 10) /* of a value */
#define RECORDS_HOSTS_MAX 4096	      /* hosts of a cluster */
#define RECORDS_ROWS_MAX 512	      /* rows of a list in a summary */
#define RECORDS_REPEAT_S 60	      /* an unchanged summary is written this often */

enum record_kind { RECORD_OWNER, RECORD_SERVING, RECORD_STATE, RECORD_KIND_MAX };

/* Writes the key of that host to buf; host "": the prefix of all keys of the kind. */
void record_key(enum record_kind kind, const char *cluster, const char *host, char buf[KV_KEY_MAX]);
/* Writes the key after all keys of the kind to buf. */
void record_key_end(enum record_kind kind, const char *cluster, char buf[KV_KEY_MAX]);
/* Returns the host in a key of that kind, or NULL if the key has another form. */
const char *record_host(enum record_kind kind, const char *cluster, const char *key);
/* Returns whether the text can be the name of a host or a cluster in a key. */
bool record_name_is_valid(const char *name);

struct record_owner {
	char id[CLUSTER_ID_MAX];       /* of the agent's state directory */
	uint64_t epoch;		       /* number of the agent's start, counted in that directory */
	char nonce[CLUSTER_NONCE_MAX]; /* drawn at that start: copies of a host differ in it */
	char since[32];		       /* time of the registration */
};
/* Returns the value on the heap, or NULL if memory is short. */
char *record_owner_format(const struct record_owner *o);
/* These return 0, or -EBADMSG if the value has not that form. */
int record_owner_parse(const char *text, size_t len, struct record_owner *ret);
int record_server_parse(const char *host, const char *text, size_t len, struct cluster_server *ret);
/* Returns the value of serving/HOST on the heap, or NULL if memory is short. exports: a JSON list
 * of names. */
char *record_server_format(const struct cluster_server *s, const json_t *exports);

#endif
