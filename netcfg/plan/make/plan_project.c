/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds links that the plan will create to the plan's copy of the inventory. No other code adds to
 * an inventory. */
#include "netcfg/plan/make/plan_project.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/link_setting.h"
#include <stdio.h>
#include <string.h>

int plan_project_add(struct plan_builder *b, const struct inv_link *l)
{
	struct inv_link *slot;
	uint32_t ifindex = INV_IFINDEX_PLANNED;

	if (!b->projected && inv_copy(b->inv, &b->projected) < 0)
		return -ENOMEM;
	b->inv = b->projected;
	if (b->inv->n_links) /* links are sorted by index, so the last link has the highest index */
		ifindex = MAX_OF(ifindex, b->inv->links[b->inv->n_links - 1].ifindex + 1);
	slot = inv_link_add(b->projected);
	if (!slot)
		return -ENOMEM;
	*slot = *l;
	slot->ifindex = ifindex;
	return link_settings_add_new(b->projected, l->name);
}
