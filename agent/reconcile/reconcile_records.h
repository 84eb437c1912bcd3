/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files in the state and run directories that tell a later run or agent what may be applied:
 * the last good configuration, the one that was rolled back, worker ids, failed transports.
 */
#ifndef PLENUM_AGENT_RECONCILE_RECORDS_H
#define PLENUM_AGENT_RECONCILE_RECORDS_H

#include "agent/agent.h"

/* Opens the history and reads the failed transports. 0; negative errno. */
int reconcile_records_init(struct agent *a);
void reconcile_records_done(struct reconcile *rec);

/* Saves the running configuration as the last good one, and a staged one to its files. 0; negative
 * errno with a problem set and an error in d. */
int reconcile_keep_config(struct agent *a, enum reconcile_source source, uint64_t entry,
			  struct diag *d);
/* Saves the worker ids and accepted transports for the next start. */
void reconcile_save_worker_ids(struct agent *a);

#define RECONCILE_REFUSED_MAX 400 /* reason why a configuration is not retried, with its NUL */

/* Reports a configuration that was rolled back as a problem; if the files contain it, it is not
 * retried without a request. */
void reconcile_note_refused(struct agent *a, enum reconcile_source source, uint64_t entry,
			    const char *why, const struct spec *spec);
/* Whether this configuration was rolled back last, and why. */
bool reconcile_is_refused(struct agent *a, const struct spec *spec, struct reason *why);

#endif
