/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host in memory: kernel_ops over a recorded inventory. Changes have the effects and errors of
 * Linux (a duplicate address is -EEXIST, a link that goes down loses its routes, an address adds
 * the route of its subnet), so that tests can apply plans, make any write fail, and roll back. For
 * tests only.
 */
#ifndef PLENUM_NETCFG_KERNEL_FAKE_H
#define PLENUM_NETCFG_KERNEL_FAKE_H

#include "netcfg/host/kernel.h"
#include "tests/lib/kernel/kernel_do.h"

/* The kernel driver of new VFs, unless autoprobe of their PF is off. */
#define KERNEL_FAKE_VF_DRIVER "igbvf"

/* Creates a host from a copy of inv. Returns 0 and *ret (free it with kernel_free), or negative
 * errno. */
int kernel_fake_new(const struct inventory *inv, struct kernel **ret);

/* Returns the current host. The inventory is borrowed until the next change, and not sorted. */
const struct inventory *kernel_fake_inventory(struct kernel *k);

/* Replaces the host by a copy of inv, as if another process had changed the host. Returns 0 or
 * -ENOMEM. */
int kernel_fake_replace(struct kernel *k, const struct inventory *inv);

/*
 * Makes `count` writes fail with `error` (negative errno) and the text `why`, beginning with the
 * nth write from now (1 is the next one). Failed writes have no effect, but are counted. If nth is
 * 0, no writes fail; if count is 0, all writes from the nth on fail.
 */
void kernel_fake_fail(struct kernel *k, uint64_t nth, uint64_t count, int error, const char *why);

/* Sets a callback that is called before each write with the number of the write (the first is 1).
 * NULL removes the callback. */
void kernel_fake_on_write(struct kernel *k, void (*cb)(void *user, uint64_t nth), void *user);

/* Plugs in or pulls the cable of a link. The watch reports that. Returns 0, -ENODEV or -ENOMEM. */
int kernel_fake_set_carrier(struct kernel *k, uint32_t ifindex, bool carrier);

/* Create a link with the caller's ifindex, or remove a link with all its objects. Return 0, -ENOMEM
 * or -ENODEV. */
int kernel_fake_add_link(struct kernel *k, const struct inv_link *l);
int kernel_fake_remove_link(struct kernel *k, uint32_t ifindex);

/* Makes the next watch_read report e. Returns 0 or -ENOMEM. */
int kernel_fake_push_event(struct kernel *k, const struct kernel_event *e);

#endif
