/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bond that a link is a port of, as a value of the link. The inverse step releases the link and
 * restores its MTU and whether it is up, because the kernel changes both when a link becomes a
 * port.
 */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void master_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_master *v = &s->change.master;

	if (v->value[0])
		snprintf(buf, size, "make %s a port of %s (was %s%s)", where, v->value,
			 v->was[0]   ? "one of "
			 : v->was_up ? "up"
				     : "down",
			 v->was);
	else
		snprintf(buf, size, "release %s from %s (%s, mtu %u)", where,
			 v->was[0] ? v->was : "any bond", v->up ? "up" : "down", v->mtu);
}

/* Writes each value after a '=', so that an empty value is a word too. */
static int master_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_master *v = &s->change.master;

	return snprintf(buf, size, "=%s %d %u =%s %d %u", v->was, v->was_up, v->was_mtu, v->value,
			v->up, v->mtu);
}

static int master_parse(const char *text, struct plan_step *s)
{
	struct kernel_master *v = &s->change.master;
	char was[IFNAMSIZ + 1], value[IFNAMSIZ + 1];
	int was_up, up;

	s->change.kind = KERNEL_MASTER;
	_Static_assert(IFNAMSIZ == 16, "sscanf() below has the same field widths");
	if (sscanf(text, "%16s %d %" SCNu32 " %16s %d %" SCNu32, was, &was_up, &v->was_mtu, value,
		   &up, &v->mtu) != 6 ||
	    was[0] != '=' || value[0] != '=')
		return -EBADMSG;
	snprintf(v->was, sizeof(v->was), "%s", was + 1);
	snprintf(v->value, sizeof(v->value), "%s", value + 1);
	v->was_up = was_up != 0;
	v->up = up != 0;
	return 0;
}

static enum object_presence master_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct inv_link *l = inv_link_by_index(inv, s->change.ifindex);
	const struct inv_link *master = l && l->master ? inv_link_by_index(inv, l->master) : NULL;

	return l && strcmp(master ? master->name : "", s->change.master.value) == 0 ? OBJECT_PRESENT
										    : OBJECT_ABSENT;
}

static bool master_same(const struct plan_step *a, const struct plan_step *b)
{
	return a->change.ifindex == b->change.ifindex;
}

static void master_inverse(struct plan_step *s)
{
	const struct kernel_master v = s->change.master;

	memcpy(s->change.master.value, v.was, sizeof(v.was));
	memcpy(s->change.master.was, v.value, sizeof(v.was));
	s->change.master.up = v.was_up;
	s->change.master.was_up = v.up;
	s->change.master.mtu = v.was_mtu;
	s->change.master.was_mtu = v.mtu;
	s->change.master.lacp = s->change.master.was_lacp = 0;
}

static bool master_settled(const struct plan_step *s)
{
	const struct kernel_master *v = &s->change.master;

	return strcmp(v->was, v->value) == 0 && v->was_lacp == v->lacp &&
	       (v->value[0] || (v->was_up == v->up && v->was_mtu == v->mtu));
}

static void master_follow(struct plan_step *s, const struct plan_step *later)
{
	const struct kernel_master *v = &later->change.master;

	memcpy(s->change.master.value, v->value, sizeof(v->value));
	s->change.master.up = v->up;
	s->change.master.mtu = v->mtu;
}

/* A port of an LACP bond has to be polled, because the kernel does not announce the result of the
 * negotiation. */
static bool master_unannounced(const struct plan_step *s)
{
	return s->change.master.lacp != 0;
}

/* The link stays a port while other programs use the bond, because the bond stays then too. */
static bool master_held(const struct object_view *v, const struct plan_step *s)
{
	const struct inv_link *bond = inv_link_by_name(v->inv, s->change.master.value);

	return bond && v->link_serves_others(v, bond);
}

const struct object_kind object_master = {
	.name = "master",
	.verb = PLAN_SET,
	.recorded = true,
	.unannounced = master_unannounced,
	.phase = {[PLAN_SET] = OBJECT_PHASE_ENSLAVE, [PLAN_RESTORE] = OBJECT_PHASE_RELEASE},
	.describe = master_describe,
	.format = master_format,
	.parse = master_parse,
	.present = master_present,
	.same = master_same,
	.inverse = master_inverse,
	.settled = master_settled,
	.follow = master_follow,
	.held = master_held,
};
