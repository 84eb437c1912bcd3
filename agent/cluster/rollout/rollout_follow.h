/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host's part in rollouts: reads the record again and again, takes a turn when the record
 * allows one, passes the document to the agent, and writes the result. It also ends the turns of
 * hosts that did not report in time, by its own clock. Every write is a transaction that depends on
 * the record and on this host's registration. A store that does not answer ends nothing: the host
 * keeps the document that it has.
 */
#ifndef PLENUM_AGENT_ROLLOUT_FOLLOW_H
#define PLENUM_AGENT_ROLLOUT_FOLLOW_H

#include "agent/cluster/member.h"
#include "agent/cluster/rollout/rollout.h"

/* How often the record is read: while this host has a turn, or hosts are in flight or behind; and
 * else. */
#define ROLLOUT_LOOK_NS (3 * NSEC_PER_SEC)
#define ROLLOUT_IDLE_NS (15 * NSEC_PER_SEC)

struct rollout_follow;
struct rollout_follow_setup {
	struct loop *loop;
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *host;
	const struct member *member; /* borrowed; turns are taken while it is registered */
	/* Called when this host has a turn: the agent is to apply the document. Called again for
	 * the same turn until rollout_follow_set() has its state. */
	void (*on_turn)(void *user, const struct rollout *r, uint64_t turn,
			const struct rollout_document *d);
	/* Called when the view has changed. */
	void (*on_view)(void *user, enum rollout_view view);
	void *user;
};

int rollout_follow_new(const struct rollout_follow_setup *setup, struct rollout_follow **ret);
/* Its requests must have ended, or the store must be closed. Accepts NULL, returns NULL. */
struct rollout_follow *rollout_follow_free(struct rollout_follow *f);
/* Takes what the agent reports about this host. */
void rollout_follow_set(struct rollout_follow *f, const struct rollout_self *self);

#endif
