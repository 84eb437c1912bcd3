/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the checks share: how a violation is reported at the place that should change. Checks look
 * at a spec that was read whole and leave it as it is. For spec_check*.c alone.
 */
#ifndef PLENUM_NETCFG_SPEC_CHECK_INTERNAL_H
#define PLENUM_NETCFG_SPEC_CHECK_INTERNAL_H

#include "netcfg/spec/spec_schema.h"

#define NO_INDEX SIZE_MAX

/* The node to blame: the map that begins at pos, or its member `key`, or item `index` of that. */
const struct spec_node *spec_check_node(const struct spec_reader *r, const struct diag_pos *pos,
					const char *key, size_t index);

#define check_error_at(r, map_pos, key, index, ...)                                          \
	do {                                                                                 \
		char path_[SPEC_PATH_MAX];                                                   \
		const struct spec_node *n_ = spec_check_node(r, map_pos, key, index);        \
		diag_add((r)->d, DIAG_ERROR, n_ ? &n_->pos : (map_pos),                      \
			 n_ ? spec_node_path(n_, path_, sizeof(path_)) : NULL, __VA_ARGS__); \
	} while (0)
#define check_error(r, map_pos, key, ...) check_error_at(r, map_pos, key, NO_INDEX, __VA_ARGS__)

/* Who may use an export, entry by entry and among each other. Of spec_check_export.c. */
void spec_check_export(struct spec_reader *r, const struct spec_export *e);
/* How many hosts and networks its clients are, and how many ranges of ids they map. */
size_t spec_export_rules(const struct spec_export *e, size_t *ret_ids);

/* Priorities and traffic classes of a device. Of spec_check_dcb.c. */
void spec_check_dcb(struct spec_reader *r, const struct spec_net *net);

#endif
