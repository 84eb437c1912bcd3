/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host in memory: kernel_ops over a recorded inventory. Changes have the effects and errors of
 * Linux (a duplicate address is -EEXIST, a link that goes down loses its routes, an address adds
 * the route of its subnet), so that tests can apply plans, fail at any write and roll back. For
 * tests only.
 */
#ifndef PLENUM_NETCFG_KERNEL_FAKE_H
#define PLENUM_NETCFG_KERNEL_FAKE_H

#include "netcfg/host/kernel.h"
#include "tests/lib/kernel/kernel_do.h"

/* The kernel driver of new VFs unless autoprobe of their PF is off. */
#define KERNEL_FAKE_VF_DRIVER "igbvf"

/* Starts from a copy of inv. 0 and *ret (free with kernel_free); negative errno. */
int kernel_fake_new(const struct inventory *inv, struct kernel **ret);

/* The present host, borrowed, valid until the next change; not sorted. */
const struct inventory *kernel_fake_inventory(struct kernel *k);

/* Replaces the host by inv, as if another process had changed it. 0; -ENOMEM. */
int kernel_fake_replace(struct kernel *k, const struct inventory *inv);

/*
 * Makes the nth write from now (1: the next) and the count - 1 after it fail with `error`
 * (negative errno) and the text `why`, without effect. They count as writes. nth 0: no failures;
 * count 0: all further writes.
 */
void kernel_fake_fail(struct kernel *k, uint64_t nth, uint64_t count, int error, const char *why);

/* Called before each write with its number from 1; NULL: none. */
void kernel_fake_on_write(struct kernel *k, void (*cb)(void *user, uint64_t nth), void *user);

/* Plugs or pulls the cable; the watch reports it. 0, -ENODEV, -ENOMEM. */
int kernel_fake_set_carrier(struct kernel *k, uint32_t ifindex, bool carrier);

/* Creates a link (with the caller's ifindex), or removes it with everything on it. 0, -ENOMEM,
 * -ENODEV. */
int kernel_fake_add_link(struct kernel *k, const struct inv_link *l);
int kernel_fake_remove_link(struct kernel *k, uint32_t ifindex);

/* Passes e to the next watch_read. 0, -ENOMEM. */
int kernel_fake_push_event(struct kernel *k, const struct kernel_event *e);

#endif
