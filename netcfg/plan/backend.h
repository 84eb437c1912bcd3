/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A back end describes a transport of workers to the plan: what the transport needs from the host,
 * and which device a worker opens for a port. The rules by which the plan chooses a back end are in
 * plan_transport.c. The back ends are tables in plugins/backend_*.c, which plugins/ registers;
 * netcfg itself knows only the kernel's sockets.
 */
#ifndef PLENUM_NETCFG_BACKEND_H
#define PLENUM_NETCFG_BACKEND_H

#include "netcfg/plan/nic.h"
#include "netcfg/plan/planner.h"

struct backend {
	/* the transport that the spec can name and that a worker can have as `effective` */
	enum spec_transport transport;
	/* transport: auto chooses the available back end with the highest score */
	int score;
	bool hugepages; /* the packet buffers of the transport need hugepages */
	/* Returns whether transport: auto may choose this back end for a worker on `core` (NULL if
	 * unknown) with a VF of the device; if not, sets why. If the function is NULL, auto may
	 * always choose the back end. */
	bool (*probe)(const struct inv_core *core, const struct inv_link *device,
		      struct reason *why);
	/* Returns whether the back end can use VFs of such a NIC. If so, each of its workers gets
	 * one VF per leg. If the function is NULL, the back end uses no VFs. */
	bool (*takes_vf)(const struct nic_family *family);
	/* Writes the name of the device that the worker opens for the port into buf: a PCI address
	 * or PLENUM_DEVICE_*. If the function is NULL, the worker opens a socket. */
	void (*device)(const struct plan_port *port, char *buf, size_t size);
};

/* Registers the table of all back ends except the kernel's sockets. The table must stay valid. Call
 * it once, before the first plan. */
void backend_table_set(const struct backend *const *table, size_t n);
/* Returns the back end of a transport, or the kernel's sockets if the table has none; never
 * NULL. */
const struct backend *backend_find(enum spec_transport t);
/* Returns whether the transport can use VFs of that NIC family. */
bool backend_takes_vf(enum spec_transport t, const struct nic_family *family);
/* Returns the back end that follows e when all are sorted by descending score; if e is NULL, the
 * one with the highest score. Returns NULL after the last one. */
const struct backend *backend_below(const struct backend *e);

#endif
