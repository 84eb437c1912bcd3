/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a check. This file also has a check that several subjects use: whether the plan has steps
 * that must be applied. */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"

#include <string.h>

void doctor_run(const struct doctor_host *p, const struct doctor_check *c,
		struct doctor_result *ret)
{
	const struct {
		unsigned bit;
		bool there;
		const char *what, *because;
	} needs[] = {
		{DOCTOR_NEEDS_INVENTORY, p->inv, "the host's devices cannot be read",
		 "config-host"},
		{DOCTOR_NEEDS_SPEC, p->spec, "no valid configuration", "config-file"},
		{DOCTOR_NEEDS_PLAN, p->plan, "no plan", "config-plan"},
		{DOCTOR_NEEDS_APPLIED, p->plan && json_array_size(p->steps) == 0,
		 "the host does not match the configuration yet", "config-plan"},
		{DOCTOR_NEEDS_AGENT, p->status, "no agent answers", "agent-answers"},
	};

	*ret = (struct doctor_result){.state = DOCTOR_PASS};
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (!(c->needs & needs[i].bit) || needs[i].there)
			continue;
		doctor_report(ret, DOCTOR_UNKNOWN, "%s: see %s", needs[i].what, needs[i].because);
		doctor_blame(ret, needs[i].because);
		return;
	}
	c->run(p, c, ret);
}

/* Returns whether a step matches "KIND WORD": the step's object is of that kind, and the step's
 * text has that word. */
static bool step_is_about(const char *op, const char *text, const char *about)
{
	const size_t len = strcspn(about, " ");
	const char *verb = strrchr(op, '-');

	if (!verb || (size_t)(verb - op) != len || strncmp(op, about, len) != 0)
		return false;
	return !about[len] || strstr(text, about + len + 1);
}

/* Returns the check that reports why steps have not been applied, or NULL if no check does: then
 * the steps themselves are the finding. */
static const char *why_steps(const struct doctor_host *p)
{
	static const char *const causes[] = {"kernel-bonding", "kernel-vlan", "kernel-vfio-pci"};

	if (!p->status)
		return "agent-answers";
	for (size_t i = 0; i < doctor_kernel.n_checks; i++) {
		const struct doctor_check *c = &doctor_kernel.checks[i];
		struct doctor_result r;

		for (size_t j = 0; j < ARRAY_SIZE(causes); j++) {
			if (strcmp(c->id, causes[j]) != 0)
				continue;
			doctor_run(p, c, &r);
			if (r.state == DOCTOR_FAIL)
				return c->id;
		}
	}
	return NULL;
}

void doctor_run_steps(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	const char *why = json_array_size(p->steps) > 0 ? why_steps(p) : NULL;
	const json_t *step;
	bool any = false;
	size_t i;

	json_array_foreach (p->steps, i, step) {
		const char *op, *text, *reason;

		if (json_unpack((json_t *)step, "{s:s, s:s, s:s}", "op", &op, "step", &text,
				"reason", &reason) < 0 ||
		    !step_is_about(op, text, c->about))
			continue;
		any = true;
		doctor_report(r, p->status ? DOCTOR_FAIL : DOCTOR_WARN, "step left to do: %s (%s)",
			      text, reason);
		if (why)
			doctor_blame(r, why);
	}
	if (!any)
		doctor_report(r, DOCTOR_PASS, "the host matches the configuration");
	else if (p->status)
		doctor_advise(r, "plenum plan; plenum apply");
	else if (p->agent_state == CTL_AGENT_NONE || p->agent_state == CTL_AGENT_DEAD)
		doctor_advise(r, "systemctl start plenumd (it applies the configuration); 'plenum "
				 "plan' shows the steps");
	else /* the agent is running, so it does not have to be started */
		doctor_advise(r, "%s; then 'plenum plan' shows the steps", p->agent_remedy);
}
