/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A setting of an existing bond that Plenum created. The setting is not recorded, because it
 * disappears with the bond. It is set after the ports have joined, because its value may be the
 * name of a port.
 */
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

static void value_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_bond_value *v = &s->change.bond_value;

	snprintf(buf, size, "set %s %s %s (was %s)", where, bond_attr_to_string(v->attr),
		 v->value[0] ? v->value : "none", v->was[0] ? v->was : "none");
}

/* Writes each value after a '=', so that an empty value is a word too. */
static int value_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_bond_value *v = &s->change.bond_value;

	return snprintf(buf, size, "%s =%s =%s", bond_attr_to_string(v->attr), v->was, v->value);
}

static int value_parse(const char *text, struct plan_step *s)
{
	struct kernel_bond_value *v = &s->change.bond_value;
	char attr[16], was[IFNAMSIZ + 1], value[IFNAMSIZ + 1];

	s->change.kind = KERNEL_BOND_VALUE;
	_Static_assert(IFNAMSIZ == 16, "sscanf() below has the same field widths");
	if (sscanf(text, "%15s %16s %16s", attr, was, value) != 3 || was[0] != '=' ||
	    value[0] != '=')
		return -EBADMSG;
	snprintf(v->was, sizeof(v->was), "%s", was + 1);
	snprintf(v->value, sizeof(v->value), "%s", value + 1);
	for (enum bond_attr a = 0; a < BOND_ATTR_MAX; a++) {
		if (strcmp(attr, bond_attr_to_string(a)) != 0)
			continue;
		v->attr = a;
		return 0;
	}
	return -EBADMSG;
}

static enum object_presence value_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct inv_bond *b = inv_bond_find(inv, s->change.ifindex);
	char is[IFNAMSIZ];

	return b && strcmp(bond_value_format(&b->setting, s->change.bond_value.attr, is),
			   s->change.bond_value.value) == 0
		       ? OBJECT_PRESENT
		       : OBJECT_ABSENT;
}

static bool value_same(const struct plan_step *a, const struct plan_step *b)
{
	return a->change.ifindex == b->change.ifindex &&
	       a->change.bond_value.attr == b->change.bond_value.attr;
}

static void value_inverse(struct plan_step *s)
{
	struct kernel_bond_value *v = &s->change.bond_value;

	object_texts_swap(v->was, v->value, sizeof(v->was));
}

static bool value_settled(const struct plan_step *s)
{
	return strcmp(s->change.bond_value.was, s->change.bond_value.value) == 0;
}

static void value_follow(struct plan_step *s, const struct plan_step *later)
{
	memcpy(s->change.bond_value.value, later->change.bond_value.value,
	       sizeof(s->change.bond_value.value));
}

const struct object_kind object_bond_value = {
	.name = "bond-value",
	.verb = PLAN_SET,
	.disruptive = true,
	.phase = {[PLAN_SET] = OBJECT_PHASE_ENSLAVE, [PLAN_RESTORE] = OBJECT_PHASE_ENSLAVE},
	.describe = value_describe,
	.format = value_format,
	.parse = value_parse,
	.present = value_present,
	.same = value_same,
	.inverse = value_inverse,
	.settled = value_settled,
	.follow = value_follow,
};
