/* SPDX-License-Identifier: BSD-3-Clause */
/* Soft-RoCE devices of the host in memory. Used only by kernel_fake.c. */
#ifndef PLENUM_TESTS_FAKE_RXE_H
#define PLENUM_TESTS_FAKE_RXE_H

#include "netcfg/host/kernel.h"

/* Implement change and read of struct kernel_ops for soft-RoCE devices. */
int fake_rxe_change(struct inventory *inv, const struct kernel_change *c);
int fake_rxe_read(const struct inventory *inv, struct kernel_change *c);
/* Removes devices whose links have disappeared, and derives GIDs from addresses. kernel_fake.c
 * calls this after each change.
 */
void fake_rxe_follow(struct inventory *inv);

#endif
