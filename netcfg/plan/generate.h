/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A first plenum.yaml from what is there. Only what the host shows is written as configuration;
 * what the administrator alone knows (addresses of bare devices, exports, peers) stands in
 * comments. The text is read and planned before it is returned: what it asks for, the plan of this
 * host accepts. Where that is nothing, the comments say why.
 */
#ifndef PLENUM_NETCFG_GENERATE_H
#define PLENUM_NETCFG_GENERATE_H

#include "netcfg/host/inventory.h"

/* Heap; the caller frees. NULL: out of memory. */
char *generate_yaml(const struct inventory *inv);

#endif
