/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the plan and the back ends in plugins/backend_*.c. A back end states what
 * it needs of the host and what a worker opens for a port; plan_transport.c decides which worker
 * uses it. netcfg knows only the kernel's sockets; plugins/ registers the others.
 */
#ifndef PLENUM_NETCFG_BACKEND_H
#define PLENUM_NETCFG_BACKEND_H

#include "netcfg/plan/nic.h"
#include "netcfg/plan/planner.h"

struct backend {
	enum spec_transport transport; /* its name in the spec, and the worker's `effective` */
	int score;		       /* auto chooses the highest available */
	bool hugepages;		       /* its packet buffers need hugepages */
	/* Whether auto may choose it for a worker on that core (NULL: unknown core) with a VF of
	 * the device; false: why not. NULL: always. */
	bool (*probe)(const struct inv_core *core, const struct inv_link *device,
		      struct reason *why);
	/* Whether it can use VFs of such a NIC; each worker then gets one per leg. NULL: it uses
	 * no VFs. */
	bool (*takes_vf)(const struct nic_family *family);
	/* What a worker opens for the port, into buf: a PCI address or PLENUM_DEVICE_*. NULL: a
	 * socket. */
	void (*device)(const struct plan_port *port, char *buf, size_t size);
};

/* Registers the table of the other back ends, which must stay valid; call once, before the first
 * plan. */
void backend_table_set(const struct backend *const *table, size_t n);
/* The back end of a transport; never NULL: the kernel's sockets if the table has none. */
const struct backend *backend_find(enum spec_transport t);
/* Whether the transport can use VFs of that family. */
bool backend_takes_vf(enum spec_transport t, const struct nic_family *family);
/* The best back end with a lower score than e; e NULL: of all. NULL: none. */
const struct backend *backend_below(const struct backend *e);

#endif
