/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of what somebody has agreed to: which workers with `transport: auto` were taken from
 * the kernel's sockets to VFs by an apply that was kept. What is in it returns by itself, after a
 * reboot too; what is not waits for somebody who asks. And of all workers the numbers of the VFs
 * that are theirs, so that none gets another because a worker comes or goes; those count for one
 * boot. Read before planning; written by the agent once a plan runs for good. A text file:
 *
 *	plenum-agreed 1 boot BOOT-ID netns INODE
 *	core 2 transport dpdk
 *	core 2 vf 0 leg-a
 */
#ifndef PLENUM_NETCFG_PLAN_AGREED_H
#define PLENUM_NETCFG_PLAN_AGREED_H

#include "netcfg/plan/plan.h"

#define PLAN_AGREED_VERSION 1

struct plan_agreed_entry {
	unsigned core;
	char leg[PLENUM_NAME_MAX];     /* "": the entry is about the transport */
	enum spec_transport transport; /* where there is no leg */
	uint32_t vf;		       /* where there is one */
};

struct plan_agreed {
	struct plan_agreed_entry *entries;
	size_t n;
};

/* Reads the record; one that is absent is empty, and so is one that cannot be read: then a warning
 * in d says what is lost by it. a may hold an earlier one. 0, -ENOMEM. */
int plan_agreed_load(struct plan_agreed *a, const char *path, struct diag *d);
/* The same of a text; -EBADMSG: it is none. */
int plan_agreed_parse(struct plan_agreed *a, const char *text);
/* What `a` becomes once that plan runs: VFs of legs that are not there are kept. 0 and *ret, which
 * may hold an earlier one; -ENOMEM. */
int plan_agreed_follow(const struct plan_agreed *a, const struct plan *plan,
		       struct plan_agreed *ret);
/* The record as text, the caller's; NULL: no memory. */
char *plan_agreed_format(const struct plan_agreed *a);
/* Replaces the file, and a, unless they say that already. 0, negative errno. */
int plan_agreed_save(struct plan_agreed *a, const char *path, const struct plan_agreed *next);
void plan_agreed_done(struct plan_agreed *a);

/* The transport that the worker of that core was taken to; SPEC_TRANSPORT_UDP: to none. a may be
 * NULL. */
enum spec_transport plan_agreed_transport(const struct plan_agreed *a, unsigned core);
/* The number of its VF on that leg; -1: it has had none. */
int plan_agreed_vf(const struct plan_agreed *a, unsigned core, const char *leg);

#endif
