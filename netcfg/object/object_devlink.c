/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A devlink parameter of a NIC driver. The step names the PCI function, because the link may
 * disappear and return when the value changes. The driver keeps the value when the agent ends, so
 * the old value is recorded.
 */
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

static void devlink_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_devlink *v = &s->change.devlink;

	snprintf(buf, size, "set %s devlink %s (%s) to %s (was %s)", where, v->name, v->mode,
		 v->value, v->was[0] ? v->was : "empty");
}

static void devlink_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_devlink *v = &s->change.devlink;

	snprintf(buf, size, "the devlink %s (%s) of %s was set to %s (%s is wanted)", v->name,
		 v->mode, where, v->was[0] ? v->was : "empty", v->value);
}

/* Writes each value after a '=', so that an empty value is a word too. */
static int devlink_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_devlink *v = &s->change.devlink;

	return snprintf(buf, size, "%s %s =%s =%s", v->name, v->mode, v->was, v->value);
}

static int devlink_parse(const char *text, struct plan_step *s)
{
	struct kernel_devlink *v = &s->change.devlink;
	char was[sizeof(v->was) + 1], value[sizeof(v->value) + 1];

	s->change.kind = KERNEL_DEVLINK;
	_Static_assert(sizeof(v->name) == 64 && sizeof(v->mode) == 12 && sizeof(v->value) == 32,
		       "sscanf() below has the same field widths");
	if (sscanf(text, "%63s %11s %32s %32s", v->name, v->mode, was, value) != 4 ||
	    was[0] != '=' || value[0] != '=')
		return -EBADMSG;
	snprintf(v->was, sizeof(v->was), "%s", was + 1);
	snprintf(v->value, sizeof(v->value), "%s", value + 1);
	return 0;
}

static enum object_presence devlink_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct kernel_devlink *v = &s->change.devlink;
	const struct inv_devlink_param *is = inv_devlink_param_find(inv, s->link, v->name, v->mode);

	return is && strcmp(is->value, v->value) == 0 ? OBJECT_PRESENT : OBJECT_ABSENT;
}

static bool devlink_same(const struct plan_step *a, const struct plan_step *b)
{
	return strcmp(a->link, b->link) == 0 &&
	       strcmp(a->change.devlink.name, b->change.devlink.name) == 0 &&
	       strcmp(a->change.devlink.mode, b->change.devlink.mode) == 0;
}

static void devlink_inverse(struct plan_step *s)
{
	struct kernel_devlink *v = &s->change.devlink;

	object_texts_swap(v->was, v->value, sizeof(v->was));
}

static bool devlink_settled(const struct plan_step *s)
{
	return strcmp(s->change.devlink.was, s->change.devlink.value) == 0;
}

static void devlink_follow(struct plan_step *s, const struct plan_step *later)
{
	memcpy(s->change.devlink.value, later->change.devlink.value,
	       sizeof(s->change.devlink.value));
}

/* The parameter has to be polled: devlink announces changes by users, but not those that a driver
 * makes when it restarts. */
static bool devlink_unannounced(const struct plan_step *s)
{
	return true;
}

const struct object_kind object_devlink = {
	.name = "devlink",
	.verb = PLAN_SET,
	.recorded = true,
	.disruptive = true,
	.on_function = true,
	.phase = {[PLAN_SET] = OBJECT_PHASE_PARENT, [PLAN_RESTORE] = OBJECT_PHASE_UNMAKE},
	.describe = devlink_describe,
	.undone = devlink_undone,
	.format = devlink_format,
	.parse = devlink_parse,
	.present = devlink_present,
	.same = devlink_same,
	.inverse = devlink_inverse,
	.settled = devlink_settled,
	.follow = devlink_follow,
	.unannounced = devlink_unannounced,
};
