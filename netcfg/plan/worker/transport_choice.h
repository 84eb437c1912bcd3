/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of accepted moves of workers with `transport: auto` from the kernel's sockets to VFs:
 * which workers an apply moved and kept, and which devices on which legs they use. Accepted
 * transports return by themselves, also after a reboot; anything else, including another device
 * under the name of a leg, waits for an operator's apply. It also holds the VF numbers of all
 * workers, so that no worker gets another VF because workers come or go; these are valid for one
 * boot. Read before planning; the agent writes it once a plan runs for good. A record file
 * (state_file.h) of the kind "agreed":
 *
 *	core 2 transport dpdk
 *	core 2 leg leg-a device 3c:ec:ef:00:00:01 vf 0
 */
#ifndef PLENUM_NETCFG_TRANSPORT_CHOICE_H
#define PLENUM_NETCFG_TRANSPORT_CHOICE_H

#include "netcfg/plan/plan.h"

#define TRANSPORT_CHOICE_NO_VF UINT32_MAX

struct transport_choice_entry {
	unsigned core;
	char leg[PLENUM_NAME_MAX];     /* "": the entry is about the transport */
	enum spec_transport transport; /* only if leg is "" */
	/* Otherwise the device with the VF and the VF's number; TRANSPORT_CHOICE_NO_VF: from
	 * another boot. */
	char device[PLAN_DEVICE_MAX];
	uint32_t vf;
};

struct transport_choice {
	struct transport_choice_entry *entries;
	size_t n;
};

/* Reads the record into a, which may hold an earlier one and stays unchanged on failure. 0; enum
 * state_error; other negative errno. */
int transport_choice_load(struct transport_choice *a, const char *path);
/* The same from a text. */
int transport_choice_parse(struct transport_choice *a, const char *text);
/* The record after that plan runs: claims that are unavailable now stay. 0 and *ret, which may
 * hold an earlier record or be a; -ENOMEM. */
int transport_choice_follow(const struct transport_choice *a, const struct plan *plan,
			    struct transport_choice *ret);
/* The record as text, the caller's; NULL: no memory. */
char *transport_choice_format(const struct transport_choice *a);
/* Writes the record. 0, negative errno. */
int transport_choice_save(const struct transport_choice *a, const char *path);
void transport_choice_done(struct transport_choice *a);

/* Appends the entry. 0, -ENOMEM. */
int transport_choice_add(struct transport_choice *a, const struct transport_choice_entry *e);
/* The permanent identity of a device: its permanent MAC, else its PCI address. */
void transport_choice_identify(const struct inv_link *device, char ret[static PLAN_DEVICE_MAX]);

/* The accepted transport of the worker on that core; SPEC_TRANSPORT_UDP: none. a may be NULL, here
 * and below. */
enum spec_transport transport_choice_transport(const struct transport_choice *a, unsigned core);
/* The accepted entry of the core's worker on that leg with that device (NULL: any); borrowed,
 * NULL: none. */
const struct transport_choice_entry *transport_choice_find(const struct transport_choice *a,
							   unsigned core, const char *leg,
							   const char *device);
/* Whether `next` takes the worker of that core to what is not agreed in `a`. */
bool transport_choice_moves(const struct transport_choice *a, const struct transport_choice *next,
			    unsigned core);

#endif
