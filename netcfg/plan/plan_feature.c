/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds the registered features of legs, and calls their functions in order. */
#include "netcfg/plan/plan_feature.h"

static struct {
	const struct plan_feature *const *table;
	size_t n;
} features;

void plan_features_set(const struct plan_feature *const *table, size_t n)
{
	features.table = table;
	features.n = n;
}

int plan_features_project(struct plan_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < features.n && r == 0; i++)
		if (features.table[i]->project)
			r = features.table[i]->project(b);
	return r;
}

bool plan_features_refuse_mtu(const struct plan_leg *leg, struct reason *why)
{
	for (size_t i = 0; i < features.n; i++)
		if (features.table[i]->refuse_mtu && features.table[i]->refuse_mtu(leg, why))
			return true;
	return false;
}

void plan_features_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg)
{
	for (size_t j = 0; j < features.n; j++)
		if (features.table[j]->check_leg)
			features.table[j]->check_leg(b, i, leg);
}

int plan_features_want(struct plan_builder *b, const struct plan_leg *leg, enum plan_stage stage)
{
	int r = 0;

	for (size_t i = 0; i < features.n && r == 0; i++)
		if (features.table[i]->want[stage])
			r = features.table[i]->want[stage](b, leg);
	return r;
}

void plan_features_claim(struct plan_builder *b, struct plan_leg *leg)
{
	for (size_t i = 0; i < features.n; i++)
		if (features.table[i]->claim)
			features.table[i]->claim(b, leg);
}

bool plan_features_offer(struct plan_builder *b, struct plan_leg *leg, struct plan_worker *w,
			 struct reason *why)
{
	for (size_t i = 0; i < features.n; i++)
		if (features.table[i]->offer && features.table[i]->offer(b, leg, w, why))
			return true;
	return false;
}

bool plan_features_take(const struct plan_builder *b, const struct plan_leg *leg,
			const struct plan_worker *w, struct plan_port *port)
{
	for (size_t i = 0; i < features.n; i++)
		if (features.table[i]->take && features.table[i]->take(b, leg, w, port))
			return true;
	return false;
}

void plan_features_resolve(struct plan_port *port, const struct inventory *inv)
{
	for (size_t i = 0; i < features.n; i++)
		if (features.table[i]->resolve)
			features.table[i]->resolve(port, inv);
}

bool plan_features_addr_is_pending(const struct inventory *inv, const struct inv_addr *a)
{
	for (size_t i = 0; i < features.n; i++)
		if (features.table[i]->addr_is_pending &&
		    features.table[i]->addr_is_pending(inv, a))
			return true;
	return false;
}
