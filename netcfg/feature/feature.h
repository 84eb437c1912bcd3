/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The features of a leg: one file and one row each, in the order in which the plan calls them
 * (plan_feature.h). plugins_register() hands the table to the plan. A bond of legs is not a row:
 * the modes of `ha` call plan_bond.h.
 */
#ifndef PLENUM_NETCFG_FEATURE_H
#define PLENUM_NETCFG_FEATURE_H

#include "netcfg/plan/plan_feature.h"

extern const struct plan_feature plan_feature_rxe, plan_feature_dcb, plan_feature_devlink,
	plan_feature_roce, plan_feature_vlan, plan_feature_ipoib, plan_feature_vf;

extern const struct plan_feature *const plan_feature_table[];
extern const size_t plan_feature_table_n;

#endif
