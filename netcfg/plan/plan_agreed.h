/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of what somebody has agreed to: which workers with `transport: auto` were taken from
 * the kernel's sockets to VFs by an apply that was kept, and of which devices on which legs. What
 * is in it returns by itself, after a reboot too; what is not, another device behind the name of a
 * leg as well, waits for somebody who asks. And of all workers the numbers of the VFs that are
 * theirs, so that none gets another because a worker comes or goes; those count for one boot. Read
 * before planning; written by the agent once a plan runs for good. A text file:
 *
 *	plenum-agreed 1 boot BOOT-ID netns INODE
 *	core 2 transport dpdk
 *	core 2 leg leg-a device 3c:ec:ef:00:00:01 vf 0
 */
#ifndef PLENUM_NETCFG_PLAN_AGREED_H
#define PLENUM_NETCFG_PLAN_AGREED_H

#include "netcfg/plan/plan.h"

#define PLAN_AGREED_VERSION 1
#define PLAN_AGREED_NO_VF UINT32_MAX

struct plan_agreed_entry {
	unsigned core;
	char leg[PLENUM_NAME_MAX];     /* "": the entry is about the transport */
	enum spec_transport transport; /* where there is no leg */
	/* Where there is one: the device that has the VF, and its number; PLAN_AGREED_NO_VF: of
	 * another boot. */
	char device[PLAN_DEVICE_MAX];
	uint32_t vf;
};

struct plan_agreed {
	struct plan_agreed_entry *entries;
	size_t n;
};

/* Reads the record into a, which may hold an earlier one and is as it was where that fails. 0;
 * -ENOENT: there is none; -EBADMSG: it is not of this version; other negative errno. */
int plan_agreed_load(struct plan_agreed *a, const char *path);
/* The same of a text. 0, -EBADMSG, -ENOMEM. */
int plan_agreed_parse(struct plan_agreed *a, const char *text);
/* What `a` becomes once that plan runs: what a worker still claims and cannot have just now is
 * kept. 0 and *ret, which may hold an earlier one, or be a; -ENOMEM. */
int plan_agreed_follow(const struct plan_agreed *a, const struct plan *plan,
		       struct plan_agreed *ret);
/* The record as text, the caller's; NULL: no memory. */
char *plan_agreed_format(const struct plan_agreed *a);
void plan_agreed_done(struct plan_agreed *a);

/* The entry at the end. 0, -ENOMEM. */
int plan_agreed_add(struct plan_agreed *a, const struct plan_agreed_entry *e);
/* By which a device is known again: its maker's MAC, else its PCI address. */
void plan_agreed_identify(const struct inv_link *device, char ret[static PLAN_DEVICE_MAX]);

/* The transport that the worker of that core was taken to; SPEC_TRANSPORT_UDP: to none. a may be
 * NULL, here and below. */
enum spec_transport plan_agreed_transport(const struct plan_agreed *a, unsigned core);
/* What is agreed of the core's worker on that leg, with that device (NULL: whichever); borrowed,
 * NULL: nothing. */
const struct plan_agreed_entry *plan_agreed_find(const struct plan_agreed *a, unsigned core,
						 const char *leg, const char *device);
/* Whether `next` takes the worker of that core to what is not agreed in `a`. */
bool plan_agreed_moves(const struct plan_agreed *a, const struct plan_agreed *next, unsigned core);

#endif
