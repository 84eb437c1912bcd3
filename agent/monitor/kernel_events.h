/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acts on the kernel's notifications: a change of a leg's carrier is passed to the workers at once;
 * a change of an object that the agent manages requests a reconcile. Owns nothing; the carriers are
 * in struct agent. Part of the monitor.
 */
#ifndef PLENUM_AGENT_KERNEL_EVENTS_H
#define PLENUM_AGENT_KERNEL_EVENTS_H

struct agent;
struct inventory;

/* Handles the pending notifications; never blocks. */
void kernel_events_read(struct agent *a);
/* Updates the carriers from an inventory. Needed for workers that start, and after notifications
 * were lost. */
void kernel_events_take_carriers(struct agent *a, const struct inventory *inv);

#endif
