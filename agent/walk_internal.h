/* SPDX-License-Identifier: BSD-3-Clause */
/* What walk.c and walk_outcome.c share. */
#ifndef PLENUM_AGENT_WALK_INTERNAL_H
#define PLENUM_AGENT_WALK_INTERNAL_H

#include "agent/agent.h"

/* Somebody wants it, so that what failed is tried again. */
static inline bool walk_is_asked(enum walk_trigger t)
{
	return t != WALK_KERNEL && t != WALK_FALLBACK;
}

/* Nobody asked: what runs already is looked after. */
static inline bool walk_is_repair(const struct walk *w)
{
	return w->trigger == WALK_KERNEL && w->source == WALK_FROM_RUNNING;
}

/* What the end of the walk means: problems, state, events, when it is tried again, the client's
 * answer. error: of the walk. */
void walk_conclude(struct agent *a, int error);
/* The walk on its way becomes an entry of the history, where somebody asked for it. */
void walk_enter(struct agent *a);
/* Answers a client whose walk is not taken. */
void walk_refuse_client(struct agent *a, const struct walk_client *c, int error);
/* What ran last before this agent started. -ENOENT: nothing did. */
int walk_last_good_load(struct agent *a, struct diag *d, struct spec **ret);

#endif
