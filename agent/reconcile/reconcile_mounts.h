/* SPDX-License-Identifier: BSD-3-Clause */
/* Mounts and exports that an apply takes away from programs. */
#ifndef PLENUM_AGENT_RECONCILE_MOUNTS_H
#define PLENUM_AGENT_RECONCILE_MOUNTS_H

#include "agent/agent.h"

/* Notes which served mounts and exports the running reconcile ends, and which mounts take their
 * place. 0; -ENOMEM. */
int reconcile_mounts_before(struct agent *a);
/* Whether the server of one of these new mounts does not serve it (yet). */
bool reconcile_mounts_lost(const struct agent *a, struct reason *why);
/* Hands the desired workers to the supervisor; while an apply is pending, with the mounts that it
 * removes. 0; negative errno as sup_reconcile. */
int reconcile_mounts_apply(struct agent *a, bool retry_failed);

#endif
