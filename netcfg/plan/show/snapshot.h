/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes an anonymous inventory that users can share: it has all that a plan needs and nothing that
 * identifies the host. A plan made from it is the same on every machine. The functions are pure.
 *
 * Host and mount names, switch ids, aliases and the lower halves of MAC addresses are replaced, and
 * equal values stay equal. Addresses outside the data networks are replaced so that two addresses
 * have a common prefix of the same length as before. Addresses inside the data networks stay, and
 * so do loopback, link-local and multicast addresses. MAC addresses that the configuration names as
 * devices stay too.
 */
#ifndef PLENUM_NETCFG_SNAPSHOT_H
#define PLENUM_NETCFG_SNAPSHOT_H

#include "netcfg/host/inventory.h"
#include "netcfg/spec/spec.h"

/* Makes the snapshot of inv. The networks and devices of `spec` (may be NULL) stay unchanged. `key`
 * must be random, and is a secret: with it, the original addresses can be computed. Returns 0 and
 * *ret, or -ENOMEM. */
int snapshot_make(const struct inventory *inv, const struct spec *spec, const uint64_t key[2],
		  struct inventory **ret);

#endif
