/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum rdma devices`: what the kernel reports of RDMA devices, with the legs that they belong
 * to. Reads an inventory and a sysfs; changes nothing.
 */
#ifndef PLENUM_AGENT_CTL_RDMA_H
#define PLENUM_AGENT_CTL_RDMA_H

#include "netcfg/host/inventory.h"
#include <jansson.h>

/* {"devices": [...]}, a new reference; NULL: out of memory. sys: the folder /sys of the caller's
 * network namespace (sysfs_open()); legs: from GET /v1/net, NULL: unknown. */
json_t *ctl_rdma_look(int sys, const struct inventory *inv, const json_t *legs);

#endif
