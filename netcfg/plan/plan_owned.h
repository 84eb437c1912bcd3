/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of what we changed and the host itself does not tell: values as they were found before
 * we first set them (a link's MTU, whether it was up, settings), and addresses of ours, since
 * kernels before 5.18 forget who made them. From it a plan gives back what is no longer asked for.
 * It is read before planning and replaced when an apply is committed, in one step with the journal
 * (apply.c); nobody else writes it. It counts for one boot and network namespace.
 *
 *	plenum-owned 1 boot BOOT-ID netns INODE
 *	IFINDEX OP LINK ARGS		as in the journal; a value with what was found and what we
 *set
 *
 * IFINDEX tells the link from a later one of the same name; 0: none.
 */
#ifndef PLENUM_NETCFG_PLAN_OWNED_H
#define PLENUM_NETCFG_PLAN_OWNED_H

#include "netcfg/apply/apply_step.h"
#include "netcfg/plan/plan.h"

#define PLAN_OWNED_VERSION 1

struct plan_owned {
	char *path;
	struct plan_step *steps; /* those that made what is owned, in their order */
	size_t n, cap;
};

/* Reads the record; one that is absent or of another boot is empty, and so is one that cannot be
 * read: then a warning in d says what is lost by it. o may hold an earlier one. 0, -ENOMEM. */
int plan_owned_load(struct plan_owned *o, const char *path, struct diag *d);
void plan_owned_done(struct plan_owned *o);

/* Takes over what became of a step. 0, -ENOMEM. */
int plan_owned_note(struct plan_owned *o, const struct plan_step *s, enum apply_step_state state);
/* The record as text. 0, -ENOMEM, -EINVAL. */
int plan_owned_format(const struct plan_owned *o, char **ret, size_t *ret_len);

#endif
