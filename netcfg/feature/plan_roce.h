/* SPDX-License-Identifier: BSD-3-Clause */
/* `roce-mode` and `roce-tos` from the spec and what is there. Owns nothing. Used by the legs. */
#ifndef PLENUM_NETCFG_PLAN_ROCE_H
#define PLENUM_NETCFG_PLAN_ROCE_H

#include "netcfg/plan/planner.h"

/* Leg i becomes degraded where it cannot have what it asks for. */
void plan_roce_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
/* The settings of the leg's RDMA port, also of one that an earlier step makes. 0, -ENOMEM. */
int plan_roce_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
