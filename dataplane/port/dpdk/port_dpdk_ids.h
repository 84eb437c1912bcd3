/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out which PCI devices a DPDK driver supports, and the driver's version. DPDK's build embeds
 * a text with this information in each library (doc/guides/tools/pmdinfo.rst of DPDK). This module
 * uses neither DPDK nor the file system. Only port_dpdk_drivers.c uses it.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_IDS_H
#define PLENUM_DATAPLANE_PORT_DPDK_IDS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the version at the end of the path of DPDK's driver folder, such as "23.0" of
 * "pmds-23.0"; NULL if there is none. */
const char *port_dpdk_ids_version(const char *folder);
/* Returns whether a library with this content supports the device. Subsystem (card) IDs are
 * ignored. */
bool port_dpdk_ids_have(const void *library, size_t size, unsigned vendor, unsigned device);

#endif
