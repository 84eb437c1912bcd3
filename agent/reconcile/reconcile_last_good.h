/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration that ran last without a failure. At a start, the agent runs this configuration
 * first if the files are invalid or differ from it; a rollback restores it. If its file cannot be
 * written, the agent keeps the text in memory. reconcile_last_good_load() is declared in
 * reconcile.h.
 */
#ifndef PLENUM_AGENT_RECONCILE_LAST_GOOD_H
#define PLENUM_AGENT_RECONCILE_LAST_GOOD_H

#include "agent/agent.h"

bool reconcile_has_last_good(const struct reconcile *rec);
/* Saves the running configuration in normal form, which needs no drop-ins, if it differs from the
 * saved one. The file is replaced atomically. A failure becomes an event. */
void reconcile_last_good_save(struct agent *a);

#endif
