/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel setting: a file below /proc/sys and its value. */
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

static void sysctl_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_sysctl *c = &s->change.sysctl;

	snprintf(buf, size, "set %s %s to %s (was %s)", where, c->key, c->value, c->was);
}

static void sysctl_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct kernel_sysctl *c = &s->change.sysctl;

	snprintf(buf, size, "%s of %s was set to %s (%s is wanted)", c->key, where, c->was,
		 c->value);
}

/* Writes each value after a '=', so that an empty value is a word too. */
static int sysctl_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct kernel_sysctl *c = &s->change.sysctl;

	return snprintf(buf, size, "%s =%s =%s", c->key, c->was, c->value);
}

static int sysctl_parse(const char *text, struct plan_step *s)
{
	struct kernel_sysctl *c = &s->change.sysctl;
	char was[33], value[33];

	s->change.kind = KERNEL_SYSCTL;
	if (sscanf(text, "%95s %32s %32s", c->key, was, value) != 3 || was[0] != '=' ||
	    value[0] != '=')
		return -EBADMSG;
	snprintf(c->was, sizeof(c->was), "%s", was + 1);
	snprintf(c->value, sizeof(c->value), "%s", value + 1);
	return 0;
}

static enum object_presence sysctl_present(const struct inventory *inv, const struct plan_step *s)
{
	const char *value = inv_sysctl_value(inv, s->change.sysctl.key);

	return value && strcmp(value, s->change.sysctl.value) == 0 ? OBJECT_PRESENT : OBJECT_ABSENT;
}

static bool sysctl_same(const struct plan_step *a, const struct plan_step *b)
{
	return strcmp(a->change.sysctl.key, b->change.sysctl.key) == 0;
}

static void sysctl_inverse(struct plan_step *s)
{
	struct kernel_sysctl *v = &s->change.sysctl;

	object_texts_swap(v->was, v->value, sizeof(v->was));
}

static bool sysctl_settled(const struct plan_step *s)
{
	return strcmp(s->change.sysctl.was, s->change.sysctl.value) == 0;
}

static void sysctl_follow(struct plan_step *s, const struct plan_step *later)
{
	memcpy(s->change.sysctl.value, later->change.sysctl.value, sizeof(s->change.sysctl.value));
}

/* Changes the key from ".../OLD/..." to ".../NEW/...". */
static void sysctl_rename(struct plan_step *s, const char *old_name, const char *name)
{
	struct kernel_sysctl *c = &s->change.sysctl;
	const size_t len = strlen(old_name);
	char key[sizeof(c->key)];

	for (char *at = strchr(c->key, '/'); at; at = strchr(at + 1, '/')) {
		if (strncmp(at + 1, old_name, len) != 0 || at[1 + len] != '/')
			continue;
		memcpy(key, c->key, sizeof(key));
		snprintf(c->key, sizeof(c->key), "%.*s/%s%s", (int)(at - c->key), key, name,
			 key + (at - c->key) + 1 + len);
		return;
	}
}

static bool sysctl_unannounced(const struct plan_step *s)
{
	return true;
}

const struct object_kind object_sysctl = {
	.name = "sysctl",
	.verb = PLAN_SET,
	.recorded = true,
	.phase = {[PLAN_SET] = OBJECT_PHASE_SETTING, [PLAN_RESTORE] = OBJECT_PHASE_SETTING_RESTORE},
	.describe = sysctl_describe,
	.undone = sysctl_undone,
	.format = sysctl_format,
	.parse = sysctl_parse,
	.present = sysctl_present,
	.same = sysctl_same,
	.inverse = sysctl_inverse,
	.settled = sysctl_settled,
	.follow = sysctl_follow,
	.rename = sysctl_rename,
	.unannounced = sysctl_unannounced,
};
