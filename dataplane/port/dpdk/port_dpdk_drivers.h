/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads only the DPDK drivers that a worker's devices need, instead of DPDK's hundred. If they are
 * unknown, DPDK loads all as usual, so nothing works less well. Private to the DPDK module; called
 * once, before its environment starts.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_DRIVERS_H
#define PLENUM_DATAPLANE_PORT_DPDK_DRIVERS_H

#include "dataplane/port/dpdk/port_dpdk.h"

/* Loads the drivers of all devices of cfg and of the buffer pool. False: the driver of a device is
 * unknown; drivers loaded so far do no harm. */
bool port_dpdk_drivers_load(const struct launch_config *cfg);
/* Makes DPDK find an empty driver folder from now on, if this process has its own mount namespace;
 * otherwise does nothing. */
void port_dpdk_drivers_hide(void);

#endif
