/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record files (state_file.h) of a requested apply: the ticket, written before its applier
 * starts; the outcome, written by the applier for a later agent; and the configuration that was
 * rolled back last. Holds no state. Also reads what earlier builds wrote; two of these formats are
 * YAML with comments.
 */
#ifndef PLENUM_AGENT_APPLY_RECORDS_H
#define PLENUM_AGENT_APPLY_RECORDS_H

#include "netcfg/base/reason.h"
#include "netcfg/base/state_file.h"

/*
 * The ticket:
 *
 *	apply NUMBER SOURCE CONFIRM-SECONDS STEPS
 *	by CLIENT
 *	agreed LINE				the transports of auto workers, a record in the
 *record vfs-of PF moves MODE				and below: see reachability.c answered
 *worker N role N dpdk N full N leg NAME peer NAME MODE config LINE the configuration
 */
extern const struct state_kind apply_ticket_kind;

/* The outcome: "apply NUMBER ERROR REASON", ERROR being 0 or an errno. */
int apply_outcome_save(const char *path, uint64_t number, int error, const char *why);
/* 0 with the apply's number, its result (0 or negative errno) and the reason; enum state_error;
 * other negative errno. */
int apply_outcome_load(const char *path, uint64_t *ret_number, int *ret_error, struct reason *why);
int apply_outcome_remove(const char *path);

/* The configuration (YAML) that must not be retried without a request, and the reason. */
int apply_refused_save(const char *path, const char *why, const char *yaml);
/* 0 with *ret_yaml, the caller's; enum state_error; other negative errno. */
int apply_refused_load(const char *path, struct reason *why, char **ret_yaml);
int apply_refused_remove(const char *path);

#endif
