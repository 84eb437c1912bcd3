/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a way of sending is made of: the contract between the plan and the tables in
 * plugins/backend_*.c. A back end says what it takes of the host and what a worker that is launched
 * with it opens; it never decides for a worker, which is plan_transport.c's, and owns nothing.
 * netcfg knows the kernel's sockets alone; of the others plugins/ hands its table in.
 */
#ifndef PLENUM_NETCFG_BACKEND_H
#define PLENUM_NETCFG_BACKEND_H

#include "netcfg/plan/nic.h"
#include "netcfg/plan/planner.h"

struct backend {
	enum spec_transport transport; /* how the file calls it, and what a worker's `effective` is
					*/
	int score;		       /* auto takes the highest that can be had */
	bool hugepages;		       /* its packets are in memory of its own */
	/* Whether auto may take it for a worker on that core (NULL: nobody knows it), with a VF of
	 * the device; false: not, and why. NULL: always. */
	bool (*probe)(const struct inv_core *core, const struct inv_link *device,
		      struct reason *why);
	/* Whether VFs of such a NIC serve it, to which worker it gives one of each leg. NULL: it
	 * has no use for any. */
	bool (*takes_vf)(const struct nic_family *family);
	/* What its worker opens for the port, into buf: a PCI address, PLENUM_DEVICE_*. NULL: it
	 * opens a socket. */
	void (*device)(const struct plan_port *port, char *buf, size_t size);
};

/* The table (borrowed for good) of all others; to be called once, before the first plan. */
void backend_table_set(const struct backend *const *table, size_t n);
/* That of a transport; never NULL: the kernel's sockets where the table has none. */
const struct backend *backend_find(enum spec_transport t);
/* The best of those whose score is below that one's; e NULL: of all. NULL: there is none. */
const struct backend *backend_below(const struct backend *e);

#endif
