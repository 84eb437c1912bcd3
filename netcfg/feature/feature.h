/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The features of a leg, in the order in which the plan calls them (plan_feature.h). Each feature
 * has a separate file, plan_NAME.c, and a line here. plugins_register() registers the table. A bond
 * is not a feature: the modes of `ha` call plan_bond.h.
 */
#ifndef PLENUM_NETCFG_FEATURE_H
#define PLENUM_NETCFG_FEATURE_H

#include "netcfg/plan/plan_feature.h"

#define FEATURES(X)             \
	X(plan_feature_rxe)     \
	X(plan_feature_dcb)     \
	X(plan_feature_devlink) \
	X(plan_feature_roce)    \
	X(plan_feature_vlan)    \
	X(plan_feature_ipoib)   \
	X(plan_feature_qdisc)   \
	X(plan_feature_vf)
#define FEATURES_DECLARE(name) extern const struct plan_feature name;
FEATURES(FEATURES_DECLARE)

extern const struct plan_feature *const plan_feature_table[];
extern const size_t plan_feature_table_n;

#endif
