/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and stops the monitor: opens its modules and connects them, and handles signals and the
 * supervisor's callbacks. */
#include "agent/agent.h"
#include "agent/base/host_lock.h"
#include "agent/base/path.h"
#include "agent/control.h"
#include "agent/events/event_store.h"
#include "agent/health/own_files.h"
#include "agent/legs/leg_labels.h"
#include "agent/legs/leg_links.h"
#include "agent/legs/leg_queues.h"
#include "agent/legs/leg_wiring.h"
#include "agent/lldp/lldp.h"
#include "agent/monitor/kernel_events.h"
#include "agent/monitor/membership.h"
#include "agent/monitor/rollout_host.h"
#include "agent/supervise/handover/fd_store.h"
#include "netcfg/base/os/limit.h"
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define AGENT_STOP_LIMIT_NS (10 * NSEC_PER_SEC)
#define AGENT_LEAVE_LIMIT_NS (5 * NSEC_PER_SEC) /* maximum wait of an exit for worker restarts */
#define FILES_CHECK_NS NSEC_PER_SEC
/* After a worker has released a device, the kernel needs up to this time until the device can be
 * opened again. */
#define RELEASE_NS NSEC_PER_SEC

static int on_kernel(void *user, int fd, uint32_t revents)
{
	kernel_events_read(user);
	return 0;
}

/* ---- workers ---- */

static int on_health_timer(void *user)
{
	struct agent *a = user;

	(void)rundir_save_again(&a->rundir); /* ignore an error: the next check retries */
	leg_wiring_look(a);
	leg_queues_look(a);
	latency_look(&a->latency, a->sup, clock_now_ns());
	reconcile_note_ready(a);
	agent_check_health(a);
	return 0;
}

static void on_worker_change(void *user)
{
	struct agent *a = user;

	leg_wiring_look(a);
	agent_check_health(a);
	agent_update_state(a);
	agent_publish(a);
	reconcile_note_worker(a);
	reconcile_note_ready(a);
	agent_end_if_done(a);
}

/* Requests a reconcile after RELEASE_NS, because the kernel needs that time to close the released
 * device. */
static void on_release(void *user)
{
	reconcile_arm(user, RELEASE_NS);
}

/* Adds the failed transport to a->failures, so that the next plans choose another transport. Does
 * nothing if the configuration names the transport and refuses a fallback. */
static void on_no_transport(void *user, uint32_t worker_id, const char *reason)
{
	struct agent *a = user;

	for (size_t i = 0; a->running.plan && i < a->running.plan->n_workers; i++) {
		const struct plan_worker *w = &a->running.plan->workers[i];

		const bool is_auto = w->asked == SPEC_TRANSPORT_AUTO;

		if (w->id != worker_id ||
		    (!is_auto && a->running.spec->on_fallback != SPEC_FALLBACK_DEGRADE))
			continue;
		/* If memory is short, the failure is not recorded. The worker will fail again, and
		 * the failure is recorded then. */
		if (plan_failures_add(&a->failures, w, reason) < 0)
			continue;
		reconcile_keep_attempts(a);
		reconcile_ask_soon(a, RECONCILE_FALLBACK);
		/* The pending apply moved this worker, so the apply is rolled back now. */
		if (is_auto && reconcile_is_on_trial(a, w->core))
			reachability_refuse(a, worker_id, reason);
		return;
	}
}

/* ---- signals ---- */

/* Called by the stop timer: begins a stop that a client requested, or ends a stop that takes too
 * long. */
static int on_stop_timer(void *user)
{
	struct agent *a = user;

	if (a->state != AGENT_STOPPING) {
		agent_stop_all(a);
		return 0;
	}
	if (a->reconcile.applier)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "the applier (process %d) is still %s; it finishes the apply without "
			   "the agent",
			   applier_pid(a->reconcile.applier),
			   applier_stage_to_string(applier_stage(a->reconcile.applier)));
	if (a->keeps_workers) {
		loop_exit(a->loop, 0);
		return 0;
	}
	if (sup_count_processes(a->sup) > 0)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "workers did not stop in time; killing them");
	sup_kill_all(a->sup);
	loop_exit(a->loop, 0);
	return 0;
}

/* SIGTERM leaves workers and mounts running. The next agent adopts them. */
static int on_terminate(void *user, int signo)
{
	struct agent *a = user;

	if (a->state == AGENT_STOPPING)
		return 0;
	events_add(&a->events, LOG_LEVEL_INFO, "agent",
		   "exiting; network, mounts and %u workers keep running, for up to %d s without "
		   "an agent",
		   sup_count_processes(a->sup), LAUNCH_ORPHAN_S);
	a->state = AGENT_STOPPING;
	a->keeps_workers = true;
	loop_notify("STOPPING=1\nSTATUS=exiting; workers keep running");
	loop_timer_arm(a->stop_timer,
		       a->reconcile.applier ? AGENT_STOP_LIMIT_NS : AGENT_LEAVE_LIMIT_NS);
	reconcile_stop(a);
	control_mounts_stop(a, false);
	agent_end_if_done(a);
	return 0;
}

void agent_stop_all(struct agent *a)
{
	if (a->state == AGENT_STOPPING)
		return;
	events_add(&a->events, LOG_LEVEL_INFO, "agent",
		   "stopping workers and mounts; the network configuration stays");
	a->state = AGENT_STOPPING;
	loop_notify("STOPPING=1\nSTATUS=stopping");
	loop_timer_arm(a->stop_timer, AGENT_STOP_LIMIT_NS);
	reconcile_stop(a);
	control_mounts_stop(a, true);
	sup_stop_all(a->sup);
	agent_end_if_done(a);
}

static int on_interrupt(void *user, int signo)
{
	agent_stop_all(user);
	return 0;
}

static int on_reload(void *user, int signo)
{
	struct agent *a = user;

	if (a->state == AGENT_STOPPING)
		return 0;
	loop_notify("RELOADING=1\nMONOTONIC_USEC=%llu",
		    (unsigned long long)(clock_now_ns() / NSEC_PER_USEC));
	if (a->clients)
		clients_reload_network(a->clients);
	reconcile_ask(a, RECONCILE_RELOAD);
	return 0;
}

/* ---- start ---- */

/* Takes the lock of the network namespace, because two agents would undo each other's changes. */
static int take_host(struct agent *a)
{
	pid_t owner = 0;
	int r = host_lock_take(HOST_LOCK_NAME, HOST_LOCK_WAIT_NS, &a->host_fd, &owner);

	if (r == -EBUSY && owner)
		log_err("another plenumd (pid %d) manages this network namespace; stop that "
			"plenumd, or start this one in another network namespace",
			owner);
	else if (r == -EBUSY)
		log_err("a plenumd in another PID namespace (a container?) manages this network "
			"namespace; stop that plenumd, or start this one in another network "
			"namespace");
	else if (r < 0)
		log_err("cannot lock the network namespace: %s", strerror(-r));
	return r;
}

static int on_host_asked(void *user, int fd, uint32_t revents)
{
	struct agent *a = user;

	/* Handles further connections only at the next check of the files, because a user who
	 * connects again and again would otherwise keep the agent busy. */
	if (!host_lock_answer(fd))
		a->host_source = loop_source_free(a->host_source);
	return 0;
}

static int watch_host(struct agent *a)
{
	if (a->host_fd < 0 || a->host_source)
		return 0;
	return loop_add_fd(a->loop, a->host_fd, EPOLLIN, false, on_host_asked, a, &a->host_source);
}

/* ---- files of the run directory ---- */

/* Creates missing files of the run directory again. Without the sockets no client can reach the
 * agent; without the record the next agent does not find the workers; without the lock file a
 * second agent could start. */
static void restore_files(struct agent *a)
{
	int n_files = rundir_restore(&a->rundir), n_sockets = 0, r = n_files;

	if (r >= 0)
		r = n_sockets = a->clients ? clients_restore(a->clients) : 0;
	if (n_files > 0 || n_sockets > 0) {
		reconcile_keep_attempts(a);
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "files in %s were removed: created the %s again", a->rundir.run,
			   n_sockets <= 0 ? "lock and the record"
			   : n_files <= 0 ? "sockets"
					  : "sockets, the lock and the record");
	}
	if (r < 0 && r != a->files_error)
		events_add(&a->events, LOG_LEVEL_ERR, "agent",
			   "files in %s were removed and cannot be created again: %s",
			   a->rundir.run,
			   r == -EBUSY ? "another plenumd uses the directory; stop one of the two"
				       : strerror(-r));
	a->files_error = MIN_OF(r, 0);
}

static void look_at_own_files(struct agent *a)
{
	const char *const folders[] = {a->opt.state_dir, a->opt.run_dir};
	const char *missing = sup_program_is_missing(a->sup) ? a->opt.worker : NULL;
	json_t *problems = own_files_to_json(folders, ARRAY_SIZE(folders), missing);

	if (problems && problems_set(&a->problems, PROBLEMS_OWN_FILES, NULL, problems)) {
		agent_update_state(a);
		agent_publish(a);
	}
	json_decref(problems);
}

static int on_files_timer(void *user)
{
	struct agent *a = user;

	if (a->state != AGENT_STOPPING)
		restore_files(a);
	look_at_own_files(a);
	(void)watch_host(a); /* ignore an error: the next check retries */
	return loop_timer_arm(a->files_timer, FILES_CHECK_NS);
}

static int open_rundir(struct agent *a)
{
	pid_t owner = 0;
	struct reason why;
	int r = rundir_open(a->opt.run_dir, a->opt.state_dir, &a->rundir, &owner, &why);

	if (r == -EBUSY && owner)
		log_err("another plenumd (pid %d) uses %s; stop that plenumd, or start this one "
			"with another --run-dir",
			owner, a->opt.run_dir);
	else if (r == -EBUSY)
		log_err("another process of this user locks %s/plenumd.lock; stop that process, or "
			"start plenumd with another --run-dir",
			a->opt.run_dir);
	else if (r < 0)
		log_err("%s", reason_is_set(&why) ? why.text : strerror(-r));
	return r;
}

static int open_paths(struct agent *a)
{
	int r;

	a->journal = path_join(a->rundir.run, "journal");
	a->socket_path = path_join(a->rundir.run, "plenumd.sock");
	a->admin_path = path_join(a->rundir.run, "plenumd-admin.sock");
	if (!a->journal || !a->socket_path || !a->admin_path)
		return -ENOMEM;
	r = store_init(&a->store, a->opt.config, a->rundir.state);
	if (r >= 0)
		store_recover(&a->store);
	return r;
}

/* Handles a descriptor that the previous agent stored: passes it to the module that adopts it, or
 * drops it. */
static void on_stored_fd(void *user, int fd, const char *name)
{
	struct agent *a = user;

	if (mounts_adopt_stored(a->mounts, fd, name) == 0 ||
	    sup_adopt_stored(a->sup, fd, name) == 0)
		return;
	fd_store_drop(name);
	close(fd);
}

static void on_mounts_change(void *user)
{
	sup_mounts_changed(((struct agent *)user)->sup);
}

static void on_mount_lost(void *user, uint32_t worker_id)
{
	sup_mount_lost(((struct agent *)user)->sup, worker_id);
}

/* Returns the rule for the mount at `path`. If the configuration has the mount too, the rule for
 * mounts made by command does not apply. */
static struct mounts_rule mount_rule(void *user, const char *path)
{
	const struct agent *a = user;

	return command_mounts_is_configured(a->running.spec, path)
		       ? (struct mounts_rule){.attributes = 0}
		       : command_mounts_rule(&a->command_mounts, path);
}

static void on_mount_ended(void *user, const char *path)
{
	control_mount_ended(user, path);
}

static void on_mount_failed(void *user, const char *path, const char *why)
{
	control_mount_failed(user, path, why);
}

static int open_command_mounts(struct agent *a)
{
	struct command_mounts *cm = &a->command_mounts;
	struct reason why = {.code = ""};
	int r = command_mounts_open(cm, a->rundir.run, &why);

	if (reason_is_set(&why))
		events_add(&a->events, LOG_LEVEL_WARNING, "mounts", "%s", why.text);
	return r < 0 ? r : control_mounts_open(a);
}

/* Removes mounts made by command from the list if they were unmounted while no agent ran. */
static void end_unmounted(struct agent *a)
{
	struct command_mounts *cm = &a->command_mounts;

	for (size_t i = 0; i < cm->n; i++) {
		if (!mounts_ended_before(a->mounts, cm->list[i].what.path))
			continue;
		events_add(&a->events, LOG_LEVEL_NOTICE, "mounts",
			   "unmounted %s while no agent ran: this mount has ended",
			   cm->list[i].what.path);
		command_mounts_end(cm, &cm->list[i]);
	}
}

static int open_supervision(struct agent *a)
{
	struct sup_setup sup = {.loop = a->loop,
				.events = &a->events,
				.rundir = &a->rundir,
				.carriers = &a->carriers,
				.labels = &a->labels,
				.faults = &a->faults,
				.memory = &a->memory,
				.worker_path = a->opt.worker,
				.on_change = on_worker_change,
				.on_trial = reconcile_on_trial,
				.on_release = on_release,
				.on_no_transport = on_no_transport,
				.user = a};
	struct mounts_setup mounts = {.rundir = &a->rundir,
				      .loop = a->loop,
				      .events = &a->events,
				      .on_change = on_mounts_change,
				      .on_lost = on_mount_lost,
				      .rule = mount_rule,
				      .on_ended = on_mount_ended,
				      .on_failed = on_mount_failed,
				      .user = a};
	struct faults_setup faults = {.loop = a->loop, .events = &a->events};
	const struct fd_store_setup store = {.loop = a->loop,
					     .events = &a->events,
					     .rundir = &a->rundir,
					     .log_level = a->opt.log_level};
	int r = mounts_new(&mounts, &a->mounts);

	if (r >= 0)
		r = open_command_mounts(a);
	memory_group_open(&a->memory, "");
	if (r < 0)
		return r;
	sup.mounts = a->mounts;
	r = sup_new(&sup, &a->sup);
	if (r < 0)
		return r;
	faults.sup = a->sup;
	r = faults_init(&a->faults, &faults);
	if (r >= 0)
		r = fd_store_open(&store);
	if (r >= 0)
		fd_store_take(on_stored_fd, a);
	return r;
}

/* Adopts the workers, mounts and faults of the previous agent. Ends the processes and unmounts the
 * mounts that this agent cannot adopt. */
static void adopt(struct agent *a)
{
	sup_adopt(a->sup);
	faults_adopt(&a->faults);
	rundir_clean(&a->rundir, &a->events);
	end_unmounted(a);
	mounts_clean(a->mounts);
}

/* Reports a missing worker account. Without it workers run with a uid that other programs share. */
static void check_account(struct agent *a)
{
	const bool lacks = !getpwnam(AGENT_WORKER_ACCOUNT);

	if (lacks && !a->lacks_account)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "this host has no user " AGENT_WORKER_ACCOUNT
			   ": workers share the uid 65534; 'systemd-sysusers' creates it");
	a->lacks_account = lacks;
}

/* Sets the users and groups that may make changes, as in the running configuration. */
static void take_rights(struct agent *a)
{
	const struct spec *s = a->running.spec;
	struct clients_rights rights;
	int r;

	check_account(a);
	if (!a->clients)
		return;
	r = clients_rights_resolve(s->admin_users, s->n_admin_users, s->admin_groups,
				   s->n_admin_groups, &a->events, &rights);
	if (r >= 0)
		clients_set_rights(a->clients, &rights);
	else
		events_add(&a->events, LOG_LEVEL_ERR, "agent",
			   "cannot resolve the users and groups under 'admin': %s", strerror(-r));
}

/* Sets how the API is served over the network, as in the running configuration. */
static void take_network(struct agent *a)
{
	const struct spec_api *s = &a->running.spec->api;
	struct network_config c = {.port = 0};

	if (!a->clients)
		return;
	if (s->listen.family)
		c = (struct network_config){.listen = s->listen,
					    .port = s->port,
					    .certificate = strdup(s->certificate),
					    .key = strdup(s->key),
					    .tokens = strdup(s->tokens)};
	if (s->listen.family && (!c.certificate || !c.key || !c.tokens)) {
		network_config_done(&c);
		events_add(&a->events, LOG_LEVEL_ERR, "agent",
			   "out of memory for the settings under 'api'; the former settings stay");
		return;
	}
	clients_set_network(a->clients, &c);
}

static void on_network(void *user)
{
	struct agent *a = user;
	json_t *problems = clients_network_problems(a->clients);

	if (problems && problems_set(&a->problems, PROBLEMS_API, NULL, problems)) {
		agent_update_state(a);
		agent_publish(a);
	}
	json_decref(problems);
}

/* Called when another configuration has come into force. */
static void on_spec(struct agent *a)
{
	take_rights(a);
	take_network(a);
	membership_take_spec(a);
	leg_links_take_plan(a);
	if (!a->running.spec->fault_injection && a->faults.n > 0)
		faults_end(&a->faults, 0, "the configuration no longer allows faults");
}

static void on_applied(struct agent *a, const struct reconcile_client *c,
		       const struct reconcile_answer *answer)
{
	if (!rollout_host_on_applied(a, c, answer))
		control_on_applied(a, c, answer);
}

static void on_decided(struct agent *a, const struct reconcile_decision *d)
{
	if (!rollout_host_on_decided(d))
		control_on_decided(a, d);
}

static int open_sources(struct agent *a)
{
	static const struct reconcile_setup results = {
		.on_applied = on_applied, .on_decided = on_decided, .on_spec = on_spec};
	struct loop *l = a->loop;
	int fd = a->kernel->ops->watch_fd(a->kernel), r;

	if (fd < 0)
		return fd;
	r = loop_add_fd(l, fd, EPOLLIN, true, on_kernel, a, &a->kernel_source);
	if (r >= 0)
		r = watch_host(a);
	if (r >= 0)
		r = loop_add_timer(l, NSEC_PER_SEC / 10, on_files_timer, a, &a->files_timer);
	if (r >= 0)
		r = reconcile_init(a, &results);
	if (r >= 0)
		r = loop_add_timer(l, NSEC_PER_SEC / 20, on_health_timer, a, &a->health_timer);
	if (r >= 0)
		r = drift_init(a);
	if (r >= 0)
		r = samples_init(a);
	if (r >= 0)
		r = leg_labels_init(a);
	if (r >= 0)
		r = membership_init(a);
	if (r >= 0)
		r = leg_links_init(a);
	if (r >= 0)
		r = leg_wiring_init(a);
	if (r >= 0)
		r = leg_queues_init(a);
	if (r >= 0)
		r = loop_add_timer(l, NSEC_PER_MSEC, on_stop_timer, a, &a->stop_timer);
	if (r >= 0)
		r = loop_add_signal(l, SIGTERM, on_terminate, a);
	if (r >= 0)
		r = loop_add_signal(l, SIGINT, on_interrupt, a);
	if (r >= 0)
		r = loop_add_signal(l, SIGHUP, on_reload, a);
	if (r >= 0)
		r = loop_watchdog_enable(l);
	return r;
}

static void on_client_gone(void *user)
{
	command_mounts_wake(&((struct agent *)user)->command_mounts);
	agent_end_if_done(user);
}

/* Opens the sockets for clients. Called last, so that clients find all modules ready. */
static int open_clients(struct agent *a)
{
	const struct clients_setup setup = {.loop = a->loop,
					    .events = &a->events,
					    .read_path = a->socket_path,
					    .admin_path = a->admin_path,
					    .log_level = a->opt.log_level,
					    .idle_ns = CLIENTS_IDLE_NS,
					    .on_request = control_on_request,
					    .on_shared_read = control_on_shared_read,
					    .on_network = on_network,
					    .on_gone = on_client_gone,
					    .user = a};
	int r = clients_new(&setup, &a->clients);

	if (r < 0)
		return r;
	control_on_event(a, a->events.next);
	return loop_timer_arm(a->files_timer, FILES_CHECK_NS);
}

static void on_event(void *user, uint64_t next)
{
	struct agent *a = user;

	event_store_note(a->event_store);
	if (a->clients)
		control_on_event(a, next);
}

/* Opens the events. Called before all modules that add events are opened. */
static int open_events(struct agent *a)
{
	char started[64];
	int r;

	snprintf(started, sizeof(started), "plenumd " PLENUM_VERSION " started, process %d",
		 (int)getpid());
	r = event_store_open(a->loop, &a->events, a->rundir.run, a->rundir.state, started,
			     &a->event_store);
	a->events.user = a;
	a->events.on_add = on_event;
	return r;
}

static int open_all(struct agent *a)
{
	int r = loop_new(&a->loop);

	if (r >= 0)
		r = open_events(a);
	if (r >= 0)
		r = open_paths(a);
	if (r >= 0)
		r = kernel_linux_new(&a->kernel);
	if (r >= 0)
		r = open_sources(a);
	if (r >= 0)
		r = open_supervision(a);
	if (r >= 0)
		r = capture_new(&(struct capture_setup){.loop = a->loop,
							.events = &a->events,
							.sup = a->sup,
							.idle_limit_ns = CAPTURE_IDLE_LIMIT_NS},
				&a->capture);
	if (r >= 0)
		adopt(a);
	if (r >= 0)
		r = open_clients(a);
	if (r < 0)
		log_err("cannot start: %s", strerror(-r));
	return r;
}

static void close_all(struct agent *a)
{
	a->events.on_add = NULL;
	if (a->loop)
		reconcile_done(a);
	control_queries_done(a);
	control_mounts_done(a);
	control_stop_done(a);
	leg_links_done(a);
	membership_done(a);
	leg_labels_done(a);
	leg_wiring_done(a);
	faults_done(&a->faults);
	capture_free(a->capture);
	sup_free(a->sup);
	mounts_free(a->mounts);
	command_mounts_done(&a->command_mounts);
	fd_store_close(a->state == AGENT_STOPPING && !a->keeps_workers);
	clients_free(a->clients);
	loop_source_free(a->kernel_source);
	loop_source_free(a->host_source);
	loop_source_free(a->files_timer);
	loop_source_free(a->stop_timer);
	loop_source_free(a->health_timer);
	health_done(&a->health);
	latency_done(&a->latency);
	leg_queues_done(a);
	drift_done(&a->drift);
	samples_done(&a->samples);
	json_decref(a->actions_reported);
	event_store_close(a->event_store);
	loop_free(a->loop);
	kernel_free(a->kernel);
	generation_swap(a, &(struct generation){0});
	plan_failures_clear(&a->failures);
	carriers_done(&a->carriers);
	problems_done(&a->problems);
	store_done(&a->store);
	free(a->journal);
	free(a->socket_path);
	free(a->admin_path);
	rundir_done(&a->rundir);
	cleanup_close(&a->host_fd);
	free(a);
}

/* Validates the configuration files; prints the errors. */
static int check_files(const struct store *st, const char *config)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *spec = NULL;
	int r = spec_load(st->file, st->dropin_dir, &d, &spec);

	if (r >= 0)
		r = plan_check(spec, &d);
	diag_print(&d, stderr);
	if (r < 0 && d.n == 0)
		log_err("%s: %s", config, strerror(-r));
	spec_free(spec);
	return r;
}

int agent_check(const struct agent_options *opt)
{
	struct store st;
	int r = store_init(&st, opt->config, opt->state_dir);

	if (r >= 0)
		r = check_files(&st, opt->config);
	store_done(&st);
	return r < 0 ? 1 : 0;
}

/* Returns whether the agent may start: the files are valid, or an earlier configuration can run
 * instead. */
static bool can_start(const struct agent_options *opt)
{
	autofree char *last_good = NULL;

	if (agent_check(opt) == 0)
		return true;
	last_good = path_join(opt->state_dir, RECONCILE_LAST_GOOD_FILE);
	return last_good && access(last_good, F_OK) == 0;
}

int agent_main(const struct agent_options *opt)
{
	struct agent *a;
	int status = 1;

	if (!can_start(opt))
		return AGENT_EXIT_CONFIG;
	a = calloc(1, sizeof(*a));
	if (!a)
		return 1;
	a->opt = *opt;
	a->rundir.lock = RUN_LOCK_NONE;
	a->host_fd = -1;
	a->started_ns = clock_now_ns();
	a->verify_ns = RECONCILE_VERIFY_NS;
	events_init(&a->events);
	/* Raises the limit of open files: each mount, and each unlinked open file of an export,
	 * needs a descriptor. */
	limit_files_raise();
	if (take_host(a) >= 0 && open_rundir(a) >= 0 && open_all(a) >= 0) {
		reconcile_start(a);
		status = loop_run(a->loop) < 0 ? 1 : 0;
	}
	close_all(a);
	return status;
}
