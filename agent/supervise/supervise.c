/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles workers' events: carries out the actions that the table in supervise_table.c chooses, and
 * keeps the set of workers. */
#include "agent/base/child/spawn.h"
#include "agent/supervise/faults.h"
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/state_file.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define NO_TRANSPORT_NS (2 * NSEC_PER_SEC)
#define RETRY_NS NSEC_PER_SEC		  /* interval of checks for a missing resource */
#define WAIT_LIMIT_NS (30 * NSEC_PER_SEC) /* of an unknown client: a mount's default */

/* ---- keys ---- */

bool sup_lacks_keys(const struct sup_worker *w, const struct launch_config *want)
{
	const struct launch_config *has = w->started;

	return has && has->security != LAUNCH_SECURITY_NONE && want->n_secrets > 0 &&
	       (w->keys_unsure || has->n_secrets != want->n_secrets ||
		memcmp(has->secrets, want->secrets, sizeof(has->secrets)) != 0);
}

/*
 * If the socket has no room, the next heartbeat check retries. The keys with which an adopted
 * worker was started may be outdated: it gets none before the configuration has been read, but
 * starts with them if it dies earlier.
 */
static void update_keys(struct sup_worker *w)
{
	if (w->state != SUP_UP || !w->agreed || !sup_lacks_keys(w, &w->config) ||
	    sup_send_keys(w) < 0)
		return;
	if (!w->keys_unsure)
		sup_say(w, LOG_LEVEL_INFO, "received the new cluster keys");
	w->keys_unsure = false;
	w->started->n_secrets = w->config.n_secrets;
	memcpy(w->started->secrets, w->config.secrets, sizeof(w->started->secrets));
}

/* ---- timers ---- */

static void handle_when_unmounted(struct sup_worker *w, enum sup_event e);
static void renew_next(struct sup *s);

static int on_timer(void *user)
{
	struct sup_worker *w = user;
	enum sup_event e = SUP_EV_TIMER;

	if (w->state == SUP_STARTING)
		e = SUP_EV_START_TIMEOUT;
	if (w->state == SUP_FAILED && sup_check_resources(w) < 0)
		return loop_timer_arm(w->timer, RETRY_NS);
	sup_handle_event(w, e);
	return 0;
}

static bool is_stuck(const struct sup_worker *w, uint64_t now)
{
	uint64_t beat = MAX_OF(launch_stat_get(&w->stats->heartbeat_ns), w->up_since_ns);

	return now > beat && now - beat > SUP_HEARTBEAT_LIMIT_NS;
}

static void note_served(const struct sup_worker *w)
{
	for (uint32_t i = 0; w->stats && i < w->started->n_mounts; i++)
		if (launch_stat_get(&w->stats->mounts[i].served))
			mounts_note_served(w->sup->setup.mounts, &w->started->mounts[i]);
}

/* Runs only while a worker is up, so that an agent without workers never wakes up. */
static int on_heartbeat_check(void *user)
{
	struct sup *s = user;
	uint64_t now = clock_now_ns();
	bool any = false;

	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (w->state != SUP_UP)
			continue;
		any = true;
		update_keys(w);
		sup_update_ports(w);
		sup_update_rdma(w, now);
		sup_watch_exports(w);
		note_served(w);
		if (is_stuck(w, now))
			sup_handle_event(w, SUP_EV_HEARTBEAT_MISSED);
		else if (w->deferred == SUP_EVENT_MAX &&
			 (sup_gains_export(w) || sup_shared_mounts_differ(w))) /* no event announces
										* these */
			handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
	}
	renew_next(s);
	return any ? loop_timer_arm(s->heartbeat, SUP_HEARTBEAT_CHECK_NS) : 0;
}

/* Adds up to a quarter, so that workers that died together do not restart together. */
static uint64_t jitter(uint64_t ns)
{
	uint32_t x = 0;

	if (getrandom(&x, sizeof(x), GRND_NONBLOCK) != sizeof(x))
		x = (uint32_t)clock_now_ns();
	return ns + ns / 4 * (x % 1024) / 1024;
}

/* ---- actions ---- */

/* During a trial two workers may serve different mounts of one path. The record of a process names
 * only the path. */
static bool has_mount(const struct launch_config *c, const struct launch_mount *m)
{
	for (uint32_t i = 0; i < c->n_mounts; i++)
		if (strcmp(c->mounts[i].path, m->path) == 0 &&
		    (!c->mounts[i].peer[0] || launch_mount_equal(&c->mounts[i], m)))
			return true;
	return false;
}

static bool has_export(const struct launch_config *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_exports; i++)
		if (strcmp(c->exports[i].name, name) == 0)
			return true;
	return false;
}

static const char *shared_with(const struct launch_config *c, const struct launch_config *other)
{
	for (uint32_t i = 0; i < c->n_mounts; i++)
		if (has_mount(other, &c->mounts[i]))
			return c->mounts[i].path;
	/* Workers of one version may serve an export together. */
	for (uint32_t i = 0; i < c->n_exports && other->version != LAUNCH_VERSION; i++)
		if (has_export(other, c->exports[i].name))
			return c->exports[i].name;
	return NULL;
}

/* Another process that still serves a mount or export of this worker: two servers would corrupt its
 * state. */
static const struct sup_worker *other_server(const struct sup_worker *w, const char **ret_what)
{
	for (const struct sup_worker *o = w->sup->workers; o; o = o->next) {
		*ret_what = o == w || !o->started ? NULL : shared_with(&w->config, o->started);
		if (*ret_what)
			return o;
	}
	return NULL;
}

static void do_spawn(struct sup_worker *w)
{
	const char *what;
	const struct sup_worker *other = other_server(w, &what);
	int r;

	w->waits = false;
	if (other) {
		snprintf(w->reason, sizeof(w->reason), "worker %u still serves %.150s", other->id,
			 what);
		sup_handle_event(w, SUP_EV_MUST_WAIT);
		return;
	}
	r = sup_start(w);
	if (r >= 0) {
		loop_timer_arm(w->timer, SUP_START_LIMIT_NS);
		return;
	}
	if (!w->reason[0])
		snprintf(w->reason, sizeof(w->reason), "cannot be started: %s", strerror(-r));
	if (w->pidfd >= 0) /* started, but it cannot be watched */
		sup_kill(w);
	sup_forget_process(w);
	/* A shortage may pass; a missing directory or a busy mount point needs the operator. */
	if (r == -ENOMEM || r == -EAGAIN || r == -EMFILE || r == -ENFILE || r == -ENOSPC) {
		if (!sup_is_reported(w))
			sup_say(w, LOG_LEVEL_ERR, "%s", w->reason);
		snprintf(w->reported, sizeof(w->reported), "%s", w->reason);
		sup_handle_event(w, SUP_EV_CRASHED);
	} else {
		sup_handle_event(w, SUP_EV_SPAWN_FAILED); /* do_give_up reports it */
	}
}

bool sup_dies_again(const struct sup_worker *w, uint64_t now_ns)
{
	return w->n_deaths >= SUP_DEATHS_MANY &&
	       !(w->up_since_ns && now_ns - w->up_since_ns >= SUP_HEALTHY_NS);
}

/* How long the worker's users wait: programs on its mounts, or its clients' programs. */
static uint64_t wait_limit_ns(const struct sup_worker *w)
{
	uint64_t ns = UINT64_MAX;

	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		if (w->config.mounts[i].soft_s)
			ns = MIN_OF(ns, w->config.mounts[i].soft_s * NSEC_PER_SEC);
	return ns == UINT64_MAX ? WAIT_LIMIT_NS : ns;
}

/* Each delay is short compared with that limit; if the delays add up to more, this is reported
 * once. */
static void do_backoff(struct sup_worker *w)
{
	uint64_t now = clock_now_ns(), limit = wait_limit_ns(w), delay;

	if (w->up_since_ns && now - w->up_since_ns >= SUP_HEALTHY_NS)
		w->n_deaths = 0;
	if (!w->down_since_ns)
		w->down_since_ns = now;
	w->n_deaths++;
	sup_note_death(w, w->reason);
	w->n_restarts++;
	w->up_since_ns = 0;
	delay = MIN_OF(jitter(sup_backoff_ns(w->n_deaths)), limit / 4);
	/* A new plan, with a transport that is available, is being made and ends the delay. */
	if (w->no_transport)
		delay = MAX_OF(delay, NO_TRANSPORT_NS);
	if (delay && !sup_is_reported(w))
		sup_say(w, LOG_LEVEL_NOTICE, "restarts in %.1f s (death %u in a row)",
			(double)delay / NSEC_PER_SEC, w->n_deaths);
	if (!w->is_late && now + delay - w->down_since_ns > limit) {
		w->is_late = true;
		sup_say(w, LOG_LEVEL_ERR,
			"will be down for %.0f s until its restart, and mounts wait for %.0f s: "
			"programs may see errors",
			(double)(now + delay - w->down_since_ns) / NSEC_PER_SEC,
			(double)limit / NSEC_PER_SEC);
	}
	loop_timer_arm(w->timer, delay);
}

/* A missing mount point or export directory may appear without an event. */
static void do_give_up(struct sup_worker *w, enum sup_event e)
{
	bool retried = e == SUP_EV_SPAWN_FAILED;

	if (!retried)
		sup_note_death(w, w->reason);
	if (!sup_is_reported(w) || !retried)
		sup_say(w, LOG_LEVEL_ERR, "%s: %s",
			retried ? "cannot be started; retrying until this is fixed"
				: "failed and stays down until the next reload or apply",
			w->reason);
	snprintf(w->reported, sizeof(w->reported), "%s", w->reason);
	/* The missing leg or directory may appear at any moment: programs on its mounts wait, as
	 * for any unreachable server, and can be interrupted. */
	if (retried) {
		loop_timer_arm(w->timer, RETRY_NS);
		return;
	}
	loop_timer_disarm(w->timer);
	/* No worker will serve these mounts: an error is better than blocking forever. */
	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		mounts_drop(w->sup->setup.mounts, w->config.mounts[i].path);
}

/* A starting worker assumes that its links are up; an adopted one may have missed any change. */
static void update_links(struct sup_worker *w)
{
	for (uint32_t i = 0; i < w->started->n_ports; i++) {
		bool usable = carriers_usable(w->sup->setup.carriers, w->started->ports[i].ifindex);

		if (!usable || w->adopted)
			sup_send(w, LAUNCH_MSG_LINK, usable, i);
	}
}

/* An adopted worker may have any labels too. */
static void update_labels(struct sup_worker *w, bool all)
{
	for (uint32_t i = 0; w->started && i < w->started->n_ports; i++) {
		struct launch_port *port = &w->started->ports[i];
		const struct label *label = labels_find(w->sup->setup.labels, port->leg);

		if (!label || (!all && strcmp(label->text, port->label) == 0) ||
		    sup_send_text(w, LAUNCH_MSG_LABEL, i, label->text) < 0)
			continue;
		memcpy(port->label, label->text, sizeof(port->label));
	}
}

void sup_labels_changed(struct sup *s)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		update_labels(w, false);
}

/* A starting worker has no faults; an adopted one may have missed some. */
static void update_faults(struct sup_worker *w)
{
	const struct faults *fs = w->sup->setup.faults;

	for (size_t i = 0; fs && i < fs->n; i++)
		sup_send_fault(w, &fs->all[i].is);
}

void sup_fault_changed(struct sup *s, const struct launch_fault *f)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		sup_send_fault(w, f);
}

static void do_note_up(struct sup_worker *w)
{
	uint64_t now = clock_now_ns();

	w->reason[0] = w->reported[0] = '\0';
	w->is_late = false;
	w->down_since_ns = 0;
	w->rdma_seen = 0;
	loop_timer_disarm(w->timer);
	if (!sup_update_ports(w)) { /* the configuration has changed while it started */
		handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
		return;
	}
	update_links(w);
	update_labels(w, w->adopted);
	update_keys(w);
	update_faults(w);
	if (w->adopted) {
		w->up_since_ns = w->started_ns;
		sup_say(w, LOG_LEVEL_NOTICE, "adopted: pid %d on core %u", w->pid, w->config.core);
	} else {
		w->up_since_ns = now;
		sup_say(w, LOG_LEVEL_NOTICE, "ready on core %u, pid %d, in %.0f ms", w->config.core,
			w->pid, (double)(now - w->started_ns) / NSEC_PER_MSEC);
	}
	if (!loop_timer_armed(w->sup->heartbeat))
		loop_timer_arm(w->sup->heartbeat, SUP_HEARTBEAT_CHECK_NS);
}

static void do_reaped(struct sup_worker *w)
{
	loop_timer_disarm(w->timer);
	w->up_since_ns = 0;
	if (w->wanted)
		sup_handle_event(w, SUP_EV_WANT);
	else
		sup_say(w, LOG_LEVEL_INFO, "stopped");
}

static void do_kill(struct sup_worker *w, enum sup_event e)
{
	sup_say(w, LOG_LEVEL_ERR, "does not answer (%s); killing it", sup_event_to_string(e));
	snprintf(w->reason, sizeof(w->reason), "killed: %s", sup_event_to_string(e));
	sup_kill(w);
}

static void act(struct sup_worker *w, enum sup_action a, enum sup_event e)
{
	switch (a) {
	case SUP_ACT_SPAWN:
		do_spawn(w);
		break;
	case SUP_ACT_STOP:
		if (sup_send(w, LAUNCH_MSG_STOP, 0, 0) < 0)
			sup_kill(w);
		loop_timer_arm(w->timer, SUP_STOP_LIMIT_NS);
		break;
	case SUP_ACT_KILL:
		do_kill(w, e);
		break;
	case SUP_ACT_BACKOFF:
		do_backoff(w);
		break;
	case SUP_ACT_WAIT: /* the other's exit usually comes first; the timer covers a missed one */
		w->waits = true;
		loop_timer_arm(w->timer, RETRY_NS);
		break;
	case SUP_ACT_GIVE_UP:
		do_give_up(w, e);
		break;
	case SUP_ACT_NOTE_UP:
		do_note_up(w);
		break;
	case SUP_ACT_REAPED:
		do_reaped(w);
		break;
	case SUP_ACT_ADOPT:
		sup_do_adopt(w);
		break;
	case SUP_ACT_REPLACE:
		sup_do_replace(w);
		break;
	case SUP_ACT_DISARM:
		loop_timer_disarm(w->timer);
		break;
	case SUP_ACT_NOTE_REASON: /* w->reason has the message; the exit reports it */
	case SUP_ACT_NONE:
	case SUP_ACT_UNSET:
	case SUP_ACTION_MAX:
		break;
	}
}

void sup_handle_event(struct sup_worker *w, enum sup_event e)
{
	const struct sup_rule *rule = sup_rule_get(w->state, e);
	enum sup_state was = w->state;

	log_debug("worker %u: %s in %s -> %s", w->id, sup_event_to_string(e),
		  sup_state_to_string(was), sup_state_to_string(rule->next));
	w->state = rule->next;
	act(w, rule->action, e);
	if (w->state != was && w->sup->setup.on_change)
		w->sup->setup.on_change(w->sup->setup.user);
}

/* ---- the set of workers ---- */

static struct sup_worker *worker_free(struct sup_worker *w)
{
	sup_forget_process(w);
	loop_source_free(w->timer);
	sup_stats_unmap(w);
	cleanup_close(&w->found.config_fd);
	cleanup_close(&w->found.stats_fd);
	cleanup_close(&w->state_fd);
	free(w);
	return NULL;
}

/* Removes the worker and its state for good. */
static void worker_discard(struct sup_worker *w)
{
	if (w->state_fd >= 0)
		sup_unstore(w, "state");
	worker_free(w);
}

struct sup_worker *sup_worker_add(struct sup *s, uint32_t id)
{
	struct sup_worker **at = &s->workers, *w;

	while (*at && (*at)->id < id)
		at = &(*at)->next;
	if (*at && (*at)->id == id)
		return *at;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->id = id;
	w->sup = s;
	w->deferred = SUP_EVENT_MAX;
	w->pidfd = w->control_fd = w->pins_fd = w->state_fd = w->found.config_fd =
		w->found.stats_fd = -1;
	if (loop_add_timer(s->setup.loop, NSEC_PER_MSEC, on_timer, w, &w->timer) < 0) {
		free(w);
		return NULL;
	}
	w->next = *at;
	*at = w;
	return w;
}

static bool is_on_trial(const struct sup *s)
{
	return s->setup.on_trial && s->setup.on_trial(s->setup.user);
}

bool sup_sweep(struct sup *s)
{
	bool any = false;

	if (is_on_trial(s))
		return false;
	exports_settle(&s->exports);
	for (struct sup_worker **at = &s->workers; s->reconciled && *at;) {
		struct sup_worker *w = *at;

		if (w->wanted || w->state != SUP_STOPPED) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		worker_discard(w);
		any = true;
	}
	return any;
}

/* Starts the workers that waited for this process to exit, and removes it if it is not wanted any
 * more. */
void sup_process_gone(struct sup *s)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		if (w->waits && w->state == SUP_BACKOFF) {
			w->waits = false;
			sup_handle_event(w, SUP_EV_TIMER);
		}
	if (sup_sweep(s) && s->setup.on_change)
		s->setup.on_change(s->setup.user);
}

static void load_records(struct sup *s)
{
	int r = export_records_load(&s->records, s->setup.rundir->state);

	if (r < 0)
		events_add(
			s->setup.events, LOG_LEVEL_WARNING, "agent",
			"%s/exports cannot be read (%s): the folders that exports lead to now are "
			"recorded again",
			s->setup.rundir->state, state_file_error(r));
}

int sup_new(const struct sup_setup *setup, struct sup **ret)
{
	struct sup *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->setup = *setup;
	s->dirs.loop = setup->loop;
	s->alive[0] = s->alive[1] = -1;
	/* Opened now, so that a package upgrade does not make this agent start workers of another
	 * version. */
	s->program_fd = open(setup->worker_path, O_PATH | O_CLOEXEC);
	load_records(s);
	r = pipe2(s->alive, O_CLOEXEC) < 0 ? -errno : 0;
	if (r >= 0)
		r = loop_add_timer(setup->loop, NSEC_PER_SEC / 2, on_heartbeat_check, s,
				   &s->heartbeat);
	if (r < 0) {
		sup_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/*
 * The record and the descriptor store keep what the next agent needs, unless everything was
 * stopped.
 */
struct sup *sup_free(struct sup *s)
{
	if (!s)
		return NULL;
	while (s->workers) {
		struct sup_worker *w = s->workers;

		s->workers = w->next;
		w->leave = !s->stopping;
		if (s->stopping)
			worker_discard(w);
		else
			worker_free(w);
	}
	exports_done(&s->exports, s->stopping);
	export_records_done(&s->records);
	async_open_done(&s->dirs);
	loop_source_free(s->heartbeat);
	cleanup_close(&s->alive[0]);
	cleanup_close(&s->alive[1]);
	cleanup_close(&s->program_fd);
	free(s);
	return NULL;
}

/* ---- desired workers ---- */

static bool has_leaving(const struct sup_worker *w)
{
	const struct mounts *m = w->sup->setup.mounts;
	bool has = mounts_leaving(m, w->id);

	for (uint32_t i = 0; !has && w->started && i < w->started->n_shared; i++)
		has = mounts_leaving_id(m, w->started->shared[i].id);
	return has;
}

/* A worker whose mounts are being unmounted serves them until they are gone. A mount worker waits
 * as well, since its mount's server keeps open files until it has heard of the unmount. */
static void handle_when_unmounted(struct sup_worker *w, enum sup_event e)
{
	if (has_leaving(w)) {
		w->deferred = e;
		return;
	}
	w->deferred = SUP_EVENT_MAX;
	sup_handle_event(w, e);
}

static void renew_next(struct sup *s)
{
	struct sup_worker *w = sup_renew_choose(s);

	if (!w)
		return;
	sup_say(w, LOG_LEVEL_INFO, "restarting, as requested");
	handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
}

bool sup_renew(struct sup *s, uint32_t worker_id)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		if (w->id == worker_id && w->wanted && w->pid > 0) {
			w->renew = true;
			renew_next(s);
			return true;
		}
	return false;
}

bool sup_config_differs(const struct launch_config *want, const struct launch_config *is)
{
	autofree struct launch_config *c = malloc(sizeof(*c));

	if (!c)
		return true;
	memcpy(c, want, sizeof(*c));
	c->log_level = is->log_level; /* a changed log level does not justify a restart: the next
					 start uses it */
	c->n_secrets = is->n_secrets;
	memcpy(c->secrets, is->secrets, sizeof(c->secrets));
	if (sup_ports_follow(is, want)) {
		c->n_ports = is->n_ports;
		memcpy(c->ports, is->ports, sizeof(c->ports));
	}
	return memcmp(c, is, sizeof(*c)) != 0;
}

/* Whether the process has a port that is no longer wanted: an earlier agent has sent it. */
static bool lost_port(const struct sup_worker *w, const struct launch_config *c)
{
	return launch_takes_ports(w->started) && !sup_ports_follow(w->started, c);
}

static int want(struct sup *s, const struct launch_config *config, bool retry_failed)
{
	autofree struct launch_config *c = malloc(sizeof(*c));
	struct sup_worker *w = c ? sup_worker_add(s, config->worker_id) : NULL;
	bool was_wanted, changed;

	if (!w)
		return -ENOMEM;
	memcpy(c, config, sizeof(*c));
	sup_config_normalise(c);
	was_wanted = w->wanted;
	w->wanted = w->agreed = true;
	changed = sup_config_differs(c, &w->config) ||
		  (w->started ? lost_port(w, c) : c->n_ports != w->config.n_ports);
	w->config = *c;
	changed |= sup_export_taken(w);
	if (changed) {
		w->n_deaths = 0;
		w->reported[0] = '\0'; /* it was of the former configuration */
	}
	if (w->deferred != SUP_EVENT_MAX) {
		w->deferred = SUP_EV_CONFIG_CHANGED; /* its mounts have changed */
	} else if (!was_wanted) {
		w->n_restarts = 0;
		sup_handle_event(w, SUP_EV_WANT);
	} else if (changed || (retry_failed && w->state == SUP_FAILED)) {
		w->n_deaths = 0; /* the operator has intervened */
		handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
	}
	update_keys(w);
	sup_update_ports(w);
	return 0;
}

static bool is_in(uint32_t id, const struct launch_config *wants, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wants[i].worker_id == id)
			return true;
	return false;
}

int sup_reconcile(struct sup *s, const struct launch_config *wants, size_t n, bool retry_failed)
{
	int r = 0;

	if (s->stopping && n > 0)
		return -ESHUTDOWN;
	/* Unmount while the workers that serve the mounts still run; during a trial not at all,
	 * because a rollback could not give programs their open files back. */
	if (s->stopping || !is_on_trial(s))
		mounts_keep(s->setup.mounts, wants, n);
	if (retry_failed && s->reconciled)
		sup_take_exports(s, wants, n);
	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (!w->wanted || is_in(w->id, wants, n))
			continue;
		w->wanted = false;
		handle_when_unmounted(w, SUP_EV_UNWANT);
	}
	for (size_t i = 0; i < n && r >= 0; i++)
		r = want(s, &wants[i], retry_failed);
	exports_keep(&s->exports, wants, n);
	sup_keep_exports(s, wants, n);
	s->reconciled = true;
	(void)sup_sweep(s);
	return r;
}

void sup_mounts_changed(struct sup *s)
{
	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (w->deferred != SUP_EVENT_MAX)
			handle_when_unmounted(w, w->deferred);
		else if (w->state == SUP_FAILED && loop_timer_armed(w->timer))
			on_timer(w);
	}
	(void)sup_sweep(s);
	if (s->setup.on_change)
		s->setup.on_change(s->setup.user);
}

void sup_mount_lost(struct sup *s, uint32_t worker_id)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		if (w->id == worker_id && w->wanted)
			handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
}

unsigned sup_link_changed(struct sup *s, uint32_t ifindex, bool up)
{
	unsigned n = 0;

	/* By the ports' numbers in the process, which may differ from those of its successor. */
	for (struct sup_worker *w = s->workers; w; w = w->next)
		for (uint32_t i = 0; w->started && i < w->started->n_ports; i++)
			if (w->started->ports[i].ifindex == ifindex &&
			    sup_send(w, LAUNCH_MSG_LINK, up, i) >= 0)
				n++;
	return n;
}

void sup_stop_all(struct sup *s)
{
	s->stopping = true;
	sup_reconcile(s, NULL, 0, false);
}

void sup_kill_all(struct sup *s)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		sup_kill(w);
}

bool sup_program_is_replaced(const struct sup *s)
{
	struct stat ours, there;

	return s->program_fd >= 0 && fstat(s->program_fd, &ours) == 0 &&
	       stat(s->setup.worker_path, &there) == 0 &&
	       (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino);
}

bool sup_is_idle(const struct sup *s)
{
	return sup_count_processes(s) == 0 && !mounts_leaving(s->setup.mounts, 0);
}

bool sup_is_settled(const struct sup *s)
{
	for (const struct sup_worker *w = s->workers; w; w = w->next)
		if (w->wanted && (w->state == SUP_STARTING || w->state == SUP_STOPPING ||
				  w->state == SUP_BACKOFF))
			return false;
	return true;
}

unsigned sup_count_processes(const struct sup *s)
{
	unsigned n = 0;

	for (const struct sup_worker *w = s->workers; w; w = w->next)
		n += w->pidfd >= 0;
	return n;
}

const struct sup_worker *sup_first(const struct sup *s)
{
	return s->workers;
}
