/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds mounts that are not served. */
#include "agent/base/stats_page.h"
#include "agent/cluster/cluster.h"
#include "agent/health/health_internal.h"
#include "agent/supervise/mounts/mounts.h"
#include <stdio.h>
#include <string.h>

#define MOUNT_NS (2 * NSEC_PER_SEC) /* the time until a session is established */

/* Returns whether a path of the worker was down before. Then the mount's problem is not new, and
 * its report is not delayed, so that the state does not flap. */
static bool was_in_trouble(const struct health_look *l)
{
	const struct health *h = l->h;

	for (size_t i = 0; i < h->n; i++)
		if (h->entries[i].worker == l->w->id && h->entries[i].kind == HEALTH_PATH &&
		    h->entries[i].due_ns <= l->now)
			return true;
	return false;
}

static bool is_reached(const struct health_look *l, const char *peer)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);

	for (size_t i = 0; i < n; i++)
		if (paths[i].up && strcmp(paths[i].peer, peer) == 0)
			return true;
	return false;
}

/* Returns whether a known fault of a leg, such as an address conflict or a wrong cable, explains
 * why the peer does not answer. */
static bool explains(const struct health_look *l, struct reason *ret)
{
	for (uint32_t i = 0; i < l->w->config.n_ports; i++)
		if (wiring_explains(l->in->wiring, l->w->config.ports[i].leg,
				    &l->w->config.ports[i].ip.addr, ret))
			return true;
	return false;
}

/* Reports a mount that is not served. The worker's own reason, such as a refusal by the server, has
 * priority over causes that the agent finds. */
void health_look_at_mount(struct health_look *l, uint32_t i)
{
	const struct launch_mount *m = &l->w->config.mounts[i];
	const struct launch_mount_stats *s = sup_mount_stats(l->w, i);
	char text[HEALTH_TEXT_MAX], why[HEALTH_TEXT_MAX], refusal[LAUNCH_REASON_MAX];
	struct reason fault;

	const char *lacks = mounts_why(l->in->mounts, m->path);

	if (lacks) {
		snprintf(text, sizeof(text), "mount-point: %.290s", lacks);
		health_note(l, 0, HEALTH_MOUNT, m->path, text);
		return;
	}
	/* A process without statistics is about to be replaced; the status shows that. */
	if (!s || launch_stat_get(&s->served))
		return;
	stats_page_text(l->w->stats, s->reason, refusal, sizeof(refusal));
	if (refusal[0])
		snprintf(why, sizeof(why), "%s", refusal);
	else if (m->n_addrs == 0 && l->in->cluster && l->in->spec)
		cluster_why_unknown(l->in->cluster, l->in->spec, m->peer, why, sizeof(why));
	else if (is_reached(l, m->peer))
		snprintf(why, sizeof(why),
			 "no-service: %.63s is reachable, but does not serve '%.63s' yet: its "
			 "worker may be slow or hung",
			 m->peer, m->export_name);
	else if (explains(l, &fault))
		reason_format(&fault, why, sizeof(why));
	else
		health_explain_silence(&l->w->config, l->w->stats, l->in->plan, m, l->in->carriers,
				       health_look_arp(l), why, sizeof(why));
	snprintf(text, sizeof(text), "%.240s (for %.64s)", why, m->path);
	health_note(l, refusal[0] || was_in_trouble(l) ? 0 : MOUNT_NS, HEALTH_MOUNT, m->path, text);
}
