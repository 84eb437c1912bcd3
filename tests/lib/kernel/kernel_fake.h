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

/* The kernel driver of new VFs, unless autoprobe of their PF is off. */
#define KERNEL_FAKE_VF_DRIVER "igbvf"

/* Starts from a copy of inv. 0 and *ret (free with kernel_free); negative errno. */
int kernel_fake_new(const struct inventory *inv, struct kernel **ret);

/* The host at present, borrowed until the next change; not sorted. */
const struct inventory *kernel_fake_inventory(struct kernel *k);

/* Replaces the host by inv, as if another process had changed it. 0; -ENOMEM. */
int kernel_fake_replace(struct kernel *k, const struct inventory *inv);

/*
 * Makes writes fail with `error` (negative errno) and the text `why`, without effect: `count`
 * writes, beginning with the nth from now (1: the next one). They count as writes. nth 0: no
 * failures; count 0: all further writes.
 */
void kernel_fake_fail(struct kernel *k, uint64_t nth, uint64_t count, int error, const char *why);

/* Sets a callback before each write, with the number of the write from 1. NULL: none. */
void kernel_fake_on_write(struct kernel *k, void (*cb)(void *user, uint64_t nth), void *user);

/* Plugs in or pulls the cable; the watch reports it. 0, -ENODEV, -ENOMEM. */
int kernel_fake_set_carrier(struct kernel *k, uint32_t ifindex, bool carrier);

/* Creates a link with the caller's ifindex, or removes it with all its objects. 0, -ENOMEM,
 * -ENODEV. */
int kernel_fake_add_link(struct kernel *k, const struct inv_link *l);
int kernel_fake_remove_link(struct kernel *k, uint32_t ifindex);

/* Makes the next watch_read return e. 0, -ENOMEM. */
int kernel_fake_push_event(struct kernel *k, const struct kernel_event *e);

#endif
