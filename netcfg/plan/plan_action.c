/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the actions of a plan: workers, mounts, exports. Only the agent calls these functions;
 * plan_build adds no actions. */
#include "netcfg/base/vec.h"
#include "netcfg/plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct plan_action *plan_action_add(struct plan *p)
{
	return vec_add(&p->actions, &p->n_actions, sizeof(*p->actions));
}

int plan_action_say(struct plan *p, bool disruptive, const char *reason, const char *fmt, ...)
{
	struct plan_action *a = plan_action_add(p);
	va_list ap;

	if (!a)
		return -ENOMEM;
	va_start(ap, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, ap);
	va_end(ap);
	snprintf(a->reason, sizeof(a->reason), "%s", reason);
	a->disruptive = disruptive;
	return 0;
}

/* Returns whether the exports are listed already for an earlier core of the same entry: all cores
 * of an entry serve the same exports. */
static bool is_listed(const struct plan *p, size_t worker)
{
	for (size_t i = 0; i < worker; i++)
		if (p->workers[i].exports == p->workers[worker].exports)
			return true;
	return false;
}

int plan_actions_start(struct plan *p, const char *reason)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->n_workers; i++)
		r = plan_action_say(p, false, reason, PLAN_ACTION_START, p->workers[i].id,
				    spec_role_to_string(p->workers[i].role), p->workers[i].core);
	for (size_t i = 0; r >= 0 && i < p->n_workers; i++)
		for (size_t j = 0; r >= 0 && j < p->workers[i].n_mounts; j++) {
			const struct spec_mount *m = p->workers[i].mounts[j];

			r = plan_action_say(p, false, reason, PLAN_ACTION_MOUNT, m->from_host,
					    m->from_export, m->path);
		}
	for (size_t i = 0; r >= 0 && i < p->n_workers; i++)
		for (size_t j = 0; r >= 0 && j < p->workers[i].n_exports && !is_listed(p, i); j++) {
			const struct spec_export *e = &p->workers[i].exports[j];

			r = plan_action_say(p, false, reason, PLAN_ACTION_EXPORT, e->name, e->path,
					    e->read_only ? " read-only" : "");
		}
	return r;
}
