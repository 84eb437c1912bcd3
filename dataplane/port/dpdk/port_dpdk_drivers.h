/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the drivers that a worker's devices need and keeps DPDK from loading a hundred others.
 * Where it is not known which they are, DPDK loads all: nothing works less than with its own way.
 * Inside the DPDK module; called once, before its environment starts.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_DRIVERS_H
#define PLENUM_DATAPLANE_PORT_DPDK_DRIVERS_H

#include "dataplane/port/dpdk/port_dpdk.h"

/* The drivers of all devices of cfg, and of the buffers' pool. False: of some device it is not
 * known; nothing is lost by what was loaded. */
bool port_dpdk_drivers_load(const struct launch_config *cfg);
/* DPDK finds its folder of drivers empty from now on, where this process has mounts of its own;
 * elsewhere nothing happens. */
void port_dpdk_drivers_hide(void);

#endif
