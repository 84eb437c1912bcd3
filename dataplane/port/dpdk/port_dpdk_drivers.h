/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads only the DPDK drivers that a worker's devices need, instead of all hundred of DPDK. If it
 * is unknown which drivers those are, DPDK loads all of them as usual. Private to the DPDK module;
 * called once, before DPDK's environment starts.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_DRIVERS_H
#define PLENUM_DATAPLANE_PORT_DPDK_DRIVERS_H

#include "dataplane/port/dpdk/port_dpdk.h"

/* Loads the drivers of all devices of cfg and of the buffer pool. Returns false if the driver of
 * any device is unknown; the drivers that were loaded before do no harm. */
bool port_dpdk_drivers_load(const struct launch_config *cfg);
/* Makes DPDK find an empty driver folder. Does nothing unless this process has a private mount
 * namespace. */
void port_dpdk_drivers_hide(void);

#endif
