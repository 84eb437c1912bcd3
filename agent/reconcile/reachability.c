/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks after an apply that the peers which answered the workers before it still answer. The
 * applier's own probes use the kernel's sockets, but the packets of a DPDK leg reach only its
 * worker. So the applier waits as it does for a confirmation, while this file watches the paths of
 * the workers' sessions. If the agent dies meanwhile, the next agent continues the check; if none
 * does before the confirmation time ends, the apply is rolled back.
 */
#include "agent/reconcile/reachability.h"
#include "agent/base/stats_page.h"
#include "agent/reconcile/reconcile_internal.h"
#include "agent/reconcile/reconcile_mounts.h"
#include "agent/reconcile/reconcile_pending.h"
#include "agent/reconcile/reconcile_queue.h"
#include "netcfg/apply/apply_reach.h"
#include "netcfg/base/vec.h"
#include <stdio.h>
#include <string.h>

#define LOOK_NS (200 * NSEC_PER_MSEC)
/* Time to answer once the workers run; a peer may be restarting its own workers. */
#define ANSWER_NS (15 * NSEC_PER_SEC)
#define START_NS (SUP_STOP_LIMIT_NS + SUP_START_LIMIT_NS)
/* After this many received packets, the peer is known to answer. A single packet is not enough,
 * because the peer may have sent it before the change. */
#define NEW_PACKETS_MIN 2

/* ---- the worker that must reach a peer ---- */

static const struct launch_port *port_find(const struct launch_config *c, const char *leg)
{
	for (uint32_t i = 0; i < c->n_ports; i++)
		if (c->failover || strcmp(c->ports[i].leg, leg) == 0)
			return &c->ports[i];
	return NULL;
}

static bool has_peer(const struct launch_config *c, const char *peer)
{
	for (uint32_t i = 0; i < c->n_mounts; i++)
		if (strcmp(c->mounts[i].peer, peer) == 0)
			return true;
	for (uint32_t i = 0; i < c->n_shared; i++)
		if (strcmp(c->shared[i].peer, peer) == 0)
			return true;
	/* Any peer of a server may be a client, because the configuration of a server does not list
	 * its clients. */
	return c->role != LAUNCH_FRONTEND;
}

static bool must_reach(const struct launch_config *c, const struct verified_peer *p)
{
	return c->role == p->role && port_find(c, p->leg) && has_peer(c, p->peer) &&
	       (p->by_dpdk || c->transport != LAUNCH_UDP);
}

/* Finds the worker of the new generation that must reach the peer through the leg. This is the
 * worker of the path. If that worker no longer has the peer, another worker that has the peer is
 * chosen. Returns NULL if there is none. */
static const struct launch_config *responsible_find(const struct launch_config *desired, size_t n,
						    const struct verified_peer *p)
{
	const struct launch_config *other = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct launch_config *c = &desired[i];

		if (!must_reach(c, p))
			continue;
		if (c->worker_id == p->worker)
			return c;
		if (!other)
			other = c;
	}
	return other;
}

/* Returns whether the running reconcile changes that leg. */
static bool is_touched(const struct agent *a, const char *leg)
{
	const struct generation *next = &a->reconcile.run.next;
	const struct running *running = &a->running;

	for (size_t i = 0; i < next->plan->n_steps; i++)
		if (strcmp(next->plan->steps[i].leg, leg) == 0)
			return true;
	for (size_t i = 0; i < next->n_desired; i++) {
		const struct launch_port *p = port_find(&next->desired[i], leg), *was = NULL;

		for (size_t j = 0; j < running->n_desired && !was; j++)
			if (running->desired[j].worker_id == next->desired[i].worker_id)
				was = port_find(&running->desired[j], leg);
		if (p && (!was || memcmp(p, was, sizeof(*p)) != 0))
			return true;
	}
	return false;
}

/* Returns whether frames of the leg's full MTU have arrived on the path. */
static bool is_full(const struct launch_path_stats *s)
{
	return s->mtu >= s->mtu_most;
}

static void note_path(struct agent *a, const struct sup_worker *w,
		      const struct launch_path_stats *path)
{
	struct reachability *v = &a->reconcile.reachability;
	struct verified_peer p = {.worker = w->id,
				  .role = w->config.role,
				  .by_dpdk = w->config.transport != LAUNCH_UDP,
				  .full = is_full(path),
				  .counted = true};

	memcpy(p.leg, path->leg, sizeof(p.leg));
	memcpy(p.peer, path->peer, sizeof(p.peer));
	memcpy(p.remote, path->remote, sizeof(p.remote));
	for (size_t i = 0; i < v->n; i++) /* already recorded for another mount */
		if (v->paths[i].worker == p.worker && strcmp(v->paths[i].leg, p.leg) == 0 &&
		    strcmp(v->paths[i].peer, p.peer) == 0 &&
		    strcmp(v->paths[i].remote, p.remote) == 0 && v->paths[i].full >= p.full)
			return;
	if (v->n < REACHABILITY_MAX && path->up && is_touched(a, p.leg) &&
	    responsible_find(a->reconcile.run.next.desired, a->reconcile.run.next.n_desired, &p))
		v->paths[v->n++] = p;
}

/* Copies the worker's paths. Returns their number, or 0 if the worker does not run. */
static size_t paths_of(const struct sup_worker *w, struct launch_path_stats ret[LAUNCH_PATHS_MAX])
{
	return w->state == SUP_UP && w->stats ? stats_page_paths(w->stats, ret) : 0;
}

void reachability_before(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];

	rec->reachability.n = 0;
	rec->reachability.inherited = false;
	rec->reachability.moves = reconcile_is_ordered(rec) && rec->run.next.plan->n_moves > 0;
	if (!reconcile_is_ordered(rec) || reconcile_is_forced(&rec->run.client))
		return;
	for (const struct sup_worker *s = sup_first(a->sup); s; s = s->next) {
		size_t n = paths_of(s, paths);

		for (size_t i = 0; i < n; i++)
			note_path(a, s, &paths[i]);
	}
}

bool reachability_waits(const struct reconcile *rec)
{
	return rec->reachability.n > 0 || rec->reachability.moves ||
	       json_array_size(rec->reachability.replaced) > 0;
}

bool reachability_decides(const struct reconcile *rec)
{
	return reachability_waits(rec) && !rec->reachability.patient;
}

/* ---- workers that a peer answers ---- */

bool reconcile_needs_verified_peer(const struct agent *a, const struct reconcile_client *c,
				   const struct spec *spec)
{
	return !c->confirm_s && !reconcile_is_forced(c) &&
	       !(a->running.spec && a->running.spec->confirm_s) && !(spec && spec->confirm_s);
}

/* Returns whether the worker still has the peer in the configuration `spec`. The clients of a
 * server are not in the spec, so they always stay. */
static bool stays(const struct spec *spec, const struct sup_worker *w, const char *peer)
{
	for (size_t i = 0; i < spec->n_workers; i++)
		for (size_t j = 0; j < spec->workers[i].n_mounts; j++)
			if (strcmp(spec->workers[i].mounts[j].from_host, peer) == 0)
				return true;
	return w->config.role != LAUNCH_FRONTEND;
}

static bool is_answered(const struct sup_worker *w, const struct spec *spec)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = paths_of(w, paths);

	for (size_t i = 0; i < n; i++)
		if (paths[i].up && stays(spec, w, paths[i].peer))
			return true;
	return false;
}

int reachability_answered_cores(const struct agent *a, const struct spec *spec, unsigned **ret,
				size_t *ret_n)
{
	autofree unsigned *cores = NULL;
	size_t n = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		unsigned *core;

		if (!is_answered(w, spec))
			continue;
		core = vec_add(&cores, &n, sizeof(*core));
		if (!core)
			return -ENOMEM;
		*core = w->config.core;
	}
	free(*ret);
	*ret = ptr_take(cores);
	*ret_n = n;
	return 0;
}

/* ---- answers ---- */

static bool is_same(const struct verified_peer *p, const struct launch_path_stats *s,
		    const struct launch_config *c)
{
	return strcmp(s->peer, p->peer) == 0 && (c->failover || strcmp(s->leg, p->leg) == 0);
}

/* Returns whether the path has worked since the apply. A worker that was not restarted reports a
 * dead path as up until a timeout, so for such a worker only received packets count. */
static bool is_recent(const struct agent *a, const struct verified_peer *p,
		      const struct sup_worker *w, const struct launch_path_stats *s)
{
	if (w->started_ns >= a->reconcile.reachability.began_ns)
		return true;
	return p->counted && w->id == p->worker && strcmp(s->remote, p->remote) == 0 &&
	       s->rx_packets >= p->rx + NEW_PACKETS_MIN;
}

enum answer { ANSWER_NONE, ANSWER_SMALL, ANSWER_GOOD };

/* A worker on kernel sockets depends on the interface's MTU, so small frames are proof enough for
 * it. */
static enum answer answer_of(const struct agent *a, const struct verified_peer *p,
			     const struct launch_config *worker)
{
	const bool full = p->full && worker->transport != LAUNCH_UDP;
	/* For a worker that moved to VFs, only its own paths prove that it works. */
	const bool alone = worker->worker_id == p->worker && reconcile_is_on_trial(a, worker->core);
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	enum answer best = ANSWER_NONE;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		size_t n = w->config.role == p->role ? paths_of(w, paths) : 0;

		for (size_t i = 0; i < n; i++) {
			const struct launch_path_stats *s = &paths[i];

			if (!is_same(p, s, &w->config) || !s->up || !is_recent(a, p, w, s) ||
			    (alone && w->id != p->worker))
				continue;
			if (!full || is_full(s))
				return ANSWER_GOOD;
			best = ANSWER_SMALL;
		}
	}
	return best;
}

/* Returns whether the worker cannot use its transport because of this host. The worker needs
 * another transport, which is not available before this apply ends, or the worker waits for a
 * missing resource. */
static bool has_failed(const struct agent *a, uint32_t worker)
{
	const struct plan *p = a->running.plan;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->id == worker && w->no_transport)
			return true;
	for (size_t i = 0; p && i < p->n_workers; i++)
		if (p->workers[i].id == worker)
			return plan_failures_find(&a->failures, &p->workers[i]) != NULL;
	return false;
}

/* Counts packets for a check that a previous agent began. The number of packets at the beginning of
 * that check is unknown, so the count begins when this agent first sees the path up. Meanwhile
 * another worker or port may now have the path. */
static void count_inherited(const struct agent *a, struct verified_peer *p)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	const bool was = p->counted;
	const struct verified_peer old = *p;

	p->counted = false;
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		size_t n = w->config.role == p->role ? paths_of(w, paths) : 0;

		for (size_t i = 0; i < n; i++) {
			const struct launch_path_stats *s = &paths[i];

			if (!is_same(p, s, &w->config) || !s->up)
				continue;
			if (was && w->id == old.worker && strcmp(s->remote, old.remote) == 0) {
				*p = old;
				return;
			}
			if (p->counted)
				continue;
			p->counted = true;
			p->worker = w->id;
			p->rx = s->rx_packets;
			memcpy(p->remote, s->remote, sizeof(p->remote));
		}
	}
}

/* Counts the workers that moved to VFs and are not up. v->lost describes the first such worker. */
static size_t count_not_up(struct agent *a)
{
	struct reachability *v = &a->reconcile.reachability;
	size_t n = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w && v->moves; w = w->next) {
		if (!w->wanted || w->state == SUP_UP || !reconcile_is_on_trial(a, w->config.core) ||
		    n++ > 0)
			continue;
		snprintf(v->lost, sizeof(v->lost), "worker %u is %s since its move to VFs%s%.120s",
			 w->id, sup_state_to_string(w->state), w->reason[0] ? ": " : "", w->reason);
	}
	return n;
}

/* Counts the peers that do not answer and the moved workers that are not up. v->lost describes the
 * first of them. */
static size_t count_lost(struct agent *a)
{
	struct reachability *v = &a->reconcile.reachability;
	size_t n_lost = count_not_up(a);
	struct reason unserved;

	for (size_t i = 0; i < v->n && v->inherited; i++)
		count_inherited(a, &v->paths[i]);
	for (size_t i = 0; i < v->n; i++) {
		const struct verified_peer *p = &v->paths[i];
		const struct launch_config *worker =
			responsible_find(a->running.desired, a->running.n_desired, p);
		enum answer answer = worker && !has_failed(a, worker->worker_id)
					     ? answer_of(a, p, worker)
					     : ANSWER_GOOD;

		if (answer == ANSWER_GOOD || n_lost++ > 0)
			continue;
		snprintf(v->lost, sizeof(v->lost),
			 "%s no longer answers worker %u on %s%s. Fix the cause, or use "
			 "--force " PLAN_FORCE_PROBES,
			 p->peer, p->worker, p->leg,
			 answer == ANSWER_SMALL ? " with frames of the leg's MTU" : "");
	}
	v->unserved = n_lost == 0 && reconcile_mounts_lost(a, &unserved);
	if (v->unserved)
		reason_copy_text(v->lost, sizeof(v->lost), unserved.text);
	n_lost += v->unserved;
	if (n_lost == 0) /* all peers answer, so no reason is left */
		v->lost[0] = '\0';
	return n_lost;
}

static bool is_starting(const struct agent *a)
{
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->state == SUP_STARTING || w->state == SUP_STOPPING)
			return true;
	return false;
}

/* ---- waiting for answers ---- */

void reachability_answer_later(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	rec->reachability.client = rec->run.client;
	rec->reachability.n_writes = rec->run.n_writes;
	diag_append(&rec->reachability.warnings, &rec->run.diag);
}

/* Answers the client that requested the apply. error: result of the apply; confirm_s: seconds left
 * to confirm it. */
static void answer_requester(struct agent *a, int error, unsigned confirm_s)
{
	struct reachability *v = &a->reconcile.reachability;
	const struct reconcile_pending *p = &a->reconcile.pending;
	const struct reconcile_answer answer = {.error = error,
						.number = p->entry,
						.steps = p->n_steps,
						.kernel_writes = v->n_writes,
						.plan = error < 0 ? NULL : a->running.plan,
						.diag = &v->warnings,
						.entry = p->entry,
						.unserved = v->unserved,
						.confirm_s = confirm_s};

	reconcile_answer_client(a, &v->client, &answer);
	v->client.id = 0;
	v->n_writes = 0;
	diag_done(&v->warnings);
}

static void forget(struct reachability *v)
{
	v->n = 0;
	v->moves = false;
	json_array_clear(v->replaced);
}

static void decide(struct agent *a, bool keep)
{
	struct reachability *v = &a->reconcile.reachability;
	bool all = keep && v->n > 0;

	for (size_t i = 0; i < v->n && all; i++) {
		const struct launch_config *worker =
			responsible_find(a->running.desired, a->running.n_desired, &v->paths[i]);

		all = !worker || !has_failed(a, worker->worker_id);
	}
	forget(v);
	if (all)
		events_add(&a->events, LOG_LEVEL_INFO, "agent",
			   "apply %llu: all peers that answered the workers before still answer",
			   (unsigned long long)a->reconcile.pending.entry);
	if (!keep || v->alone)
		(void)reconcile_pending_order(a, keep, 0, "its workers");
	else /* all peers answer; only the operator's confirmation is missing */
		answer_requester(a, 0, reconcile_pending_left_s(a));
}

void reachability_refuse(struct agent *a, uint32_t worker, const char *why)
{
	struct reachability *v = &a->reconcile.reachability;

	forget(v); /* the peers of other workers no longer matter */
	v->unserved = false;
	snprintf(v->lost, sizeof(v->lost), "worker %u cannot use its new transport: %.160s", worker,
		 why);
	(void)reconcile_pending_order(a, false, 0, "plenumd");
}

const char *reachability_unreachable(const struct agent *a)
{
	const struct reachability *v = &a->reconcile.reachability;

	return reachability_waits(&a->reconcile) && v->patient ? v->lost : "";
}

bool reachability_is_lost(struct agent *a)
{
	return reachability_waits(&a->reconcile) && count_lost(a) > 0;
}

static int on_look(void *user)
{
	struct agent *a = user;
	struct reachability *v = &a->reconcile.reachability;
	const bool missed = v->lost[0];
	uint64_t now = clock_now_ns();

	if (!a->reconcile.pending.applier || !reachability_waits(&a->reconcile))
		return 0;
	if (reconcile_is_active(a) || is_starting(a))
		v->busy_ns = now;
	else if (count_lost(a) == 0)
		decide(a, true);
	if (missed != (v->lost[0] != '\0'))
		agent_publish(a);
	if (reachability_waits(&a->reconcile) && !v->patient &&
	    (now - v->busy_ns > ANSWER_NS || now - v->began_ns > START_NS + ANSWER_NS))
		decide(a, false);
	return reachability_waits(&a->reconcile) ? loop_timer_arm(v->timer, LOOK_NS) : 0;
}

/* Called when the network is configured, but the workers still run with the previous
 * configuration. */
void reachability_begin(struct agent *a)
{
	struct reachability *v = &a->reconcile.reachability;
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];

	v->began_ns = v->busy_ns = clock_now_ns();
	v->lost[0] = '\0';
	v->unserved = false;
	for (const struct sup_worker *w = sup_first(a->sup); w && v->n > 0 && !v->inherited;
	     w = w->next) {
		size_t n = paths_of(w, paths);

		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < v->n; j++)
				if (v->paths[j].worker == w->id &&
				    is_same(&v->paths[j], &paths[i], &w->config) &&
				    strcmp(v->paths[j].remote, paths[i].remote) == 0)
					v->paths[j].rx = paths[i].rx_packets;
	}
	if (reachability_waits(&a->reconcile))
		loop_timer_arm(v->timer, LOOK_NS);
}

void reachability_answer(struct agent *a, const struct applier_result *res, const struct diag *d)
{
	struct reachability *v = &a->reconcile.reachability;

	loop_timer_disarm(v->timer);
	if (res->error < 0)
		/* If an apply fails, only its errors are reported, not the warnings. */
		diag_done(&v->warnings);
	diag_append(&v->warnings, d);
	v->n_writes = res->n_writes;
	answer_requester(a, res->error, 0);
	forget(v);
	v->alone = v->patient = v->inherited = v->unserved = false;
}

/* ---- the ticket, which the next agent reads ---- */

static const char *mode_to_string(const struct reachability *v)
{
	return v->alone ? "alone" : v->patient ? "patient" : "brief";
}

/* Returns whether the names are valid. They come from workers and their peers; a peer with an
 * invalid name is not written to the ticket. */
static bool is_plain(const struct verified_peer *p)
{
	struct ip_addr addr;

	return spec_name_is_valid(p->leg) &&
	       (spec_name_is_valid(p->peer) || ip_addr_parse(p->peer, &addr) == 0);
}

void reachability_put(const struct agent *a, struct state_draft *ticket)
{
	const struct reachability *v = &a->reconcile.reachability;
	const json_t *path;
	size_t k;

	json_array_foreach (v->replaced, k, path) {
		state_draft_put(ticket, "replaces %s", mode_to_string(v));
		state_draft_text(ticket, json_string_value(path));
	}
	if (v->moves) {
		state_draft_put(ticket, "moves %s", mode_to_string(v));
		state_draft_end(ticket);
	}
	for (size_t i = 0; i < v->n; i++) {
		const struct verified_peer *p = &v->paths[i];

		if (!is_plain(p))
			continue;
		state_draft_put(ticket,
				"answered worker %" PRIu32
				" role %u dpdk %d full %d leg %s peer %s %s",
				p->worker, (unsigned)p->role, p->by_dpdk, p->full, p->leg, p->peer,
				mode_to_string(v));
		state_draft_end(ticket);
	}
}

static void read_mode(struct reachability *v, const char *mode)
{
	v->alone = strcmp(mode, "alone") == 0;
	v->patient = strcmp(mode, "patient") == 0;
}

static void read_peer(struct reachability *v, struct state_file *f)
{
	struct verified_peer p = {.worker = 0};
	const char *mode;

	state_file_expect(f, "worker");
	p.worker = (uint32_t)state_file_number(f, UINT32_MAX);
	state_file_expect(f, "role");
	p.role = (enum launch_role)state_file_number(f, LAUNCH_ROLE_MAX - 1);
	state_file_expect(f, "dpdk");
	p.by_dpdk = state_file_number(f, 1);
	state_file_expect(f, "full");
	p.full = state_file_number(f, 1);
	state_file_expect(f, "leg");
	state_file_copy(f, p.leg, sizeof(p.leg));
	state_file_expect(f, "peer");
	state_file_copy(f, p.peer, sizeof(p.peer));
	mode = state_file_word(f);
	if (!state_file_line_ends(f) || !is_plain(&p) || v->n == REACHABILITY_MAX)
		return;
	read_mode(v, mode);
	v->paths[v->n++] = p;
}

void reachability_inherit(struct agent *a, struct state_file *ticket)
{
	struct reachability *v = &a->reconcile.reachability;

	forget(v);
	v->alone = v->patient = false;
	if (!v->replaced)
		v->replaced = json_array();
	state_file_rewind(ticket);
	while (state_file_line(ticket)) {
		const char *word = state_file_word(ticket);

		if (strcmp(word, "moves") == 0) {
			v->moves = true;
			read_mode(v, state_file_word(ticket));
		} else if (strcmp(word, "answered") == 0) {
			read_peer(v, ticket);
		} else if (strcmp(word, "replaces") == 0) {
			read_mode(v, state_file_word(ticket));
			json_array_append_new(v->replaced, json_string(state_file_text(ticket)));
		}
	}
	v->inherited = reachability_waits(&a->reconcile);
}

int reachability_init(struct agent *a)
{
	return loop_add_timer(a->loop, NSEC_PER_MSEC, on_look, a, &a->reconcile.reachability.timer);
}

void reachability_done(struct reconcile *rec)
{
	struct reachability *v = &rec->reachability;

	v->timer = loop_source_free(v->timer);
	diag_done(&v->warnings);
	json_decref(ptr_take(v->served));
	json_decref(ptr_take(v->replaced));
}
