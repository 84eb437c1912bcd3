/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the set of workers: creates and frees the supervisor, changes the set to the desired
 * workers, and checks the workers every second. supervise_events.c handles the events of one
 * worker. */
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/files/state_file.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- restarts on request, and the check every second ---- */

static void renew_next(struct sup *s)
{
	struct sup_worker *w = sup_renew_choose(s);

	if (!w)
		return;
	sup_report(w, LOG_LEVEL_INFO, "restarting, as requested");
	sup_handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
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

static struct sup_worker *find_wanted(struct sup *s, uint32_t worker_id)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		if (w->id == worker_id && w->wanted)
			return w;
	return NULL;
}

bool sup_hold(struct sup *s, uint32_t worker_id, const char *by)
{
	struct sup_worker *w = find_wanted(s, worker_id);

	if (!w)
		return false;
	w->held = true;
	w->renew = false;
	snprintf(w->held_by, sizeof(w->held_by), "%s", by);
	sup_explain_hold(w);
	sup_handle_event(w, SUP_EV_UNWANT);
	return true;
}

int sup_release(struct sup *s, uint32_t worker_id)
{
	struct sup_worker *w = find_wanted(s, worker_id);

	if (!w)
		return -ENOENT;
	if (!w->held)
		return -EALREADY;
	w->held = false;
	w->n_deaths = 0; /* an operator requested the start, so deaths count from 0 */
	w->reason[0] = w->reported[0] = '\0';
	if (w->state == SUP_STOPPED) /* if a process still runs, its exit starts the next one */
		sup_handle_event(w, SUP_EV_WANT);
	return 0;
}

static bool is_stuck(const struct sup_worker *w, uint64_t now)
{
	uint64_t beat = MAX_OF(launch_stat_get(&w->stats->heartbeat_ns), w->up_since_ns);

	return now > beat && now - beat > SUP_HEARTBEAT_LIMIT_NS;
}

const struct launch_mount_stats *sup_mount_stats(const struct sup_worker *w, uint32_t i)
{
	for (uint32_t k = 0; w->stats && w->started && k < w->started->n_mounts; k++)
		if (launch_mount_equal(&w->started->mounts[k], &w->config.mounts[i]))
			return &w->stats->mounts[k];
	return NULL;
}

/* Starts a process with the changed configuration as soon as a new process could serve the
 * exports. */
static void continue_change(struct sup_worker *w)
{
	if (!sup_exports_stay(w))
		return;
	w->postponed = false;
	sup_handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
}

/* Checks all workers that are up. The timer is armed only while there is such a worker, so that an
 * agent without workers never wakes up. */
static int on_heartbeat_check(void *user)
{
	struct sup *s = user;
	uint64_t now = clock_now_ns();
	bool any = false;

	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (w->state != SUP_UP)
			continue;
		any = true;
		sup_update_keys(w);
		sup_update_limits(w);
		sup_watch_core(w);
		sup_update_ports(w);
		sup_update_rdma(w, now);
		sup_watch_exports(w);
		sup_look_at_mounts(w);
		if (is_stuck(w, now))
			sup_handle_event(w, SUP_EV_HEARTBEAT_MISSED);
		else if (w->postponed)
			continue_change(w);
		else if (w->deferred == SUP_EVENT_MAX &&
			 /* No event announces a repaired export or a change of shared mounts, so
			  * this check detects both. */
			 (sup_gains_export(w) || sup_shared_mounts_differ(w)))
			sup_handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
	}
	renew_next(s);
	return any ? loop_timer_arm(s->heartbeat, SUP_HEARTBEAT_CHECK_NS) : 0;
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

/* Removes the worker together with its state. */
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
	if (loop_add_timer(s->setup.loop, NSEC_PER_MSEC, sup_on_timer, w, &w->timer) < 0) {
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

/* Called after a process has exited. Starts the workers that waited for this exit, and removes the
 * worker of the process if it is no longer wanted. */
static void on_gone(struct sup *s)
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
	r = lock_records_load(&s->lock_records, s->setup.rundir->state);
	if (r < 0)
		events_add(s->setup.events, LOG_LEVEL_WARNING, "agent",
			   "%s/locks cannot be read (%s): if this host has rebooted, clients lose "
			   "their file locks",
			   s->setup.rundir->state, state_file_error(r));
}

int sup_new(const struct sup_setup *setup, struct sup **ret)
{
	struct sup *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->setup = *setup;
	s->on_event = sup_handle_event;
	s->on_gone = on_gone;
	s->dirs.loop = setup->loop;
	s->alive[0] = s->alive[1] = -1;
	/* Opened at the agent's start, because a package upgrade may later replace the file with
	 * another version. */
	s->program_fd = open(setup->worker_path, O_PATH | O_CLOEXEC);
	load_records(s);
	r = pipe2(s->alive, O_CLOEXEC) < 0 ? -errno : 0;
	if (r >= 0)
		r = loop_add_timer(setup->loop, NSEC_PER_SEC / 2, on_heartbeat_check, s,
				   &s->heartbeat);
	if (r >= 0)
		r = sup_mounts_init(s);
	if (r < 0) {
		sup_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/*
 * Leaves what the next agent needs in the record and the descriptor store, unless all workers were
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
	lock_records_done(&s->lock_records);
	loop_source_free(s->lock_timer);
	async_open_done(&s->dirs);
	loop_source_free(s->heartbeat);
	loop_source_free(s->look);
	cleanup_close(&s->alive[0]);
	cleanup_close(&s->alive[1]);
	cleanup_close(&s->program_fd);
	free(s);
	return NULL;
}

/* ---- desired workers ---- */

bool sup_config_differs(const struct launch_config *want, const struct launch_config *is)
{
	autofree struct launch_config *c = malloc(sizeof(*c));

	if (!c)
		return true;
	memcpy(c, want, sizeof(*c));
	/* A changed log level alone does not restart a worker; its next start uses it. */
	c->log_level = is->log_level;
	c->n_secrets = is->n_secrets;
	memcpy(c->secrets, is->secrets, sizeof(c->secrets));
	sup_limits_copy(c, is);
	/* Revocations are sent in messages. */
	c->n_revoked = is->n_revoked;
	memcpy(c->revoked, is->revoked, sizeof(c->revoked));
	if (sup_ports_follow(is, want)) {
		c->n_ports = is->n_ports;
		memcpy(c->ports, is->ports, sizeof(c->ports));
	}
	return memcmp(c, is, sizeof(*c)) != 0;
}

/* Returns whether the process has a port that the configuration does not have. Only an earlier
 * agent can have sent such a port. */
static bool lost_port(const struct sup_worker *w, const struct launch_config *c)
{
	return launch_takes_ports(w->started) && !sup_ports_follow(w->started, c);
}

/*
 * Restarts a running process whose configuration has changed. The restart waits while the path of
 * an export that the process serves leads to another folder, or to none. The process still has the
 * exported folder open, but a new process could not open it.
 */
static void change(struct sup_worker *w, bool by_operator)
{
	const bool runs = w->state == SUP_UP || (w->state == SUP_STARTING && w->adopted);
	const bool serves = runs && w->started && !by_operator;
	bool was_postponed;

	if (serves && w->postponed && !sup_config_differs(&w->config, w->started)) {
		/* The desired configuration is again the one that the process has. */
		w->postponed = false;
		return;
	}
	was_postponed = w->postponed;
	w->postponed = serves && !sup_exports_stay(w);
	if (w->postponed && was_postponed)
		return;
	if (w->postponed)
		sup_report(w, LOG_LEVEL_WARNING,
			   "its configuration has changed; its restart waits until the exported "
			   "folders are at their paths again");
	else
		sup_handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
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
	sup_revoked_merge(s, c);
	was_wanted = w->wanted;
	w->wanted = w->agreed = true;
	changed = sup_config_differs(c, &w->config) ||
		  (w->started ? lost_port(w, c) : c->n_ports != w->config.n_ports);
	w->config = *c;
	changed |= sup_export_taken(w);
	if (changed) {
		w->n_deaths = 0;
		/* The last reported reason was about the previous configuration. */
		w->reported[0] = '\0';
	}
	if (w->deferred != SUP_EVENT_MAX) {
		w->deferred = SUP_EV_CONFIG_CHANGED; /* the supervisor handles the event once the
							mounts are unmounted */
	} else if (!was_wanted) {
		w->n_restarts = 0;
		sup_handle_event(w, SUP_EV_WANT);
	} else if (changed || (retry_failed && w->state == SUP_FAILED)) {
		w->n_deaths = 0; /* earlier deaths have other causes */
		/* The agent sets retry_failed in its first reconcile too, which no operator
		 * requested. */
		change(w, retry_failed && s->reconciled);
	}
	sup_update_keys(w);
	sup_update_limits(w);
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
	/* Unmounts while the workers of the mounts still run. During a trial nothing is unmounted,
	 * because a rollback could not give programs their open files back. */
	if (s->stopping || !is_on_trial(s))
		mounts_keep(s->setup.mounts, wants, n);
	if (retry_failed && s->reconciled)
		sup_take_exports(s, wants, n);
	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (!w->wanted || is_in(w->id, wants, n))
			continue;
		w->wanted = false;
		sup_handle_when_unmounted(w, SUP_EV_UNWANT);
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
			sup_handle_when_unmounted(w, w->deferred);
		else if (w->state == SUP_FAILED && loop_timer_armed(w->timer))
			sup_on_timer(w);
	}
	(void)sup_sweep(s);
	if (s->setup.on_change)
		s->setup.on_change(s->setup.user);
}

void sup_mount_lost(struct sup *s, uint32_t worker_id)
{
	for (struct sup_worker *w = s->workers; w; w = w->next)
		if (w->id == worker_id && w->wanted)
			sup_handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
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

bool sup_program_is_missing(const struct sup *s)
{
	return s->program_fd < 0 && access(s->setup.worker_path, X_OK) < 0;
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
