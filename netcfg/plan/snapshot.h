/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An inventory that can be shown to others: it says as much of the host as a plan takes, and
 * nothing of whose it is. The plan made from it is the same on every machine. Pure.
 *
 * Host and mount names, switch ids, aliases and the lower halves of MAC addresses are replaced,
 * each by the same wherever it stands. Addresses outside the data networks are replaced so that
 * what contained what does so still; inside them, and loopback, link-local and multicast ones, they
 * stay. So do MAC addresses that the configuration names as devices.
 */
#ifndef PLENUM_NETCFG_SNAPSHOT_H
#define PLENUM_NETCFG_SNAPSHOT_H

#include "netcfg/host/inventory.h"
#include "netcfg/spec/spec.h"

/* spec: whose networks and devices stay; NULL: none. key: a random number; who knows it can undo
 * the addresses. 0 and *ret; -ENOMEM. */
int snapshot_make(const struct inventory *inv, const struct spec *spec, const uint64_t key[2],
		  struct inventory **ret);

#endif
