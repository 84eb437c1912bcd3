/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that answer questions about the running reconcile, for all files of this folder. */
#ifndef PLENUM_AGENT_RECONCILE_INTERNAL_H
#define PLENUM_AGENT_RECONCILE_INTERNAL_H

#include "agent/agent.h"
#include <string.h>

/* Returns whether the run is a start or was requested by an operator, so that it retries
 * configurations that failed before. */
static inline bool reconcile_is_asked(enum reconcile_trigger t)
{
	return t != RECONCILE_KERNEL && t != RECONCILE_FALLBACK;
}

/* Returns whether the run repairs the running configuration without a request. */
static inline bool reconcile_is_repair(const struct reconcile *rec)
{
	return rec->run.trigger == RECONCILE_KERNEL && rec->run.source == RECONCILE_FROM_RUNNING;
}

/* Returns whether the run gets a ticket and may have to be confirmed. That is so if an operator
 * requested exactly this configuration, or if the run is guarded like such an apply. */
static inline bool reconcile_is_ordered(const struct reconcile *rec)
{
	return rec->run.is_guarded ||
	       ((rec->run.trigger == RECONCILE_API || rec->run.trigger == RECONCILE_RELOAD) &&
		(rec->run.source == RECONCILE_FROM_FILES ||
		 rec->run.source == RECONCILE_FROM_STAGED ||
		 rec->run.source == RECONCILE_FROM_HISTORY));
}

/* Returns whether workers with `transport: auto` may move to VFs. Only an operator's apply may do
 * that, because `plenum plan` shows the move and the operator can roll it back. */
static inline bool reconcile_may_move(const struct reconcile *rec)
{
	return rec->run.trigger == RECONCILE_API && !rec->pending.applier &&
	       (rec->run.source == RECONCILE_FROM_FILES ||
		rec->run.source == RECONCILE_FROM_STAGED);
}

/* Returns the spec that the running reconcile applies. */
static inline const struct spec *reconcile_spec(const struct agent *a)
{
	return a->reconcile.run.next.spec ? a->reconcile.run.next.spec : a->running.spec;
}

/* Returns whether the operator used --force with this name. */
static inline bool reconcile_has_force(const struct reconcile_client *c, const char *name)
{
	for (size_t i = 0; i < c->n_forced; i++)
		if (strcmp(c->forced[i], name) == 0)
			return true;
	return false;
}

/* Returns whether the operator used --force probes, which keeps the apply even if peers do not
 * answer afterwards. */
static inline bool reconcile_is_forced(const struct reconcile_client *c)
{
	return reconcile_has_force(c, PLAN_FORCE_PROBES);
}

#define RECONCILE_TICK_NS (10 * NSEC_PER_SEC)

#endif
