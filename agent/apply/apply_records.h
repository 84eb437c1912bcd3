/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record files (state_file.h) of a requested apply. The ticket is written before its applier
 * starts. The applier writes the outcome for a later agent. The third file has the configuration
 * that the last rollback undid. Keeps no state. Also reads the formats of earlier builds, two of
 * which are YAML with comments.
 */
#ifndef PLENUM_AGENT_APPLY_RECORDS_H
#define PLENUM_AGENT_APPLY_RECORDS_H

#include "netcfg/base/files/state_file.h"
#include "netcfg/base/reason.h"

/*
 * The ticket. MODE is alone, patient or brief; reachability.c reads and writes the last three kinds
 * of lines.
 *
 *	apply NUMBER SOURCE CONFIRM-SECONDS STEPS
 *	by CLIENT
 *	agreed LINE - a line of the record of accepted transports
 *	vfs-of PF
 *	config LINE - a line of the configuration
 *	replaces MODE PATH
 *	moves MODE
 *	answered worker N role N dpdk N full N leg NAME peer NAME MODE
 */
extern const struct state_kind apply_ticket_kind;

/* Saves the outcome: "apply NUMBER ERROR REASON". ERROR is 0 or an errno. */
int apply_outcome_save(const char *path, uint64_t number, int error, const char *why);
/* Reads the outcome. Returns 0 with the number of the apply, its result (0 or negative errno) and
 * the reason; enum state_error; or another negative errno. */
int apply_outcome_load(const char *path, uint64_t *ret_number, int *ret_error, struct reason *why);
int apply_outcome_remove(const char *path);

/* Saves the configuration (YAML) that the agent must not apply again unless a client requests it,
 * and the reason. */
int apply_refused_save(const char *path, const char *why, const char *yaml);
/* Reads the file that apply_refused_save() wrote. Returns 0 with *ret_yaml, which the caller frees;
 * enum state_error; or another negative errno. */
int apply_refused_load(const char *path, struct reason *why, char **ret_yaml);
int apply_refused_remove(const char *path);

#endif
