/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A setting of a link's device that rtnetlink does not have: packet priorities, traffic classes,
 * flow control. The NIC keeps it when the agent ends, so the old value is recorded.
 */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* old value in a plan that was made without the privilege to read the setting; the step reads it
 * when it runs */
#define UNKNOWN "?"

/* Writes the name of the setting, such as "dscp 24" or "pfc". */
static const char *what_of(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_device *v = &s->change.device;

	if (v->attr == DEVICE_DSCP)
		snprintf(buf, size, "priority of DSCP %u", v->dscp);
	else
		snprintf(buf, size, "%s", device_attr_to_string(v->attr));
	return buf;
}

static void device_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_device *v = &s->change.device;
	char what[32];

	snprintf(buf, size, "set %s %s to %s (was %s)", where, what_of(s, what, sizeof(what)),
		 v->value, v->was[0] ? v->was : "unknown");
}

static void device_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_device *v = &s->change.device;
	char what[32];

	snprintf(buf, size, "the %s of %s was set to %s (%s is wanted)",
		 what_of(s, what, sizeof(what)), where, v->was, v->value);
}

static int device_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_device *v = &s->change.device;

	return snprintf(buf, size, "%s %u %s %s", device_attr_to_string(v->attr), v->dscp,
			v->was[0] ? v->was : UNKNOWN, v->value);
}

static int device_parse(const char *text, struct plan_step *s)
{
	struct kernel_device *v = &s->change.device;
	char attr[16];

	s->change.kind = KERNEL_DEVICE;
	_Static_assert(sizeof(v->value) == 96, "sscanf() below has the same field widths");
	if (sscanf(text, "%15s %" SCNu8 " %95s %95s", attr, &v->dscp, v->was, v->value) != 4)
		return -EBADMSG;
	if (strcmp(v->was, UNKNOWN) == 0)
		v->was[0] = '\0';
	for (enum device_attr a = 0; a < DEVICE_ATTR_MAX; a++) {
		if (strcmp(attr, device_attr_to_string(a)) != 0)
			continue;
		v->attr = a;
		return 0;
	}
	return -EBADMSG;
}

static enum object_presence device_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct kernel_device *v = &s->change.device;
	char buf[INV_DEVICE_VALUE_MAX];
	const char *is = device_value_find(inv, s->change.ifindex, v->attr, v->dscp, buf);

	return is && strcmp(is, v->value) == 0 ? OBJECT_PRESENT : OBJECT_ABSENT;
}

static bool device_same(const struct plan_step *a, const struct plan_step *b)
{
	return a->change.ifindex == b->change.ifindex &&
	       a->change.device.attr == b->change.device.attr &&
	       a->change.device.dscp == b->change.device.dscp;
}

static void device_inverse(struct plan_step *s)
{
	struct kernel_device *v = &s->change.device;

	object_texts_swap(v->was, v->value, sizeof(v->was));
}

static bool device_settled(const struct plan_step *s)
{
	return strcmp(s->change.device.was, s->change.device.value) == 0;
}

static void device_follow(struct plan_step *s, const struct plan_step *later)
{
	memcpy(s->change.device.value, later->change.device.value, sizeof(s->change.device.value));
}

/* The setting has to be polled: firmware and drivers change it too, and the kernel announces only
 * changes by netlink. */
static bool device_unannounced(const struct plan_step *s)
{
	return true;
}

/* The old values are restored together with the old values of links, in reverse order, because the
 * mode and the MTU of an IPoIB link limit each other. */
const struct object_kind object_device = {
	.name = "device",
	.verb = PLAN_SET,
	.recorded = true,
	.disruptive = true,
	.phase = {[PLAN_SET] = OBJECT_PHASE_SETTING, [PLAN_RESTORE] = OBJECT_PHASE_LINK_RESTORE},
	.describe = device_describe,
	.undone = device_undone,
	.format = device_format,
	.parse = device_parse,
	.present = device_present,
	.same = device_same,
	.inverse = device_inverse,
	.settled = device_settled,
	.follow = device_follow,
	.unannounced = device_unannounced,
};
