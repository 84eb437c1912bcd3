/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives the agent's state from workers and problems, informs the service manager, and ends the
 * event loop of an agent that has stopped. */
#include "agent/agent.h"
#include "agent/base/loop.h"
#include "agent/links/links_watch.h"

const char *agent_state_to_string(enum agent_state s)
{
	static const char *const names[AGENT_STATE_MAX] = {"starting", "running", "degraded",
							   "stopping"};

	return s < AGENT_STATE_MAX ? names[s] : "?";
}

/* Returns whether all desired workers are up. A desired worker that the supervisor does not know
 * yet counts as not up. */
static bool all_are_up(const struct agent *a)
{
	size_t n_up = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		if (w->wanted && w->state != SUP_UP)
			return false;
		n_up += w->wanted;
	}
	return n_up >= a->running.n_desired;
}

void agent_update_state(struct agent *a)
{
	if (a->state == AGENT_STOPPING)
		return;
	a->converged =
		a->converged || (a->running.spec && all_are_up(a) && !health_waits(&a->health));
	if (problems_degrade(&a->problems))
		a->state = AGENT_DEGRADED;
	else /* a restart of a worker counts as a problem only after some seconds */
		a->state = a->converged && all_are_up(a) ? AGENT_RUNNING : AGENT_STARTING;
	if (a->state == AGENT_DEGRADED && !a->degraded_event) {
		events_add(&a->events, LOG_LEVEL_WARNING, "agent", "degraded: %.200s",
			   a->problems.n_all ? a->problems.all[0] : "?");
		a->degraded_event = true;
	} else if (a->state == AGENT_RUNNING && a->degraded_event) {
		events_add(&a->events, LOG_LEVEL_NOTICE, "agent",
			   "running: all workers and legs are as configured");
		a->degraded_event = false;
	}
}

void agent_publish(struct agent *a)
{
	const struct history_entry *last = history_last(&a->reconcile.records.history);
	unsigned up = 0, total = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		total += w->wanted;
		up += w->state == SUP_UP;
	}
	loop_notify("STATUS=%s: %u of %u workers up, apply %llu%s%s",
		    agent_state_to_string(a->state), up, total,
		    last ? (unsigned long long)last->number : 0ULL, a->problems.n_all ? "; " : "",
		    a->problems.n_all ? a->problems.all[0] : "");
}

/* Arms the timer of the health check. Keeps an earlier due time, because other checks, for example
 * for a status request, must not postpone the timer. */
static void arm_health_timer(struct agent *a, uint64_t in_ns)
{
	uint64_t due_ns = clock_now_ns() + in_ns;

	if (!a->health_timer || (loop_timer_armed(a->health_timer) && a->health_due_ns <= due_ns))
		return;
	a->health_due_ns = due_ns;
	loop_timer_arm(a->health_timer, in_ns);
}

static bool leg_is_dead(const void *user, const char *leg)
{
	return links_watch_is_dead(((const struct agent *)user)->links, leg);
}

void agent_check_health(struct agent *a)
{
	const struct health_inputs in = {.sup = a->sup,
					 .mounts = a->mounts,
					 .carriers = &a->carriers,
					 .spec = a->running.spec,
					 .plan = a->running.plan,
					 .wiring = a->wiring,
					 .leg_is_dead = leg_is_dead,
					 .user = a,
					 .cluster = a->cluster,
					 .memory = memory_group_look(&a->memory, clock_now_ns()),
					 .starting = !a->converged};
	json_t *problems = NULL;
	uint64_t next_ns = health_check(&a->health, &in, &problems);

	/* Before convergence, the state is updated even if the list of problems is unchanged,
	 * because workers may have come up. */
	if (problems_set(&a->problems, PROBLEMS_WORKERS, NULL, problems) || !a->converged) {
		agent_update_state(a);
		agent_publish(a);
	}
	json_decref(problems);
	if (next_ns)
		arm_health_timer(a, next_ns);
}

/* A worker that is being restarted cannot be adopted by the next agent, and its mounts would end.
 * So the agent waits until no restart is in progress. The API processes end with the agent, so the
 * agent also waits until they have delivered their answers, for example the answer to the stop
 * request. */
void agent_end_if_done(struct agent *a)
{
	if (a->state == AGENT_STOPPING && !a->reconcile.applier &&
	    !clients_answer_pending(a->clients) &&
	    (a->keeps_workers ? sup_is_settled(a->sup) : sup_is_idle(a->sup)))
		loop_exit(a->loop, 0);
}
