/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host's part in rollouts: reads the record at intervals, takes a turn when the record allows
 * one, passes the document to the agent, and writes the result. It also marks turns of other hosts
 * as expired if these hosts have not reported in time. Every write is a transaction that fails if
 * the record or this host's registration has changed. While the store does not answer, the host
 * keeps its document.
 */
#ifndef PLENUM_AGENT_ROLLOUT_FOLLOW_H
#define PLENUM_AGENT_ROLLOUT_FOLLOW_H

#include "agent/cluster/rollout/rollout.h"
#include "agent/cluster/store/member.h"

/* Interval at which the record is read: LOOK while a host has a turn, or while this host lacks the
 * document of a running rollout; otherwise IDLE. */
#define ROLLOUT_LOOK_NS (3 * NSEC_PER_SEC)
#define ROLLOUT_IDLE_NS (15 * NSEC_PER_SEC)

struct rollout_follow;
struct rollout_follow_setup {
	struct loop *loop;
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *host;
	const struct member *member; /* borrowed; the host takes turns only while it is
					registered */
	/* Called when this host has a turn, so that the agent applies the document. Called
	 * repeatedly for the same turn, until the agent's report about it arrives by
	 * rollout_follow_set(). */
	void (*on_turn)(void *user, const struct rollout *r, uint64_t turn,
			const struct rollout_document *d);
	/* Called when the view has changed. */
	void (*on_view)(void *user, enum rollout_view view);
	void *user;
};

int rollout_follow_new(const struct rollout_follow_setup *setup, struct rollout_follow **ret);
/* Call it only when the object's requests have ended or the store was closed. Accepts NULL, returns
 * NULL. */
struct rollout_follow *rollout_follow_free(struct rollout_follow *f);
/* Stores the agent's report about this host, and makes the next step soon. */
void rollout_follow_set(struct rollout_follow *f, const struct rollout_self *self);

#endif
