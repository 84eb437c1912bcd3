/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks each worker, and returns the problems to report. The other files have one kind of problem
 * each. */
#include "agent/base/stats_page.h"
#include "agent/health/health_internal.h"
#include <stdio.h>
#include <string.h>

/* Delays of reports. */
/* Longer than a worker's restart, which programs do not notice. */
#define RESTART_NS (3 * NSEC_PER_SEC)
#define LEG_NS (1 * NSEC_PER_SEC) /* the time until the plan knows of a lost carrier */
/* The time in which a path finds its MTU again: after the agent has reset the MTU of a leg that
 * another program changed, and after a path was diverted. */
#define MTU_NS (3 * NSEC_PER_SEC)
#define MTU_DIVERTED_NS (10 * NSEC_PER_SEC)

/* ---- the plan ---- */

static const struct plan_worker *plan_worker(const struct plan *p, uint32_t id)
{
	for (size_t i = 0; p && i < p->n_workers; i++)
		if (p->workers[i].id == id)
			return &p->workers[i];
	return NULL;
}

/* ---- one worker ---- */

static void look_at_process(struct health_look *l)
{
	const struct sup_worker *w = l->w;
	const struct plan_worker *pw = plan_worker(l->in->plan, w->id);
	const char *why = w->reason[0] ? w->reason : w->reported;
	bool is_known = w->state == SUP_FAILED || w->held || sup_dies_again(w, l->now);
	char text[HEALTH_TEXT_MAX], of_plan[REASON_FORMAT_MAX];

	/* The plan has the reason why the worker got no leg, for example a missing core. */
	if (w->config.n_ports == 0 && pw && reason_is_set(&pw->reason))
		why = reason_format(&pw->reason, of_plan, sizeof(of_plan));
	snprintf(text, sizeof(text), "is %s%s%.250s", sup_state_to_string(w->state),
		 why[0] ? ": " : "", why);
	health_note(l, is_known ? 0 : RESTART_NS, HEALTH_STATE, "", text);
}

/* Reports a worker that dies again and again, even while it is up between two deaths. */
static void look_at_deaths(struct health_look *l)
{
	const struct sup_worker *w = l->w;
	char text[HEALTH_TEXT_MAX];

	if (!sup_dies_again(w, l->now))
		return;
	snprintf(text, sizeof(text),
		 "dies-again: died %u times in a row, last: %.200s; see 'plenum events'",
		 w->n_deaths, w->died_of[0] ? w->died_of : "cause unknown");
	health_note(l, 0, HEALTH_STATE, "deaths", text);
}

/* Reports legs without a carrier. With failover, the worker itself reports which port is in use. */
static void look_at_carriers(struct health_look *l)
{
	for (uint32_t i = 0; !l->w->config.failover && i < l->w->config.n_ports; i++) {
		const struct launch_port *p = &l->w->config.ports[i];
		struct health_entry *e;
		char text[HEALTH_TEXT_MAX];

		if (carriers_usable(l->in->carriers, p->ifindex))
			continue;
		snprintf(text, sizeof(text), "no-carrier: %.63s (%.15s) has no carrier", p->leg,
			 p->ifname);
		e = health_note(l, 0, HEALTH_CARRIER, p->leg, text);
		if (e)
			e->reported_elsewhere = true;
	}
}

/* Reports legs whose port could not be opened or does not work as configured. */
static void look_at_ports(struct health_look *l)
{
	const struct launch_config *c = l->w->started ? l->w->started : &l->w->config;

	for (uint32_t i = 0; i < c->n_ports; i++) {
		char text[LAUNCH_REASON_MAX];

		stats_page_text(l->w->stats, l->w->stats->ports[i].reason, text, sizeof(text));
		if (text[0])
			health_note(l, 0, HEALTH_PORT, c->ports[i].leg, text);
	}
}

/* Reports packets that were dropped at this host because the worker's receive queue was full. */
static void look_at_missed(struct health_look *l)
{
	const struct launch_config *c = l->w->started ? l->w->started : &l->w->config;

	for (uint32_t i = 0; i < c->n_ports; i++) {
		const struct launch_port_stats *st = &l->w->stats->ports[i];
		const struct health_drops *d;
		char why[HEALTH_TEXT_MAX], share[64], by[sizeof(st->by)];

		if (!launch_stat_get(&st->counts))
			continue;
		d = health_port_drops(l->h, l->w->id, i, &st->counters, l->now);
		if (!d)
			continue;
		stats_page_text(l->w->stats, st->by, by, sizeof(by));
		snprintf(why, sizeof(why),
			 "rx-drops: %.63s (%.15s) drops %s on arrival: the worker's %s is full, "
			 "because its core has too little time",
			 c->ports[i].leg, c->ports[i].ifname,
			 health_drops_format(d, share, sizeof(share)),
			 strcmp(by, "udp") == 0 ? "socket" : "receive queue");
		health_note(l, 0, HEALTH_DROPS, c->ports[i].leg, why);
	}
}

/* Returns whether the text is about lost large frames on a leg whose packets another program
 * diverts to an interface that may have a smaller MTU. The leg's own state then names that
 * program's change. */
static bool is_of_diverted_leg(const struct health_look *l, const char *text)
{
	const struct launch_config *c = &l->w->config;
	char begin[LAUNCH_REASON_MAX];

	for (uint32_t i = 0; i < c->n_ports; i++) {
		const struct plan_leg_info *leg = health_plan_leg(l->in->plan, c->ports[i].leg);

		snprintf(begin, sizeof(begin), "path-mtu: %.63s: ", c->ports[i].leg);
		if (leg && strncmp(text, begin, strlen(begin)) == 0)
			return strcmp(leg->reason.code, "diverted") == 0;
	}
	return false;
}

/* Adds the general reason of the worker's page, for example that full-size frames do not arrive. */
static void look_at_page(struct health_look *l)
{
	char text[LAUNCH_REASON_MAX];
	struct health_entry *e;

	stats_page_text(l->w->stats, l->w->stats->reason, text, sizeof(text));
	for (uint32_t i = 0; text[0] && l->w->started && i < l->w->started->n_mounts; i++) {
		char refusal[LAUNCH_REASON_MAX];

		stats_page_text(l->w->stats, l->w->stats->mounts[i].reason, refusal,
				sizeof(refusal));
		if (strcmp(refusal, text) == 0)
			return;
	}
	if (!text[0])
		return;
	e = health_note(l, strncmp(text, "path-mtu: ", 10) == 0 ? MTU_NS : 0, HEALTH_PAGE, "",
			text);
	if (e && is_of_diverted_leg(l, text))
		e->due_ns = l->now + MTU_DIVERTED_NS;
}

static void look_at_plan(struct health_look *l)
{
	const struct plan_worker *pw = plan_worker(l->in->plan, l->w->id);
	char text[REASON_FORMAT_MAX];
	struct health_entry *e;

	if (!pw || !reason_is_set(&pw->reason) || plan_worker_is_content(pw))
		return;
	e = health_note(l, 0, HEALTH_PLAN, "", reason_format(&pw->reason, text, sizeof(text)));
	if (e)
		e->reported_elsewhere = strncmp(text, "leg-missing", 11) == 0;
}

/* Adds exports that are served although their paths lead to other folders now. */
static void look_at_exports(struct health_look *l)
{
	const struct launch_config *c = l->w->started;

	for (uint32_t i = 0; c && i < c->n_exports; i++) {
		const struct reason *why = sup_export_differs(l->w->sup, &c->exports[i]);
		char text[REASON_FORMAT_MAX];

		if (reason_is_set(why))
			health_note(l, 0, HEALTH_MOUNT, c->exports[i].name,
				    reason_format(why, text, sizeof(text)));
	}
}

static void look_at_worker(struct health_look *l)
{
	if (l->w->state != SUP_UP || !l->w->stats) {
		look_at_process(l);
		return;
	}
	look_at_deaths(l);
	if (l->w->off_core[0])
		health_note(l, 0, HEALTH_STATE, "core", l->w->off_core);
	for (uint32_t i = 0; i < l->w->config.n_mounts; i++)
		health_look_at_mount(l, i);
	if (l->w->lacks[0])
		health_note(l, 0, HEALTH_MOUNT, "export", l->w->lacks);
	look_at_exports(l);
	look_at_carriers(l);
	look_at_ports(l);
	look_at_page(l);
	health_look_at_paths(l);
	health_look_at_refusals(l);
	health_look_at_neighbours(l);
	health_look_at_loss(l);
	health_look_at_latency(l);
	look_at_missed(l);
	health_look_at_labels(l);
	look_at_plan(l);
}

/* ---- all workers ---- */

/* Returns whether the leg's own state already reports the problem. A reconcile sets this state
 * after the loss of a carrier. The reconcile may be delayed; until then the problem is reported
 * here. */
static bool is_reported_elsewhere(const struct plan *p, const struct health_entry *e, uint64_t now)
{
	const struct plan_leg_info *leg;

	if (!e->reported_elsewhere || e->kind != HEALTH_CARRIER || now < e->due_ns + LEG_NS)
		return e->reported_elsewhere;
	leg = health_plan_leg(p, e->key);
	return leg && leg->state != PLAN_LEG_USABLE;
}

static json_t *problems(const struct health_look *l)
{
	json_t *list = json_array();
	char text[HEALTH_TEXT_MAX + 24], memory[REASON_FORMAT_MAX];

	if (list && l->in->memory && reason_is_set(l->in->memory))
		json_array_append_new(
			list, json_string(reason_format(l->in->memory, memory, sizeof(memory))));
	for (size_t i = 0; list && i < l->h->n; i++) {
		const struct health_entry *e = &l->h->entries[i];

		if (is_reported_elsewhere(l->in->plan, e, l->now) || e->due_ns > l->now)
			continue;
		snprintf(text, sizeof(text), "worker %u: %s", e->worker, e->text);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

/* Returns the time until the next check or, if that is earlier, the next report of an entry. */
static uint64_t next_in_ns(const struct health_look *l)
{
	uint64_t next_ns = l->now + (l->in->starting ? HEALTH_START_NS : HEALTH_LOOK_NS);

	for (size_t i = 0; i < l->h->n; i++)
		if (l->h->entries[i].due_ns > l->now)
			next_ns = MIN_OF(next_ns, l->h->entries[i].due_ns);
	return next_ns - l->now;
}

uint64_t health_check(struct health *h, const struct health_inputs *in, json_t **ret_problems)
{
	struct health_look l = {.h = h, .in = in, .now = clock_now_ns()};
	bool any = false;

	for (l.w = sup_first(in->sup); l.w; l.w = l.w->next) {
		if (!l.w->wanted)
			continue;
		any = true;
		look_at_worker(&l);
	}
	free(l.arp);
	health_drop_unseen(h);
	*ret_problems = problems(&l);
	return any ? next_in_ns(&l) : 0;
}

void health_done(struct health *h)
{
	free(h->entries);
	free(h->ports);
	*h = (struct health){0};
}
