/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the parts of planning in order (plan_build), and frees and resolves plans. */
#include "netcfg/plan/plan.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/make/plan_match.h"
#include "netcfg/plan/make/plan_project.h"
#include "netcfg/plan/make/plan_setting_conflicts.h"
#include "netcfg/plan/plan_feature.h"
#include "netcfg/plan/plan_guard.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/plan_pools.h"
#include "netcfg/plan/planner.h"
#include <stdio.h>
#include <string.h>

static const char *const leg_state_names[PLAN_LEG_STATE_MAX] = {
	[PLAN_LEG_USABLE] = "usable",	  [PLAN_LEG_DEGRADED] = "degraded",
	[PLAN_LEG_ABSENT] = "absent",	  [PLAN_LEG_REFUSED] = "refused",
	[PLAN_LEG_DISABLED] = "disabled",
};

const char *plan_leg_state_to_string(enum plan_leg_state s)
{
	return (unsigned)s < PLAN_LEG_STATE_MAX ? leg_state_names[s] : "?";
}

static struct {
	const struct planner_ops *const *table;
	size_t n;
} planners;

void planner_table_set(const struct planner_ops *const *table, size_t n)
{
	planners.table = table;
	planners.n = n;
}

const struct planner_ops *planner_find(enum spec_ha mode)
{
	for (size_t i = 0; i < planners.n; i++)
		if (planners.table[i]->mode == mode)
			return planners.table[i];
	return NULL;
}

struct plan *plan_free(struct plan *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < p->n_workers; i++)
		free(p->workers[i].mounts);
	free(p->workers);
	free(p->actions);
	free(p->disowned);
	free(p->record);
	free(p->unannounced);
	free(p->needs);
	free(p->steps);
	free(p);
	return NULL;
}

static void refuse_mode(const struct spec *spec, struct diag *d)
{
	char modes[64] = "";

	for (size_t i = 0; i < planners.n; i++) {
		size_t len = strlen(modes);

		snprintf(modes + len, sizeof(modes) - len, "%s%s", i ? " or " : "",
			 spec_ha_to_string(planners.table[i]->mode));
	}
	diag_add(d, DIAG_ERROR, NULL, "ha.mode", "this build does not support mode %s; write %s",
		 spec_ha_to_string(spec->ha), modes[0] ? modes : "another mode");
}

int plan_check(const struct spec *spec, struct diag *d)
{
	const struct planner_ops *ops = planner_find(spec->ha);
	const size_t n_errors = d->n_errors;

	if (!ops)
		refuse_mode(spec, d);
	else if (ops->check)
		ops->check(spec, d);
	return d->n_errors > n_errors ? -EINVAL : 0;
}

/* A missing management interface is only a warning, because it may appear later and data legs do
 * not need it. The warning is necessary, because no interface is protected if the name is
 * misspelt. */
static void check_management(struct plan_builder *b)
{
	const char *name = b->spec->management_interface;

	if (name[0] && !inv_link_by_name(b->inv, name))
		diag_add(b->d, DIAG_WARNING, NULL, "management.interface",
			 "this host has no interface %s, so Plenum cannot protect it; check the "
			 "name of the management interface",
			 name);
}

/* Replaces a provisional index by the real index. */
static void resolve_link(const char *ifname, uint32_t *ifindex, const struct inventory *inv)
{
	const struct inv_link *l =
		inv_ifindex_is_planned(*ifindex) ? inv_link_by_name(inv, ifname) : NULL;

	if (l)
		*ifindex = l->ifindex;
}

void plan_resolve(struct plan *p, const struct inventory *inv)
{
	for (size_t i = 0; i < p->n_legs; i++)
		resolve_link(p->legs[i].ifname, &p->legs[i].ifindex, inv);
	for (size_t i = 0; i < p->n_workers; i++)
		for (size_t j = 0; j < p->workers[i].n_ports; j++) {
			struct plan_port *port = &p->workers[i].ports[j];

			resolve_link(port->ifname, &port->ifindex, inv);
			plan_features_resolve(port, inv);
		}
}

/* Copies to the plan the desired values that plan_has_drifted must poll. */
static int keep_unannounced(struct plan_builder *b)
{
	struct plan *p = b->plan;
	size_t cap = 0;

	for (size_t i = 0; i < b->want.n; i++) {
		struct plan_step *s;

		const struct object_kind *kind = b->want.steps[i].kind;

		if (!kind->unannounced || !kind->unannounced(&b->want.steps[i]))
			continue;
		s = plan_step_append(&p->unannounced, &p->n_unannounced, &cap);
		if (!s)
			return -ENOMEM;
		*s = b->want.steps[i];
	}
	return 0;
}

bool plan_has_drifted(struct kernel *k, const struct plan *p)
{
	if (p->waits) /* replan, because no event tells when the kernel has removed the object */
		return true;
	for (size_t i = 0; i < p->n_unannounced; i++) {
		struct plan_step s = p->unannounced[i];

		/* A VF without a kernel driver disappears without an event. */
		if (s.kind->on_function && object_find(k, &s) < 0)
			return true;
		if (k->ops->read(k, &s.change) == 0 && !s.kind->settled(&s))
			return true;
	}
	return false;
}

static int build(struct plan_builder *b)
{
	const struct planner_ops *ops = planner_find(b->spec->ha);
	size_t n_errors = b->d->n_errors;
	int r;

	check_management(b);
	if (plan_check(b->spec, b->d) < 0)
		return -EINVAL;
	r = ops->links ? ops->links(b) : 0;
	if (r == 0)
		r = plan_features_project(b);
	if (r == 0 && ops->reasons)
		ops->reasons(b);
	if (r == 0)
		r = ops->legs ? ops->legs(b) : planner_legs_add(b);
	if (r == 0)
		r = plan_workers_build(b);
	if (r < 0)
		return r;
	if (b->d->n_errors > n_errors)
		return -EINVAL;
	r = ops->want ? ops->want(b) : planner_want_legs(b);
	if (r == 0)
		r = plan_setting_conflicts_check(b);
	if (r == 0)
		r = plan_diff_build(b);
	if (r == 0)
		plan_forced_check(b);
	if (r == 0)
		r = keep_unannounced(b);
	return r;
}

int plan_build(const struct spec *spec, const struct inventory *inv, const struct plan_context *ctx,
	       struct diag *d, struct plan **ret)
{
	static const struct plan_context nothing;
	struct spec resolved;
	struct plan_builder b = {.spec = &resolved,
				 .given = &resolved,
				 .inv = inv,
				 .ctx = ctx ? ctx : &nothing,
				 .d = d};
	int r = plan_pools_resolve(spec, b.ctx->pools, &resolved);

	if (r < 0)
		return r;
	b.plan = calloc(1, sizeof(*b.plan));
	if (!b.plan) {
		free(resolved.networks);
		return -ENOMEM;
	}
	b.plan->inventory_number = inv->number;
	if (b.ctx->owned && b.ctx->owned->path) {
		b.plan->record = strdup(b.ctx->owned->path);
		r = b.plan->record ? 0 : -ENOMEM;
	}
	memcpy(b.plan->host, spec->host[0] ? spec->host : inv->host, sizeof(b.plan->host));
	if (r == 0)
		r = plan_match_resolve(&b, &resolved);
	if (r == 0)
		r = build(&b);
	if (resolved.nets != spec->nets)
		free(resolved.nets);
	free(resolved.networks);
	free(b.want.steps);
	inv_free(b.projected);
	if (r < 0) {
		plan_free(b.plan);
		return r;
	}
	*ret = b.plan;
	return 0;
}
