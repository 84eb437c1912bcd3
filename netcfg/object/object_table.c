/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of object kinds, generated from the list in object.h. */
#include "netcfg/object/object.h"

#define ITEM(name) &name,
const struct object_kind *const object_kinds[] = {OBJECT_KINDS(ITEM)};
const size_t object_kinds_n = ARRAY_SIZE(object_kinds);
