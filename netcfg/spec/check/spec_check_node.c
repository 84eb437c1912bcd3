/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the node in the files that an error of a check refers to. */
#include "netcfg/spec/check/spec_check_internal.h"

const struct spec_node *spec_check_node(const struct spec_reader *r, const struct diag_pos *pos,
					const char *key, size_t index)
{
	for (size_t i = 0; i < r->n_trees; i++) {
		const struct spec_node *map = spec_node_map_at(r->trees[i], pos), *n;

		if (!map)
			continue;
		n = key ? spec_node_member(map, key) : map;
		if (n && index != NO_INDEX && spec_node_item(n, index))
			return spec_node_item(n, index);
		return n ? n : map;
	}
	return NULL;
}
