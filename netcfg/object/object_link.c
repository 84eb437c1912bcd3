/* SPDX-License-Identifier: BSD-3-Clause */
/* A value of an existing link: its state (up or down) or its MTU. */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const attrs[KERNEL_LINK_ATTR_MAX] = {
	[KERNEL_LINK_UP] = "up",
	[KERNEL_LINK_MTU] = "mtu",
};

static void link_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_link_value *v = &s->change.link;

	if (v->attr == KERNEL_LINK_UP)
		snprintf(buf, size, "set %s %s (was %s)", where, v->value ? "up" : "down",
			 v->was ? "up" : "down");
	else
		snprintf(buf, size, "set %s %s %u (was %u)", where, attrs[v->attr], v->value,
			 v->was);
}

static void link_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_link_value *v = &s->change.link;

	if (v->attr == KERNEL_LINK_UP)
		snprintf(buf, size, "%s was set %s", where, v->was ? "up" : "down");
	else
		snprintf(buf, size, "the %s of %s was set to %u (%u is wanted)", attrs[v->attr],
			 where, v->was, v->value);
}

static int link_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_link_value *v = &s->change.link;

	return snprintf(buf, size, "%s %u %u", attrs[v->attr], v->was, v->value);
}

static int link_parse(const char *text, struct plan_step *s)
{
	struct kernel_link_value *v = &s->change.link;
	char attr[8];

	s->change.kind = KERNEL_LINK;
	if (sscanf(text, "%7s %" SCNu32 " %" SCNu32, attr, &v->was, &v->value) != 3)
		return -EBADMSG;
	for (enum kernel_link_attr a = 0; a < KERNEL_LINK_ATTR_MAX; a++) {
		if (strcmp(attr, attrs[a]) != 0)
			continue;
		v->attr = a;
		return 0;
	}
	return -EBADMSG;
}

static enum object_presence link_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct inv_link *l = inv_link_by_index(inv, s->change.ifindex);
	const struct kernel_link_value *v = &s->change.link;
	uint32_t value;

	if (!l)
		return OBJECT_ABSENT;
	value = v->attr == KERNEL_LINK_MTU ? l->mtu : l->up;
	return value == v->value ? OBJECT_PRESENT : OBJECT_ABSENT;
}

static bool link_same(const struct plan_step *a, const struct plan_step *b)
{
	return a->change.ifindex == b->change.ifindex && a->change.link.attr == b->change.link.attr;
}

static void link_inverse(struct plan_step *s)
{
	const uint32_t was = s->change.link.was;

	s->change.link.was = s->change.link.value;
	s->change.link.value = was;
}

static bool link_settled(const struct plan_step *s)
{
	return s->change.link.was == s->change.link.value;
}

static void link_follow(struct plan_step *s, const struct plan_step *later)
{
	s->change.link.value = later->change.link.value;
}

const struct object_kind object_link = {
	.name = "link",
	.verb = PLAN_SET,
	.recorded = true,
	.disruptive = true,
	.phase = {[PLAN_SET] = OBJECT_PHASE_LINK, [PLAN_RESTORE] = OBJECT_PHASE_LINK_RESTORE},
	.describe = link_describe,
	.undone = link_undone,
	.format = link_format,
	.parse = link_parse,
	.present = link_present,
	.same = link_same,
	.inverse = link_inverse,
	.settled = link_settled,
	.follow = link_follow,
};
