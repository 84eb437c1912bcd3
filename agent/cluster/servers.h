/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The servers of this host's mounts that the cluster's store has named, and this host's identity in
 * the cluster. Both are kept in a file of the state directory, so that mounts come back after a
 * reboot even if the store does not answer. Owns the list; the caller owns the struct.
 */
#ifndef PLENUM_AGENT_SERVERS_H
#define PLENUM_AGENT_SERVERS_H

#include "agent/base/cluster_report.h"
#include <jansson.h>

#define SERVERS_MAX 256

struct servers_entry {
	/* registered 0: the server's key has disappeared, and these are its last addresses */
	struct cluster_server is;
	bool remembered; /* read from the file, and not confirmed by the store yet */
};

struct servers {
	char id[CLUSTER_ID_MAX];       /* random number of this state directory */
	uint64_t epoch;		       /* how many times the agent has started in this directory */
	char nonce[CLUSTER_NONCE_MAX]; /* random number of this start; it is not in the file */
	char cluster[PLENUM_NAME_MAX]; /* the cluster to which the servers belong */
	struct servers_entry *all;
	size_t n;
};

void servers_done(struct servers *s);
/* Reads the file and counts this start, or makes an identity if the file does not exist. Returns 0,
 * or a negative errno of state_file.h; the list of servers is then empty, and the identity is new.
 */
int servers_load(struct servers *s, const char *path);
int servers_save(const struct servers *s, const char *path);
/* Drops all servers if they belong to another cluster. Returns whether there were any. */
bool servers_set_cluster(struct servers *s, const char *cluster);
/* Returns whether the name is in the JSON list of names. */
bool servers_lists(const json_t *hosts, const char *host);
/* Drops all servers that are not in the JSON list of names. */
void servers_keep(struct servers *s, const json_t *hosts);
/* Returns the server with the addresses that a mount of the cluster may use, or NULL if none is
 * known. */
const struct cluster_server *servers_find(const struct servers *s, const char *cluster,
					  const char *host);
const struct servers_entry *servers_entry(const struct servers *s, const char *host);
/* Stores a report about a server. A server whose key has disappeared keeps its addresses. Returns
 * whether addresses have changed. If memory is short, the report is dropped. */
bool servers_take(struct servers *s, const struct cluster_server *news);
/* Returns whether the addresses are equal. Labels are not compared, because workers get them from
 * their peers. */
bool servers_same_addrs(const struct cluster_server *a, const struct cluster_server *b);
/* Return the addresses with their ports, and the labels, as JSON lists, new references. s NULL: no
 * server. */
json_t *servers_addrs_to_json(const struct cluster_server *s);
json_t *servers_labels_to_json(const struct cluster_server *s);

#endif
