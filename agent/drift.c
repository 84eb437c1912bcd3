/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports and counts changes that other programs made, and limits the rate of their repairs. */
#include "agent/drift.h"
#include "agent/agent.h"
#include "agent/health/managers.h"
#include "netcfg/base/hash.h"
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

/* ---- what was changed ---- */

static const struct plan_leg_info *find_leg(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->n_legs; i++)
		if (strcmp(p->legs[i].name, name) == 0)
			return &p->legs[i];
	return NULL;
}

/* Returns whether the last apply made this step too. If so, another program undid the step so soon
 * that the inventory taken after the apply does not show it. */
static bool was_just_made(const struct plan *p, const struct plan_step *s)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == s->kind && p->steps[i].verb == s->verb &&
		    s->kind->same(&p->steps[i], s))
			return true;
	return false;
}

/* Returns whether another program has changed a setting for which the running plan has no step. The
 * running plan accepted the previous value, but the new plan has a step for the present value. */
static bool was_accepted(const struct plan *p, const struct plan_step *s)
{
	for (size_t i = 0; s->kind == &object_sysctl && i < p->n_unannounced; i++)
		if (p->unannounced[i].kind == s->kind && s->kind->same(&p->unannounced[i], s))
			return true;
	return false;
}

/* Returns whether another program caused this step, because the host had the desired state here
 * before. Restored settings, new legs and replaced devices are not changes by other programs. */
static bool is_foreign(const struct agent *a, const struct plan *p, const struct plan_step *s)
{
	const struct plan_leg_info *was = find_leg(a->running.plan, s->leg);
	const struct plan_leg_info *is = find_leg(p, s->leg);
	bool had;

	if (s->verb == PLAN_RESTORE || (was && is && was->ifindex != is->ifindex))
		return false;
	had = s->kind->present(a->running.inv, s) != OBJECT_ABSENT ||
	      was_just_made(a->running.plan, s) || was_accepted(a->running.plan, s);
	return s->verb == PLAN_DEL ? !had : had;
}

static struct drift_place *place_of(struct drift *d, const struct plan_step *s)
{
	struct drift_place *p;

	for (size_t i = 0; i < d->n_places; i++)
		if (strcmp(d->places[i].leg, s->leg) == 0)
			return &d->places[i];
	/* A full table is cleared: it may contain legs of earlier configurations. */
	if (d->n_places == ARRAY_SIZE(d->places))
		d->n_places = 0;
	p = &d->places[d->n_places++];
	*p = (struct drift_place){.n = 0};
	memcpy(p->leg, s->leg, sizeof(p->leg));
	return p;
}

static enum managers_matter matter_of(const struct plan_step *s)
{
	switch (s->change.kind) {
	case KERNEL_ROUTE:
		return MANAGERS_ROUTES;
	case KERNEL_RULE:
		return MANAGERS_RULES;
	default:
		return MANAGERS_LINKS;
	}
}

static bool is_fight(const struct drift_place *p, uint64_t now)
{
	return p->n >= DRIFT_FIGHT && now - p->at_ns[p->n % DRIFT_FIGHT] < DRIFT_WINDOW_NS;
}

/* ---- search for the responsible program ---- */

static void report(struct agent *a)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < a->drift.n_places; i++) {
		const struct drift_place *p = &a->drift.places[i];
		char text[DRIFT_TEXT_MAX + sizeof(p->who) + 160];

		if (!p->who[0])
			continue;
		snprintf(text, sizeof(text),
			 "%s: another program keeps undoing the agent's settings, last: %s; %s%s",
			 p->leg[0] ? p->leg : "host", p->last, p->who,
			 drift_delay_ns(&a->drift) > RECONCILE_DEBOUNCE_NS
				 ? ". Repairs are delayed until that program stops"
				 : "");
		json_array_append_new(list, json_string(text));
	}
	if (problems_set(&a->problems, PROBLEMS_DRIFT, NULL, list))
		agent_update_state(a);
	json_decref(list);
}

static void note_fight(struct agent *a, struct drift_place *p, const struct plan_step *s)
{
	const char *root = a->drift.root ? a->drift.root : "";

	if (p->who[0])
		return;
	managers_explain(root, matter_of(s), p->ifname, p->ifindex, p->who, sizeof(p->who));
	events_add(&a->events, LOG_LEVEL_WARNING, p->leg[0] ? p->leg : "agent",
		   "%d repairs within a minute: %s", DRIFT_FIGHT, p->who);
}

/* A single restart of a network manager is not a fight, but each further restart will change the
 * same objects again. So an event names the manager once per window. Some managers record a link
 * only after they have begun to manage it; the agent finds such a manager at the next repair. */
static void note_manager(struct agent *a, struct drift_place *p, const struct plan_step *s,
			 uint64_t now)
{
	const char *root = a->drift.root ? a->drift.root : "";
	char who[sizeof(p->who)];

	if (p->looked_ns && now - p->looked_ns < DRIFT_WINDOW_NS)
		return;
	if (!managers_explain(root, matter_of(s), p->ifname, p->ifindex, who, sizeof(who)))
		return;
	p->looked_ns = now;
	events_add(&a->events, LOG_LEVEL_WARNING, p->leg[0] ? p->leg : "agent", "%s", who);
}

/* ---- count and pace ---- */

static void count(struct agent *a, const struct plan *p, const struct plan_step *s,
		  const char *text)
{
	struct drift_place *place = place_of(&a->drift, s);
	const struct plan_leg_info *leg = find_leg(p, s->leg);
	uint64_t now = clock_now_ns();

	snprintf(place->last, sizeof(place->last), "%s", text);
	memcpy(place->ifname, leg ? leg->ifname : s->ifname, sizeof(place->ifname));
	place->ifindex = leg ? leg->ifindex : s->change.ifindex;
	/* All steps of one repair on this leg count as one change. */
	if (place->n && place->at_ns[(place->n - 1) % DRIFT_FIGHT] >= a->reconcile.run.began_ns)
		return;
	place->at_ns[place->n++ % DRIFT_FIGHT] = now;
	note_manager(a, place, s, now);
	if (is_fight(place, now))
		note_fight(a, place, s);
}

static void charge(struct drift *d)
{
	d->spent_ns = MAX_OF(d->spent_ns, clock_now_ns()) + DRIFT_REFILL_NS;
}

uint64_t drift_delay_ns(const struct drift *d)
{
	uint64_t credit = clock_now_ns() + DRIFT_BURST * DRIFT_REFILL_NS;

	return d->spent_ns > credit ? MAX_OF(d->spent_ns - credit, RECONCILE_DEBOUNCE_NS)
				    : RECONCILE_DEBOUNCE_NS;
}

uint64_t drift_verify_ns(const struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct kernel_change *c = &p->steps[i].change;
		const bool at_once = c->kind == KERNEL_RULE || c->kind == KERNEL_ROUTE ||
				     c->kind == KERNEL_SYSCTL ||
				     (c->kind == KERNEL_ADDR && c->addr.ip.addr.family == AF_INET);

		if (!at_once)
			return UINT64_MAX;
	}
	return DRIFT_VERIFY_NS;
}

void drift_repaired(struct drift *d, bool failed)
{
	d->failed = failed;
	if (!failed)
		d->n_noted = 0;
}

static uint64_t hash_of(const char *text)
{
	const uint64_t key[2] = {0};

	return hash_keyed(key, text, strlen(text));
}

/* Returns whether the last repair failed to undo this change. */
static bool is_left_over(const struct drift *d, uint64_t hash)
{
	for (size_t i = 0; d->failed && i < d->n_noted; i++)
		if (d->noted[i] == hash)
			return true;
	return false;
}

void drift_note(struct agent *a, const struct plan *p)
{
	char text[DRIFT_TEXT_MAX], said[EVENTS_TEXT_MAX];
	uint64_t noted[DRIFT_NOTED_MAX];
	size_t n = 0, n_noted = 0;

	for (size_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];

		if (!is_foreign(a, p, s))
			continue;
		plan_step_describe_undone(s, text, sizeof(text));
		if (n_noted < DRIFT_NOTED_MAX)
			noted[n_noted++] = hash_of(text);
		if (is_left_over(&a->drift, hash_of(text)))
			continue;
		count(a, p, s, text);
		snprintf(said, sizeof(said), "%s by another program; repairing", text);
		if (n++ < DRIFT_TEXTS_MAX)
			events_add_all(&a->events, LOG_LEVEL_WARNING, s->leg[0] ? s->leg : "agent",
				       said);
	}
	memcpy(a->drift.noted, noted, n_noted * sizeof(*noted));
	a->drift.n_noted = n_noted;
	if (n == 0)
		return;
	if (n > DRIFT_TEXTS_MAX) {
		snprintf(said, sizeof(said),
			 "%zu more changes by another program; repairing all of them",
			 n - DRIFT_TEXTS_MAX);
		events_add_all(&a->events, LOG_LEVEL_WARNING, "agent", said);
	}
	charge(&a->drift);
	report(a);
}

/* ---- polling ---- */

static void end_fights(struct agent *a)
{
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < a->drift.n_places; i++) {
		struct drift_place *p = &a->drift.places[i];

		if (!p->who[0] || now - p->at_ns[(p->n - 1) % DRIFT_FIGHT] < DRIFT_WINDOW_NS)
			continue;
		p->who[0] = '\0';
		events_add(&a->events, LOG_LEVEL_NOTICE, p->leg[0] ? p->leg : "agent",
			   "no other program has changed the agent's settings for a minute");
	}
	report(a);
}

void drift_look(struct agent *a)
{
	end_fights(a);
	/* A running reconcile reads the whole host already. */
	if (!a->running.plan || reconcile_is_active(a) ||
	    !plan_has_drifted(a->kernel, a->running.plan))
		return;
	kernel_forget(a->kernel); /* otherwise the reconcile would read cached values */
	reconcile_arm(a, drift_delay_ns(&a->drift));
}

static int on_timer(void *user)
{
	struct agent *a = user;

	drift_look(a);
	return loop_timer_arm(a->drift.timer, DRIFT_LOOK_NS);
}

int drift_init(struct agent *a)
{
	int r = loop_add_timer(a->loop, NSEC_PER_SEC, on_timer, a, &a->drift.timer);

	return r < 0 ? r : loop_timer_arm(a->drift.timer, DRIFT_LOOK_NS);
}

void drift_done(struct drift *d)
{
	d->timer = loop_source_free(d->timer);
}
