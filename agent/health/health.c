/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks each worker, fills the list of problems, and delays the report of problems that may pass
 * soon. */
#include "agent/health/health.h"
#include "agent/base/stats_page.h"
#include "agent/supervise/mounts/mounts.h"
#include "netcfg/base/file.h"
#include "netcfg/base/vec.h"
#include <stdio.h>
#include <string.h>

/* Delays of reports, for each kind of problem. */
#define RESTART_NS (3 * NSEC_PER_SEC) /* for a worker's restart, which programs do not notice */
#define MOUNT_NS (2 * NSEC_PER_SEC)   /* for the time until a session is established */
#define LABELS_NS (5 * NSEC_PER_SEC)  /* for the time until both hosts know of a change */
#define LEG_NS (1 * NSEC_PER_SEC)     /* for the time until the plan knows of a lost carrier */
/* For the time of a failover. Also for a leg that another program changed and the agent repaired:
 * it needs this time to carry data again. */
#define PATH_NS (3 * NSEC_PER_SEC)
/* How long a cause that is no longer found stays reported before a guess replaces it. */
#define GUESS_NS (3 * NSEC_PER_SEC)
/* A path that loses packets may be down for a moment. It is reported as down only after this
 * time. */
#define LOSSY_DOWN_NS (5 * NSEC_PER_SEC)
#define MTU_NS (10 * NSEC_PER_SEC) /* until a path that was diverted has found its MTU */
#define ARP_BYTES_MAX (1U << 20)

struct look { /* one check of all workers */
	struct health *h;
	const struct health_inputs *in;
	const struct sup_worker *w;
	uint64_t now;
	char *arp; /* NULL: the ARP table has not been read yet */
};

/* ---- the list ---- */

static struct health_entry *find(struct health *h, uint32_t worker, enum health_kind kind,
				 const char *key)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->entries[i].worker == worker && h->entries[i].kind == kind &&
		    strcmp(h->entries[i].key, key) == 0)
			return &h->entries[i];
	return NULL;
}

static struct health_entry *add(struct health *h)
{
	return vec_add(&h->entries, &h->n, sizeof(*h->entries));
}

/* Whether the text only lists possible causes of a silent peer. */
static bool is_guess(const char *text)
{
	static const char *const codes[] = {"no-answer: ", "no-neighbour: ", "no-service: "};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strncmp(text, codes[i], strlen(codes[i])) == 0)
			return true;
	return false;
}

/* Whether the entry keeps its text for now. Its cause has just ended, but the path or mount is not
 * up again yet, so the peer still does not answer, and a guess would be wrong. */
static bool keeps_text(struct health_entry *e, const char *text, uint64_t now)
{
	if (e->due_ns > now || is_guess(e->text) || !is_guess(text)) {
		e->guess_since_ns = 0;
		return false;
	}
	if (!e->guess_since_ns)
		e->guess_since_ns = now;
	return now < e->guess_since_ns + GUESS_NS;
}

static struct health_entry *note(struct look *l, uint64_t hold_ns, enum health_kind kind,
				 const char *key, const char *text)
{
	struct health *h = l->h;
	struct health_entry *e = find(h, l->w->id, kind, key);

	if (!e) {
		e = add(h);
		if (!e) /* if memory is short, the problem is not reported */
			return NULL;
		*e = (struct health_entry){
			.worker = l->w->id, .kind = kind, .due_ns = l->now + hold_ns};
		snprintf(e->key, sizeof(e->key), "%s", key);
	}
	e->seen = true;
	if (e->text[0] && keeps_text(e, text, l->now))
		return e;
	e->reported_elsewhere = false; /* the caller sets it if it is true for this text */
	snprintf(e->text, sizeof(e->text), "%s", text);
	return e;
}

static void drop_unseen(struct health *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->n; i++)
		if (h->entries[i].seen)
			h->entries[kept++] = h->entries[i];
	h->n = kept;
	for (size_t i = 0; i < h->n; i++)
		h->entries[i].seen = false;
}

static bool is_of_leg(const struct health_entry *e)
{
	return e->kind == HEALTH_CARRIER || e->kind == HEALTH_PORT;
}

/* Appends the reasons of the other legs, as far as there is room. */
static void add_legs(const struct health *h, const struct health_entry *best, uint64_t now,
		     char *buf, size_t size)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct health_entry *e = &h->entries[i];
		size_t len = strlen(buf);

		if (e->worker == best->worker && e->due_ns <= now && e != best && is_of_leg(e) &&
		    len + strlen(e->text) + 3 < size)
			snprintf(buf + len, size - len, "; %s", e->text);
	}
}

void health_reason(const struct health *h, uint32_t worker, char *buf, size_t size)
{
	const struct health_entry *best = NULL;
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < h->n; i++) {
		const struct health_entry *e = &h->entries[i];

		if (e->worker == worker && e->due_ns <= now && (!best || e->kind < best->kind))
			best = e;
	}
	snprintf(buf, size, "%s", best ? best->text : "");
	if (best && is_of_leg(best))
		add_legs(h, best, now, buf, size);
}

static void path_key(const char *leg, const char *peer, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s", leg, peer);
}

const char *health_path_reason(const struct health *h, uint32_t worker, const char *leg,
			       const char *peer, bool up)
{
	char key[HEALTH_KEY_MAX];

	path_key(leg, peer, key, sizeof(key));
	for (size_t i = 0; i < h->n; i++) {
		const struct health_entry *e = &h->entries[i];

		if (e->worker != worker)
			continue;
		if ((e->kind == HEALTH_LOSS || e->kind == HEALTH_SLOW) &&
		    e->due_ns <= clock_now_ns() && strcmp(e->key, key) == 0)
			return e->text;
		if (up)
			continue;
		if ((e->kind == HEALTH_PATH && strcmp(e->key, key) == 0) ||
		    (e->kind == HEALTH_CARRIER && strcmp(e->key, leg) == 0))
			return e->text;
	}
	return NULL;
}

/* ---- the plan ---- */

static const struct plan_worker *plan_worker(const struct plan *p, uint32_t id)
{
	for (size_t i = 0; p && i < p->n_workers; i++)
		if (p->workers[i].id == id)
			return &p->workers[i];
	return NULL;
}

/* ---- one worker ---- */

/* Returns the ARP table, which is read only if a peer does not answer. */
static const char *arp_table(struct look *l)
{
	size_t len;

	if (!l->arp && file_read("/proc/net/arp", ARP_BYTES_MAX, &l->arp, &len) < 0)
		l->arp = strdup("");
	return l->arp;
}

static void look_at_process(struct look *l)
{
	const struct sup_worker *w = l->w;
	const struct plan_worker *pw = plan_worker(l->in->plan, w->id);
	const char *why = w->reason[0] ? w->reason : w->reported;
	bool is_known = w->state == SUP_FAILED || w->held || sup_dies_again(w, l->now);
	char text[HEALTH_TEXT_MAX], of_plan[REASON_FORMAT_MAX];

	/* The plan has the reason why it gave the worker no leg, for example a missing core. */
	if (w->config.n_ports == 0 && pw && reason_is_set(&pw->reason))
		why = reason_format(&pw->reason, of_plan, sizeof(of_plan));
	snprintf(text, sizeof(text), "is %s%s%.250s", sup_state_to_string(w->state),
		 why[0] ? ": " : "", why);
	note(l, is_known ? 0 : RESTART_NS, HEALTH_STATE, "", text);
}

/* Reports a worker that dies again and again, even while it is up between two deaths. */
static void look_at_deaths(struct look *l)
{
	const struct sup_worker *w = l->w;
	char text[HEALTH_TEXT_MAX];

	if (!sup_dies_again(w, l->now))
		return;
	snprintf(text, sizeof(text),
		 "dies-again: died %u times in a row, last: %.200s; see 'plenum events'",
		 w->n_deaths, w->died_of[0] ? w->died_of : "cause unknown");
	note(l, 0, HEALTH_STATE, "deaths", text);
}

/* Whether a path of the worker was down before. Then the mount's problem is not new, and its report
 * is not delayed, so that the state does not flap. */
static bool was_in_trouble(const struct look *l)
{
	const struct health *h = l->h;

	for (size_t i = 0; i < h->n; i++)
		if (h->entries[i].worker == l->w->id && h->entries[i].kind == HEALTH_PATH &&
		    h->entries[i].due_ns <= l->now)
			return true;
	return false;
}

static bool is_reached(const struct look *l, const char *peer)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);

	for (size_t i = 0; i < n; i++)
		if (paths[i].up && strcmp(paths[i].peer, peer) == 0)
			return true;
	return false;
}

/* Whether a fault of the cable or address of one of the worker's legs explains why the peer does
 * not answer. */
static bool explains(const struct look *l, struct reason *ret)
{
	for (uint32_t i = 0; i < l->w->config.n_ports; i++)
		if (wiring_explains(l->in->wiring, l->w->config.ports[i].leg,
				    &l->w->config.ports[i].ip.addr, ret))
			return true;
	return false;
}

/* The worker's own reason, such as a refusal by the server, has priority over causes that the agent
 * finds. */
static void look_at_mount(struct look *l, uint32_t i)
{
	const struct launch_mount *m = &l->w->config.mounts[i];
	char text[HEALTH_TEXT_MAX], why[HEALTH_TEXT_MAX], refusal[LAUNCH_REASON_MAX];
	struct reason fault;

	const char *lacks = mounts_why(l->in->mounts, m->path);

	if (lacks) {
		snprintf(text, sizeof(text), "mount-point: %.290s", lacks);
		note(l, 0, HEALTH_MOUNT, m->path, text);
		return;
	}
	if (launch_stat_get(&l->w->stats->mounts[i].served))
		return;
	stats_page_text(l->w->stats, l->w->stats->mounts[i].reason, refusal, sizeof(refusal));
	if (refusal[0])
		snprintf(why, sizeof(why), "%s", refusal);
	else if (is_reached(l, m->peer))
		snprintf(why, sizeof(why),
			 "no-service: %.63s is reachable, but does not serve '%.63s' yet: its "
			 "worker may be slow or hung",
			 m->peer, m->export_name);
	else if (explains(l, &fault))
		reason_format(&fault, why, sizeof(why));
	else
		health_explain_silence(&l->w->config, l->w->stats, l->in->plan, m, l->in->carriers,
				       arp_table(l), why, sizeof(why));
	snprintf(text, sizeof(text), "%.240s (for %.64s)", why, m->path);
	note(l, refusal[0] || was_in_trouble(l) ? 0 : MOUNT_NS, HEALTH_MOUNT, m->path, text);
}

static const struct launch_port *port_of(const struct sup_worker *w, const char *leg)
{
	for (uint32_t i = 0; i < w->config.n_ports; i++)
		if (strcmp(w->config.ports[i].leg, leg) == 0)
			return &w->config.ports[i];
	return NULL;
}

/* With failover, the worker itself reports which port carries the load. */
static void look_at_carriers(struct look *l)
{
	for (uint32_t i = 0; !l->w->config.failover && i < l->w->config.n_ports; i++) {
		const struct launch_port *p = &l->w->config.ports[i];
		struct health_entry *e;
		char text[HEALTH_TEXT_MAX];

		if (carriers_usable(l->in->carriers, p->ifindex))
			continue;
		snprintf(text, sizeof(text), "no-carrier: %.63s (%.15s) has no carrier", p->leg,
			 p->ifname);
		e = note(l, 0, HEALTH_CARRIER, p->leg, text);
		if (e)
			e->reported_elsewhere = true;
	}
}

static bool has_mount(const struct sup_worker *w, const char *peer, bool served)
{
	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		if (strcmp(w->config.mounts[i].peer, peer) == 0 &&
		    (launch_stat_get(&w->stats->mounts[i].served) != 0) == served)
			return true;
	return false;
}

/* Whether the peer is up: a server if one of its mounts is served, a client if one of its paths is
 * up. A server's failure is a problem of its mounts; a client that is off is not reported. */
static bool peer_answers(const struct sup_worker *w, const struct launch_path_stats *paths,
			 size_t n, const char *peer)
{
	if (has_mount(w, peer, true) || has_mount(w, peer, false))
		return has_mount(w, peer, true);
	for (size_t i = 0; i < n; i++)
		if (paths[i].up && strcmp(paths[i].peer, peer) == 0)
			return true;
	return false;
}

/* Whether only the session of a mount that is not served is down: another session between the leg
 * and the peer works. The mount's problem then has the reason. */
static bool is_of_waiting_mount(const struct sup_worker *w, const struct launch_path_stats *paths,
				size_t n, const struct launch_path_stats *s)
{
	if (!has_mount(w, s->peer, false))
		return false;
	for (size_t i = 0; i < n; i++)
		if (paths[i].up && strcmp(paths[i].leg, s->leg) == 0 &&
		    strcmp(paths[i].remote, s->remote) == 0)
			return true;
	return false;
}

/* Whether it does no harm that the path is down. With separate fabrics, standby paths between legs
 * of different fabrics never come up. This is a problem only if the leg has no working path in its
 * own fabric either. */
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
static const struct plan_leg_info *lost_leg(const struct look *l, const char *leg)
{
	const struct plan_leg_info *info = health_plan_leg(l->in->plan, leg);

	return info && !plan_leg_is_configured(info) ? info : NULL;
}

static void note_path_of_lost(struct look *l, const struct plan_leg_info *leg, const char *peer)
{
	char text[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];
	struct health_entry *e;

	snprintf(text, sizeof(text), "leg-missing: %s is %s", leg->name,
		 plan_leg_state_to_string(leg->state));
	path_key(leg->name, peer, key, sizeof(key));
	e = note(l, 0, HEALTH_PATH, key, text);
	if (e)
		e->reported_elsewhere = true;
}

/* Whether the leg's own fault explains the problem: another host has its address, or its cable
 * leads to another network. If so, records it. */
static bool note_path_of_faulty(struct look *l, const struct launch_port *port, const char *peer)
{
	char text[REASON_FORMAT_MAX], key[HEALTH_KEY_MAX];
	struct health_entry *e;
	struct reason why;

	if (!wiring_explains(l->in->wiring, port->leg, &port->ip.addr, &why))
		return false;
	path_key(port->leg, peer, key, sizeof(key));
	e = note(l, 0, HEALTH_PATH, key, reason_format(&why, text, sizeof(text)));
	if (e)
		e->reported_elsewhere = true;
	return true;
}

/* Whether the path is degraded because of losses, even if the losses have just taken it down for a
 * moment. */
static bool is_lossy(const struct look *l, const struct launch_path_stats *s)
{
	return (s->lossy_out || s->lossy_in) && (s->up || l->now < s->since_ns + LOSSY_DOWN_NS);
}

/* Returns, among the paths from `i` on, the path with the largest loss between the leg and the peer
 * of path `i`. Returns NULL if an earlier path has the same leg and peer. */
static const struct launch_path_stats *worst_of(const struct look *l,
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

static void look_at_loss(struct look *l)
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
		path_key(s->leg, s->peer, key, sizeof(key));
		note(l, 0, HEALTH_LOSS, key, why);
	}
}

/* Whether another path between this leg and peer has a longer round-trip time. */
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

static void look_at_latency(struct look *l)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(l->w->stats, paths);

	for (size_t i = 0; i < n; i++) {
		char why[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];

		if (!paths[i].up || !paths[i].slow_ns || is_less_slow(paths, n, i))
			continue;
		health_explain_slow(&paths[i], why, sizeof(why));
		path_key(paths[i].leg, paths[i].peer, key, sizeof(key));
		note(l, 0, HEALTH_SLOW, key, why);
	}
}

/* Adds one entry per leg and peer, for any number of paths. */
static void look_at_paths(struct look *l)
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
		    is_of_waiting_mount(l->w, paths, n, s))
			continue;
		if (lost) {
			note_path_of_lost(l, lost, s->peer);
			continue;
		}
		if (note_path_of_faulty(l, port, s->peer))
			continue;
		health_explain_path(&l->w->config, l->w->stats, l->in->plan, port, s->peer,
				    s->remote, arp_table(l), why, sizeof(why));
		path_key(s->leg, s->peer, key, sizeof(key));
		note(l, PATH_NS, HEALTH_PATH, key, why);
	}
}

/* Whether all working paths to the peer are standby, some of them because of the label: then the
 * legs of one host are exchanged. */
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

/* With active-backup, legs are standby because the operator configured it. */
static void look_at_standby(struct look *l, const struct launch_path_stats *paths, size_t n)
{
	for (size_t i = 0; i < n && !(l->in->plan && l->in->plan->hold_s); i++) {
		const struct launch_path_stats *s = &paths[i];
		char why[HEALTH_TEXT_MAX], key[HEALTH_KEY_MAX];
		bool mounts = has_mount(l->w, s->peer, true) || has_mount(l->w, s->peer, false);

		if (!s->up || !s->standby || is_swapped(paths, n, s->peer) ||
		    !health_label_is_unshared(paths, n, s->leg, s->peer, mounts))
			continue;
		snprintf(why, sizeof(why),
			 "label-unshared: %.40s carries no load to %.40s, none of whose legs has "
			 "its label, %.40s: give the legs at one switch one label (plenum net "
			 "label %.40s SWITCH; plenum apply)",
			 s->leg, s->peer, label_of(l->w, s->leg), s->leg);
		path_key(s->leg, s->peer, key, sizeof(key));
		note(l, LABELS_NS, HEALTH_LABELS, key, why);
	}
}

static void look_at_labels(struct look *l)
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
			 "the hosts share one: the cables or the labels of the legs are swapped on "
			 "one of the hosts",
			 peer);
		note(l, LABELS_NS, HEALTH_LABELS, peer, why);
	}
}

/* Adds the reasons that the worker's page has per leg: a port that could not be opened or that does
 * not work as configured. */
static void look_at_ports(struct look *l)
{
	const struct launch_config *c = l->w->started ? l->w->started : &l->w->config;

	for (uint32_t i = 0; i < c->n_ports; i++) {
		char text[LAUNCH_REASON_MAX];

		stats_page_text(l->w->stats, l->w->stats->ports[i].reason, text, sizeof(text));
		if (text[0])
			note(l, 0, HEALTH_PORT, c->ports[i].leg, text);
	}
}

/* Adds packets that arrived at this host but were dropped because the worker's receive queue was
 * full. */
static void look_at_missed(struct look *l)
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
			 "rx-drops: %.63s (%.15s) drops %s that arrive: the worker's %s is full, "
			 "because its core has too little time",
			 c->ports[i].leg, c->ports[i].ifname,
			 health_drops_format(d, share, sizeof(share)),
			 strcmp(by, "udp") == 0 ? "socket" : "receive queue");
		note(l, 0, HEALTH_DROPS, c->ports[i].leg, why);
	}
}

/* Whether the text says that a leg's large frames do not arrive, while another program diverts the
 * leg's packets to an interface that may have a smaller MTU. In that case the leg's own state names
 * that program's change. */
static bool is_of_diverted_leg(const struct look *l, const char *text)
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
static void look_at_page(struct look *l)
{
	char text[LAUNCH_REASON_MAX];
	struct health_entry *e;

	stats_page_text(l->w->stats, l->w->stats->reason, text, sizeof(text));
	for (uint32_t i = 0; text[0] && i < l->w->config.n_mounts; i++) {
		char refusal[LAUNCH_REASON_MAX];

		stats_page_text(l->w->stats, l->w->stats->mounts[i].reason, refusal,
				sizeof(refusal));
		if (strcmp(refusal, text) == 0)
			return;
	}
	e = text[0] ? note(l, 0, HEALTH_PAGE, "", text) : NULL;
	if (e && is_of_diverted_leg(l, text))
		e->due_ns = l->now + MTU_NS;
}

static void look_at_plan(struct look *l)
{
	const struct plan_worker *pw = plan_worker(l->in->plan, l->w->id);
	char text[REASON_FORMAT_MAX];
	struct health_entry *e;

	if (!pw || !reason_is_set(&pw->reason) || plan_worker_is_content(pw))
		return;
	e = note(l, 0, HEALTH_PLAN, "", reason_format(&pw->reason, text, sizeof(text)));
	if (e)
		e->reported_elsewhere = strncmp(text, "leg-missing", 11) == 0;
}

/* Adds exports that are served although their paths lead to other folders now. */
static void look_at_exports(struct look *l)
{
	const struct launch_config *c = l->w->started;

	for (uint32_t i = 0; c && i < c->n_exports; i++) {
		const struct reason *why = sup_export_differs(l->w->sup, &c->exports[i]);
		char text[REASON_FORMAT_MAX];

		if (reason_is_set(why))
			note(l, 0, HEALTH_MOUNT, c->exports[i].name,
			     reason_format(why, text, sizeof(text)));
	}
}

static void look_at_worker(struct look *l)
{
	if (l->w->state != SUP_UP || !l->w->stats) {
		look_at_process(l);
		return;
	}
	look_at_deaths(l);
	if (l->w->off_core[0])
		note(l, 0, HEALTH_STATE, "core", l->w->off_core);
	for (uint32_t i = 0; i < l->w->config.n_mounts; i++)
		look_at_mount(l, i);
	if (l->w->lacks[0])
		note(l, 0, HEALTH_MOUNT, "export", l->w->lacks);
	look_at_exports(l);
	look_at_carriers(l);
	look_at_ports(l);
	look_at_page(l);
	look_at_paths(l);
	look_at_loss(l);
	look_at_latency(l);
	look_at_missed(l);
	look_at_labels(l);
	look_at_plan(l);
}

/* ---- all workers ---- */

/* Whether the leg's own state reports the problem. After the loss of a carrier, a reconcile sets
 * that state, but it may be delayed; until then the problem is reported here. */
static bool is_reported_elsewhere(const struct plan *p, const struct health_entry *e, uint64_t now)
{
	const struct plan_leg_info *leg;

	if (!e->reported_elsewhere || e->kind != HEALTH_CARRIER || now < e->due_ns + LEG_NS)
		return e->reported_elsewhere;
	leg = health_plan_leg(p, e->key);
	return leg && leg->state != PLAN_LEG_USABLE;
}

static json_t *problems(const struct look *l)
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

bool health_waits(const struct health *h)
{
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < h->n; i++) {
		const struct health_entry *e = &h->entries[i];

		/* Paths do not count, because clients of a server come and go all the time. */
		if ((e->kind == HEALTH_STATE || e->kind == HEALTH_MOUNT) && e->due_ns > now)
			return true;
	}
	return false;
}

/* Returns the time until the next check or, if that is earlier, the next report of an entry. */
static uint64_t next_in_ns(const struct look *l)
{
	uint64_t next_ns = l->now + (l->in->starting ? HEALTH_START_NS : HEALTH_LOOK_NS);

	for (size_t i = 0; i < l->h->n; i++)
		if (l->h->entries[i].due_ns > l->now)
			next_ns = MIN_OF(next_ns, l->h->entries[i].due_ns);
	return next_ns - l->now;
}

uint64_t health_check(struct health *h, const struct health_inputs *in, json_t **ret_problems)
{
	struct look l = {.h = h, .in = in, .now = clock_now_ns()};
	bool any = false;

	for (l.w = sup_first(in->sup); l.w; l.w = l.w->next) {
		if (!l.w->wanted)
			continue;
		any = true;
		look_at_worker(&l);
	}
	free(l.arp);
	drop_unseen(h);
	*ret_problems = problems(&l);
	return any ? next_in_ns(&l) : 0;
}

void health_done(struct health *h)
{
	free(h->entries);
	free(h->ports);
	*h = (struct health){0};
}
