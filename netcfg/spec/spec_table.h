/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes rows of the schema table. Only the files that have a part of the table include it. */
#ifndef PLENUM_NETCFG_SPEC_TABLE_H
#define PLENUM_NETCFG_SPEC_TABLE_H

#include "netcfg/spec/spec_schema.h"

#define FIELD(s, m) .offset = offsetof(struct s, m), .size = sizeof(((struct s *)0)->m)
#define LIST(s, m, n)                                                         \
	.offset = offsetof(struct s, m), .size = sizeof(*((struct s *)0)->m), \
	.n_offset = offsetof(struct s, n)
#define NAMES(array) .names = array, .n_names = ARRAY_SIZE(array)
#define TABLE(array) .keys = array, .n_keys = ARRAY_SIZE(array)
#define PLACE(s) .has_pos = true, .pos_offset = offsetof(struct s, pos)
#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

/* Parts of the table in separate files. */
extern const struct spec_table spec_admin_table, spec_api_table;

#endif
