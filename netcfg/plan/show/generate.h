/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drafts a plenum.yaml from the inventory. It writes as configuration only what the host shows;
 * values that only the administrator knows (addresses of bare devices, exports, peers) are in
 * comments. The draft is parsed and planned before it is returned, so this host's plan accepts it.
 * If it offers no legs, the comments say why.
 */
#ifndef PLENUM_NETCFG_GENERATE_H
#define PLENUM_NETCFG_GENERATE_H

#include "netcfg/host/inventory.h"

/* Heap; the caller frees. NULL: out of memory. */
char *generate_yaml(const struct inventory *inv);

#endif
