/* SPDX-License-Identifier: BSD-3-Clause */
/* The features `roce-mode` and `roce-tos`. */
#ifndef PLENUM_NETCFG_PLAN_ROCE_H
#define PLENUM_NETCFG_PLAN_ROCE_H

#include "netcfg/plan/planner.h"

/* Degrades leg i if its device does not support what it asks for. */
void plan_roce_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
/* Adds the settings of the leg's RDMA port, also of one that an earlier step creates. 0, -ENOMEM.
 */
int plan_roce_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
