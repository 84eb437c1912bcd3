/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A value of a PCI function: its number of VFs, whether new VFs get their kernel driver, and its
 * driver. Later steps refer to the VFs that such a step creates as "VF n of PF".
 */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const attrs[KERNEL_PCI_ATTR_MAX] = {
	[KERNEL_PCI_VFS] = "vfs",
	[KERNEL_PCI_AUTOPROBE] = "autoprobe",
	[KERNEL_PCI_DRIVER] = "driver",
};

static void pci_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_pci *v = &s->change.pci_value;

	switch (v->attr) {
	case KERNEL_PCI_VFS:
		snprintf(buf, size, "set %s to %s VFs (was %s)", where, v->value, v->was);
		break;
	case KERNEL_PCI_AUTOPROBE:
		snprintf(buf, size, "%s the kernel driver for new VFs of %s",
			 v->value[0] == '1' ? "enable" : "disable", where);
		break;
	default:
		snprintf(buf, size, "bind %s %s to %s (was %s)", where, s->link,
			 v->value[0] ? v->value : "no driver", v->was[0] ? v->was : "none");
	}
}

static void pci_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_pci *v = &s->change.pci_value;

	switch (v->attr) {
	case KERNEL_PCI_VFS:
		snprintf(buf, size, "%s was set to %s VFs (%s are wanted)", where, v->was,
			 v->value);
		break;
	case KERNEL_PCI_AUTOPROBE:
		snprintf(buf, size, "the kernel driver for new VFs of %s was %s", where,
			 v->value[0] == '1' ? "disabled" : "enabled");
		break;
	default:
		snprintf(buf, size, "%s %s was bound to %s (%s is wanted)", where, s->link,
			 v->was[0] ? v->was : "no driver", v->value[0] ? v->value : "no driver");
	}
}

/* Writes each value after a '=', so that an empty value is a word too. */
static int pci_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_pci *v = &s->change.pci_value;

	return snprintf(buf, size, "%s =%s =%s", attrs[v->attr], v->was, v->value);
}

static int pci_parse(const char *text, struct plan_step *s)
{
	struct kernel_pci *v = &s->change.pci_value;
	char attr[16], was[33], value[33];

	s->change.kind = KERNEL_PCI;
	if (sscanf(text, "%15s %32s %32s", attr, was, value) != 3 || was[0] != '=' ||
	    value[0] != '=')
		return -EBADMSG;
	snprintf(v->was, sizeof(v->was), "%s", was + 1);
	snprintf(v->value, sizeof(v->value), "%s", value + 1);
	for (enum kernel_pci_attr a = 0; a < KERNEL_PCI_ATTR_MAX; a++) {
		if (strcmp(attr, attrs[a]) != 0)
			continue;
		v->attr = a;
		return 0;
	}
	return -EBADMSG;
}

static enum object_presence pci_present(const struct inventory *inv, const struct plan_step *s)
{
	const struct inv_function *fn = inv_function_by_ref(inv, s->link);
	const struct kernel_pci *v = &s->change.pci_value;
	char number[16];
	const char *is;

	if (!fn)
		return OBJECT_ABSENT;
	snprintf(number, sizeof(number), "%" PRIu32,
		 v->attr == KERNEL_PCI_VFS ? fn->n_vfs : (uint32_t)fn->autoprobe);
	is = v->attr == KERNEL_PCI_DRIVER ? fn->driver : number;
	return strcmp(is, v->value) == 0 ? OBJECT_PRESENT : OBJECT_ABSENT;
}

static bool pci_same(const struct plan_step *a, const struct plan_step *b)
{
	return a->change.pci_value.attr == b->change.pci_value.attr &&
	       strcmp(a->link, b->link) == 0;
}

static void pci_inverse(struct plan_step *s)
{
	struct kernel_pci *v = &s->change.pci_value;

	object_texts_swap(v->was, v->value, sizeof(v->was));
}

static bool pci_settled(const struct plan_step *s)
{
	return strcmp(s->change.pci_value.was, s->change.pci_value.value) == 0;
}

static void pci_follow(struct plan_step *s, const struct plan_step *later)
{
	memcpy(s->change.pci_value.value, later->change.pci_value.value,
	       sizeof(s->change.pci_value.value));
}

static bool pci_held(const struct object_view *v, const struct plan_step *s)
{
	return v->function_is_held(v, inv_function_by_ref(v->inv, s->link));
}

/* The number of VFs is not polled: reading it blocks while the kernel creates VFs, which takes
 * long. If VFs disappear, the agent sees that at the VFs themselves. */
static bool pci_unannounced(const struct plan_step *s)
{
	return s->change.pci_value.attr != KERNEL_PCI_VFS;
}

const struct object_kind object_pci = {
	.name = "pci",
	.verb = PLAN_SET,
	.recorded = true,
	.disruptive = true,
	.on_function = true,
	.phase = {[PLAN_SET] = OBJECT_PHASE_MAKE, [PLAN_RESTORE] = OBJECT_PHASE_UNMAKE},
	.unannounced = pci_unannounced,
	.describe = pci_describe,
	.undone = pci_undone,
	.format = pci_format,
	.parse = pci_parse,
	.present = pci_present,
	.same = pci_same,
	.inverse = pci_inverse,
	.settled = pci_settled,
	.follow = pci_follow,
	.held = pci_held,
};
