/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of owned values. It has the values that Plenum found before it first changed them
 * (MTU, up or down, settings), because the host no longer shows them. It also has Plenum's
 * addresses, because kernels before 5.18 do not store the protocol number of an address. A plan
 * uses the record to restore values that the configuration no longer needs. The agent reads the
 * record before planning. When an apply commits, the agent replaces the record atomically with the
 * journal (apply.c). It is valid for one boot and network namespace. It is a record file
 * (state_file.h) of the kind "owned" with lines:
 *
 * 	IFINDEX KIND-VERB LINK WORD...	as in the journal (apply_journal.h)
 *
 * IFINDEX distinguishes the link from a later link with the same name; it is 0 if the step has no
 * link.
 */
#ifndef PLENUM_NETCFG_PLAN_OWNED_H
#define PLENUM_NETCFG_PLAN_OWNED_H

#include "netcfg/plan/plan.h"

struct plan_owned {
	char *path;
	struct plan_step *steps; /* the steps that created the owned objects and values, in order */
	size_t n, cap;
};

/* Reads the record into o, which may hold an earlier record. If the record is missing or of another
 * boot, o becomes empty. It also becomes empty if the record is unreadable, with a warning in d
 * that says what is lost. Returns 0 or -ENOMEM. */
int plan_owned_load(struct plan_owned *o, const char *path, struct diag *d);
void plan_owned_done(struct plan_owned *o);

/* Updates the record by a step that was done or, with kept, was not necessary because the host was
 * already as desired. Returns 0 or -ENOMEM. */
int plan_owned_note(struct plan_owned *o, const struct plan_step *s, bool kept);
/* Writes the new record to a temporary file, for file_commit or file_abandon. Returns 0 or negative
 * errno. */
int plan_owned_prepare(const struct plan_owned *o, const char *path);

#endif
