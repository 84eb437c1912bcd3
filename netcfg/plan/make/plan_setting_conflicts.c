/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds pairs of legs that want different values of one object, for all kinds of objects. All other
 * checks look at one leg at a time.
 */
#include "netcfg/plan/make/plan_setting_conflicts.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/make/vlan_link.h"
#include <stdio.h>
#include <string.h>

/* Returns the position of the data device in the spec, and writes its path, such as
 * "net[leg-a]". */
static const struct diag_pos *place_of(const struct plan_builder *b, const char *leg, char *buf,
				       size_t size)
{
	for (size_t i = 0; i < b->given->n_nets; i++) {
		if (strcmp(b->given->nets[i].name, leg) != 0)
			continue;
		snprintf(buf, size, "net[%s]", leg);
		return &b->given->nets[i].pos;
	}
	snprintf(buf, size, "%s", leg);
	return NULL;
}

/* Returns whether two steps on one object set different values, which shows in their journal
 * lines. */
static bool value_differs(const struct plan_step *a, const struct plan_step *b)
{
	struct plan_step as_b = *a;
	char mine[256], theirs[256];

	if (!a->kind->follow)
		return false;
	a->kind->follow(&as_b, b);
	a->kind->format(a, mine, sizeof(mine));
	a->kind->format(&as_b, theirs, sizeof(theirs));
	return strcmp(mine, theirs) != 0;
}

/* Describes the desired value without the old value, such as "set eth0 roce-mode to v2". */
static const char *describe_desired(const struct plan_step *s, char *buf, size_t size)
{
	char *was;

	s->kind->describe(s, s->ifname, buf, size);
	was = strstr(buf, " (was ");
	if (was)
		*was = '\0';
	return buf;
}

static void refuse(struct plan_builder *b, const struct plan_step *first,
		   const struct plan_step *second)
{
	char theirs[160], ours[160], path[PLENUM_NAME_MAX + 8];
	const struct diag_pos *pos = place_of(b, second->leg, path, sizeof(path));

	diag_add(b->d, DIAG_ERROR, pos, path,
		 "would %s, but leg '%s' would %s; both legs share this device, so write the same "
		 "value for both, or remove the key from one leg",
		 describe_desired(second, ours, sizeof(ours)), first->leg,
		 describe_desired(first, theirs, sizeof(theirs)));
}

static void check_values(struct plan_builder *b)
{
	for (size_t i = 0; i < b->want.n; i++) {
		const struct plan_step *s = &b->want.steps[i];

		for (size_t j = 0; s->verb == PLAN_SET && j < i; j++) {
			const struct plan_step *first = &b->want.steps[j];

			if (first->kind != s->kind || first->verb != PLAN_SET ||
			    strcmp(first->leg, s->leg) == 0 || !s->kind->same(first, s) ||
			    !value_differs(first, s))
				continue;
			refuse(b, first, s);
			break; /* report one error per value */
		}
	}
}

/* Reports VLANs with a larger MTU than their parent, which Linux does not allow. */
static void check_mtus(struct plan_builder *b)
{
	for (size_t i = 0; i < b->n_legs; i++) {
		const struct plan_leg *upper = &b->legs[i];
		const struct inv_link *lower = vlan_link_parent(b, upper);
		char path[PLENUM_NAME_MAX + 8];
		const struct diag_pos *pos = place_of(b, upper->net->name, path, sizeof(path));

		for (size_t j = 0; lower && j < b->n_legs; j++) {
			const struct plan_leg *below = &b->legs[j];

			if (below->link != lower || !below->set_mtu || below->mtu >= upper->mtu)
				continue;
			diag_add(b->d, DIAG_ERROR, pos, path,
				 "%s has mtu %u, but leg '%s' would set its parent %s to %u; write "
				 "at least %u for network %s, or %u for %s",
				 upper->link->name, upper->mtu, below->net->name, lower->name,
				 below->mtu, upper->mtu, below->network->name, below->mtu,
				 upper->network->name);
		}
	}
}

int plan_setting_conflicts_check(struct plan_builder *b)
{
	const size_t n_errors = b->d->n_errors;

	check_values(b);
	check_mtus(b);
	return b->d->n_errors > n_errors ? -EINVAL : 0;
}
