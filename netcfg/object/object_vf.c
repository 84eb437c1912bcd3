/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A setting that the PF keeps for a VF: MAC address, VLAN, spoof check, trust or rate. It is set
 * after the VF is created and before a driver is bound to it, because drivers read the MAC address
 * only once.
 */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const attrs[KERNEL_VF_ATTR_MAX] = {
	[KERNEL_VF_MAC] = "mac",
	[KERNEL_VF_VLAN] = "vlan",
	[KERNEL_VF_SPOOF_CHECK] = "spoof-check",
	[KERNEL_VF_TRUST] = "trust",
	[KERNEL_VF_RATE] = "rate",
};

/* Returns the value for messages: "on" or "off", or a rate with its unit. */
static const char *words_of(const struct kernel_vf *v, const char *value, const char *none,
			    char buf[static 32])
{
	const bool onoff = v->attr == KERNEL_VF_SPOOF_CHECK || v->attr == KERNEL_VF_TRUST;

	if (!value[0])
		return none;
	if (onoff)
		return strcmp(value, "0") == 0 ? "off" : "on";
	if (v->attr != KERNEL_VF_RATE)
		return value;
	if (strcmp(value, "0") == 0)
		return "no limit";
	snprintf(buf, 32, "%s Mbit/s", value);
	return buf;
}

static void vf_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_vf *v = &s->change.vf;
	char is[32], was[32];

	snprintf(buf, size, "set %s VF %" PRIu32 " %s %s (was %s)", where, v->vf, attrs[v->attr],
		 words_of(v, v->value, "", is), words_of(v, v->was, "unknown", was));
}

static void vf_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_vf *v = &s->change.vf;
	char is[32], was[32];

	snprintf(buf, size, "the %s of %s's VF %" PRIu32 " was set to %s (%s is wanted)",
		 attrs[v->attr], where, v->vf, words_of(v, v->was, "an unknown value", was),
		 words_of(v, v->value, "", is));
}

static int vf_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_vf *v = &s->change.vf;

	return snprintf(buf, size, "%" PRIu32 " %s %s %s", v->vf, attrs[v->attr],
			v->was[0] ? v->was : "-", v->value);
}

static int vf_parse(const char *text, struct plan_step *s)
{
	struct kernel_vf *v = &s->change.vf;
	char attr[16];

	s->change.kind = KERNEL_VF;
	if (sscanf(text, "%" SCNu32 " %15s %23s %23s", &v->vf, attr, v->was, v->value) != 4)
		return -EBADMSG;
	if (strcmp(v->was, "-") == 0)
		v->was[0] = '\0';
	for (enum kernel_vf_attr a = 0; a < KERNEL_VF_ATTR_MAX; a++) {
		if (strcmp(attr, attrs[a]) != 0)
			continue;
		v->attr = a;
		return 0;
	}
	return -EBADMSG;
}

static enum object_presence vf_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct inv_vf *have = inv_vf_find(inv, s->change.ifindex, s->change.vf.vf);
	char is[sizeof(s->change.vf.value)];

	return have && strcmp(kernel_vf_format(have, s->change.vf.attr, is), s->change.vf.value) ==
				       0
		       ? OBJECT_PRESENT
		       : OBJECT_ABSENT;
}

static bool vf_same(const struct plan_step *a, const struct plan_step *b)
{
	return a->change.ifindex == b->change.ifindex && a->change.vf.vf == b->change.vf.vf &&
	       a->change.vf.attr == b->change.vf.attr;
}

static void vf_inverse(struct plan_step *s)
{
	struct kernel_vf *v = &s->change.vf;

	object_texts_swap(v->was, v->value, sizeof(v->was));
}

static bool vf_settled(const struct plan_step *s)
{
	return strcmp(s->change.vf.was, s->change.vf.value) == 0;
}

static void vf_follow(struct plan_step *s, const struct plan_step *later)
{
	memcpy(s->change.vf.value, later->change.vf.value, sizeof(s->change.vf.value));
}

static bool vf_held(const struct object_view *v, const struct plan_step *s)
{
	const struct inv_link *pf = inv_link_by_index(v->inv, s->change.ifindex);

	return pf && v->function_is_held(v, inv_function_vf(v->inv, pf->pci, s->change.vf.vf));
}

const struct object_kind object_vf = {
	.name = "vf",
	.verb = PLAN_SET,
	.recorded = true,
	.phase = {[PLAN_SET] = OBJECT_PHASE_MAKE, [PLAN_RESTORE] = OBJECT_PHASE_UNMAKE},
	.describe = vf_describe,
	.undone = vf_undone,
	.format = vf_format,
	.parse = vf_parse,
	.present = vf_present,
	.same = vf_same,
	.inverse = vf_inverse,
	.settled = vf_settled,
	.follow = vf_follow,
	.held = vf_held,
};
