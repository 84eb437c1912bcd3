/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the links on which the agent listens for LLDP, and reports changes of labels. */
#include "agent/legs/leg_labels.h"
#include "agent/agent.h"
#include "agent/base/path.h"
#include "agent/legs/leg_wiring.h"
#include "agent/lldp/lldp.h"
#include <stdio.h>
#include <string.h>

/* Kept in the run directory, because cables may have changed after a reboot. */
#define NEIGHBOURS_FILE "neighbours"

struct labels_view leg_labels_view(const struct agent *a)
{
	return (struct labels_view){.spec = a->running.spec,
				    .plan = a->running.plan,
				    .inv = a->running.inv,
				    .heard = lldp_neighbours(a->lldp),
				    .now_ns = clock_now_ns()};
}

/* ---- reporting changes ---- */

static void say_change(struct agent *a, const struct label *was, const struct label *is)
{
	char why[REASON_FORMAT_MAX];

	if (!is->is_auto || (was && was->is_auto && strcmp(was->text, is->text) == 0))
		return;
	if (is->text[0])
		events_add(&a->events, LOG_LEVEL_NOTICE, is->leg, "is on the switch %s, by LLDP",
			   is->text);
	else if (was && was->is_auto) /* adds no event at the start, when no label is known yet */
		events_add(&a->events, LOG_LEVEL_WARNING, is->leg,
			   "the leg's switch is unknown now, and was %s: %s", was->text,
			   reason_format(&is->why, why, sizeof(why)));
}

static bool is_in(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
			return true;
	return false;
}

static void take_warnings(struct agent *a, const struct labels_view *v)
{
	json_t *was = problems_to_json(&a->problems, PROBLEMS_LABELS);
	json_t *list = labels_to_warnings(v, &a->labels);

	if (problems_set(&a->problems, PROBLEMS_LABELS, NULL, list)) {
		for (size_t i = 0; i < json_array_size(list); i++) {
			const char *text = json_string_value(json_array_get(list, i));

			if (!is_in(was, text))
				events_add(&a->events, LOG_LEVEL_WARNING, "agent", "%s", text);
		}
		agent_publish(a);
	}
	json_decref(was);
	json_decref(list);
}

static void update(struct agent *a)
{
	const struct labels_view v = leg_labels_view(a);
	struct labels was = a->labels;

	if (!v.plan)
		return;
	labels_find_cables(&v, &a->labels);
	labels_decide(&v, &a->labels);
	for (size_t i = 0; i < a->labels.n; i++)
		say_change(a, labels_find(&was, a->labels.all[i].leg), &a->labels.all[i]);
	take_warnings(a, &v);
	sup_labels_changed(a->sup);
}

static void on_neighbours(void *user)
{
	update(user);
}

/* The process of the role `lldp` also reads the wiring watch's packets. */
static void on_claim(void *user, uint32_t ifindex, const struct address_claim *said)
{
	leg_wiring_hear(user, ifindex, said);
}

static void on_role_start(void *user)
{
	leg_wiring_open(user);
}

/* ---- links to listen on ---- */

static size_t add_links(const struct agent *a, const struct label *l, struct lldp_link *links,
			size_t n, size_t max)
{
	for (size_t i = 0; i < l->n_cables && n < max; i++) {
		const struct inv_link *link = inv_link_by_index(a->running.inv, l->cables[i]);
		bool listed = false;

		for (size_t j = 0; j < n; j++)
			listed |= links[j].ifindex == l->cables[i];
		if (!link || listed)
			continue;
		links[n].ifindex = link->ifindex;
		memcpy(links[n++].ifname, link->name, sizeof(links[0].ifname));
	}
	return n;
}

/* The agent also listens on legs whose device it must not change, because listening changes
 * nothing. */
void leg_labels_take_plan(struct agent *a)
{
	const struct labels_view v = leg_labels_view(a);
	struct lldp_link links[PLENUM_LEGS_MAX * LABELS_CABLES_MAX];
	struct labels found;
	size_t n = 0;

	if (!v.plan)
		return;
	labels_find_cables(&v, &found);
	for (size_t i = 0; i < found.n; i++)
		n = add_links(a, &found.all[i], links, n, ARRAY_SIZE(links));
	if (a->lldp)
		lldp_listen(a->lldp, links, n);
	update(a);
}

/* ---- lifetime ---- */

int leg_labels_init(struct agent *a)
{
	struct lldp_setup setup = {.loop = a->loop,
				   .events = &a->events,
				   .log_level = a->opt.log_level,
				   .on_change = on_neighbours,
				   .on_claim = on_claim,
				   .on_start = on_role_start,
				   .user = a};

	a->neighbours_path = path_join(a->rundir.run, NEIGHBOURS_FILE);
	if (!a->neighbours_path)
		return -ENOMEM;
	setup.path = a->neighbours_path;
	return lldp_new(&setup, &a->lldp);
}

void leg_labels_done(struct agent *a)
{
	a->lldp = lldp_free(a->lldp);
	free(ptr_take(a->neighbours_path));
}
