/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum rdma devices`: lists RDMA devices as the kernel reports them, with their legs. Reads an
 * inventory and sysfs; changes nothing.
 */
#ifndef PLENUM_AGENT_CTL_RDMA_H
#define PLENUM_AGENT_CTL_RDMA_H

#include "netcfg/host/inventory.h"
#include <jansson.h>

/* Returns {"devices": [...]}, a new reference, or NULL if memory is short. sys: the folder /sys of
 * the caller's network namespace (sysfs_open()). legs: from GET /v1/net; NULL: unknown. */
json_t *ctl_rdma_look(int sys, const struct inventory *inv, const json_t *legs);

#endif
