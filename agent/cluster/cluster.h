/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of the cluster: runs the process of the role `cluster` while the configuration
 * has cluster.etcd, passes it the settings and the values of this host, and keeps what it reports.
 * The store can fail in any way: workers and mounts do not depend on it. cluster_role.c is the code
 * of that process.
 */
#ifndef PLENUM_AGENT_CLUSTER_H
#define PLENUM_AGENT_CLUSTER_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/privsep.h"
#include "agent/cluster/servers.h"
#include "netcfg/base/reason.h"
#include "netcfg/spec/spec.h"
#include <sys/types.h>

#define CLUSTER_READS_MAX 8 /* most lists that are made at a time */

struct cluster;
struct cluster_setup {
	struct loop *loop;
	struct events *events;
	enum log_level log_level;
	const char *path;	 /* the file of servers.h; borrowed */
	struct servers *servers; /* borrowed; this module loads, changes and saves it */
	/* Called when problems or reports have changed. */
	void (*on_change)(void *user);
	/* Called when the addresses of a server have changed. */
	void (*on_servers)(void *user);
	/* Called with a list that cluster_read() requested: len bytes of JSON in fd, which the
	 * callee may use but does not close; or with fd -1 and the reason. */
	void (*on_list)(void *user, uint64_t id, int fd, uint64_t len, const struct reason *why);
	void *user;
};

int cluster_new(const struct cluster_setup *setup, struct cluster **ret);
struct cluster *cluster_free(struct cluster *c); /* accepts NULL, returns NULL */
/* Takes the settings of the configuration, and reads the files that it names. Call whenever another
 * configuration is in force. */
void cluster_set(struct cluster *c, const struct spec *s);
bool cluster_is_used(const struct cluster *c);
/* Replaces a value of this host (records.h). */
void cluster_publish(struct cluster *c, enum privsep_cluster_what what, const char *text);
/* Requests a list of all hosts; on_list gets it. what: enum rows_kind. Returns 0, -EBUSY if too
 * many requests are in progress, or -ENOTCONN if the process does not run. */
int cluster_read(struct cluster *c, uint32_t what, uint64_t id);
/* Returns the problems as a JSON list of sentences, a new reference, or NULL if memory is short.
 * s: the running configuration, or NULL. */
json_t *cluster_problems(const struct cluster *c, const struct spec *s);
/* Returns the state and the servers of this host's mounts as JSON, a new reference, or NULL if
 * memory is short. */
json_t *cluster_to_json(const struct cluster *c, const struct spec *s);
/* Writes to buf why a mount has no addresses: its server is not registered, has no usable
 * addresses, or was not looked up yet. */
void cluster_why_unknown(const struct cluster *c, const struct spec *s, const char *server,
			 char *buf, size_t size);
pid_t cluster_pid(const struct cluster *c); /* 0: the process does not run */

/* ---- cluster_reason.c ---- */

/* Describes what is wrong and what to do; why is cleared if nothing is. */
void cluster_reason(const struct cluster_report *r, const struct spec_cluster *s, const char *host,
		    struct reason *why);

#endif
