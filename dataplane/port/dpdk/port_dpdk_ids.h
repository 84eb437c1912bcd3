/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which PCI devices a driver of DPDK is for, by what its library says of itself: DPDK's build puts
 * a text into each (doc/guides/tools/pmdinfo.rst of DPDK); and which version it is of. Pure; free
 * of DPDK. Used by port_dpdk_drivers.c alone.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_IDS_H
#define PLENUM_DATAPLANE_PORT_DPDK_IDS_H

#include <stdbool.h>
#include <stddef.h>

/* The version that the path of DPDK's folder of drivers ends with, as "23.0" of "pmds-23.0". NULL:
 * with none. */
const char *port_dpdk_ids_version(const char *folder);
/* Whether a library of that content names the device: of which card it is, is not looked at. */
bool port_dpdk_ids_have(const void *library, size_t size, unsigned vendor, unsigned device);

#endif
