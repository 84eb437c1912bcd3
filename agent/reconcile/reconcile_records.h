/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files in the state and run directories that a later run or agent reads: the last good
 * configuration, the configuration that the last rollback undid, worker ids, and failed transports.
 */
#ifndef PLENUM_AGENT_RECONCILE_RECORDS_H
#define PLENUM_AGENT_RECONCILE_RECORDS_H

#include "agent/agent.h"

/* Opens the history and reads the failed transports. Returns 0 or negative errno. */
int reconcile_records_init(struct agent *a);
void reconcile_records_done(struct reconcile *rec);

/* Saves the running configuration as the last good one and, if it was staged, to the configuration
 * files. Returns 0, or negative errno with a problem set and an error in d. */
int reconcile_keep_config(struct agent *a, enum reconcile_source source, uint64_t entry,
			  struct diag *d);
/* Saves the worker ids and accepted transports for the next start. */
void reconcile_save_worker_ids(struct agent *a);

#define RECONCILE_REFUSED_MAX 400 /* size of the reason why a configuration is not retried */

/* Adds an event that a configuration was rolled back. If the configuration differs from the last
 * good one, and comes from the files or was staged, the function also reports a problem. The agent
 * then does not apply a configuration from the files again until an operator requests it. */
void reconcile_note_refused(struct agent *a, enum reconcile_source source, uint64_t entry,
			    const char *why, const struct spec *spec);
/* Returns whether the last rollback undid this configuration; if so, why has the reason. */
bool reconcile_is_refused(struct agent *a, const struct spec *spec, struct reason *why);

#endif
