/* SPDX-License-Identifier: BSD-3-Clause */
/* Policy rules of the host in memory. Part of kernel_fake. */
#ifndef PLENUM_TESTS_LIB_FAKE_RULE_H
#define PLENUM_TESTS_LIB_FAKE_RULE_H

#include "netcfg/host/kernel.h"

/* Implements change of struct kernel_ops for policy rules. */
int fake_rule_change(struct inventory *inv, const struct inv_rule *rule, bool remove);

#endif
