/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bond link. It is created with all its settings, down and without ports; Plenum recognizes its
 * own bonds by their alias. The settings of a bond and its ports are separate kinds.
 */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void bond_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	char text[160];

	(void)where; /* the text needs no `where`, because the bond itself is the link */
	bond_setting_format(&s->change.bond.setting, text, sizeof(text));
	snprintf(buf, size, "%s bond %s, %s", s->verb == PLAN_DEL ? "remove" : "make",
		 s->change.bond.name, text);
}

static int bond_format(const struct plan_step *s, char *buf, size_t size)
{
	char mac[MAC_ADDR_STR_MAX];
	const int len = snprintf(buf, size, "%s %d %" PRIu32 " %s ", s->change.bond.name,
				 s->change.bond.up, s->change.bond.mtu,
				 mac_addr_format(&s->change.bond.mac, mac, sizeof(mac)));

	if ((size_t)len >= size)
		return len;
	return len + bond_setting_format(&s->change.bond.setting, buf + len, size - (size_t)len);
}

static int bond_parse(const char *text, struct plan_step *s)
{
	struct kernel_bond *v = &s->change.bond;
	char mac[MAC_ADDR_STR_MAX];
	int up, at = 0;

	s->change.kind = KERNEL_BOND;
	_Static_assert(IFNAMSIZ == 16 && MAC_ADDR_STR_MAX >= 18,
		       "sscanf() below has the same field widths");
	if (sscanf(text, "%15s %d %" SCNu32 " %17s %n", v->name, &up, &v->mtu, mac, &at) != 4 ||
	    !at || mac_addr_parse(mac, &v->mac) < 0 ||
	    bond_setting_parse(text + at, &v->setting) < 0)
		return -EBADMSG;
	v->up = up != 0;
	return 0;
}

/* Plenum sets the alias last. So a bond of the planned name without an alias was left by a process
 * that was killed before it set the alias, and is Plenum's. */
static enum object_presence bond_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct inv_link *l = inv_link_by_name(inv, s->change.bond.name);
	const struct inv_bond *b = l ? inv_bond_find(inv, l->ifindex) : NULL;

	if (!b || inv_link_is_planned(l) || b->setting.mode != s->change.bond.setting.mode)
		return OBJECT_ABSENT;
	return !l->alias[0] || kernel_link_is_ours(l) ? OBJECT_OURS : OBJECT_PRESENT;
}

static bool bond_same(const struct plan_step *a, const struct plan_step *b)
{
	return strcmp(a->change.bond.name, b->change.bond.name) == 0;
}

static int bond_ours(const struct object_view *v, size_t i, struct plan_step *ret)
{
	const struct inv_link *l;

	if (i >= v->inv->n_bonds)
		return -ENOENT;
	l = inv_link_by_index(v->inv, v->inv->bonds[i].ifindex);
	/* A bond of the configuration stays, even if the bond cannot be changed to the desired
	 * values. */
	if (!l || inv_link_is_planned(l) || !kernel_link_is_ours(l) ||
	    v->bond_is_planned(v, l->name) || v->link_serves_others(v, l))
		return 0;
	ret->change = (struct kernel_change){.kind = KERNEL_BOND};
	memcpy(ret->change.bond.name, l->name, sizeof(l->name));
	memcpy(ret->ifname, l->name, sizeof(l->name));
	ret->change.bond.mac = l->mac;
	ret->change.bond.up = l->up;
	ret->change.bond.mtu = l->mtu;
	ret->change.bond.setting = v->inv->bonds[i].setting;
	return 1;
}

const struct object_kind object_bond = {
	.name = "bond",
	.verb = PLAN_ADD,
	.phase = {[PLAN_ADD] = OBJECT_PHASE_BOND, [PLAN_DEL] = OBJECT_PHASE_UNMAKE},
	.describe = bond_describe,
	.format = bond_format,
	.parse = bond_parse,
	.present = bond_present,
	.same = bond_same,
	.ours = bond_ours,
};
