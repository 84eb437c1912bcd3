/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates bonds and their ports (drivers/net/bonding), with a switch that speaks LACP. */
#include "tests/lib/kernel/fake_bond.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/link_setting.h"
#include "tests/lib/kernel/fake_sysctl.h"
#include "tests/lib/kernel/fake_vlan.h"
#include "tests/lib/kernel/kernel_fake.h"
#include <stdio.h>
#include <string.h>

#define REMOVE_AT(inv, member, n_member, i)                 \
	memmove(&(inv)->member[i], &(inv)->member[(i) + 1], \
		(--(inv)->n_member - (i)) * sizeof((inv)->member[0]))

static struct inv_link *link_get(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == ifindex)
			return &inv->links[i];
	return NULL;
}

static struct inv_bond *bond_get(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_bonds; i++)
		if (inv->bonds[i].ifindex == ifindex)
			return &inv->bonds[i];
	return NULL;
}

static bool mac_is_set(const struct mac_addr *m)
{
	static const struct mac_addr none;

	return memcmp(m, &none, sizeof(none)) != 0;
}

/* ---- bonds ---- */

static int bond_add(struct kernel *k, struct inventory *inv, const struct kernel_bond *v)
{
	struct inv_link l = {.kind = INV_LINK_BOND,
			     .kind_text = "bond",
			     .numa_node = INV_NUMA_NONE,
			     .mac = v->mac,
			     .up = v->up,
			     .mtu = v->mtu ? v->mtu : 1500,
			     .mtu_min = 68,
			     .mtu_max = 65535,
			     .alias = PLENUM_LINK_ALIAS,
			     .initialized = true};
	struct inv_bond *b;
	int r;

	if (inv_link_by_name(inv, v->name))
		return -EEXIST;
	memcpy(l.name, v->name, sizeof(l.name));
	l.ifindex = fake_next_ifindex(inv);
	b = inv_bond_add(inv);
	if (!b)
		return -ENOMEM;
	b->ifindex = l.ifindex;
	b->setting = v->setting;
	r = kernel_fake_add_link(k, &l);
	return r == 0 ? link_settings_add_new(inv, l.name) : r;
}

static int release(struct inventory *inv, struct inv_link *l)
{
	struct inv_bond *b = bond_get(inv, l->master);

	if (b) {
		b->n_ports -= b->n_ports > 0;
		if (strcmp(b->setting.primary, l->name) == 0)
			memset(b->setting.primary, 0, sizeof(b->setting.primary));
	}
	l->master = 0;
	if (mac_is_set(&l->permanent_mac))
		l->mac = l->permanent_mac;
	for (size_t i = inv->n_bond_ports; i-- > 0;)
		if (inv->bond_ports[i].ifindex == l->ifindex)
			REMOVE_AT(inv, bond_ports, n_bond_ports, i);
	return 0;
}

static int bond_remove(struct kernel *k, struct inventory *inv, const struct kernel_bond *v)
{
	const struct inv_link *l = inv_link_by_name(inv, v->name);
	const uint32_t ifindex = l ? l->ifindex : 0;

	if (!l || !bond_get(inv, ifindex))
		return -ENOENT;
	if (l->alias[0] && !kernel_link_is_ours(l))
		return -EPERM;
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].master == ifindex)
			release(inv, &inv->links[i]);
	for (size_t i = inv->n_bonds; i-- > 0;)
		if (inv->bonds[i].ifindex == ifindex)
			REMOVE_AT(inv, bonds, n_bonds, i);
	fake_settings_remove(inv, v->name);
	return kernel_fake_remove_link(k, ifindex);
}

int fake_bond_change(struct kernel *k, struct inventory *inv, const struct kernel_change *c)
{
	return c->remove ? bond_remove(k, inv, &c->bond) : bond_add(k, inv, &c->bond);
}

int fake_bond_value_change(struct inventory *inv, const struct kernel_change *c)
{
	struct inv_bond *b = bond_get(inv, c->ifindex);

	if (!b)
		return -ENODEV;
	if (!bond_attr_applies(c->bond_value.attr, b->setting.mode))
		return -EACCES;
	if (c->bond_value.attr == BOND_RATE && link_get(inv, c->ifindex)->up)
		return -EBUSY;
	return bond_value_parse(&b->setting, c->bond_value.attr, c->bond_value.value);
}

int fake_bond_value_read(const struct inventory *inv, struct kernel_change *c)
{
	const struct inv_bond *b = bond_get(inv, c->ifindex);

	if (b)
		bond_value_format(&b->setting, c->bond_value.attr, c->bond_value.was);
	return b ? 0 : -ENODEV;
}

/* ---- ports ---- */

/* Returns the MAC address of the switch, or zeros if the bond does not use LACP. */
static struct mac_addr partner_of(const struct inv_bond *b)
{
	return b->setting.mode == INV_BOND_LACP ? (struct mac_addr){{2, 0, 0, 0, 1, 1}}
						: (struct mac_addr){{0}};
}

static int enslave(struct inventory *inv, struct inv_link *l, const char *name)
{
	const struct inv_link *named = inv_link_by_name(inv, name);
	struct inv_bond *b = named ? bond_get(inv, named->ifindex) : NULL;
	struct inv_link *bond = b ? link_get(inv, b->ifindex) : NULL;
	struct inv_bond_port *p;

	if (!bond)
		return -ENODEV;
	if (l->mtu_max && bond->mtu > l->mtu_max)
		return -EINVAL;
	p = inv_bond_port_add(inv);
	if (!p)
		return -ENOMEM;
	b->n_ports++;
	b->partner = partner_of(b);
	b->aggregator = b->setting.mode == INV_BOND_LACP;
	l->mac = bond->mac;
	l->mtu = bond->mtu;
	l->master = bond->ifindex;
	*p = (struct inv_bond_port){.ifindex = l->ifindex,
				    .bond = bond->ifindex,
				    .active = true,
				    .link_up = true,
				    .aggregator = b->aggregator,
				    .actor = b->aggregator ? 0x3f : 0,
				    .partner = b->aggregator ? 0x3d : 0,
				    .partner_mac = partner_of(b)};
	return 0;
}

int fake_master_change(struct inventory *inv, const struct kernel_change *c, bool *ret_up)
{
	const struct kernel_master *v = &c->master;
	struct inv_link *l = link_get(inv, c->ifindex);
	const struct inv_link *master;
	int r;

	if (!l)
		return -ENODEV;
	master = l->master ? link_get(inv, l->master) : NULL;
	*ret_up = l->up;
	if (strcmp(master ? master->name : "", v->value) == 0 && v->value[0])
		return 0;
	r = l->master ? release(inv, l) : 0;
	*ret_up = v->value[0] || v->up;
	if (r == 0 && !v->value[0] && v->mtu)
		l->mtu = v->mtu;
	if (r == 0 && v->value[0])
		r = enslave(inv, l, v->value);
	return r < 0 ? r : 1;
}

int fake_master_read(const struct inventory *inv, struct kernel_change *c)
{
	const struct inv_link *l = link_get(inv, c->ifindex);
	const struct inv_link *master = l && l->master ? link_get(inv, l->master) : NULL;
	struct kernel_master *v = &c->master;

	if (!l)
		return -ENODEV;
	memset(v->was, 0, sizeof(v->was));
	if (master)
		memcpy(v->was, master->name, sizeof(master->name));
	v->was_up = l->up;
	v->was_mtu = l->mtu;
	v->was_lacp = 0;
	for (size_t i = 0; i < inv->n_bond_ports; i++)
		if (inv->bond_ports[i].ifindex == l->ifindex)
			v->was_lacp = inv_bond_port_lacp(&inv->bond_ports[i]);
	return 0;
}

void fake_bond_spread_mtu(struct inventory *inv, const struct inv_link *bond)
{
	for (size_t i = 0; bond->kind == INV_LINK_BOND && i < inv->n_links; i++)
		if (inv->links[i].master == bond->ifindex)
			inv->links[i].mtu = bond->mtu;
}

bool fake_bond_carrier(const struct inventory *inv, const struct inv_link *bond)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].master == bond->ifindex && inv->links[i].carrier)
			return true;
	return false;
}

/* A bond has a carrier if one of its ports has one; a VLAN has its bond's carrier. */
void fake_bonds_follow(struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *bond = &inv->links[i];

		if (bond->kind != INV_LINK_BOND)
			continue;
		bond->carrier = bond->up && fake_bond_carrier(inv, bond);
		for (size_t j = 0; j < inv->n_links; j++)
			if (inv->links[j].lower == bond->ifindex)
				inv->links[j].carrier = inv->links[j].up && bond->carrier;
	}
}
