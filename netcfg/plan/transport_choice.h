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

#define TRANSPORT_CHOICE_VERSION 1
#define TRANSPORT_CHOICE_NO_VF UINT32_MAX

struct transport_choice_entry {
	unsigned core;
	char leg[PLENUM_NAME_MAX];     /* "": the entry is about the transport */
	enum spec_transport transport; /* where there is no leg */
	/* Where there is one: the device that has the VF, and its number; TRANSPORT_CHOICE_NO_VF:
	 * of another boot. */
	char device[PLAN_DEVICE_MAX];
	uint32_t vf;
};

struct transport_choice {
	struct transport_choice_entry *entries;
	size_t n;
};

/* Reads the record into a, which may hold an earlier one and is as it was where that fails. 0;
 * -ENOENT: there is none; -EBADMSG: it is not of this version; other negative errno. */
int transport_choice_load(struct transport_choice *a, const char *path);
/* The same of a text. 0, -EBADMSG, -ENOMEM. */
int transport_choice_parse(struct transport_choice *a, const char *text);
/* What `a` becomes once that plan runs: what a worker still claims and cannot have just now is
 * kept. 0 and *ret, which may hold an earlier one, or be a; -ENOMEM. */
int transport_choice_follow(const struct transport_choice *a, const struct plan *plan,
			    struct transport_choice *ret);
/* The record as text, the caller's; NULL: no memory. */
char *transport_choice_format(const struct transport_choice *a);
void transport_choice_done(struct transport_choice *a);

/* The entry at the end. 0, -ENOMEM. */
int transport_choice_add(struct transport_choice *a, const struct transport_choice_entry *e);
/* By which a device is known again: its maker's MAC, else its PCI address. */
void transport_choice_identify(const struct inv_link *device, char ret[static PLAN_DEVICE_MAX]);

/* The transport that the worker of that core was taken to; SPEC_TRANSPORT_UDP: to none. a may be
 * NULL, here and below. */
enum spec_transport transport_choice_transport(const struct transport_choice *a, unsigned core);
/* What is agreed of the core's worker on that leg, with that device (NULL: whichever); borrowed,
 * NULL: nothing. */
const struct transport_choice_entry *transport_choice_find(const struct transport_choice *a,
							   unsigned core, const char *leg,
							   const char *device);
/* Whether `next` takes the worker of that core to what is not agreed in `a`. */
bool transport_choice_moves(const struct transport_choice *a, const struct transport_choice *next,
			    unsigned core);

#endif
