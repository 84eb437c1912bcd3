/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the status snapshot; status_print.c prints it. */
#include "agent/status.h"
#include "agent/apply/progress.h"
#include "agent/base/stats_page.h"
#include "agent/health/required_actions.h"
#include "agent/legs/leg_labels.h"
#include "agent/legs/leg_wiring.h"
#include "agent/links/links_watch.h"
#include "agent/lldp/lldp.h"
#include "netcfg/plan/plan_guard.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* ---- reading a worker's page ---- */

static void add_mounts(const struct agent *a, struct status *st, const struct sup_worker *w)
{
	/* The mounts of a worker that is being removed already belong to other workers. */
	for (uint32_t i = 0; w->wanted && i < w->config.n_mounts; i++) {
		const struct launch_mount_stats *s = sup_mount_stats(w, i);
		struct status_mount *m = &st->mounts[st->n_mounts++];

		*m = (struct status_mount){
			.worker = w->id,
			.path = w->config.mounts[i].path,
			.peer = w->config.mounts[i].peer,
			.export_name = w->config.mounts[i].export_name,
			.origin = command_mounts_made(&a->command_mounts, a->running.spec,
						      w->config.mounts[i].path)
					  ? "command"
					  : "configured",
			.served = w->state == SUP_UP && s &&
				  !mounts_why(a->mounts, w->config.mounts[i].path) &&
				  !mounts_waits(a->mounts, w->config.mounts[i].path) &&
				  !mounts_is_held_back(a->mounts, w->config.mounts[i].path) &&
				  launch_stat_get(&s->served),
		};
		if (m->served)
			stats_page_text(w->stats, s->by, m->by, sizeof(m->by));
		m->limited = m->served && launch_stat_get(&s->limited);
		m->waited_ns = s ? (int64_t)launch_stat_get(&s->waited_ns) : -1;
	}
}

/* Adds the ids of the workers that share a mount. Call after all mounts were added, because a
 * worker may carry data of a mount that belongs to a later worker. */
static void add_lanes(struct status *st, const struct sup_worker *w)
{
	for (uint32_t i = 0; w->wanted && i < w->config.n_shared; i++)
		for (size_t j = 0; j < st->n_mounts; j++) {
			struct status_mount *m = &st->mounts[j];

			if (strcmp(m->path, w->config.shared[i].path) == 0 &&
			    m->n_mount_workers < LAUNCH_MOUNT_WORKERS_MAX)
				m->mount_workers[m->n_mount_workers++] = w->id;
		}
}

static const char *role_name(enum launch_role r)
{
	static const char *const names[LAUNCH_ROLE_MAX] = {"FRONTEND", "COMPUTE", "DRIVES"};

	return r < LAUNCH_ROLE_MAX ? names[r] : "?";
}

const char *status_session_mount(const struct sup_worker *w, uint64_t serves)
{
	const struct launch_config *c = w->started;

	if (!c || c->role != LAUNCH_FRONTEND)
		return "";
	if (serves < c->n_mounts)
		return c->mounts[serves].path;
	if (serves >= LAUNCH_MOUNTS_MAX && serves - LAUNCH_MOUNTS_MAX < c->n_shared)
		return c->shared[serves - LAUNCH_MOUNTS_MAX].path;
	return "";
}

const char *status_session_export(const struct sup_worker *w, uint64_t serves)
{
	const struct launch_config *c = w->started;

	return c && c->role == LAUNCH_COMPUTE && serves < c->n_exports ? c->exports[serves].name
								       : "";
}

static void add_paths(const struct agent *a, struct status *st, const struct sup_worker *w)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(w->stats, paths);
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < n; i++) {
		const struct launch_path_stats *s = &paths[i];

		st->paths[st->n_paths++] = (struct status_path){
			.worker = w->id,
			.s = *s,
			.mount = status_session_mount(w, s->serves),
			.export_name = status_session_export(w, s->serves),
			.current = status_page_is_current(w),
			.since_s = (now_ns - MIN_OF(s->since_ns, now_ns)) / NSEC_PER_SEC,
			.reason =
				health_path_reason(&a->health, w->id, s->leg, s->peer, s->up != 0)};
	}
}

static void add_totals(struct status *st, const struct sup_worker *w)
{
	const struct launch_stats *p = w->stats;

	st->totals[st->n_totals++] = (struct status_totals){
		.worker = w->id,
		.role = role_name(w->config.role),
		.requests = launch_stat_get(&p->requests),
		.responses = launch_stat_get(&p->responses),
		.request_errors = launch_stat_get(&p->request_errors),
		.read_bytes = launch_stat_get(&p->read_bytes),
		.write_bytes = launch_stat_get(&p->write_bytes),
		.rx_drops = launch_stat_get(&p->rx_drops),
		.sessions = launch_stat_get(&p->sessions),
		.refusals = launch_stat_get(&p->refusals),
		.n_refused = MIN_OF(launch_stat_get(&p->n_refused), (uint64_t)LAUNCH_REFUSED_MAX),
	};
}

/* Sets name and port of the switch at the leg. If the leg has several cables, this is the switch at
 * the first one with a known neighbour. */
static void leg_switch(const struct labels_view *v, const struct label *l,
		       char name[static PLENUM_NAME_MAX], char port[static LLDP_TEXT_MAX])
{
	for (size_t i = 0; i < l->n_cables && !name[0]; i++) {
		const struct neighbours_link *link = neighbours_find(v->heard, l->cables[i]);
		enum neighbours_verdict verdict;
		const struct neighbour *n = link ? neighbours_judge(link, &verdict) : NULL;

		if (!n)
			continue;
		labels_name(v->heard, &n->said, name);
		memcpy(port, n->said.port, LLDP_TEXT_MAX);
	}
}

/* ---- processes ---- */

static void add_switches(const struct agent *a, const struct sup_worker *w,
			 struct status_process *p)
{
	const struct labels_view v = leg_labels_view(a);

	for (uint32_t i = 0; i < w->config.n_ports; i++) {
		const struct label *l = labels_find(&a->labels, w->config.ports[i].leg);
		struct status_switch *s = &p->switches[p->n_switches++];

		snprintf(s->leg, sizeof(s->leg), "%s", w->config.ports[i].leg);
		if (!l)
			continue;
		memcpy(s->label, l->text, sizeof(s->label));
		leg_switch(&v, l, s->name, s->port);
	}
}

static uint64_t resident_bytes(pid_t pid)
{
	unsigned long size, resident;
	char path[40];
	uint64_t bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = pid > 0 ? fopen(path, "re") : NULL;
	if (!f)
		return 0;
	if (fscanf(f, "%lu %lu", &size, &resident) == 2)
		bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
	fclose(f);
	return bytes;
}

static const char *transport_name(enum launch_transport t)
{
	static const char *const names[LAUNCH_TRANSPORT_MAX] = {"UDP", "DPDK", "DPDK-INTERRUPT"};

	return t < LAUNCH_TRANSPORT_MAX ? names[t] : "?";
}

const struct plan_worker *status_plan_worker(const struct agent *a, uint32_t id)
{
	for (size_t i = 0; a->running.plan && i < a->running.plan->n_workers; i++)
		if (a->running.plan->workers[i].id == id)
			return &a->running.plan->workers[i];
	return NULL;
}

static void worker_network(const struct sup_worker *w, char *buf, size_t size)
{
	char network[32] = "";

	if (w->state == SUP_UP && w->stats)
		stats_page_text(w->stats, w->stats->network, network, sizeof(network));
	snprintf(buf, size, "%s", network[0] ? network : transport_name(w->config.transport));
}

/* Sets the reason, which is why the worker does not run or the problem that health.c found, and the
 * notes. */
static void reasons(const struct agent *a, const struct sup_worker *w, struct status_process *p)
{
	const struct plan_worker *pw = status_plan_worker(a, w->id);

	if (w->state != SUP_UP && pw && pw->n_ports == 0)
		reason_format(&pw->reason, p->reason, sizeof(p->reason));
	else if (w->state != SUP_UP && w->reason[0])
		snprintf(p->reason, sizeof(p->reason), "%s", w->reason);
	/* The worker is being restarted: shows why its last process ended. */
	else if (w->state != SUP_UP && w->reported[0])
		snprintf(p->reason, sizeof(p->reason), "%s", w->reported);
	else if (w->state == SUP_UP)
		health_reason(&a->health, w->id, p->reason, sizeof(p->reason));
	if (pw && reason_is_set(&pw->reason) && plan_worker_is_content(pw))
		reason_format(&pw->reason, p->note, sizeof(p->note));
	else if (pw && pw->note[0])
		snprintf(p->note, sizeof(p->note), "%s", pw->note);
}

static void add_rdma(const struct sup_worker *w, struct status_process *p)
{
	const struct launch_config *c = w->started ? w->started : &w->config;

	for (uint32_t i = 0; i < c->n_ports && i < LAUNCH_PORTS_MAX; i++) {
		const struct launch_rdma_stats *from = &w->stats->rdma[i];
		struct launch_rdma_stats *to = &p->rdma[p->n_rdma].s;

		snprintf(p->rdma[p->n_rdma++].leg, PLENUM_NAME_MAX, "%s", c->ports[i].leg);
		to->pairs = launch_stat_get(&from->pairs);
		to->read_bytes = launch_stat_get(&from->read_bytes);
		to->write_bytes = launch_stat_get(&from->write_bytes);
		to->failures = launch_stat_get(&from->failures);
		stats_page_text(w->stats, from->reason, to->reason, sizeof(to->reason));
		stats_page_text(w->stats, from->gpu, to->gpu, sizeof(to->gpu));
	}
}

static void add_ports(const struct sup_worker *w, struct status_process *p)
{
	const struct launch_config *c = w->started ? w->started : &w->config;

	for (uint32_t i = 0; i < c->n_ports && i < LAUNCH_PORTS_MAX; i++) {
		const struct launch_port_stats *from = &w->stats->ports[i];
		struct launch_port_stats *to = &p->ports[p->n_ports].s;

		snprintf(p->ports[p->n_ports++].leg, PLENUM_NAME_MAX, "%s", c->ports[i].leg);
		*to = *from;
		stats_page_text(w->stats, from->by, to->by, sizeof(to->by));
		stats_page_text(w->stats, from->reason, to->reason, sizeof(to->reason));
	}
}

static void add_worker(const struct agent *a, struct status *st, const struct sup_worker *w)
{
	struct status_process *p = &st->processes[st->n_processes++];

	p->id = w->id;
	snprintf(p->role, sizeof(p->role), "%s", role_name(w->config.role));
	p->serves = w->state == SUP_UP;
	p->core = (int)w->config.core;
	p->pid = w->pid;
	p->memory_bytes = resident_bytes(w->pid);
	p->restarts = w->n_restarts;
	p->died_ms = w->died_ms;
	snprintf(p->died_of, sizeof(p->died_of), "%s", w->died_of);
	p->adopted = w->adopted && w->pid > 0;
	p->outdated = sup_is_outdated(w);
	if (w->pid > 0)
		p->uptime_s = (clock_now_ns() - w->started_ns) / NSEC_PER_SEC;
	for (uint32_t i = 0; i < (w->config.failover ? 1 : w->config.n_ports); i++)
		p->ips[p->n_ips++] = w->config.ports[i].ip.addr;
	add_switches(a, w, p);
	worker_network(w, p->network, sizeof(p->network));
	reasons(a, w, p);
	snprintf(p->state, sizeof(p->state), "%s",
		 p->serves && p->reason[0] ? "DEGRADED" : sup_state_to_string(w->state));
	if (p->outdated && !p->note[0])
		snprintf(p->note, sizeof(p->note),
			 "outdated: an older plenum-worker; 'plenum worker restart --outdated' "
			 "renews it");
	add_mounts(a, st, w);
	status_latency_add_exports(st, w);
	st->workers_total += w->wanted;
	st->workers_up += w->state == SUP_UP;
	if (w->state == SUP_UP && stats_page_has_sessions(w->watch))
		p->log_level = (enum log_level)w->watch->log_level;
	if (w->state == SUP_UP && w->stats) {
		add_rdma(w, p);
		add_ports(w, p);
		add_paths(a, st, w);
		add_totals(st, w);
	}
}

static void add_agent(const struct agent *a, struct status *st)
{
	struct status_process *p = &st->processes[st->n_processes++];

	snprintf(p->role, sizeof(p->role), "MANAGEMENT");
	snprintf(p->state, sizeof(p->state), "UP");
	p->serves = true;
	p->core = -1;
	p->log_level = log_get_level();
	p->pid = getpid();
	p->memory_bytes = resident_bytes(p->pid) +
			  resident_bytes(clients_child_pid(a->clients, PRIVSEP_API)) +
			  resident_bytes(clients_child_pid(a->clients, PRIVSEP_ADMIN)) +
			  resident_bytes(clients_child_pid(a->clients, PRIVSEP_API_TLS)) +
			  resident_bytes(lldp_pid(a->lldp)) +
			  resident_bytes(cluster_pid(a->cluster)) +
			  resident_bytes(links_watch_pid(a->links));
	p->uptime_s = (clock_now_ns() - a->started_ns) / NSEC_PER_SEC;
}

/* ---- legs ---- */

static void leg_ips(const struct agent *a, struct status_leg *leg)
{
	const struct plan *plan = a->running.plan;

	for (size_t i = 0; i < plan->n_workers; i++)
		for (size_t k = 0; k < plan->workers[i].n_ports; k++) {
			const struct plan_port *pp = &plan->workers[i].ports[k];

			if (strcmp(pp->leg, leg->name) != 0 || leg->n_ips == STATUS_IPS_MAX ||
			    (pp->shared && leg->n_ips)) /* all workers share one address */
				continue;
			leg->ips[leg->n_ips++] = pp->ip;
		}
}

/* Sets the label and the switch behind the leg. */
static void leg_label(const struct agent *a, struct status_leg *leg)
{
	const struct labels_view v = leg_labels_view(a);
	const struct label *l = labels_find(&a->labels, leg->name);

	leg->label_source = "";
	if (!l)
		return;
	leg->label_source = label_source_to_string(label_source(l));
	memcpy(leg->label, l->text, sizeof(leg->label));
	reason_format(&l->why, leg->label_reason, sizeof(leg->label_reason));
	leg->neighbours = label_neighbours_to_json(&v, l);
	leg_switch(&v, l, leg->switch_name, leg->switch_port);
}

const struct plan_leg_info *status_plan_leg(const struct agent *a, const char *name)
{
	for (size_t i = 0; a->running.plan && i < a->running.plan->n_legs; i++)
		if (strcmp(a->running.plan->legs[i].name, name) == 0)
			return &a->running.plan->legs[i];
	return NULL;
}

/* Sets the leg's state: the state in the plan, updated by the current carrier and the wiring
 * watch's findings, which change without another plan. */
static void leg_state(const struct agent *a, struct status_leg *leg,
		      const struct plan_leg_info *info, const struct inv_link *link)
{
	struct reason why = info->reason;
	enum plan_leg_state state = info->state;
	bool about_carrier = !reason_is_set(&why) || strcmp(why.code, "no-carrier") == 0;
	const bool is_duplicate = strcmp(why.code, "address-duplicate") == 0;

	if (plan_leg_is_configured(info) && about_carrier && link) {
		state = leg->up && leg->carrier ? PLAN_LEG_USABLE : PLAN_LEG_DEGRADED;
		plan_explain_carrier(link, &why);
		if (state == PLAN_LEG_USABLE)
			why = (struct reason){0};
	}
	/* The reason of the wiring watch is better than the kernel's report of a duplicate address,
	 * because it names the MAC address of the other host. */
	if ((state == PLAN_LEG_USABLE || (state == PLAN_LEG_DEGRADED && is_duplicate)) &&
	    wiring_leg_reason(a->wiring, leg->name, 0, &why))
		state = PLAN_LEG_DEGRADED;
	leg->state = plan_leg_state_to_string(state);
	reason_format(&why, leg->reason, sizeof(leg->reason));
}

static void add_leg(const struct agent *a, struct status *st, const struct spec_net *n)
{
	const struct plan_leg_info *info = status_plan_leg(a, n->name);
	const struct inv_link *link =
		info ? inv_link_by_index(a->running.inv, info->ifindex) : NULL;
	struct status_leg *leg = &st->legs[st->n_legs++];

	snprintf(leg->name, sizeof(leg->name), "%s", n->name);
	snprintf(leg->device, sizeof(leg->device), "%s",
		 info && !n->device[0] ? info->device : n->device);
	spec_match_format(&n->match, leg->match);
	snprintf(leg->network, sizeof(leg->network), "%s", n->network);
	snprintf(leg->file, sizeof(leg->file), "%s", n->pos.file ? n->pos.file : "");
	if (link) {
		const struct carrier *now = carriers_find(&a->carriers, link->ifindex);

		snprintf(leg->ifname, sizeof(leg->ifname), "%s", link->name);
		leg->up = now && now->up;
		leg->carrier = now && now->carrier;
		leg->mtu = link->mtu;
	}
	leg->state = "?";
	if (info)
		leg_state(a, leg, info, link);
	leg->queue_drop_ppm = leg_queues_ppm(a->queue_shares, leg->name);
	leg_ips(a, leg);
	leg_label(a, leg);
}

/* Adds the bond as a leg, because it has the addresses; its ports have none. */
static void add_bond(const struct agent *a, struct status *st)
{
	const struct plan *p = a->running.plan;
	struct spec_net n = {.pos = a->running.spec->ha_pos};

	if (!p || p->n_legs < 2 || !p->legs[1].bond[0])
		return;
	memcpy(n.name, p->legs[0].name, sizeof(n.name));
	memcpy(n.device, p->legs[0].device, sizeof(n.device));
	memcpy(n.network, p->legs[0].network, sizeof(n.network));
	add_leg(a, st, &n);
}

/* ---- the snapshot ---- */

void status_done(struct status *st)
{
	for (size_t i = 0; i < st->n_legs; i++)
		json_decref(st->legs[i].neighbours);
	free(st->legs);
	free(st->processes);
	free(st->paths);
	free(st->totals);
	free(st->mounts);
	free(st->exports);
	free(st->latencies);
	free(st->clients);
	json_decref(st->needs);
	memset(st, 0, sizeof(*st));
}

static int alloc(const struct agent *a, struct status *st)
{
	size_t n_workers = 0, n_up = 0, n_mounts = 0,
	       n_nets = a->running.spec ? a->running.spec->n_nets : 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		n_workers++;
		n_mounts += w->config.n_mounts;
		n_up += w->state == SUP_UP;
	}
	st->legs = calloc(n_nets + 1, sizeof(*st->legs)); /* one more for the bond */
	st->processes = calloc(n_workers + 1, sizeof(*st->processes));
	st->paths = calloc(MAX_OF(n_up * LAUNCH_PATHS_MAX, 1), sizeof(*st->paths));
	st->totals = calloc(MAX_OF(n_up, 1), sizeof(*st->totals));
	st->mounts = calloc(MAX_OF(n_mounts, 1), sizeof(*st->mounts));
	if (!st->legs || !st->processes || !st->paths || !st->totals || !st->mounts)
		return -ENOMEM;
	return status_latency_alloc(a, st);
}

static void add_apply(const struct agent *a, struct status *st)
{
	char step[PROGRESS_TEXT_MAX];

	if (a->reconcile.applier)
		snprintf(st->apply, sizeof(st->apply),
			 "an apply is running: its process %d is %s, %llu s after the request%s%s",
			 applier_pid(a->reconcile.applier),
			 applier_stage_to_string(applier_stage(a->reconcile.applier)),
			 (unsigned long long)((clock_now_ns() - a->reconcile.run.began_ns) /
					      NSEC_PER_SEC),
			 reconcile_progress(a, step) != PROGRESS_NONE ? ": " : "", step);
}

static void add_waiting(const struct agent *a, struct status *st)
{
	const struct reconcile_pending *p = &a->reconcile.pending;
	char text[EVENTS_TEXT_MAX];
	const char *missed;

	if (!p->applier)
		return;
	missed = applier_unreachable(p->applier);
	if (!missed[0])
		missed = reachability_unreachable(a);
	st->waits_entry = p->entry;
	st->waits_since_s = p->since_s;
	st->waits_left_s = reconcile_pending_left_s(a);
	st->waits_by = p->by;
	reconcile_pending_describe(a, text, sizeof(text));
	snprintf(st->apply, sizeof(st->apply), "%s; " RECONCILE_PENDING_WORDS "%s%s", text,
		 p->entry, p->entry, missed[0] ? "; not yet: " : "", missed);
}

int status_collect(const struct agent *a, struct status *ret)
{
	struct status st = {0};

	if (alloc(a, &st) < 0) {
		status_done(&st);
		return -ENOMEM;
	}
	st.state = agent_state_to_string(a->state);
	snprintf(st.host, sizeof(st.host), "%s", a->running.spec ? a->running.spec->host : "");
	if (a->running.spec)
		snprintf(st.security, sizeof(st.security), "%s",
			 spec_security_to_string(*a->running.spec->cluster.name
							 ? a->running.spec->cluster.security
							 : SPEC_SECURITY_NONE));
	if (!a->running.spec)
		gethostname(st.host, sizeof(st.host) - 1);
	st.n_applies = a->n_applies;
	st.applied = history_last(&a->reconcile.records.history);
	add_apply(a, &st);
	st.needs = required_actions_to_json(a->running.plan, "");
	if (a->lacks_account && a->running.n_desired > 0)
		json_array_append_new(st.needs,
				      required_actions_account_to_json(AGENT_WORKER_ACCOUNT));
	add_waiting(a, &st);
	st.problems = a->problems.all;
	st.n_problems = a->problems.n_degrading;
	st.n_warnings = a->problems.n_all - a->problems.n_degrading;
	for (size_t i = 0; a->running.spec && i < a->running.spec->n_nets; i++)
		add_leg(a, &st, &a->running.spec->nets[i]);
	if (a->running.spec)
		add_bond(a, &st);
	add_agent(a, &st);
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		/* Leaves out a stopped worker that is not desired. The supervisor keeps such a
		 * worker in case a rollback needs it again. */
		if (w->wanted || w->state != SUP_STOPPED)
			add_worker(a, &st, w);
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		add_lanes(&st, w);
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		status_latency_add(a, &st, w);
	*ret = st;
	return 0;
}
