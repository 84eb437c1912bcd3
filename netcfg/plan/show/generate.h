/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drafts a plenum.yaml from the inventory. The draft configures only what the inventory shows;
 * values that only the administrator knows (addresses for devices without one, exports, peers) are
 * comments. The draft is parsed and planned before it is returned, so the plan of this host accepts
 * it. If it offers no legs, comments give the reason.
 */
#ifndef PLENUM_NETCFG_GENERATE_H
#define PLENUM_NETCFG_GENERATE_H

#include "netcfg/host/inventory.h"

/* Returns the text on the heap, which the caller frees, or NULL if out of memory. */
char *generate_yaml(const struct inventory *inv);
/* Returns the management interface: the interface of the default route, else that of an SSH
 * connection, else NULL. */
const struct inv_link *generate_management(const struct inventory *inv);

#endif
