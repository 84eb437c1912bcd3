/* SPDX-License-Identifier: BSD-3-Clause */
/* What Linux does with VLAN links: net/8021q. Apart from kernel_fake.c for its length. */
#include "tests/lib/fake_vlan.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/link_setting.h"
#include "tests/lib/kernel_fake.h"
#include <stdio.h>
#include <string.h>

/* As the kernel does while none wraps around. */
static uint32_t next_ifindex(const struct inventory *inv)
{
	uint32_t last = 0;

	for (size_t i = 0; i < inv->n_links; i++)
		last = MAX_OF(last, inv->links[i].ifindex);
	return last + 1;
}

static const struct inv_link *lower_of(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == ifindex)
			return &inv->links[i];
	return NULL;
}

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

int fake_vlan_add(struct kernel *k, struct inventory *inv, const struct kernel_change *c)
{
	const struct inv_link *lower = lower_of(inv, c->ifindex);
	struct inv_link l;
	int r;

	if (!lower)
		return -ENODEV;
	if (inv_link_by_name(inv, c->vlan.name) || kernel_vlan_find(inv, c->ifindex, c->vlan.id))
		return -EEXIST;
	l = (struct inv_link){.ifindex = next_ifindex(inv),
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
	return r == 0 ? add_settings(inv, l.name) : r;
}

static void remove_settings(struct inventory *inv, const char *ifname)
{
	char key[LINK_SETTING_KEY_MAX];
	size_t n = 0;

	for (size_t i = 0; i < inv->n_sysctls; i++) {
		bool its = false;

		for (enum link_setting s = 0; s < LINK_SETTING_MAX; s++)
			its |= strcmp(inv->sysctls[i].key, link_setting_key(s, ifname, key)) == 0;
		if (!its) {
			inv->sysctls[n++] = inv->sysctls[i];
			continue;
		}
		free(inv->sysctls[i].key);
		free(inv->sysctls[i].value);
	}
	inv->n_sysctls = n;
}

int fake_vlan_remove(struct kernel *k, struct inventory *inv, const struct kernel_change *c)
{
	const struct inv_link *l = kernel_vlan_find(inv, c->ifindex, c->vlan.id);

	if (!l || strcmp(l->name, c->vlan.name) != 0)
		return -ENOENT;
	if (l->alias[0] && !kernel_link_is_ours(l))
		return -EPERM;
	remove_settings(inv, l->name);
	return kernel_fake_remove_link(k, l->ifindex);
}

void fake_vlan_follow_mtu(struct inventory *inv, const struct inv_link *lower)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].kind == INV_LINK_VLAN && inv->links[i].lower == lower->ifindex)
			inv->links[i].mtu = MIN_OF(inv->links[i].mtu, lower->mtu);
}
