/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of features of a leg: a new one is a file and a line here. */
#include "netcfg/feature/feature.h"

const struct plan_feature *const plan_feature_table[] = {
	&plan_feature_rxe,  &plan_feature_dcb,	 &plan_feature_devlink, &plan_feature_roce,
	&plan_feature_vlan, &plan_feature_ipoib, &plan_feature_vf,
};
const size_t plan_feature_table_n = ARRAY_SIZE(plan_feature_table);
