/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports legs that carry no load because of labels: no leg of the peer has the same label, or the
 * cables or labels of one host's legs are exchanged. */
#include "agent/base/stats_page.h"
#include "agent/health/health_internal.h"
#include <stdio.h>
#include <string.h>

#define LABELS_NS (5 * NSEC_PER_SEC) /* the time until both hosts know of a change */

/* Returns whether all working paths to the peer are standby, some of them because of the label.
 * Then the cables or the labels of the legs are exchanged on one of the hosts. */
static bool is_swapped(const struct launch_path_stats *paths, size_t n, const char *peer)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const struct launch_path_stats *s = &paths[i];

		if (strcmp(s->peer, peer) != 0 || !s->up)
			continue;
		if (!s->standby)
			return false;
		any |= s->swapped != 0;
	}
	return any;
}

/* Returns the label that the worker uses at present. */
static const char *label_of(const struct sup_worker *w, const char *leg)
{
	for (uint32_t i = 0; w->started && i < w->started->n_ports; i++)
		if (strcmp(w->started->ports[i].leg, leg) == 0)
			return w->started->ports[i].label;
	return "";
}

/* Reports legs that are standby because of their label. With active-backup, legs are standby
 * because the operator wants it, so none is reported. */
static void look_at_standby(struct health_look *l, const struct launch_path_stats *paths, size_t n)
{
	for (size_t i = 0; i < n && !(l->in->plan && l->in->plan->hold_s); i++) {
		const struct launch_path_stats *s = &paths[i];
		char why[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];
		bool mounts = health_has_mount(l->w, s->peer, true) ||
			      health_has_mount(l->w, s->peer, false);

		if (!s->up || !s->standby || is_swapped(paths, n, s->peer) ||
		    !health_label_is_unshared(paths, n, s->leg, s->peer, mounts))
			continue;
		snprintf(why, sizeof(why),
			 "label-unshared: %.40s carries no load to %.40s, because no leg there has "
			 "its label, %.40s: give the legs at one switch the same label (plenum net "
			 "label %.40s SWITCH; plenum apply)",
			 s->leg, s->peer, label_of(l->w, s->leg), s->leg);
		health_key_path(s->leg, s->peer, key, sizeof(key));
		health_note(l, LABELS_NS, HEALTH_LABELS, key, why);
	}
}

void health_look_at_labels(struct health_look *l)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);
	char why[HEALTH_TEXT_MAX];

	look_at_standby(l, paths, n);

	for (size_t i = 0; i < n; i++) {
		const char *peer = paths[i].peer;

		if (!paths[i].swapped || !is_swapped(paths, n, peer))
			continue;
		snprintf(why, sizeof(why),
			 "labels-swapped: every path to %.63s crosses between switches, although "
			 "the hosts share a switch: the cables or the labels of the legs are "
			 "swapped on one of the hosts",
			 peer);
		health_note(l, LABELS_NS, HEALTH_LABELS, peer, why);
	}
}
