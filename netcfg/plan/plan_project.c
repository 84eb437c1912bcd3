/* SPDX-License-Identifier: BSD-3-Clause */
/* The projected inventory. Apart from the plan because it is the only one that changes an
 * inventory: a copy of its own. */
#include "netcfg/plan/plan_project.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/link_setting.h"
#include <stdio.h>
#include <string.h>

static int add_settings(struct inventory *inv, const char *ifname)
{
	char key[LINK_SETTING_KEY_MAX], text[16];
	int value;

	for (enum link_setting s = 0; s < LINK_SETTING_MAX; s++) {
		if (!link_setting_value(inv, s, LINK_SETTING_NEW, &value))
			continue;
		snprintf(text, sizeof(text), "%d", value);
		if (inv_sysctl_add(inv, link_setting_key(s, ifname, key), text) < 0)
			return -ENOMEM;
	}
	return 0;
}

int plan_project_add(struct plan_builder *b, const struct inv_link *l)
{
	struct inv_link *slot;
	uint32_t ifindex = PLAN_IFINDEX_COMING;

	if (!b->projected && inv_copy(b->inv, &b->projected) < 0)
		return -ENOMEM;
	b->inv = b->projected;
	if (b->inv->n_links) /* in the order of their indexes */
		ifindex = MAX_OF(ifindex, b->inv->links[b->inv->n_links - 1].ifindex + 1);
	slot = inv_link_add(b->projected);
	if (!slot)
		return -ENOMEM;
	*slot = *l;
	slot->ifindex = ifindex;
	return add_settings(b->projected, l->name);
}
