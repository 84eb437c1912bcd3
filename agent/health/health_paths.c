/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds paths that are down, lose packets or are slow. */
#include "agent/base/stats_page.h"
#include "agent/health/health_internal.h"
#include <string.h>

/* The time that a failover needs. A leg that another program has changed needs the same time after
 * the agent's repair before it carries data again. */
#define PATH_NS (3 * NSEC_PER_SEC)
/* Losses may take a path down for a moment. So a path is reported as down only after this time. */
#define LOSSY_DOWN_NS (5 * NSEC_PER_SEC)

static const struct launch_port *port_of(const struct sup_worker *w, const char *leg)
{
	for (uint32_t i = 0; i < w->config.n_ports; i++)
		if (strcmp(w->config.ports[i].leg, leg) == 0)
			return &w->config.ports[i];
	return NULL;
}

/* Returns whether the peer is up. A server is up if it serves one of the mounts; a client is up if
 * one of its paths is up. A server's failure is a problem of its mounts; a client that is off is
 * not reported. */
static bool peer_answers(const struct sup_worker *w, const struct launch_path_stats *paths,
			 size_t n, const char *peer)
{
	if (health_has_mount(w, peer, true) || health_has_mount(w, peer, false))
		return health_has_mount(w, peer, true);
	for (size_t i = 0; i < n; i++)
		if (paths[i].up && strcmp(paths[i].peer, peer) == 0)
			return true;
	return false;
}

/* Returns whether only the session of a mount that is not served is down: another session between
 * the leg and the peer works. The mount's problem then has the reason. */
static bool is_of_waiting_mount(const struct sup_worker *w, const struct launch_path_stats *paths,
				size_t n, const struct launch_path_stats *s)
{
	if (!health_has_mount(w, s->peer, false))
		return false;
	for (size_t i = 0; i < n; i++)
		if (paths[i].up && strcmp(paths[i].leg, s->leg) == 0 &&
		    strcmp(paths[i].remote, s->remote) == 0)
			return true;
	return false;
}

/* Returns whether the path belongs to the session of a mount that the server refuses. The server
 * answers, so the path's silence has no cause in the network. */
static bool is_of_refused_mount(const struct sup_worker *w, const struct launch_path_stats *s)
{
	char text[LAUNCH_REASON_MAX];

	if (s->serves >= LAUNCH_MOUNTS_MAX || w->config.role != LAUNCH_FRONTEND)
		return false;
	stats_page_text(w->stats, w->stats->mounts[s->serves].reason, text, sizeof(text));
	return text[0] != '\0';
}

/* Returns whether the path may be down without harm. With separate fabrics, standby paths between
 * legs of different fabrics never come up. This is a problem only if the leg has no working path in
 * its own fabric either. */
static bool is_expected_down(const struct launch_path_stats *paths, size_t n,
			     const struct launch_path_stats *s)
{
	if (!s->standby || s->state != LAUNCH_PATH_JOINING)
		return false;
	for (size_t i = 0; i < n; i++)
		if (paths[i].up && !paths[i].standby && strcmp(paths[i].leg, s->leg) == 0 &&
		    strcmp(paths[i].peer, s->peer) == 0)
			return true;
	return false;
}

/* Returns the leg of the path if the leg's device was removed while the worker uses it, or NULL if
 * the device exists. Neither the carrier nor the peer explains such a failure. */
static const struct plan_leg_info *lost_leg(const struct health_look *l, const char *leg)
{
	const struct plan_leg_info *info = health_plan_leg(l->in->plan, leg);

	return info && !plan_leg_is_configured(info) ? info : NULL;
}

static void note_path_of_lost(struct health_look *l, const struct plan_leg_info *leg,
			      const char *peer)
{
	char text[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];
	struct health_entry *e;

	snprintf(text, sizeof(text), "leg-missing: %s is %s", leg->name,
		 plan_leg_state_to_string(leg->state));
	health_key_path(leg->name, peer, key, sizeof(key));
	e = health_note(l, 0, HEALTH_PATH, key, text);
	if (e)
		e->reported_elsewhere = true;
}

/* Returns whether a fault of the leg explains the problem: another host has the leg's address, or
 * the leg's cable leads to another network. If so, records it. */
static bool note_path_of_faulty(struct health_look *l, const struct launch_port *port,
				const char *peer)
{
	char text[REASON_FORMAT_MAX], key[HEALTH_KEY_MAX];
	struct health_entry *e;
	struct reason why;

	if (!wiring_explains(l->in->wiring, port->leg, &port->ip.addr, &why))
		return false;
	health_key_path(port->leg, peer, key, sizeof(key));
	e = health_note(l, 0, HEALTH_PATH, key, reason_format(&why, text, sizeof(text)));
	if (e)
		e->reported_elsewhere = true;
	return true;
}

/* Returns whether the path is down because no host answers its leg. If so, records it. */
static bool note_path_of_dead(struct health_look *l, const char *leg, const char *peer)
{
	char text[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];
	struct health_entry *e;

	if (!l->in->leg_is_dead || !l->in->leg_is_dead(l->in->user, leg))
		return false;
	snprintf(text, sizeof(text), "leg-unreachable: no host answers on %s", leg);
	health_key_path(leg, peer, key, sizeof(key));
	e = health_note(l, 0, HEALTH_PATH, key, text);
	if (e)
		e->reported_elsewhere = true;
	return true;
}

/* Returns whether the path is degraded because of losses, even if the losses have just taken it
 * down for a moment. */
static bool is_lossy(const struct health_look *l, const struct launch_path_stats *s)
{
	return (s->lossy_out || s->lossy_in) && (s->up || l->now < s->since_ns + LOSSY_DOWN_NS);
}

/* Returns, among the paths from `i` on, the path with the largest loss between the leg and the peer
 * of path `i`. Returns NULL if an earlier path has the same leg and peer. */
static const struct launch_path_stats *worst_of(const struct health_look *l,
						const struct launch_path_stats *paths, size_t n,
						size_t i)
{
	const struct launch_path_stats *worst = &paths[i];

	for (size_t k = 0; k < n; k++) {
		const struct launch_path_stats *s = &paths[k];

		if (!is_lossy(l, s) || strcmp(s->leg, paths[i].leg) != 0 ||
		    strcmp(s->peer, paths[i].peer) != 0)
			continue;
		if (k < i)
			return NULL;
		if (MAX_OF(health_loss_ppm(s, true), health_loss_ppm(s, false)) >
		    MAX_OF(health_loss_ppm(worst, true), health_loss_ppm(worst, false)))
			worst = s;
	}
	return worst;
}

void health_look_at_loss(struct health_look *l)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);

	for (size_t i = 0; i < n; i++) {
		const struct launch_path_stats *s =
			is_lossy(l, &paths[i]) ? worst_of(l, paths, n, i) : NULL;
		char why[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];

		if (!s)
			continue;
		health_explain_loss(s, why, sizeof(why));
		health_key_path(s->leg, s->peer, key, sizeof(key));
		health_note(l, 0, HEALTH_LOSS, key, why);
	}
}

/* Returns whether another path between the leg and the peer of path `i` has a longer round-trip
 * time. */
static bool is_less_slow(const struct launch_path_stats *paths, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++)
		if (paths[k].up && strcmp(paths[k].leg, paths[i].leg) == 0 &&
		    strcmp(paths[k].peer, paths[i].peer) == 0 &&
		    (paths[k].slow_ns > paths[i].slow_ns ||
		     (paths[k].slow_ns == paths[i].slow_ns && k < i)))
			return true;
	return false;
}

void health_look_at_latency(struct health_look *l)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);

	for (size_t i = 0; i < n; i++) {
		char why[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];

		if (!paths[i].up || !paths[i].slow_ns || is_less_slow(paths, n, i))
			continue;
		health_explain_slow(&paths[i], why, sizeof(why));
		health_key_path(paths[i].leg, paths[i].peer, key, sizeof(key));
		health_note(l, 0, HEALTH_SLOW, key, why);
	}
}

/* Adds the problems of the worker's paths: one entry per leg and peer, for any number of paths
 * between them. */
void health_look_at_paths(struct health_look *l)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);

	for (size_t i = 0; i < n; i++) {
		const struct launch_path_stats *s = &paths[i];
		const struct launch_port *port = port_of(l->w, s->leg);
		const struct plan_leg_info *lost = lost_leg(l, s->leg);
		char why[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];

		if (s->up || is_lossy(l, s) || !port ||
		    !carriers_usable(l->in->carriers, port->ifindex) ||
		    !peer_answers(l->w, paths, n, s->peer) || is_expected_down(paths, n, s) ||
		    is_of_waiting_mount(l->w, paths, n, s) || is_of_refused_mount(l->w, s))
			continue;
		if (lost) {
			note_path_of_lost(l, lost, s->peer);
			continue;
		}
		if (note_path_of_faulty(l, port, s->peer) || note_path_of_dead(l, s->leg, s->peer))
			continue;
		health_explain_path(&l->w->config, l->w->stats, l->in->plan, port, s->peer,
				    s->remote, health_look_arp(l), why, sizeof(why));
		health_key_path(s->leg, s->peer, key, sizeof(key));
		health_note(l, PATH_NS, HEALTH_PATH, key, why);
	}
}
