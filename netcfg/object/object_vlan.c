/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A VLAN link on a leg's device. Plenum recognizes its own VLANs by their alias, which the kernel
 * keeps, so they are not recorded.
 */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void vlan_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_vlan *v = &s->change.vlan;

	if (s->verb == PLAN_DEL)
		snprintf(buf, size, "remove %s, VLAN %u of %s", v->name, v->id, where);
	else
		snprintf(buf, size, "make %s, VLAN %u of %s", v->name, v->id, where);
}

static int vlan_format(const struct plan_step *s, char *buf, size_t size)
{
	return snprintf(buf, size, "%u %s", s->change.vlan.id, s->change.vlan.name);
}

static int vlan_parse(const char *text, struct plan_step *s)
{
	struct kernel_vlan *v = &s->change.vlan;

	s->change.kind = KERNEL_VLAN;
	_Static_assert(sizeof(v->name) == 16, "sscanf() below has the same field width");
	return sscanf(text, "%" SCNu16 " %15s", &v->id, v->name) == 2 ? 0 : -EBADMSG;
}

/* An unused VLAN of the planned name without an alias belongs to Plenum: a process made the VLAN
 * and was killed before it set the alias. A link that only the plan contains does not exist yet. */
static enum object_presence vlan_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct inv_link *l = kernel_vlan_find(inv, s->change.ifindex, s->change.vlan.id);

	if (!l || inv_link_is_planned(l))
		return OBJECT_ABSENT;
	return kernel_link_is_ours(l) ||
			       (!l->alias[0] && !l->up && strcmp(l->name, s->change.vlan.name) == 0)
		       ? OBJECT_OURS
		       : OBJECT_PRESENT;
}

static bool vlan_same(const struct plan_step *a, const struct plan_step *b)
{
	return a->change.ifindex == b->change.ifindex && a->change.vlan.id == b->change.vlan.id;
}

/* The VLAN stays while its leg of the spec cannot be configured, or while other programs use it. */
static int vlan_ours(const struct object_view *v, size_t i, struct plan_step *ret)
{
	const struct inv_link *l;

	if (i >= v->inv->n_links)
		return -ENOENT;
	l = &v->inv->links[i];
	if (l->kind != INV_LINK_VLAN || !l->lower || inv_link_is_planned(l) ||
	    !kernel_link_is_ours(l) || v->link_waits(v, l) || v->link_serves_others(v, l))
		return 0;
	ret->change = (struct kernel_change){
		.kind = KERNEL_VLAN, .ifindex = l->lower, .vlan = {.id = l->vlan}};
	memcpy(ret->change.vlan.name, l->name, sizeof(l->name));
	return 1;
}

const struct object_kind object_vlan = {
	.name = "vlan",
	.verb = PLAN_ADD,
	.phase = {[PLAN_ADD] = OBJECT_PHASE_MAKE, [PLAN_DEL] = OBJECT_PHASE_UNMAKE},
	.describe = vlan_describe,
	.format = vlan_format,
	.parse = vlan_parse,
	.present = vlan_present,
	.same = vlan_same,
	.ours = vlan_ours,
};
