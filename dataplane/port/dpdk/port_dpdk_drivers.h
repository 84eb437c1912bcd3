/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads only the DPDK drivers that a worker's devices need, instead of DPDK's hundred. If the
 * needed ones are unknown, DPDK loads all as usual, so nothing stops working. Private to the DPDK
 * module; called once, before DPDK's environment starts.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_DRIVERS_H
#define PLENUM_DATAPLANE_PORT_DPDK_DRIVERS_H

#include "dataplane/port/dpdk/port_dpdk.h"

/* Loads the drivers of all devices of cfg and of the buffer pool. Returns false if the driver of a
 * device is unknown; the drivers loaded so far do no harm. */
bool port_dpdk_drivers_load(const struct launch_config *cfg);
/* From now on DPDK finds an empty driver folder. Does nothing unless this process has its own mount
 * namespace. */
void port_dpdk_drivers_hide(void);

#endif
