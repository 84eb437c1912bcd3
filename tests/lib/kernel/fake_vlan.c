/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates VLAN links (net/8021q). */
#include "tests/lib/kernel/fake_vlan.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/link_setting.h"
#include "tests/lib/kernel/fake_sysctl.h"
#include "tests/lib/kernel/kernel_fake.h"
#include <stdio.h>
#include <string.h>

/* Returns the lowest free ifindex. The kernel would use a new one; here a link that is created
 * again gets its previous ifindex, so that hosts can be compared. */
uint32_t fake_next_ifindex(const struct inventory *inv)
{
	uint32_t next = 1;

	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == next) {
			next++;
			i = SIZE_MAX; /* start again, because the links are not sorted */
		}
	return next;
}

static const struct inv_link *lower_of(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == ifindex)
			return &inv->links[i];
	return NULL;
}

int fake_vlan_add(struct kernel *k, struct inventory *inv, const struct kernel_change *c)
{
	const struct inv_link *lower = lower_of(inv, c->ifindex);
	struct inv_link l;
	int r;

	if (!lower)
		return -ENODEV;
	if (inv_link_by_name(inv, c->vlan.name) || kernel_vlan_find(inv, c->ifindex, c->vlan.id))
		return -EEXIST;
	l = (struct inv_link){.ifindex = fake_next_ifindex(inv),
			      .kind = INV_LINK_VLAN,
			      .kind_text = "vlan",
			      .numa_node = lower->numa_node,
			      .mac = lower->mac,
			      .mtu = lower->mtu,
			      .mtu_max = 65535,
			      .lower = lower->ifindex,
			      .vlan = c->vlan.id,
			      .alias = PLENUM_LINK_ALIAS,
			      .initialized = true};
	memcpy(l.name, c->vlan.name, sizeof(l.name));
	r = kernel_fake_add_link(k, &l);
	return r == 0 ? link_settings_add_new(inv, l.name) : r;
}

int fake_vlan_remove(struct kernel *k, struct inventory *inv, const struct kernel_change *c)
{
	const struct inv_link *l = kernel_vlan_find(inv, c->ifindex, c->vlan.id);

	if (!l || strcmp(l->name, c->vlan.name) != 0)
		return -ENOENT;
	if (l->alias[0] && !kernel_link_is_ours(l))
		return -EPERM;
	fake_settings_remove(inv, l->name);
	return kernel_fake_remove_link(k, l->ifindex);
}

void fake_vlan_follow_mtu(struct inventory *inv, const struct inv_link *lower)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].kind == INV_LINK_VLAN && inv->links[i].lower == lower->ifindex)
			inv->links[i].mtu = MIN_OF(inv->links[i].mtu, lower->mtu);
}
