/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes an anonymous inventory that users can share: it holds all that a plan needs and nothing
 * that identifies the host. The plan made from it is the same on every machine. Pure.
 *
 * Host and mount names, switch ids, aliases and the lower halves of MAC addresses are replaced,
 * equal values by equal ones. Addresses outside the data networks are replaced so that prefix
 * relations stay; addresses inside them, and loopback, link-local and multicast ones, stay. MAC
 * addresses that the configuration names as devices stay too.
 */
#ifndef PLENUM_NETCFG_SNAPSHOT_H
#define PLENUM_NETCFG_SNAPSHOT_H

#include "netcfg/host/inventory.h"
#include "netcfg/spec/spec.h"

/* spec: its networks and devices stay; NULL: none. key: a random number; anyone with the key can
 * reverse the addresses. 0 and *ret; -ENOMEM. */
int snapshot_make(const struct inventory *inv, const struct spec *spec, const uint64_t key[2],
		  struct inventory **ret);

#endif
