/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of features of a leg, generated from the list in feature.h. */
#include "netcfg/feature/feature.h"

#define ITEM(name) &name,
const struct plan_feature *const plan_feature_table[] = {FEATURES(ITEM)};
const size_t plan_feature_table_n = ARRAY_SIZE(plan_feature_table);
