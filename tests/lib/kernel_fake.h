/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that exists in memory only: kernel_ops over a recorded inventory. Changes have the effects
 * and the errors that Linux gives them (a duplicate address is -EEXIST, a link going down takes its
 * routes along, an address brings its subnet's route), so that plans can be applied, broken at any
 * write and rolled back in a test. Built for tests only; never part of a program.
 */
#ifndef PLENUM_NETCFG_KERNEL_FAKE_H
#define PLENUM_NETCFG_KERNEL_FAKE_H

#include "netcfg/host/kernel.h"
#include "tests/lib/kernel_do.h"

/* What VFs get as they are made, unless their PF's autoprobe is off. */
#define KERNEL_FAKE_VF_DRIVER "igbvf"

/* Starts from a copy of inv. 0 and *ret (free with kernel_free); negative errno. */
int kernel_fake_new(const struct inventory *inv, struct kernel **ret);

/* The host as it is now, borrowed, valid until the next change; not sorted. */
const struct inventory *kernel_fake_inventory(struct kernel *k);

/* Makes the host that of inv, as when another process has changed it. 0; -ENOMEM. */
int kernel_fake_replace(struct kernel *k, const struct inventory *inv);

/*
 * Lets the nth write from now (1: the next) and the count - 1 after it fail with `error` (negative
 * errno) and the text `why`, without effect. They count as writes. nth 0: no failures any more;
 * count 0: all that follow.
 */
void kernel_fake_fail(struct kernel *k, uint64_t nth, uint64_t count, int error, const char *why);

/* Called before each write is done, with its number from 1; NULL: none. */
void kernel_fake_on_write(struct kernel *k, void (*cb)(void *user, uint64_t nth), void *user);

/* Plugs or pulls the cable; the watch reports it. 0, -ENODEV, -ENOMEM. */
int kernel_fake_set_carrier(struct kernel *k, uint32_t ifindex, bool carrier);

/* Makes a link (its ifindex is the caller's to choose), or takes it away with all that is on it. 0,
 * -ENOMEM, -ENODEV. */
int kernel_fake_add_link(struct kernel *k, const struct inv_link *l);
int kernel_fake_remove_link(struct kernel *k, uint32_t ifindex);

/* Hands e to the next watch_read. 0, -ENOMEM. */
int kernel_fake_push_event(struct kernel *k, const struct kernel_event *e);

#endif
