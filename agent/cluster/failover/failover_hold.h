/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes, renews and releases an export that several hosts can serve: sends the requests of
 * failover.h to the cluster's store, one at a time, and reports until when this host may serve the
 * export. Each change requires that the name of this host is still registered for this agent
 * (member.h), so that a copy of the host takes nothing. The store's connection should have a short
 * time limit, because a lease lasts only seconds.
 */
#ifndef PLENUM_AGENT_FAILOVER_HOLD_H
#define PLENUM_AGENT_FAILOVER_HOLD_H

#include "agent/cluster/failover/failover.h"
#include "agent/cluster/store/member.h"

struct failover_report {
	enum failover_state state;
	uint64_t epoch;
	uint64_t until_ns; /* clock_boot_ns() until which the worker may serve; 0: it must stop */
	/* true: this process has not found out yet whether this host may serve. Until then, a
	 * worker of an earlier agent serves as long as that agent allowed, whatever until_ns
	 * says. */
	bool undecided;
	char holder[PLENUM_NAME_MAX]; /* "": none */
};

struct failover_hold;
struct failover_hold_setup {
	struct loop *loop;
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed; the caller closes it before failover_hold_free() */
	const char *cluster, *host, *export_name;
	const struct record_owner *self;
	const struct member *member; /* borrowed */
	const struct failover_times *times;
	uint64_t running_epoch; /* epoch with which a worker of an earlier agent serves the export;
				   0: there is no such worker */
	/* Called when the report has changed. */
	void (*on_report)(void *user, const struct failover_report *r);
	void *user;
};

int failover_hold_new(const struct failover_hold_setup *setup, struct failover_hold **ret);
struct failover_hold *failover_hold_free(
	struct failover_hold *h); /* accepts NULL; always returns NULL */
/* See the functions with these names in failover.h. */
void failover_hold_set_eligible(struct failover_hold *h, bool eligible);
void failover_hold_stop(struct failover_hold *h, const char *to);
void failover_hold_stopped(struct failover_hold *h);

#endif
