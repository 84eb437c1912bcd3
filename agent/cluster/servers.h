/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The servers that this host knows from its cluster, and this host's identity in it. Both are kept
 * in a file of the state directory, so that mounts come back after a reboot while the cluster's
 * store is away. Owns the list; the caller owns the struct.
 */
#ifndef PLENUM_AGENT_SERVERS_H
#define PLENUM_AGENT_SERVERS_H

#include "agent/base/cluster_report.h"
#include <jansson.h>

#define SERVERS_MAX 256

struct servers_entry {
	struct cluster_server is; /* registered 0: with the last known addresses */
	bool remembered;	  /* from the file: the store has not confirmed it yet */
};

struct servers {
	char id[CLUSTER_ID_MAX];       /* random, drawn once per state directory */
	uint64_t epoch;		       /* number of the agent's start in this directory */
	char nonce[CLUSTER_NONCE_MAX]; /* random, drawn at each start, not in the file */
	char cluster[PLENUM_NAME_MAX]; /* of which cluster the servers are */
	struct servers_entry *all;
	size_t n;
};

void servers_done(struct servers *s);
/* Reads the file and counts the start, or draws an identity if there is no file. Returns 0, or
 * negative errno as of state_file.h: then there are no servers, and the identity is a new one. */
int servers_load(struct servers *s, const char *path);
int servers_save(const struct servers *s, const char *path);
/* Drops all servers if they are of another cluster. Returns whether there were any. */
bool servers_set_cluster(struct servers *s, const char *cluster);
/* Returns whether the JSON list of names has this host. */
bool servers_lists(const json_t *hosts, const char *host);
/* Drops all servers but those in the JSON list of names. */
void servers_keep(struct servers *s, const json_t *hosts);
/* Returns the server with the addresses that a mount of the cluster may use, or NULL if none is
 * known. */
const struct cluster_server *servers_find(const struct servers *s, const char *cluster,
					  const char *host);
const struct servers_entry *servers_entry(const struct servers *s, const char *host);
/* Takes a report. A server that has gone keeps its addresses. Returns whether addresses have
 * changed. If memory is short, the report is dropped. */
bool servers_take(struct servers *s, const struct cluster_server *news);
/* Returns whether the addresses are equal; labels do not count, as workers get them from their
 * peers. */
bool servers_same_addrs(const struct cluster_server *a, const struct cluster_server *b);

#endif
