/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of accepted transports. When an apply moves a worker with `transport: auto` from the
 * kernel's sockets to VFs and is kept, the record gets the worker's core, its transport, and the
 * devices that it uses on its legs. Later plans choose the recorded transport again without an
 * operator, even after a reboot. Any other move, such as a move to another device of a leg, waits
 * for an operator's apply. The record also has the VF numbers of all workers, which are valid for
 * one boot, so that a worker keeps its VF when others are added or removed. A leg with
 * `net[].match` has an entry with the device that was selected for it; later plans use this device
 * again, and only an operator's apply selects another one (plan_match.h). The agent reads the
 * record before planning, and writes it when a plan was kept. It is a record file (state_file.h) of
 * the kind "agreed":
 *
 * 	core 2 transport dpdk
 * 	core 2 leg leg-a device 3c:ec:ef:00:00:01 vf 0
 * 	select leg-a device 3c:ec:ef:00:00:01 name ens1f0 match driver mlx5_core
 */
#ifndef PLENUM_NETCFG_TRANSPORT_CHOICE_H
#define PLENUM_NETCFG_TRANSPORT_CHOICE_H

#include "netcfg/plan/plan.h"

#define TRANSPORT_CHOICE_NO_VF UINT32_MAX

struct transport_choice_entry {
	unsigned core;
	/* name of the leg; "": the entry is about the transport of the core's worker, not about a
	 * leg */
	char leg[PLENUM_NAME_MAX];
	enum spec_transport transport; /* valid if leg is "" */
	/* Valid if leg is not "": the device with the VF, and the number of the VF;
	 * TRANSPORT_CHOICE_NO_VF if the number is from another boot. */
	char device[PLAN_DEVICE_MAX];
	uint32_t vf;
};

/* The device that was selected for a leg with `match`. */
struct transport_choice_device {
	char leg[PLENUM_NAME_MAX];
	char match[SPEC_MATCH_TEXT_MAX]; /* the match by which it was selected */
	char device[PLAN_DEVICE_MAX];	 /* the device's identity (plan_match.c) */
	char ifname[IFNAMSIZ];		 /* the device's name at that time */
};

struct transport_choice {
	struct transport_choice_entry *entries;
	size_t n;
	struct transport_choice_device *devices;
	size_t n_devices;
};

/* Reads the record into a, which may hold an earlier record and stays unchanged on failure. Returns
 * 0, an enum state_error or another negative errno. */
int transport_choice_load(struct transport_choice *a, const char *path);
/* Parses a text that transport_choice_format() wrote. On failure, `a` stays unchanged. Returns the
 * same as transport_choice_load(). */
int transport_choice_parse(struct transport_choice *a, const char *text);
/* Makes the record that is valid once that plan was applied. Accepted entries that are unavailable
 * now stay in the record. Returns 0 and *ret, or -ENOMEM. *ret may hold an earlier record, and ret
 * may be equal to a. */
int transport_choice_follow(const struct transport_choice *a, const struct plan *plan,
			    struct transport_choice *ret);
/* Returns the record as text on the heap, or NULL if out of memory. */
char *transport_choice_format(const struct transport_choice *a);
/* Writes the record. Returns 0 or negative errno. */
int transport_choice_save(const struct transport_choice *a, const char *path);
void transport_choice_done(struct transport_choice *a);

/* Appends the entry. Returns 0 or -ENOMEM. */
int transport_choice_add(struct transport_choice *a, const struct transport_choice_entry *e);
/* Returns the device selected for the leg by this match, borrowed, or NULL if no device was
 * selected. a may be NULL. */
const struct transport_choice_device *transport_choice_device(const struct transport_choice *a,
							      const char *leg, const char *match);
/* Writes the permanent identity of a device: its permanent MAC address or, if it has none, its PCI
 * address. */
void transport_choice_identify(const struct inv_link *device, char ret[static PLAN_DEVICE_MAX]);

/* Returns the accepted transport of the worker on that core, or SPEC_TRANSPORT_UDP if none was
 * accepted. Here and below, a may be NULL. */
enum spec_transport transport_choice_transport(const struct transport_choice *a, unsigned core);
/* Returns the accepted entry of the core's worker on that leg with that device (NULL: any device),
 * borrowed, or NULL if no entry was accepted. */
const struct transport_choice_entry *transport_choice_find(const struct transport_choice *a,
							   unsigned core, const char *leg,
							   const char *device);
/* Returns the core under which the record lists the worker: the worker's core or, if this plan
 * moves the worker, its former core. */
unsigned transport_choice_core(const struct transport_choice *a, const struct plan_worker *w);
/* Returns whether `next` moves the worker of that core to a transport, or to a device, that `a`
 * does not have. */
bool transport_choice_moves(const struct transport_choice *a, const struct transport_choice *next,
			    unsigned core);

#endif
